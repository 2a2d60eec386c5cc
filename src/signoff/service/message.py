"""
What a handler is asked, what it answers, and how it says that it cannot.

Parts of the service are written against this module alone: none of them sees a
socket, a header that frames a message, or a time limit.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Final, Protocol

from msgspec import Struct

__all__ = [
    "BodyReader",
    "Handler",
    "Part",
    "Problem",
    "ReplyWriter",
    "Request",
    "Response",
    "Route",
    "StreamHandler",
]

JSON_TYPE: Final = "application/json"
NO_PARAMS: Final[Mapping[str, str]] = MappingProxyType({})


class Request:
    """
    One request, read in full unless its route is a stream.

    Attributes:
        method: As it was sent: ``HEAD`` stays ``HEAD`` where ``GET`` is answered.
        path: Raw, without the query; nothing is percent-decoded.
        query: Raw, without the question mark; ``""`` where there is none.
        headers: Names in lower case; values of a repeated name are joined by ``, ``.
        body: Everything that was sent; empty on a stream, whose reader gives it.
        peer: The address of the other side; ``""`` where there is none.
        id: What ``X-Request-Id`` says in the reply; the client's own where it will do.
        params: What stood in the ``{name}`` segments of the route's path.
        notes: Facts for the log line, put there by handlers; never payloads.
    """

    __slots__ = ("body", "headers", "id", "method", "notes", "params", "path", "peer", "query")

    def __init__(
        self,
        *,
        method: str = "GET",
        path: str = "/",
        query: str = "",
        headers: Mapping[bytes, bytes] = MappingProxyType({}),
        body: bytes = b"",
        peer: str = "",
        id: str = "",
        params: Mapping[str, str] = NO_PARAMS,
    ) -> None:
        self.method = method
        self.path = path
        self.query = query
        self.headers = headers
        self.body = body
        self.peer = peer
        self.id = id
        self.params = params
        self.notes: dict[str, object] = {}


class Response(Struct, frozen=True):
    """An answer; the server adds what frames it, ``Date`` and ``X-Request-Id``."""

    status: int
    body: bytes = b""
    media_type: str = JSON_TYPE
    headers: tuple[tuple[str, str], ...] = ()


class Problem(Exception):
    """
    An answer that says what is wrong, sent as ``application/problem+json``.

    Args:
        status: 400 to 599.
        code: A word that programs compare, such as ``wrong_shape``.
        detail: One sentence; at most 200 characters of it are the client's own.
        pointer: The JSON Pointer of the first fault, where one is known.
        errors: Faults one by one, each an object of plain JSON.
        headers: More header lines of the reply, such as ``Allow``.
    """

    def __init__(
        self,
        status: int,
        code: str,
        detail: str,
        *,
        pointer: str | None = None,
        errors: Sequence[Mapping[str, object]] = (),
        headers: tuple[tuple[str, str], ...] = (),
    ) -> None:
        super().__init__(status, code, detail)
        self.status = status
        self.code = code
        self.detail = detail
        self.pointer = pointer
        self.errors = errors
        self.headers = headers


class BodyReader(Protocol):
    """The body of a stream, by the pieces in which it arrives."""

    async def read(self) -> bytes:
        """
        The next piece; ``b""`` when the body has ended.

        Raises:
            Problem: Nothing came for the body's time limit (408).
            ConnectionError: The client is gone.
        """
        ...


class ReplyWriter(Protocol):
    """
    The reply of a stream, sent while it is made; it ends when the handler returns.

    A handler that raises before ``start`` is answered as any other.  One that raises
    after it has its connection cut, so that nobody takes half a reply for a whole.
    """

    def start(
        self,
        status: int = 200,
        media_type: str = JSON_TYPE,
        headers: tuple[tuple[str, str], ...] = (),
    ) -> None:
        """Send the head of the reply; once, and before anything is written."""
        ...

    async def write(self, data: bytes) -> None:
        """
        Send more of the body; returns when the client has kept up.

        Raises:
            ConnectionError: The client is gone, or took nothing for the body's time limit.
        """
        ...


Handler = Callable[[Request], Response | Awaitable[Response]]
StreamHandler = Callable[[Request, BodyReader, ReplyWriter], Awaitable[None]]


class Route(Struct, frozen=True, kw_only=True):
    """
    One method and path, and who answers them.

    Args:
        method: ``GET`` also answers ``HEAD``, with the same head and no body.
        path: Begins with a slash; a ``{name}`` segment is any one segment, the others are exact.
        handler: Answers at once where it is quick, else gives an awaitable.
        token: A token is asked for where the server has any.
        json: A body must be JSON by its content type (of POST, PUT and PATCH).
        types: Media types that a body may have besides JSON, in lower case.
        max_body: Bytes that a body may have; None for what the server allows.
        stream: Answers in place of ``handler``; its body has no limit of size.
    """

    method: str
    path: str
    handler: Handler | None = None
    token: bool = True
    json: bool = True
    types: tuple[str, ...] = ()
    max_body: int | None = None
    stream: StreamHandler | None = None


class Part(Protocol):
    """Something that is served: its routes, made inside the process that answers them."""

    @property
    def routes(self) -> Sequence[Route]:
        """Everything that this part answers."""
        ...

    async def start(self) -> None:
        """Get ready; no request comes before this has returned."""
        ...

    async def stop(self) -> None:
        """Let go of everything; no request comes after this was called."""
        ...
