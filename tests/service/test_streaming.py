"""Bodies and replies by pieces, held up from either side."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from functools import partial

import pytest

from tests.service.running import WAIT_S, Running
from tests.service.wire import JSON_HEADER, Wire, chunked, request


@pytest.fixture(scope="module", params=["uvloop", "asyncio"])
def server(request: pytest.FixtureRequest) -> Iterator[Running]:
    absent = () if request.param == "uvloop" else ("uvloop",)
    with Running.app(absent=absent) as running:
        yield running


def test_body_of_a_stream_has_no_limit_of_size(server: Running) -> None:
    size = 8 * 1024 * 1024
    with Wire(server) as wire:
        reply = wire.send(request(path="/count", body=b"x" * size)).reply()
        after = wire.send(request()).reply()

    assert (200, str(size).encode()) == (reply.status, reply.body)
    assert 1 < int(reply.headers["x-pieces"])
    assert 200 == after.status


def test_reply_comes_while_the_body_is_sent(server: Running) -> None:
    with Wire(server) as wire:
        wire.send(chunked(b"one", path="/mirror")[:-5])
        head = wire._until(b"\r\n\r\n")
        first = wire._until(b"one\r\n")
        wire.send(b"3\r\ntwo\r\n0\r\n\r\n")
        rest = wire._until(b"0\r\n\r\n")

    assert b"200 OK" in head
    assert (b"3\r\none\r\n", b"3\r\ntwo\r\n0\r\n\r\n") == (first, rest)


def test_reply_is_not_made_faster_than_it_is_read(server: Running) -> None:
    """A client that sends without reading is held up, and then gets everything."""
    size = 24 * 1024 * 1024
    sent = threading.Event()

    def send(wire: Wire) -> None:
        wire.send(request(path="/mirror", body=b"x" * size))
        sent.set()

    with Wire(server) as wire:
        sending = threading.Thread(target=send, args=(wire,))
        sending.start()
        held_up = not sent.wait(0.5)
        reply = wire.reply()
        sending.join(WAIT_S)

    assert held_up
    assert size == len(reply.body)


def test_fault_before_the_reply_is_a_problem(server: Running) -> None:
    with Wire(server) as wire:
        reply = wire.send(request(path="/early-stream")).reply()
        after = wire.send(request()).reply()

    assert (422, "wrong_shape", 200) == (reply.status, reply.json["code"], after.status)


def test_panic_before_the_reply_is_500(server: Running) -> None:
    with Wire(server) as wire:
        reply = wire.send(request(path="/panicking-stream")).reply()

    assert (500, "internal") == (reply.status, reply.json["code"])
    assert "secret" not in reply.body.decode() + server.output()


def test_problem_before_the_body_came_ends_the_connection(server: Running) -> None:
    with Wire(server) as wire:
        reply = wire.send(request(path="/early-stream", body=b"x" * 100)[:-1]).reply()

        assert (422, "close") == (reply.status, reply.headers["connection"])
        assert wire.ended()


def test_fault_within_a_reply_cuts_it(server: Running) -> None:
    """Half a reply is never taken for a whole."""
    with Wire(server) as wire, pytest.raises(ConnectionError):
        wire.send(request(path="/broken-stream")).reply()

    server.logged(event="failed", error="KeyError")
    assert "secret" not in server.output()


def test_fault_within_a_reply_to_old_http_is_a_reset(server: Running) -> None:
    """There, the end of the connection alone would be the end of the reply."""
    old = b"POST /broken-stream HTTP/1.0\r\nContent-Type: application/json\r\n\r\n"
    with Wire(server) as wire:
        receive = partial(wire.send(old).socket.recv, 1000)

        with pytest.raises(ConnectionResetError):
            b"".join(iter(receive, b""))


def test_bytes_that_are_no_chunks_are_400(server: Running) -> None:
    head = f"POST /count HTTP/1.1\r\nHost: x\r\n{JSON_HEADER}Transfer-Encoding: chunked\r\n\r\n"
    with Wire(server) as wire:
        reply = wire.send(head.encode() + b"3\r\nabc\r\nzz\r\n").reply()

        assert (400, "bad_request") == (reply.status, reply.json["code"])
        assert wire.ended()


def test_body_cut_short_is_told_to_the_handler(server: Running) -> None:
    for half in (True, False):
        with Wire(server) as wire:
            mark = f"X-Request-Id: cut-{half}\r\n"
            wire.send(request(path="/count", body=b"x" * 100, headers=JSON_HEADER + mark)[:-1])
            if half:
                wire.half_close()
                assert b"" == wire.rest()
        logged = server.logged(event="request", id=f"cut-{half}")
        assert "ConnectionResetError" == logged["cut"]


def test_type_that_the_route_names_will_do(server: Running) -> None:
    with Wire(server) as wire:
        text = wire.send(request(path="/count", headers="Content-Type: text/plain\r\n")).reply()
        other = wire.send(request(path="/count", headers="Content-Type: text/css\r\n")).reply()

    assert (200, 415) == (text.status, other.status)
