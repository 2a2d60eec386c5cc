"""The native API as a part of the service: its routes, and what stands behind them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from signoff.engine import Engine
from signoff.ledger import Ledger
from signoff.registry import Registry
from signoff.service.message import Route
from signoff.service.native.admission import served
from signoff.service.native.batch import NDJSON, Batch
from signoff.service.native.contract_store import ContractStore
from signoff.service.native.contracts import FORMATS, Contracts
from signoff.service.native.judging import Judging
from signoff.service.native.keeper import Keeper
from signoff.service.native.pages import docs, openapi
from signoff.service.native.plans import Plans
from signoff.service.native.state import State
from signoff.service.native.verdicts import Verdicts
from signoff.service.worker import Worker
from signoff.strictjson import Limits

__all__ = ["CONTRACTS", "NativePart"]

CONTRACTS: Final = "contracts"


class NativePart:
    """
    ``/v1``, and what describes it.

    Args:
        worker: What it runs in.
        registry: The verifiers, with what the operator lets them use.
        limits: How outputs are read.
        folder: Where contracts are kept; all workers share it.
        ledger: Opens what keeps verdicts; None where nothing does.
    """

    def __init__(
        self,
        worker: Worker,
        *,
        registry: Registry,
        folder: Path,
        limits: Limits = Limits(),  # noqa: B008  frozen
        ledger: Callable[[], Ledger] | None = None,
    ) -> None:
        registry = served(registry)
        store = ContractStore(folder / CONTRACTS)
        judging = Judging(Engine(registry), limits=limits)
        plans = Plans(store, judging)
        # Opened here, in the process that uses it: no connection survives a fork.
        self._keeper = Keeper(ledger() if ledger is not None else None)
        self._state = State(worker, registry, store, self._keeper)
        self._contracts = Contracts(worker, plans, store)
        self._verdicts = Verdicts(worker, plans, judging, self._keeper)
        self._batch = Batch(worker, plans, judging, self._keeper)

    @property
    def routes(self) -> Sequence[Route]:
        """Everything that it answers."""
        state, contracts = self._state, self._contracts
        types = tuple(FORMATS)
        return (
            Route(method="POST", path="/v1/contracts", handler=contracts.post, types=types),
            Route(method="GET", path="/v1/contracts/{digest}", handler=contracts.get),
            Route(method="POST", path="/v1/verify", handler=self._verdicts.post),
            Route(
                method="POST",
                path="/v1/verify/batch",
                stream=self._batch.answer,
                types=(NDJSON, "application/jsonl", "application/jsonlines"),
            ),
            Route(method="GET", path="/v1/verifiers", handler=state.verifiers),
            Route(method="GET", path="/health", handler=state.health, token=False),
            Route(method="GET", path="/ready", handler=state.ready, token=False),
            Route(method="GET", path="/metrics", handler=state.metrics),
            Route(method="GET", path="/openapi.json", handler=openapi, token=False),
            Route(method="GET", path="/docs", handler=docs, token=False),
            Route(method="GET", path="/", handler=docs, token=False),
        )

    async def start(self) -> None:
        """Nothing is left to do."""

    async def stop(self) -> None:
        """Let go of the ledger."""
        self._keeper.close()
