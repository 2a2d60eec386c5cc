"""A request whose handler reads the body, and writes the reply, by pieces."""

from __future__ import annotations

from time import monotonic
from typing import Protocol

from signoff.service.head import Head
from signoff.service.message import JSON_TYPE, Request, Response
from signoff.service.reply import CONTINUE, LAST_CHUNK, chunk
from signoff.service.shared import Shared
from signoff.service.stream import StreamBody

__all__ = ["StreamExchange", "Wire"]


class Wire(Protocol):
    """The connection under a stream."""

    def send(self, data: bytes) -> None:
        """Send bytes as they are."""
        ...

    async def drained(self) -> None:
        """Return when the client has kept up."""
        ...

    def reply(self, head: Head, request: Request, response: Response, began: float) -> None:
        """Send a whole reply."""
        ...

    def released(self, *, reusable: bool) -> None:
        """Go on with the next request, or end where what follows could not be told apart."""
        ...

    def abort(self) -> None:
        """Cut the connection."""
        ...


class StreamExchange:
    """
    One request and its reply; the writer that the handler is given.

    Args:
        shared: What all connections share.
        wire: The connection.
        head: Of the request.
        request: What the handler is given.
        body: Comes by pieces.
    """

    def __init__(
        self, shared: Shared, wire: Wire, head: Head, request: Request, body: StreamBody
    ) -> None:
        self._shared = shared
        self._wire = wire
        self._head = head
        self._request = request
        self._body = body
        self._status = 0
        # What the client was told; it sends its next request where it was told nothing.
        self._last = False
        self._began = monotonic()
        self._silent = head.method == "HEAD"

    async def run(self) -> None:
        """Have the request answered to the end."""
        route = self._head.route
        assert route is not None
        assert route.stream is not None
        if self._head.expects:
            self._wire.send(CONTINUE)
        try:
            await route.stream(self._request, self._body, self)
        except BaseException as exc:  # noqa: BLE001 a handler may raise anything, even to panic
            self._fail(exc)
        else:
            self._finish()

    def start(
        self,
        status: int = 200,
        media_type: str = JSON_TYPE,
        headers: tuple[tuple[str, str], ...] = (),
    ) -> None:
        """Send the head of the reply."""
        if self._status:
            raise RuntimeError("the reply was started before")
        self._status = status
        self._last = not self._head.keep_alive or self._shared.draining
        head = self._shared.reply_heads.of_stream(
            Response(status, b"", media_type, headers),
            self._request.id,
            monotonic(),
            chunked=self._head.modern,
            close=self._last,
        )
        self._wire.send(head)

    async def write(self, data: bytes) -> None:
        """Send more of the body, and wait until the client has kept up."""
        if not self._status:
            self.start()
        if data and not self._silent:
            self._wire.send(chunk(data) if self._head.modern else data)
        await self._wire.drained()

    def _finish(self) -> None:
        if not self._status:
            self.start()
        if self._head.modern and not self._silent:
            self._wire.send(LAST_CHUNK)
        self._note()
        self._wire.released(reusable=self._body.complete and not self._last)

    def _fail(self, exc: BaseException) -> None:
        if self._status or isinstance(exc, ConnectionError):
            self._request.notes["cut"] = type(exc).__name__
            if not isinstance(exc, ConnectionError):
                self._shared.failed(exc, self._request)
            self._status = self._status or 499
            self._note()
            self._wire.abort()
            return
        response = self._shared.failed(exc, self._request)
        head = self._head if self._body.complete else self._head.refused(None)
        self._wire.reply(head, self._request, response, self._began)

    def _note(self) -> None:
        now = monotonic()
        route = self._head.route
        label = "" if route is None else route.label
        request = self._request
        self._shared.note(
            (now, request.id, request.method, label, self._status, now - self._began, request.notes)
        )
