"""Batches over sockets: answers while lines come, back-pressure both ways, and streams that are cut."""

from __future__ import annotations

import json
import select
import socket
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.service.native import CONTRACT, GOOD
from tests.service.running import WAIT_S, Running

LINE = json.dumps({"output": GOOD}).encode() + b"\n"
PASSED = b'"outcome":"passed"}\n'


@pytest.fixture(scope="module")
def server() -> Iterator[Running]:
    with Running.signoff("--max-body", "100000") as made:
        yield made


@pytest.fixture(scope="module")
def digest(server: Running) -> str:
    return str(
        server.post("/v1/contracts", CONTRACT, {"Content-Type": "application/json"}).json["digest"]
    )


def opened(server: Running, digest: str) -> socket.socket:
    """A connection on which a batch has begun, chunk by chunk."""
    made = server.connect()
    made.sendall(
        f"POST /v1/verify/batch?contract={digest} HTTP/1.1\r\nHost: localhost\r\n"
        "Content-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
    )
    return made


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


def received(connection: socket.socket, until: bytes) -> bytes:
    """What comes until that has come, or the end."""
    data = b""
    with suppress(ConnectionResetError):  # one of the ways in which it ends
        while until not in data and (piece := connection.recv(65_536)):
            data += piece
    return data


def answers(data: bytes) -> list[Any]:
    """The lines of a whole reply in chunks."""
    _, _, rest = data.partition(b"\r\n\r\n")
    body = b""
    while rest:
        size, _, rest = rest.partition(b"\r\n")
        length = int(size, 16)
        body, rest = body + rest[:length], rest[length + 2 :]
    return [json.loads(line) for line in body.splitlines()]


def memory(server: Running) -> int:
    """Bytes that the server has in memory."""
    text = Path(f"/proc/{server.process.pid}/status").read_text("utf-8")
    return int(text.partition("VmRSS:")[2].split()[0]) * 1024


def test_answer_comes_before_the_next_line_is_sent(server: Running, digest: str) -> None:
    with opened(server, digest) as connection:
        data = b""
        for number in range(1, 4):
            connection.sendall(chunk(LINE))
            data += received(connection, b'"line":%d,' % number)
        connection.sendall(b"0\r\n\r\n")
        data += received(connection, b"0\r\n\r\n")

    assert [1, 2, 3] == [one["line"] for one in answers(data)[:-1]]
    assert 3 == answers(data)[-1]["passed"]


def test_client_that_takes_nothing_is_held_up_and_loses_nothing(
    server: Running, digest: str
) -> None:
    """While it is held up the server takes little memory and answers others."""
    many = chunk(LINE * 1000)
    before = memory(server)
    with opened(server, digest) as connection:
        connection.setblocking(False)
        sent, rest, limit = 0, b"", 64 * 2**20
        while sent < limit and select.select([], [connection], [], 1.0)[1]:
            rest = rest or many
            written = connection.send(rest)
            sent, rest = sent + written, rest[written:]
        grown = memory(server) - before
        health = server.request("GET", "/health").status
        connection.setblocking(True)
        connection.settimeout(WAIT_S)
        count = (sent + len(rest)) // len(many) * 1000
        data = finished(connection, rest + b"0\r\n\r\n")

    assert sent < limit, "nothing held it up"
    assert grown < 32 * 2**20
    assert 200 == health
    found = answers(data)
    assert (count, count) == (found[-1]["lines"], found[-1]["passed"])
    assert [*range(1, count + 1)] == [one["line"] for one in found[:-1]]


def finished(connection: socket.socket, rest: bytes) -> bytes:
    """The reply, read while the rest is sent."""
    data = bytearray()
    while not data.endswith(b"\r\n0\r\n\r\n"):
        wants = [connection] if rest else []
        readable, writable, _ = select.select([connection], wants, [], WAIT_S)
        assert readable or writable, "it went no further"
        if writable:
            rest = rest[connection.send(rest[:65_536]) :]
        if readable:
            piece = connection.recv(65_536)
            assert piece, "it was cut"
            data += piece
    return bytes(data)


def test_others_are_answered_while_a_batch_is_judged(server: Running, digest: str) -> None:
    with opened(server, digest) as connection:
        for _ in range(20):
            connection.sendall(chunk(LINE * 200))
            assert 200 == server.request("GET", "/health").status
        data = finished(connection, b"0\r\n\r\n")

    assert 4000 == answers(data)[-1]["passed"]


@pytest.mark.parametrize("end", ["reset", "half"])
def test_stream_that_is_cut_ends_without_a_sum(server: Running, digest: str, end: str) -> None:
    with opened(server, digest) as connection:
        connection.sendall(chunk(LINE) + b"ff\r\n" + LINE)
        data = received(connection, PASSED)
        if end == "half":
            connection.shutdown(socket.SHUT_WR)
            data += received(connection, b"\r\n0\r\n\r\n")

    assert b'"lines"' not in data
    assert 200 == server.request("GET", "/health").status


def test_line_that_is_too_long_costs_no_memory(server: Running, digest: str) -> None:
    before = memory(server)
    with opened(server, digest) as connection:
        for _ in range(64):
            connection.sendall(chunk(b"x" * 2**20))
        data = finished(connection, chunk(b"\n" + LINE) + b"0\r\n\r\n")
    first, second, summary = answers(data)

    assert ("too_large", "passed") == (first["error"]["code"], second["outcome"])
    assert (1, 1) == (summary["errors"], summary["passed"])
    assert memory(server) - before < 32 * 2**20


@pytest.mark.parametrize(
    ("query", "status"),
    [("contract=sha256:" + "0" * 64, b"404"), ("", b"422"), ("contract=x&detail=all", b"422")],
)
def test_batch_that_cannot_begin_is_refused_before_its_body(
    server: Running, query: str, status: bytes
) -> None:
    with server.connect() as connection:
        connection.sendall(
            f"POST /v1/verify/batch?{query} HTTP/1.1\r\nHost: localhost\r\n"
            "Content-Type: application/x-ndjson\r\nContent-Length: 1000000\r\n\r\n".encode()
        )
        head = received(connection, b"\r\n\r\n")

    assert head.startswith(b"HTTP/1.1 " + status)
    assert b"application/problem+json" in head


def test_other_media_type_is_refused(server: Running, digest: str) -> None:
    path = f"/v1/verify/batch?contract={digest}"
    reply = server.request("POST", path, LINE, {"Content-Type": "text/plain"})

    assert (415, "unsupported_media_type") == (reply.status, reply.json["code"])


def test_batch_that_was_accepted_is_finished_when_the_server_is_told_to_stop() -> None:
    with Running.signoff() as server:
        found = server.post("/v1/contracts", CONTRACT).json["digest"]
        with opened(server, found) as connection:
            connection.sendall(chunk(LINE))
            data = received(connection, PASSED)
            server.process.terminate()
            server.logged(event="stopping")
            data += finished(connection, chunk(LINE * 10) + b"0\r\n\r\n")
        code = server.process.wait(WAIT_S)

    assert (0, 11) == (code, answers(data)[-1]["passed"])
