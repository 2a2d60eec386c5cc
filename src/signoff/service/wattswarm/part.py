"""The runtime as a part of the service: its routes, and what stands behind them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from signoff._version import __version__
from signoff.dialects.wattswarm.reply import Identity
from signoff.dialects.wattswarm.request import VerifyRequest
from signoff.jsonvalue import shown
from signoff.ledger import Ledger
from signoff.model import Report
from signoff.schema_engine import schema_engines
from signoff.service.evidence_store import OwnEvidence, evidence_routes
from signoff.service.executions import Executions
from signoff.service.fetching import Fetcher
from signoff.service.message import Request, Response, Route
from signoff.service.native.keeper import Keeper
from signoff.service.wattswarm.agent_events import agent_event_routes
from signoff.service.wattswarm.capabilities import capabilities_route
from signoff.service.wattswarm.execute import Proposer, execute_routes
from signoff.service.wattswarm.options import RuntimeOptions
from signoff.service.wattswarm.verify import Verifying
from signoff.service.worker import Worker

__all__ = ["PREFIX", "WattswarmPart", "identity_of"]

PREFIX: Final = "/wattswarm"
"""Below it stands everything; at the root too, where a kernel looks for it."""

HEALTHY: Final = Response(200, b'{"status":"ok"}')
MAX_NAME: Final = 200


class WattswarmPart:
    """
    What a WattSwarm node calls.

    Args:
        worker: What it runs in.
        options: What the operator says.
        folder: Where evidence and executions are kept; all workers share it.
        public_url: How others reach this server.
        ledger: Opens what keeps verdicts; None where nothing does.
        health: ``/health`` is answered at the root too, where nobody else does.

    Raises:
        NotInstalled: Evidence is to be fetched, and what fetches it is absent.
        DatabaseUnusable: What all workers share cannot be opened.
        OSError: The folder cannot be used.
    """

    def __init__(
        self,
        worker: Worker,
        *,
        options: RuntimeOptions,
        folder: Path,
        public_url: str,
        ledger: Callable[[], Ledger] | None = None,
        health: bool = False,
    ) -> None:
        self._options = options
        self._health = health
        # Opened here, in the process that uses it: no connection survives a fork.
        self._keeper = Keeper(ledger() if ledger is not None else None)
        self._executions = Executions(folder)
        own = OwnEvidence(folder)
        proposer = Proposer(
            capabilities=options.capabilities,
            executor=options.executor,
            executions=self._executions,
            evidence=own,
            threads=worker.threads,
            public_url=public_url,
            timeout_s=options.execute_timeout_s,
            log=worker.log,
        )
        fetch = replace(options.fetch, public_url=public_url)
        self._verifying = Verifying(
            identity_of(options),
            threads=worker.threads,
            fetcher=Fetcher(fetch, worker.threads, own=own),
            extra_hashes=options.extra_hashes,
            record=self._record if self._keeper.keeps else None,
        )
        self._below: tuple[Route, ...] = (
            *capabilities_route(options.capabilities),
            Route(method="POST", path="/verify", handler=self._verifying),
            *execute_routes(proposer),
            *evidence_routes(own, threads=worker.threads),
            *(agent_event_routes(self._executions) if options.agent_events else ()),
        )

    @property
    def routes(self) -> Sequence[Route]:
        """Everything that it answers, at the root and below its prefix."""
        health = Route(method="GET", path="/health", handler=_healthy, token=False)
        below = (health, *self._below)
        at_root = below if self._health else self._below
        return (*at_root, *(replace(one, path=f"{PREFIX}{one.path}") for one in below))

    async def start(self) -> None:
        """Nothing is left to do."""

    async def stop(self) -> None:
        """Let go of executors, executions and the ledger."""
        await self._verifying.close()
        if self._options.executor is not None:
            self._options.executor.close()
        await self._executions.close()
        self._keeper.close()

    def _record(self, report: Report, request: VerifyRequest) -> None:
        self._keeper.keep(report, name=shown(request.candidate_id, MAX_NAME))


def identity_of(options: RuntimeOptions) -> Identity:
    """Who answers, with the versions of what decides."""
    engines = schema_engines()
    return Identity(
        provider_family=options.capabilities.provider_family,
        model_id=options.capabilities.model_id,
        engine=f"signoff/{__version__}",
        schema_engine=" ".join(f"{name}/{version}" for name, version in engines.items()),
        evidence=options.evidence,
    )


def _healthy(_: Request) -> Response:
    return HEALTHY
