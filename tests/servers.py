"""Real servers for tests: a script talks on every connection, and nothing outlives the test."""

from __future__ import annotations

import re
import socket
import ssl
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple, Self

WAIT_S = 10


class Request(NamedTuple):
    """What a client sent."""

    head: str
    body: bytes


class Talk:
    """One connection, from the server's side."""

    def __init__(self, connected: socket.socket, server: Server) -> None:
        self._socket = connected
        self._server = server
        self.ended = server.ended

    def request(self) -> Request | None:
        """The next request; None when the client has closed."""
        data = b""
        while b"\r\n\r\n" not in data:
            piece = self._socket.recv(65_536)
            if not piece:
                return None
            data += piece
        head, _, body = data.partition(b"\r\n\r\n")
        length = re.search(rb"content-length: *(\d+)", head, re.IGNORECASE)
        while length and len(body) < int(length[1]):
            piece = self._socket.recv(65_536)
            if not piece:
                return None
            body += piece
        found = Request(head.decode("latin-1"), body)
        self._server.requests.append(found)
        return found

    def send(self, data: bytes) -> None:
        self._socket.sendall(data)

    def wait(self) -> None:
        """Until the test is over."""
        self.ended.wait(WAIT_S)

    def drip(self, data: bytes, *, every_s: float = 0.01) -> None:
        """Byte by byte, until the test is over."""
        for at in range(len(data)):
            if self.ended.wait(every_s):
                return
            self.send(data[at : at + 1])


Script = Callable[[Talk], None]


class Server:
    """A TCP server on this machine; ``requests`` and ``connections`` say what it met."""

    def __init__(self, script: Script, *, tls: ssl.SSLContext | None = None) -> None:
        self._script = script
        self._tls = tls
        self._threads: list[threading.Thread] = []
        self._open: list[socket.socket] = []
        self.ended = threading.Event()
        self.requests: list[Request] = []
        self.connections = 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]

    @property
    def url(self) -> str:
        return f"http{'s' if self._tls else ''}://127.0.0.1:{self.port}/"

    def __enter__(self) -> Self:
        self._start(self._accept)
        return self

    def __exit__(self, *_: object) -> None:
        self.ended.set()
        with suppress(OSError), socket.socket() as waking:
            waking.connect(("127.0.0.1", self.port))
        for connected in self._open:
            with suppress(OSError):
                connected.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(WAIT_S)
        self._listener.close()

    def _start(self, target: Callable[[], None]) -> None:
        thread = threading.Thread(target=target, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            connected, _ = self._listener.accept()
            if self.ended.is_set():
                connected.close()
                return
            self.connections += 1
            self._open.append(connected)
            self._start(lambda connected=connected: self._talk(connected))  # type: ignore[misc]  # a default binds it now

    def _talk(self, connected: socket.socket) -> None:
        # A client that hangs up is what some tests are about.
        with suppress(OSError), connected:
            if self._tls is None:
                self._script(Talk(connected, self))
                return
            with self._tls.wrap_socket(connected, server_side=True) as secured:
                self._script(Talk(secured, self))


def message(body: bytes | str, *, status: str = "200 OK", headers: str = "") -> bytes:
    """A whole HTTP answer."""
    data = body.encode() if isinstance(body, str) else body
    head = f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\n"
    return f"{head}Content-Length: {len(data)}\r\n{headers}\r\n".encode() + data


def answering(answer: bytes) -> Script:
    """Every request on a connection gets the same bytes."""

    def script(talk: Talk) -> None:
        while talk.request() is not None:
            talk.send(answer)

    return script


def once(answer: bytes) -> Script:
    """One request is answered, and the connection closed."""

    def script(talk: Talk) -> None:
        if talk.request() is not None:
            talk.send(answer)

    return script
