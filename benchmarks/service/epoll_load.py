"""
The generator of load where there is no cargo: as generator/src/main.rs, and slower.

epoll_load.py HOST:PORT TARGET BODIES CONNECTIONS SECONDS FIRST
"""

from __future__ import annotations

import json
import select
import socket
import sys
from pathlib import Path
from time import perf_counter
from typing import Final

__all__ = ["Connection", "Template", "run"]

SLOT: Final = b"cand-000000000000"
DIGITS: Final = 12
GRACE_S: Final = 20.0


class Template:
    """A whole request, whose number is filled in each time."""

    def __init__(self, address: str, target: str, body: bytes) -> None:
        before, slot, after = body.partition(SLOT)
        if not slot:
            raise ValueError("a body has no slot for the number")
        head = (
            f"POST {target} HTTP/1.1\r\nHost: {address}\r\nAccept: */*\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        self._before = head.encode() + before + SLOT[:-DIGITS]
        self._after = after

    def request(self, number: int) -> bytes:
        """The bytes of one request."""
        return b"%b%012d%b" % (self._before, number, self._after)


class Connection:
    """One that is kept open, with one request at a time."""

    def __init__(self, host: str, port: int) -> None:
        self._socket = socket.create_connection((host, port))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._received = b""
        self.sent_at = 0.0
        self.fileno = self._socket.fileno

    def ask(self, request: bytes) -> None:
        """Send a request."""
        self._received = b""
        self.sent_at = perf_counter()
        self._socket.sendall(request)

    def answered(self) -> bool | None:
        """Whether a whole reply is what was wanted; None while it is not whole."""
        try:
            data = self._socket.recv(65_536)
        except OSError:
            data = b""
        if not data:
            raise ConnectionError("the server has closed")
        self._received += data
        head, end, body = self._received.partition(b"\r\n\r\n")
        if not end or len(body) < _length(head):
            return None
        return head.startswith(b"HTTP/1.1 200 ") and b'"passed":true' in body


def run(
    connections: list[Connection], templates: list[Template], seconds: float, number: int
) -> dict[str, float]:
    """What was seen."""
    epoll, times, errors = select.epoll(), list[float](), 0
    waiting = {connection.fileno(): connection for connection in connections}
    begin = perf_counter()
    end = begin + seconds
    for connection in connections:
        connection.ask(templates[number % len(templates)].request(number))
        number += 1
        epoll.register(connection.fileno(), select.EPOLLIN)
    while waiting and perf_counter() < end + GRACE_S:
        for descriptor, _ in epoll.poll(0.1):
            connection = waiting[descriptor]
            try:
                answer = connection.answered()
                if answer is None:
                    continue
                now = perf_counter()
                errors += not answer
                times += [now - connection.sent_at] if answer else []
                if now < end:
                    connection.ask(templates[number % len(templates)].request(number))
                    number += 1
                    continue
            except OSError:
                errors += 1
            epoll.unregister(descriptor)
            del waiting[descriptor]
    return {
        "requests": len(times),
        "errors": errors + len(waiting),
        "seconds": perf_counter() - begin,
        "p50_s": _at(times, 0.5),
        "p99_s": _at(times, 0.99),
        "next": number,
    }


def _length(head: bytes) -> int:
    _, found, rest = head.lower().partition(b"content-length: ")
    return int(rest.split(b"\r\n", 1)[0]) if found else 0


def _at(times: list[float], share: float) -> float:
    return sorted(times)[int(len(times) * share)] if times else 0.0


def main(argv: list[str]) -> int:
    address, target, bodies, connections, seconds, first = argv
    host, _, port = address.rpartition(":")
    lines = Path(bodies).read_bytes().splitlines()
    seen = run(
        [Connection(host, int(port)) for _ in range(int(connections))],
        [Template(address, target, line) for line in lines],
        float(seconds),
        int(first),
    )
    print(json.dumps(seen))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
