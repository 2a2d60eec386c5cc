"""Clients that take their time: each limit ends what it is about, and nothing else."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.service.running import WAIT_S, Running
from tests.service.wire import JSON_HEADER, Wire, request

LIMITS: dict[str, Any] = {
    "head_timeout_s": 0.6,
    "body_timeout_s": 0.6,
    "idle_timeout_s": 1.2,
    "write_timeout_s": 1.0,
}


@pytest.fixture(scope="module", params=["uvloop", "asyncio"])
def server(request: pytest.FixtureRequest) -> Iterator[Running]:
    absent = () if request.param == "uvloop" else ("uvloop",)
    with Running.app(absent=absent, **LIMITS) as running:
        yield running


def drip(wire: Wire, data: bytes, stop: threading.Event) -> None:
    """Send byte by byte until told to stop, or until nobody listens."""
    for at in range(len(data)):
        if stop.wait(0.02):
            return
        try:
            wire.socket.send(data[at : at + 1])
        except OSError:
            return


@pytest.mark.parametrize("sent", [b"G", b"POST /echo HTTP/1.1\r\nHost: x\r\n", b"\r\nG"])
def test_headers_that_never_end_are_408(server: Running, sent: bytes) -> None:
    """Acceptance row 17: slow headers."""
    with Wire(server) as wire:
        reply = wire.send(sent).reply()

        assert (408, "read_timeout") == (reply.status, reply.json["code"])
        assert wire.ended()


@pytest.mark.parametrize("path", ["/echo", "/count"])
def test_body_that_never_ends_is_408(server: Running, path: str) -> None:
    """Acceptance row 17: slow body."""
    with Wire(server) as wire:
        reply = wire.send(request(path=path, body=b"x" * 100)[:-1]).reply()

        assert (408, "read_timeout") == (reply.status, reply.json["code"])
        assert wire.ended()


@pytest.mark.parametrize("what", ["head", "body"])
def test_drip_of_bytes_gains_no_time(server: Running, what: str) -> None:
    """Acceptance row 17: slow headers and slow body, a byte at a time."""
    whole = request(body=b"x" * 1000)
    at = 0 if what == "head" else whole.index(b"\r\n\r\n") + 4
    stop = threading.Event()
    with Wire(server) as wire:
        wire.send(whole[:at])
        dripping = threading.Thread(target=drip, args=(wire, whole[at:], stop))
        dripping.start()
        began = time.monotonic()
        try:
            reply = wire.reply()
        finally:
            stop.set()
            dripping.join(WAIT_S)

    assert 408 == reply.status
    assert 5 > time.monotonic() - began


def test_stream_may_take_longer_than_any_piece(server: Running) -> None:
    head = f"POST /count HTTP/1.1\r\nHost: x\r\n{JSON_HEADER}Content-Length: 60\r\n\r\n"
    stop = threading.Event()
    began = time.monotonic()
    with Wire(server) as wire:
        wire.send(head.encode())
        drip(wire, b"x" * 60, stop)
        reply = wire.reply()

    assert (200, b"60") == (reply.status, reply.body)
    assert LIMITS["body_timeout_s"] < time.monotonic() - began


def test_idle_connection_is_closed_without_a_word(server: Running) -> None:
    with Wire(server) as fresh, Wire(server) as used:
        assert 200 == used.send(request()).reply().status
        assert fresh.ended()
        assert used.ended()


def test_empty_lines_do_not_keep_a_connection(server: Running) -> None:
    with Wire(server) as wire:
        assert wire.send(b"\r\n").ended()


def test_slow_answer_is_waited_for(server: Running) -> None:
    with Wire(server) as wire:
        wire.send(request(path="/held", body=b"slow", headers=JSON_HEADER + "X-Request-Id: s1\r\n"))
        server.logged(event="held", id="s1")
        with Wire(server) as idle:
            assert idle.ended()  # by then every limit of the first one would have passed
        server.request("POST", "/release", b"{}")
        reply = wire.reply()

    assert (200, b"slow") == (reply.status, reply.body)


def test_late_request_behind_a_slow_answer_is_refused_once(server: Running) -> None:
    with Wire(server) as wire:
        slow = request(path="/held", body=b"1", headers=JSON_HEADER + "X-Request-Id: s2\r\n")
        wire.send(slow + b"POST /echo HTTP/1.1\r\n")
        server.logged(event="held", id="s2")
        with Wire(server) as idle:
            assert idle.ended()  # by then the limit of the second one has passed many times
        server.request("POST", "/release", b"{}")
        statuses = [wire.reply().status, wire.reply().status]

        assert [200, 408] == statuses
        assert wire.ended()


def test_client_that_never_reads_is_cut(server: Running) -> None:
    with Wire(server) as wire:
        wire.send(request("GET", "/big", b"", "X-Request-Id: never\r\n") * 20)
        server.logged(event="request", id="never")
        with Wire(server) as other:
            assert other.ended()
            assert 200 == server.request("GET", "/health").status
        received = 0
        while piece := wire.socket.recv(1 << 20) if received < 80_000_000 else b"":
            received += len(piece)

    assert 80_000_000 > received


def test_client_that_reads_slowly_gets_everything(server: Running) -> None:
    with Wire(server) as wire:
        wire.send(request("GET", "/big", b"", "Connection: close\r\n"))
        received, stop = 0, threading.Event()
        while piece := wire.socket.recv(100_000):
            received += len(piece)
            stop.wait(0.03)

    assert 4_000_000 < received


def test_endless_stream_ends_with_its_client(server: Running) -> None:
    with Wire(server) as wire:
        wire.send(request("GET", "/endless", b"", "X-Request-Id: endless\r\n"))
        wire.socket.recv(100_000)
    logged = server.logged(event="request", id="endless")

    assert "cut" in logged


def test_endless_stream_ends_when_nobody_reads_it(server: Running) -> None:
    with Wire(server) as wire:
        wire.send(request("GET", "/endless", b"", "X-Request-Id: unread\r\n"))
        logged = server.logged(event="request", id="unread")

    assert "cut" in logged
