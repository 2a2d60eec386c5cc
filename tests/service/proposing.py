"""
A server that proposes, for tests: ``python -m tests.service.proposing '{...}'``.

It has the routes of a proposer and those of our own evidence, and nothing else.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from signoff.executors.choosing import executor_of
from signoff.service.evidence_store import OwnEvidence, evidence_routes
from signoff.service.executions import Executions
from signoff.service.message import Route
from signoff.service.server import Worker, serve
from signoff.service.settings import Settings
from signoff.service.wattswarm.agent_events import agent_event_routes
from signoff.service.wattswarm.capabilities import Capabilities, capabilities_route
from signoff.service.wattswarm.execute import EXECUTOR_SETTINGS, Proposer, execute_routes
from tests.service.app import announce
from tests.service.running import ROOT, Running

PUBLIC = "http://evidence.example:9"


class Options(Struct, frozen=True, kw_only=True):
    """What a test says of the server."""

    state: Path
    executor: str | None = None
    timeout_s: float = 20.0
    workers: int = 1
    max_store: int = 2**30


class ProposingPart:
    """The routes, and what they need."""

    def __init__(self, worker: Worker, options: Options) -> None:
        self._threads = ThreadPoolExecutor(16)
        self._executions = Executions(options.state)
        settings = replace(EXECUTOR_SETTINGS, folder=ROOT)
        self._executor = executor_of(options.executor, settings) if options.executor else None
        store = OwnEvidence(options.state, max_bytes=options.max_store)
        capabilities = Capabilities(provider_family="family", model_id="model")
        proposer = Proposer(
            capabilities=capabilities,
            executor=self._executor,
            executions=self._executions,
            evidence=store,
            threads=self._threads,
            public_url=PUBLIC,
            timeout_s=options.timeout_s,
            log=worker.log,
        )
        self.routes: Sequence[Route] = (
            *execute_routes(proposer),
            *capabilities_route(capabilities),
            *agent_event_routes(self._executions),
            *evidence_routes(store),
        )

    async def start(self) -> None:
        pass

    async def stop(self) -> None:
        if self._executor is not None:
            self._executor.close()
        await self._executions.close()
        self._threads.shutdown()


def proposing(state: Path, executor: str | None = None, **more: object) -> Running:
    """The server as a process of its own."""
    options = Options(state=state, executor=executor, **more)  # type: ignore[arg-type]  # tests say what they like
    command = (sys.executable, "-m", "tests.service.proposing")
    return Running((*command, msgspec.json.encode(options, enc_hook=str).decode()))


def main() -> int:
    options = msgspec.json.decode(
        sys.argv[1], type=Options, dec_hook=lambda kind, value: kind(value)
    )
    settings = Settings(port=0, workers=options.workers)
    return serve(lambda worker: (ProposingPart(worker, options),), settings, ready=announce)


if __name__ == "__main__":
    sys.exit(main())
