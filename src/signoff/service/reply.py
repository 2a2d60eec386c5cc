"""Replies as bytes: what does not change within a second is put together once."""

from __future__ import annotations

import time
from email.utils import formatdate
from typing import Final

from signoff.service.message import Response
from signoff.service.problem import title

__all__ = ["CONTINUE", "LAST_CHUNK", "ReplyHeads", "chunk"]

CONTINUE: Final = b"HTTP/1.1 100 Continue\r\n\r\n"
LAST_CHUNK: Final = b"0\r\n\r\n"
# A reply with one of these statuses has no body, and says nothing about its length.
BODILESS: Final = frozenset({204, 304})
MAX_KEPT: Final = 256
_UNSAFE: Final = str.maketrans("", "", "\r\n\0")


class ReplyHeads:
    """Heads of replies, with a date that is right to the second."""

    def __init__(self) -> None:
        self._kept: dict[tuple[int, str], bytes] = {}
        self._until = 0.0

    def of(self, response: Response, request_id: str, now: float, *, close: bool) -> bytes:
        """
        A whole head, with the length of the body.

        Args:
            response: What is sent.
            request_id: Of the request.
            now: The monotonic clock.
            close: The connection ends with this reply.
        """
        start = self._start(response.status, response.media_type, now)
        if not response.headers and not close and response.status not in BODILESS:
            return b"%b%b\r\nContent-Length: %d\r\n\r\n" % (
                start,
                request_id.encode(),
                len(response.body),
            )
        lines = [start, request_id.encode(), b"\r\n", _lines(response.headers)]
        if response.status not in BODILESS:
            lines.append(b"Content-Length: %d\r\n" % len(response.body))
        if close:
            lines.append(b"Connection: close\r\n")
        lines.append(b"\r\n")
        return b"".join(lines)

    def of_stream(
        self, response: Response, request_id: str, now: float, *, chunked: bool, close: bool
    ) -> bytes:
        """The head of a reply whose length is not known."""
        return b"".join(
            (
                self._start(response.status, response.media_type, now),
                request_id.encode(),
                b"\r\n",
                _lines(response.headers),
                b"Transfer-Encoding: chunked\r\n" if chunked else b"",
                b"Connection: close\r\n" if close else b"",
                b"\r\n",
            )
        )

    def _start(self, status: int, media_type: str, now: float) -> bytes:
        """Everything up to the request's id."""
        if now >= self._until:
            self._kept.clear()
            wall = time.time()
            self._until = now + 1.0 - wall % 1.0
        start = self._kept.get((status, media_type))
        if start is None:
            if len(self._kept) >= MAX_KEPT:
                self._kept.clear()
            stated = f"Content-Type: {media_type.translate(_UNSAFE)}\r\n"
            start = (
                f"HTTP/1.1 {status} {title(status)}\r\nDate: {formatdate(usegmt=True)}\r\n"
                f"{stated if media_type else ''}X-Request-Id: "
            ).encode("latin-1")
            self._kept[status, media_type] = start
        return start


def chunk(data: bytes) -> bytes:
    """A piece of a body whose length is not known; it must not be empty."""
    return b"%x\r\n%b\r\n" % (len(data), data)


def _lines(headers: tuple[tuple[str, str], ...]) -> bytes:
    """Header lines; what would begin another line is left out of them."""
    lines = (f"{name}: {value}".translate(_UNSAFE) + "\r\n" for name, value in headers)
    return "".join(lines).encode("latin-1", "replace")
