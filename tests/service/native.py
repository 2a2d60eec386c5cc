"""The native API without a server: its routes are called as the server would call them."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple, Self, cast

from signoff.probes import PROBES
from signoff.registry import Registry
from signoff.service.access_log import AccessLog, LineWriter
from signoff.service.message import Problem, Request, Response
from signoff.service.metrics import Board, Metrics
from signoff.service.native.part import NativePart
from signoff.service.problem import problem_response
from signoff.service.routing import Router
from signoff.service.settings import Settings
from signoff.service.worker import Worker
from signoff.verifiers import STDLIB

CONTRACT: dict[str, Any] = {
    "id": "answers",
    "criteria": [
        {"id": "enough", "verifier": "count_between", "params": {"min": 2, "max": 3}},
        {
            "id": "scored",
            "verifier": "json_schema",
            "params": {"schema": {"items": {"type": "object", "required": ["score"]}}},
        },
    ],
}
GOOD = [{"score": 2}, {"score": 1}]
BAD = [{"score": 2}, {}]
JSON = "application/json"


class Reply(NamedTuple):
    """What an answer holds."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Pieces:
    """A body that arrives in the pieces that it is given."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self._pieces = iter(pieces)

    async def read(self) -> bytes:
        return next(self._pieces, b"")


class Written:
    """What a stream writes."""

    def __init__(self) -> None:
        self.status = 0
        self.media_type = ""
        self.pieces: list[bytes] = []

    def start(
        self, status: int = 200, media_type: str = JSON, headers: tuple[tuple[str, str], ...] = ()
    ) -> None:
        self.status, self.media_type = status, media_type

    async def write(self, data: bytes) -> None:
        assert self.status
        self.pieces.append(data)


class Native:
    """A part in a worker of its own; a context manager that ends it."""

    def __init__(self, folder: Path, registry: Registry | None = None, **options: Any) -> None:
        self.settings = Settings(max_body=options.pop("max_body", 2 * 2**20))
        self._writer = LineWriter()
        self.loop = asyncio.new_event_loop()
        self.threads = ThreadPoolExecutor(4)
        self.worker = Worker(
            0,
            self.settings,
            loop=self.loop,
            threads=self.threads,
            metrics=Metrics(Board(1), 0),
            access_log=AccessLog(self._writer, worker=0, insecure=False),
        )
        registry = STDLIB | PROBES if registry is None else registry
        self.part = NativePart(self.worker, registry=registry, folder=folder, **options)
        self._router = Router(self.part.routes, max_body=self.settings.max_body)
        self.notes: dict[str, object] = {}
        self.was_inline = False

    def __enter__(self) -> Self:
        self.loop.run_until_complete(self.part.start())
        return self

    def __exit__(self, *_: object) -> None:
        self.loop.run_until_complete(self.part.stop())
        self.threads.shutdown()
        self.loop.close()
        self._writer.close()

    def call(self, method: str, path: str, body: Any = b"", *, type: str = JSON) -> Reply:
        """The answer to a request; anything but bytes is sent as JSON."""
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        route, params = self._router.find(method, path)
        headers = {b"content-type": type.encode()} if data else {}
        request = Request(method=method, path=path, body=data, headers=headers, params=params)
        try:
            found = route.handler(request)
            self.was_inline = not inspect.isawaitable(found)
            response = self._awaited(found)
        except Problem as problem:
            response = problem_response(problem, "id")
        self.notes = request.notes
        return Reply(response.status, dict(response.headers), response.body)

    def batch(self, query: str, pieces: Iterable[bytes]) -> Written:
        """What a batch writes for a body in pieces."""
        route, _ = self._router.find("POST", "/v1/verify/batch")
        assert route.stream is not None
        written = Written()
        request = Request(method="POST", path="/v1/verify/batch", query=query)
        self.loop.run_until_complete(cast("Any", route.stream(request, Pieces(pieces), written)))
        self.notes = request.notes
        return written

    def locked(self, contract: Any = CONTRACT) -> str:
        """The digest of a contract that is kept now."""
        reply = self.call("POST", "/v1/contracts", contract)
        assert reply.status in {200, 201}, reply.body
        return str(reply.json["digest"])

    def _awaited(self, found: Any) -> Response:
        if inspect.isawaitable(found):
            return cast("Response", self.loop.run_until_complete(cast("Any", found)))
        return cast("Response", found)
