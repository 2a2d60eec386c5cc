"""What a worker says of itself: what it can check, that it lives, and whether it can judge."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from signoff.manual import manual
from signoff.probes import PROBES
from signoff.registry import Registry
from signoff.service.exposition import metrics_response
from signoff.service.message import Problem, Request, Response
from signoff.service.native.admission import refused
from signoff.service.native.contract_store import ContractStore, StoreUnusable
from signoff.service.native.keeper import Keeper
from signoff.service.worker import Worker

__all__ = ["State"]

ALIVE: Final = Response(200, b'{"status":"ok"}')
READY: Final = Response(200, b'{"status":"ready"}')


class State:
    """
    Answers about the worker.

    Args:
        worker: What it runs in.
        registry: The verifiers that contracts may name.
        store: Where contracts are kept.
        keeper: Where verdicts are kept.
    """

    def __init__(
        self, worker: Worker, registry: Registry, store: ContractStore, keeper: Keeper
    ) -> None:
        self._worker = worker
        self._registry = registry
        self._store = store
        self._keeper = keeper
        self._listed = b""

    def health(self, _: Request) -> Response:
        """It lives."""
        return ALIVE

    async def ready(self, _: Request) -> Response:
        """It can judge, and keep what it has to keep."""
        faults = await self._worker.loop.run_in_executor(self._worker.threads, self._faults)
        if self._worker.draining:
            faults.append("the server was told to stop")
        if faults:
            detail = "; ".join(faults)
            errors = [{"detail": fault} for fault in faults]
            raise Problem(503, "not_ready", detail, errors=errors)
        return READY

    def metrics(self, _: Request) -> Response:
        """What was counted, by all workers."""
        return metrics_response(self._worker.metrics.board)

    def verifiers(self, _: Request) -> Response:
        """What contracts may name, and what they may not though it is installed."""
        if not self._listed:
            listed = [_told(self._registry, id_, in_use=True) for id_ in self._registry.ids()]
            listed += (_told(PROBES, id_, in_use=False) for id_ in refused())
            self._listed = msgspec.json.encode({"verifiers": listed})
        return Response(200, self._listed)

    def _faults(self) -> list[str]:
        faults = []
        if not self._registry.entries:
            faults.append("there are no verifiers")
        try:
            self._store.require_writable()
        except StoreUnusable as exc:
            faults.append(str(exc))
        try:
            self._keeper.require_reachable()
        except Problem as problem:
            faults.append(problem.detail)
        return faults


def _told(registry: Registry, id_: str, *, in_use: bool) -> dict[str, Any]:
    verifier = registry.get(id_)
    assert verifier is not None
    found = manual(verifier)
    return {
        "id": found.id,
        "description": found.description,
        "origin": found.origin,
        "in_use": in_use,
    }
