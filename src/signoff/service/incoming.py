"""
Requests out of bytes: what the parser finds, within the limits of size.

The parser is llhttp's in its strict mode: two lengths, a length beside chunks, folded
headers, bare line feeds and the like are errors, after which nothing is read any more.
"""

from __future__ import annotations

from enum import IntEnum
from time import monotonic
from typing import Final, Protocol

from httptools import (
    HttpParserCallbackError,
    HttpParserError,
    HttpParserUpgrade,
    HttpRequestParser,
)

from signoff.service.head import Head, too_large
from signoff.service.message import Problem
from signoff.service.problem import busy, internal
from signoff.service.shared import Shared
from signoff.service.stream import StreamBody

__all__ = ["Incoming", "Listener", "Receiving"]

# A body that is not wanted is read to its end if it is this small, to keep the connection.
MAX_DISCARDED: Final = 64 * 1024
_LETTERS: Final = range(ord("A"), ord("Z") + 1)


class Receiving(IntEnum):
    """Where in a request the client is."""

    NOTHING = 0
    HEAD = 1
    BODY = 2


class Listener(Protocol):
    """Who is told of requests, in the order in which they came."""

    def on_request(self, head: Head, body: bytes) -> None:
        """A request came in full."""
        ...

    def on_stream(self, head: Head, body: StreamBody) -> None:
        """A head came, and its body will come by pieces."""
        ...

    def on_refusal(self, head: Head) -> None:
        """A request came that is refused; its body is not kept."""
        ...

    def on_wait(self) -> None:
        """The client waits for leave to send a body."""
        ...


class Incoming:
    """
    The receiving side of one connection.

    Attributes:
        receiving: Where in a request the client is.
        since: When that began; on a stream, when the last piece came.
        deaf: Nothing more is read: what would follow could not be told apart, or is not wanted.
    """

    __slots__ = (
        "_discarding",
        "_head",
        "_head_size",
        "_headers",
        "_listener",
        "_parser",
        "_parts",
        "_raw",
        "_shared",
        "_silent",
        "_size",
        "_staying",
        "_stream",
        "_url",
        "deaf",
        "receiving",
        "since",
    )

    def __init__(self, shared: Shared, listener: Listener) -> None:
        self._shared = shared
        self._listener = listener
        self._parser = HttpRequestParser(self)
        self._raw: bytes | None = None
        self._silent = 0
        self._staying = False
        self._stream: StreamBody | None = None
        self._head: Head | None = None
        self._parts: list[bytes] = []
        self._size = 0
        self._reset()
        self.receiving: int = Receiving.NOTHING
        self.since = 0.0
        self.deaf = False

    def feed(self, data: bytes) -> None:
        """Take what came."""
        # Only from the first byte on are these bytes the whole of a head.
        whole = self.receiving == Receiving.NOTHING and data[0] in _LETTERS
        self._raw = data if whole else None
        self._silent += len(data)
        while data and not self.deaf:
            try:
                self._parser.feed_data(data)
                break
            except HttpParserUpgrade as upgrade:
                data, self._raw = data[upgrade.args[0] :], None
                self._stay()
            except HttpParserCallbackError as exc:
                self._shared.worker.log("failed", "error", error=type(exc.__context__).__name__)
                self._break(internal())
            except HttpParserError as exc:
                self._break(Problem(400, "bad_request", f"not HTTP/1.1: {str(exc).lower()[:100]}"))
        self._raw = None
        if self._silent > self._shared.settings.head_bytes and self.receiving and not self.deaf:
            self._break(_too_long(self._shared.settings.head_bytes))

    def late(self) -> None:
        """Refuse what has not come in time."""
        if self.deaf:
            return
        if self.receiving == Receiving.HEAD:
            self._break(Problem(408, "read_timeout", "the headers did not arrive in time"))
        else:
            self._break(Problem(408, "read_timeout", "the body did not arrive in time"))

    def lose(self) -> None:
        """Know that nothing will come any more."""
        self.deaf = True
        self._let_go()
        if self._stream is not None:
            self._stream.fail(ConnectionResetError("the client is gone"))
            self._stream = None

    # What the parser calls.

    def on_message_begin(self) -> None:
        """The first byte of a request came."""
        if self._staying:
            return
        self.receiving = Receiving.HEAD
        self.since = monotonic()
        self._reset()

    def on_url(self, url: bytes) -> None:
        """Some of the target came."""
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header came; one after the body changes nothing."""
        if self.receiving != Receiving.HEAD or self._staying:
            return
        self._head_size += len(name) + len(value) + 4
        if self._head_size > self._shared.settings.head_bytes:
            return  # it is refused anyway
        name = name.lower()
        if name in self._headers:
            value = self._headers[name] + b", " + value
        self._headers[name] = value

    def on_headers_complete(self) -> None:
        """A head came, which decides what becomes of the body."""
        if self.deaf or self._staying:
            self._staying = False
            return
        self.receiving = Receiving.BODY
        self.since = monotonic()
        self._silent = 0
        head = self._judged()
        self._head = head
        if head.refusal is not None:
            self._refuse(head)
        elif head.route is not None and head.route.stream is not None:
            self._stream = StreamBody()
            self._listener.on_stream(head, self._stream)
        elif head.expects and head.length:
            self._listener.on_wait()
        elif self._raw is not None:
            end = self._raw.find(b"\r\n\r\n") + 4
            self._shared.heads.keep(self._raw[:end], head)
        self._raw = None

    def on_body(self, data: bytes) -> None:
        """A piece of a body came."""
        self._silent = 0
        if self.deaf or self._discarding:
            return
        if self._stream is not None:
            self.since = monotonic()
            self._stream.feed(data)
            return
        self._size += len(data)
        self._shared.held_bytes += len(data)
        head = self._head
        if head is None or head.route is None:
            return
        if self._size > head.route.max_body:
            self._refuse(head.refused(too_large(head.route)))
        elif self._shared.held_bytes > self._shared.settings.body_memory:
            self._refuse(head.refused(busy()))
        else:
            self._parts.append(data)

    def on_message_complete(self) -> None:
        """A request came in full."""
        if self._parser.should_upgrade():
            return
        self.receiving = Receiving.NOTHING
        self._silent = 0
        head = self._head
        if self.deaf or head is None:
            return
        stream, self._stream = self._stream, None
        # What a client sends after it has said that this is the last is not read.
        self.deaf = not head.keep_alive
        if stream is not None:
            stream.end()
        elif not self._discarding:
            parts = self._parts
            self._let_go()
            self._listener.on_request(head, parts[0] if len(parts) == 1 else b"".join(parts))

    def _stay(self) -> None:
        """
        Read on as if no other protocol had been asked for, because none is spoken here.

        The parser takes the body for that other protocol; a new one is told how long it is.
        """
        head = self._head
        if head is None or self.deaf:
            return
        length = b"Transfer-Encoding: chunked"
        if head.length >= 0:
            length = b"Content-Length: %d" % head.length
        self._parser = HttpRequestParser(self)
        self._staying = True
        self._parser.feed_data(b"POST / HTTP/1.1\r\n%b\r\n\r\n" % length)

    def _judged(self) -> Head:
        parser = self._parser
        head = self._shared.gate.judge(
            parser.get_method().decode(),
            self._url.decode("latin-1"),
            self._headers,
            version=parser.get_http_version(),
            keep_alive=parser.should_keep_alive(),
        )
        if self._head_size + len(self._url) > self._shared.settings.head_bytes:
            head.refusal, head.broken = _too_long(self._shared.settings.head_bytes), True
        if head.method == "CONNECT":
            head.broken = True  # what follows would not be HTTP
        return head

    def _refuse(self, head: Head) -> None:
        """Have a request refused; the connection goes on where little of a body is to come."""
        self._discarding = True
        self._let_go()
        goes_on = not (head.broken or head.expects) and 0 <= head.length <= MAX_DISCARDED
        if not (head.keep_alive and goes_on):
            head.keep_alive = False
            self.deaf = True
        self._listener.on_refusal(head)

    def _break(self, problem: Problem) -> None:
        """End the connection with a problem; what is under way gets it in place of its body."""
        self.deaf = True
        self._let_go()
        if self._stream is not None:
            self._stream.fail(problem)
            self._stream = None
            return
        if self.receiving != Receiving.BODY or self._head is None:
            self._listener.on_refusal(Head("", "", {}).refused(problem))
        elif self._discarding:  # it was refused before
            self._listener.on_refusal(self._head.refused(None))
        else:
            self._listener.on_refusal(self._head.refused(problem))

    def _let_go(self) -> None:
        """Hold no more of a body."""
        self._shared.held_bytes -= self._size
        self._size = 0
        self._parts = []

    def _reset(self) -> None:
        self._url = b""
        self._headers: dict[bytes, bytes] = {}
        self._head_size = 0
        self._head = None
        self._parts = []
        self._size = 0
        self._discarding = False


def _too_long(limit: int) -> Problem:
    return Problem(
        431, "headers_too_large", f"the request line and headers are longer than {limit} bytes"
    )
