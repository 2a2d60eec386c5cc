"""
A server for tests: ``python -m tests.service.app '{"settings": ..., "gates": ...}'``.

Its settings are the JSON of ``Settings``, and its routes do what the tests are about.
The URL is the first line on standard output.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from collections.abc import Mapping, Sequence

import msgspec

from signoff.errors import SignoffError
from signoff.service.exposition import metrics_response
from signoff.service.message import BodyReader, Problem, ReplyWriter, Request, Response, Route
from signoff.service.server import Worker, serve
from signoff.service.settings import Settings

ANSWER = b'{"status":"passed","padding":"' + b"x" * 270 + b'"}'


OUTCRIES: Mapping[bytes, type[BaseException]] = {
    b"exits": SystemExit,
    b"interrupts": KeyboardInterrupt,
}


class Panic(BaseException):
    """As a library in another language raises it: no ``except Exception`` sees it."""


class App:
    """Routes that answer at once, later, never, by pieces, or wrongly."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        self._gate = asyncio.Event()
        self.started = False

    @property
    def routes(self) -> Sequence[Route]:
        return (
            Route(method="GET", path="/health", handler=self.health, token=False),
            Route(method="POST", path="/verify", handler=self.verify),
            Route(method="POST", path="/echo", handler=self.echo),
            Route(method="POST", path="/small", handler=self.echo, max_body=100),
            Route(method="GET", path="/items/{name}/{part}", handler=self.item, token=False),
            Route(method="GET", path="/worker", handler=self.worker),
            Route(method="GET", path="/big", handler=self.big),
            Route(method="GET", path="/empty", handler=lambda _: Response(204)),
            Route(method="POST", path="/later", handler=self.later),
            Route(method="POST", path="/held", handler=self.held),
            Route(method="POST", path="/release", handler=self.release),
            Route(method="POST", path="/raises", handler=self.raises),
            Route(method="POST", path="/raises-later", handler=self.raises_later),
            Route(method="POST", path="/panics", handler=self.panics),
            Route(method="POST", path="/panics-later", handler=self.panics_later),
            Route(method="POST", path="/refuses", handler=self.refuses),
            Route(method="GET", path="/metrics", handler=self.metrics),
            Route(method="POST", path="/die", handler=self.die),
            Route(method="POST", path="/count", stream=self.count, types=("text/plain",)),
            Route(method="POST", path="/mirror", stream=self.mirror),
            Route(method="POST", path="/broken-stream", stream=self.broken_stream),
            Route(method="POST", path="/panicking-stream", stream=self.panicking_stream),
            Route(method="POST", path="/early-stream", stream=self.early_stream),
            Route(method="GET", path="/endless", stream=self.endless),
        )

    async def start(self) -> None:
        self.started = True

    async def stop(self) -> None:
        self._worker.log("app_stopped")

    def health(self, request: Request) -> Response:
        assert self.started
        return Response(200, b'{"status":"ok"}')

    def verify(self, request: Request) -> Response:
        request.notes["outcome"] = "passed"
        return Response(200, ANSWER)

    def echo(self, request: Request) -> Response:
        return Response(200, request.body)

    def item(self, request: Request) -> Response:
        told = {"params": dict(request.params), "query": request.query, "path": request.path}
        return Response(200, msgspec.json.encode(told))

    def worker(self, request: Request) -> Response:
        return Response(200, msgspec.json.encode({"pid": os.getpid(), "index": self._worker.index}))

    def big(self, request: Request) -> Response:
        return Response(200, b"b" * 4_000_000, "application/octet-stream")

    async def later(self, request: Request) -> Response:
        await asyncio.sleep(0)
        return Response(200, request.body)

    async def held(self, request: Request) -> Response:
        self._worker.log("held", id=request.id)
        await self._gate.wait()
        self._worker.log("let_go", id=request.id)
        return Response(200, request.body)

    def release(self, request: Request) -> Response:
        self._gate.set()
        self._gate = asyncio.Event()
        return Response(200, b"{}")

    def raises(self, request: Request) -> Response:
        raise KeyError("a secret in an exception")

    async def raises_later(self, request: Request) -> Response:
        await asyncio.sleep(0)
        raise ValueError("a secret in an exception")

    def panics(self, request: Request) -> Response:
        raise OUTCRIES.get(request.body, Panic)("a secret in an exception")

    async def panics_later(self, request: Request) -> Response:
        await asyncio.sleep(0)
        raise OUTCRIES.get(request.body, Panic)("a secret in an exception")

    def refuses(self, request: Request) -> Response:
        raise Problem(422, "wrong_shape", "expected a number at /a", pointer="/a")

    def metrics(self, request: Request) -> Response:
        return metrics_response(self._worker.metrics.board)

    def die(self, request: Request) -> Response:
        os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(10)
        return Response(200)

    async def count(self, request: Request, body: BodyReader, reply: ReplyWriter) -> None:
        size = pieces = 0
        while data := await body.read():
            size += len(data)
            pieces += 1
        reply.start(200, "text/plain", (("X-Pieces", str(pieces)),))
        await reply.write(str(size).encode())

    async def mirror(self, request: Request, body: BodyReader, reply: ReplyWriter) -> None:
        reply.start()
        while data := await body.read():
            await reply.write(data)

    async def broken_stream(self, request: Request, body: BodyReader, reply: ReplyWriter) -> None:
        await reply.write(b"some")
        raise KeyError("a secret in an exception")

    async def panicking_stream(
        self, request: Request, body: BodyReader, reply: ReplyWriter
    ) -> None:
        raise Panic("a secret in an exception")

    async def early_stream(self, request: Request, body: BodyReader, reply: ReplyWriter) -> None:
        raise Problem(422, "wrong_shape", "nothing of it was read")

    async def endless(self, request: Request, body: BodyReader, reply: ReplyWriter) -> None:
        try:
            while True:
                await reply.write(b"e" * 65_536)
        finally:
            self._worker.log("endless_ended")


def main() -> int:
    settings = msgspec.json.decode(sys.argv[1], type=Settings)
    try:
        return serve(lambda worker: (App(worker),), settings, ready=announce)
    except SignoffError as exc:
        sys.stderr.write(f"{type(exc).__name__}: {exc}\n")
        return 2


def announce(url: str) -> None:
    sys.stdout.write(f"{url}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    for name in sys.argv[2:]:  # as if they were not installed
        sys.modules[name] = None  # type: ignore[assignment]  # what makes an import fail
    sys.exit(main())
