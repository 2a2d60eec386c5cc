"""A client that sends bytes as they are and reads replies one by one."""

from __future__ import annotations

import errno
import socket
from typing import Self

from tests.service.running import WAIT_S, Reply, Running

JSON_HEADER = "Content-Type: application/json\r\n"


def request(
    method: str = "POST", path: str = "/echo", body: bytes = b"{}", headers: str = JSON_HEADER
) -> bytes:
    """A request in HTTP/1.1, with the length of its body."""
    head = f"{method} {path} HTTP/1.1\r\nHost: test\r\n{headers}Content-Length: {len(body)}\r\n\r\n"
    return head.encode("latin-1") + body


def chunked(*pieces: bytes, path: str = "/echo", headers: str = JSON_HEADER) -> bytes:
    """A POST whose body comes in these chunks."""
    head = f"POST {path} HTTP/1.1\r\nHost: test\r\n{headers}Transfer-Encoding: chunked\r\n\r\n"
    chunks = b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces)
    return head.encode("latin-1") + chunks + b"0\r\n\r\n"


class Wire:
    """One connection."""

    def __init__(self, server: Running) -> None:
        self.socket = server.connect()
        self.socket.settimeout(WAIT_S)
        self._data = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def send(self, data: bytes) -> Self:
        self.socket.sendall(data)
        return self

    def half_close(self) -> Self:
        """Say that nothing more is sent, unless the server has ended the connection."""
        try:
            self.socket.shutdown(socket.SHUT_WR)
        except OSError as exc:
            if exc.errno != errno.ENOTCONN:
                raise
        return self

    def reply(self, *, head_only: bool = False) -> Reply:
        """The next reply, whole."""
        head = self._until(b"\r\n\r\n").decode("latin-1")
        first, *lines = head.rstrip("\r\n").split("\r\n")
        pairs = [line.partition(": ") for line in lines]
        headers = {name.lower(): value for name, _, value in pairs}
        assert len(headers) == len(pairs), f"a header twice: {head}"
        status = int(first.split(" ")[1])
        if head_only or status in {100, 204, 304}:
            return Reply(status, headers, b"")
        if headers.get("transfer-encoding") == "chunked":
            return Reply(status, headers, self._chunks())
        if "content-length" in headers:
            return Reply(status, headers, self._exactly(int(headers["content-length"])))
        return Reply(status, headers, self.rest())

    def rest(self) -> bytes:
        """Everything up to the end of the connection."""
        while piece := self._receive():
            self._data += piece
        rest, self._data = self._data, b""
        return rest

    def ended(self) -> bool:
        """The server has closed, and sent nothing more; waits for it."""
        return self.rest() == b""

    def _receive(self) -> bytes:
        try:
            return self.socket.recv(65_536)
        except ConnectionResetError:
            return b""

    def _until(self, end: bytes) -> bytes:
        while end not in self._data:
            piece = self._receive()
            if not piece:
                raise ConnectionError(f"closed after {self._data[:200]!r}")
            self._data += piece
        at = self._data.index(end) + len(end)
        found, self._data = self._data[:at], self._data[at:]
        return found

    def _exactly(self, size: int) -> bytes:
        parts, have = [self._data], len(self._data)
        while have < size:
            piece = self._receive()
            if not piece:
                raise ConnectionError(f"closed after {have} of {size} bytes")
            parts.append(piece)
            have += len(piece)
        whole = b"".join(parts)
        self._data = whole[size:]
        return whole[:size]

    def _chunks(self) -> bytes:
        pieces = []
        while size := int(self._until(b"\r\n"), 16):
            pieces.append(self._exactly(size))
            assert self._exactly(2) == b"\r\n"
        assert self._exactly(2) == b"\r\n"
        return b"".join(pieces)
