"""Requests as bytes on real sockets: what is answered, what is refused, and in which order."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.service.running import Running
from tests.service.wire import JSON_HEADER, Wire, chunked, request

MAX_BODY = 2 * 1024 * 1024
TOKEN = "a-token-of-the-tests"
CHUNKS = (
    f"POST /echo HTTP/1.1\r\nHost: x\r\n{JSON_HEADER}Transfer-Encoding: chunked\r\n\r\n".encode()
)


@pytest.fixture(scope="module", params=["uvloop", "asyncio"])
def server(request: pytest.FixtureRequest) -> Iterator[Running]:
    absent = () if request.param == "uvloop" else ("uvloop",)
    with Running.app(absent=absent) as running:
        yield running


def test_request_is_answered_with_its_length_and_an_id(server: Running) -> None:
    with Wire(server) as wire:
        reply = wire.send(request(body=b'{"a":1}')).reply()

    assert 200 == reply.status
    assert b'{"a":1}' == reply.body
    assert "application/json" == reply.headers["content-type"]
    assert reply.headers["x-request-id"]
    assert reply.headers["date"].endswith("GMT")


def test_own_request_id_is_kept_where_it_will_do(server: Running) -> None:
    with Wire(server) as wire:
        mine = wire.send(request(headers=JSON_HEADER + "X-Request-Id: a-1.B_2\r\n")).reply()
        bad = wire.send(request(headers=JSON_HEADER + "X-Request-Id: a b\r\n")).reply()
        long = wire.send(request(headers=JSON_HEADER + f"X-Request-Id: {'a' * 65}\r\n")).reply()

    assert "a-1.B_2" == mine.headers["x-request-id"]
    assert "a b" != bad.headers["x-request-id"]
    assert 65 > len(long.headers["x-request-id"])


def test_ids_differ(server: Running) -> None:
    with Wire(server) as wire:
        ids = {wire.send(request()).reply().headers["x-request-id"] for _ in range(20)}

    assert 20 == len(ids)


def test_head_is_answered_without_a_body(server: Running) -> None:
    with Wire(server) as wire:
        wire.send(b"HEAD /health HTTP/1.1\r\nHost: test\r\n\r\n")
        reply = wire.reply(head_only=True)
        again = wire.send(b"GET /health HTTP/1.1\r\nHost: test\r\n\r\n").reply()

    assert ("15", b"") == (reply.headers["content-length"], reply.body)
    assert b'{"status":"ok"}' == again.body


def test_reply_without_content_says_no_length(server: Running) -> None:
    with Wire(server) as wire:
        wire.send(b"GET /empty HTTP/1.1\r\nHost: test\r\n\r\n")
        reply = wire.reply()
        after = wire.send(request()).reply()

    assert (204, False) == (reply.status, "content-length" in reply.headers)
    assert 200 == after.status


def test_parameters_and_query_arrive_raw(server: Running) -> None:
    with Wire(server) as wire:
        wire.send(b"GET /items/a%2Fb/c?d=%20e?f HTTP/1.1\r\nHost: test\r\n\r\n")
        told = wire.reply().json

    assert {"name": "a%2Fb", "part": "c"} == told["params"]
    assert ("/items/a%2Fb/c", "d=%20e?f") == (told["path"], told["query"])


def test_target_may_name_the_server(server: Running) -> None:
    with Wire(server) as wire:
        reply = wire.send(b"GET http://test:1/health?x HTTP/1.1\r\nHost: test\r\n\r\n").reply()

    assert 200 == reply.status


@pytest.mark.parametrize(
    "target", ["/", "/health/", "//health", "/Health", "/items/a", "/items//b", "*", "/%68ealth"]
)
def test_unknown_path_is_404(server: Running, target: str) -> None:
    """Acceptance row 17: unknown path."""
    with Wire(server) as wire:
        reply = wire.send(request("GET", target, b"", "")).reply()

    assert (404, "not_found") == (reply.status, reply.json["code"])
    assert reply.json["request_id"] == reply.headers["x-request-id"]
    assert "application/problem+json" == reply.headers["content-type"]


@pytest.mark.parametrize(
    ("method", "path", "allow"),
    [
        ("GET", "/verify", "POST"),
        ("POST", "/health", "GET, HEAD"),
        ("OPTIONS", "/verify", "POST"),
        ("DELETE", "/items/a/b", "GET, HEAD"),
        ("TRACE", "/health", "GET, HEAD"),
    ],
)
def test_wrong_method_is_405_and_says_what_is_allowed(
    server: Running, method: str, path: str, allow: str
) -> None:
    """Acceptance row 17: wrong method."""
    with Wire(server) as wire:
        reply = wire.send(request(method, path, b"", "")).reply()

    assert (405, allow) == (reply.status, reply.headers["allow"])


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ("", 415),
        ("Content-Type: text/plain\r\n", 415),
        ("Content-Type: application/jsonx\r\n", 415),
        ("Content-Type: application/json, text/plain\r\n", 415),
        (JSON_HEADER * 2, 415),
        ("Content-Type: Application/JSON; charset=utf-8\r\n", 200),
        ("Content-Type: application/problem+json\r\n", 200),
        (JSON_HEADER + "Content-Encoding: identity\r\n", 200),
        (JSON_HEADER + "Content-Encoding: gzip\r\n", 415),
        (JSON_HEADER + "Content-Encoding: identity\r\nContent-Encoding: br\r\n", 415),
        (JSON_HEADER + "Origin: http://localhost\r\n", 403),
        (JSON_HEADER + "Origin: null\r\n", 403),
    ],
)
def test_headers_decide_before_the_body(server: Running, headers: str, status: int) -> None:
    """Acceptance row 17: content type, content encoding and origin."""
    with Wire(server) as wire:
        wire.send(request(body=b'{"a":1}', headers=headers))
        reply = wire.reply()
        after = wire.send(request()).reply()

    assert status == reply.status
    assert 200 == after.status


def test_first_of_several_reasons_is_told() -> None:
    """Section 5: path, method, origin, token, content type, content encoding, size."""
    bad = {
        "Origin": "x",
        "Authorization": "no",
        "Content-Type": "no",
        "Content-Encoding": "gzip",
        "Content-Length": "101",
    }
    good = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
    found = []
    with Running.app(tokens=(TOKEN,)) as server:
        for step in range(6):
            left = {**good, **dict(list(bad.items())[step:])}
            lines = "".join(f"{name}: {value}\r\n" for name, value in left.items())
            with Wire(server) as wire:
                wire.send(f"POST /small HTTP/1.1\r\nHost: x\r\n{lines}\r\n".encode())
                found.append(wire.reply().status if step < 5 else 0)
        with Wire(server) as wire:
            wire.send(b"GET /small HTTP/1.1\r\nHost: x\r\nOrigin: x\r\n\r\n")
            found.append(wire.reply().status)

    assert [403, 401, 415, 415, 413, 0, 405] == found


@pytest.mark.parametrize("stated", ["true", "chunked", "many chunks"])
@pytest.mark.parametrize("over", [0, 1])
def test_body_may_be_as_long_as_the_limit(server: Running, stated: str, over: int) -> None:
    """Acceptance row 17: a body of 2 MiB and one byte more, with and without Content-Length."""
    body = b"x" * (MAX_BODY + over)
    pieces = (
        [body]
        if stated == "chunked"
        else [body[at : at + 9999] for at in range(0, len(body), 9999)]
    )
    with Wire(server) as wire:
        wire.send(request(body=body) if stated == "true" else chunked(*pieces))
        reply = wire.reply()
        closed = over == 1 and wire.ended()

    assert ((413, True) if over else (200, False)) == (reply.status, closed)
    assert over or body == reply.body


def test_stated_length_alone_is_enough_to_refuse(server: Running) -> None:
    """Acceptance row 17: a false Content-Length is refused before any of the body came."""
    with Wire(server) as wire:
        head = f"POST /echo HTTP/1.1\r\nHost: x\r\n{JSON_HEADER}Content-Length: {10**15}\r\n\r\n"
        reply = wire.send(head.encode()).reply()

        assert (413, "close") == (reply.status, reply.headers["connection"])
        assert wire.ended()


def test_route_may_have_a_limit_of_its_own(server: Running) -> None:
    with Wire(server) as wire:
        fits = wire.send(request(path="/small", body=b"x" * 100)).reply()
        over = wire.send(request(path="/small", body=b"x" * 101)).reply()
        after = wire.send(request()).reply()

    assert (200, 413, 200) == (fits.status, over.status, after.status)


def test_body_longer_than_stated_is_the_next_request(server: Running) -> None:
    """Acceptance row 17: a false Content-Length."""
    with Wire(server) as wire:
        wire.send(request(body=b"abc") + b"more")
        first, second = wire.reply(), wire.reply()

        assert (200, b"abc") == (first.status, first.body)
        assert (400, "bad_request") == (second.status, second.json["code"])
        assert wire.ended()


def test_pipelined_requests_are_answered_in_order(server: Running) -> None:
    paths = ["/echo", "/later", "/nope", "/raises", "/later", "/count", "/small", "/mirror"] * 5
    sent = [b'{"n":%d}' % number for number in range(len(paths))]
    with Wire(server) as wire:
        wire.send(
            b"".join(request(path=path, body=body) for path, body in zip(paths, sent, strict=True))
        )
        replies = [wire.reply() for _ in paths]

    for path, body, reply in zip(paths, sent, replies, strict=True):
        if path in {"/echo", "/later", "/small", "/mirror"}:
            assert (200, body) == (reply.status, reply.body)
        elif path == "/count":
            assert (200, str(len(body)).encode()) == (reply.status, reply.body)
        else:
            assert {"/nope": 404, "/raises": 500}[path] == reply.status


def test_leave_to_send_a_body_is_given_after_the_early_checks(server: Running) -> None:
    expects = JSON_HEADER + "Expect: 100-continue\r\nContent-Length: 2\r\n\r\n"
    with Wire(server) as wire:
        go = wire.send(f"POST /echo HTTP/1.1\r\nHost: x\r\n{expects}".encode()).reply()
        reply = wire.send(b"{}").reply()
    with Wire(server) as wire:
        refused = wire.send(f"POST /nope HTTP/1.1\r\nHost: x\r\n{expects}".encode()).reply()

        assert wire.ended()
    assert (100, 200) == (go.status, reply.status)
    assert (404, "close") == (refused.status, refused.headers["connection"])


def test_leave_waits_for_the_replies_before_it(server: Running) -> None:
    expects = JSON_HEADER + "Expect: 100-continue\r\nContent-Length: 2\r\n\r\n"
    with Wire(server) as wire:
        wire.send(request(path="/later") + f"POST /echo HTTP/1.1\r\nHost: x\r\n{expects}".encode())
        statuses = [wire.reply().status, wire.reply().status]
        statuses.append(wire.send(b"{}").reply().status)

    assert [200, 100, 200] == statuses


def test_stream_gets_leave_to_send_too(server: Running) -> None:
    expects = JSON_HEADER + "Expect: 100-continue\r\nContent-Length: 2\r\n\r\n"
    with Wire(server) as wire:
        go = wire.send(f"POST /count HTTP/1.1\r\nHost: x\r\n{expects}".encode()).reply()
        reply = wire.send(b"{}").reply()

    assert (100, b"2") == (go.status, reply.body)


@pytest.mark.parametrize("path", ["/echo", "/later", "/count", "/verify"])
def test_half_closed_client_gets_its_answer(server: Running, path: str) -> None:
    """A client that sends no more still reads."""
    with Wire(server) as wire:
        reply = wire.send(request(path=path)).half_close().reply()

        assert 200 == reply.status
        assert wire.ended()


def test_half_closed_client_gets_all_its_answers(server: Running) -> None:
    with Wire(server) as wire:
        wire.send(request(path="/later", body=b"1") * 20 + request("GET", "/big", b"", ""))
        wire.half_close()
        statuses = [wire.reply().status for _ in range(21)]

        assert [200] * 21 == statuses
        assert wire.ended()


def test_half_closed_in_the_middle_of_a_request_ends(server: Running) -> None:
    with Wire(server) as wire:
        assert wire.send(request()[:-1]).half_close().ended()
    assert 200 == server.request("GET", "/health").status


def test_cut_connections_leave_the_server_well(server: Running) -> None:
    """Acceptance row 17: a connection cut in the middle of a body."""
    for path in ("/echo", "/later", "/count", "/mirror"):
        for sent in (1, 20, 60, 90):
            with Wire(server) as wire:
                wire.send(request(path=path, body=b"x" * 1000)[:sent])
    assert 200 == server.request("GET", "/health").status


def test_close_is_kept(server: Running) -> None:
    with Wire(server) as wire:
        wire.send(request(headers=JSON_HEADER + "Connection: close\r\n") + request())
        reply = wire.reply()

        assert (200, "close") == (reply.status, reply.headers["connection"])
        assert wire.ended()


def test_old_http_is_answered_and_closed(server: Running) -> None:
    with Wire(server) as wire:
        reply = wire.send(b"GET /health HTTP/1.0\r\n\r\n").reply()

        assert (200, "close") == (reply.status, reply.headers["connection"])
        assert wire.ended()


def test_stream_to_old_http_ends_with_the_connection(server: Running) -> None:
    with Wire(server) as wire:
        wire.send(b"POST /mirror HTTP/1.0\r\nContent-Type: application/json\r\n")
        reply = wire.send(b"Content-Length: 3\r\n\r\nabc").reply()

    assert (200, b"abc", False) == (reply.status, reply.body, "transfer-encoding" in reply.headers)


def test_upgrade_is_not_taken_up(server: Running) -> None:
    upgrade = "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n"
    with Wire(server) as wire:
        wire.send(request(headers=JSON_HEADER + upgrade, body=b"1"))
        wire.send(request("GET", "/health", b"", upgrade) + request(body=b"2"))
        bodies = [wire.reply().body for _ in range(3)]

    assert [b"1", b'{"status":"ok"}', b"2"] == bodies


@pytest.mark.parametrize(
    "sent",
    [
        b"nonsense\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"GET /health\r\n\r\n",
        b"GET /health HTTP/2.0\r\nHost: x\r\n\r\n",
        b"GET /health HTTP/1.1\r\n\r\n",
        b"GET /health HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n",
        b"GET /health HTTP/1.1\r\nHost: a/b\r\n\r\n",
        b"GET /health HTTP/1.1\r\nHost: a b\r\n\r\n",
        b"GET /health HTTP/1.1\nHost: x\n\n",
        b"GET /health HTTP/1.1\r\nHost : x\r\n\r\n",
        b"GET /health HTTP/1.1\r\nHost: x\r\n folded\r\n\r\n",
        b"GET /health HTTP/1.1\r\nHost: x\r\nA: b\x00c\r\n\r\n",
        b"GET /health HTTP/1.1\r\nHost: x\r\nA b: c\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"CONNECT x:80 HTTP/1.1\r\nHost: x\r\n\r\n",
        b"BREW /health HTTP/1.1\r\nHost: x\r\n\r\n",
        b"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\n{}",
        b"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
        b"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 2, 2\r\n\r\n{}",
        b"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: +2\r\n\r\n{}",
        b"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: -2\r\n\r\n{}",
        b"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 0x2\r\n\r\n{}",
        b"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999\r\n\r\n{}",
        b"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n",
        b"POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n\r\n",
        b"POST /echo HTTP/1.0\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked, identity\r\n\r\n",
        b"POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        b"POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
        CHUNKS + b"zz\r\n\r\n",
        CHUNKS + b"2\r\nabc\r\n0\r\n\r\n",
        CHUNKS + b"ffffffffffffffff1\r\n",
    ],
)
def test_what_two_readers_could_read_differently_is_refused(server: Running, sent: bytes) -> None:
    with Wire(server) as wire:
        reply = wire.send(sent).reply()

        assert "close" == reply.headers["connection"]
        assert wire.ended()
    assert reply.status in {400, 404, 415}
    assert 200 == server.request("GET", "/health").status


@pytest.mark.parametrize(
    "flood",
    [
        b"GET /" + b"a" * 17_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET /health HTTP/1.1\r\nHost: x\r\nA: " + b"a" * 17_000 + b"\r\n\r\n",
        b"GET /health HTTP/1.1\r\nHost: x\r\n" + b"A: b\r\n" * 3000 + b"\r\n",
        b"GET /health HTTP/1.1\r\nHost: x\r\nA: " + b"a" * 17_000,
        b"GET /health HTTP/1.1\r\nHost: x\r\nA: " + b"a" * 3_000_000,
        b"GET /" + b"a" * 17_000,
    ],
)
def test_too_much_before_a_body_is_431(server: Running, flood: bytes) -> None:
    """Acceptance row 17: header flood."""
    with Wire(server) as wire:
        reply = wire.send(flood).reply()

        assert (431, "headers_too_large") == (reply.status, reply.json["code"])
        assert wire.ended()


def test_headers_may_be_as_long_as_the_limit(server: Running) -> None:
    with Wire(server) as wire:
        wire.send(b"GET /health HTTP/1.1\r\nHost: x\r\nA: " + b"a" * 16_000 + b"\r\n\r\n")
        reply = wire.reply()

    assert 200 == reply.status


@pytest.mark.parametrize("flood", [b"3;" + b"x" * 40_000, b"0\r\nA: " + b"a" * 40_000])
def test_what_is_no_body_may_not_be_long_either(server: Running, flood: bytes) -> None:
    head = f"POST /echo HTTP/1.1\r\nHost: x\r\n{JSON_HEADER}Transfer-Encoding: chunked\r\n\r\n"
    with Wire(server) as wire:
        wire.send(head.encode())
        for at in range(0, len(flood), 1000):
            try:
                wire.send(flood[at : at + 1000])
            except ConnectionError:
                break
        reply = wire.reply()

    assert 431 == reply.status


def test_trailers_change_nothing(server: Running) -> None:
    with Wire(server) as wire:
        data = chunked(b"abc")[:-2] + b"Host: b\r\nContent-Type: text/plain\r\n\r\n"
        replies = [wire.send(data).reply() for _ in range(2)]

    assert [(200, b"abc")] * 2 == [(reply.status, reply.body) for reply in replies]


@pytest.mark.parametrize("path", ["/raises", "/raises-later", "/panics", "/panics-later"])
def test_fault_in_a_handler_is_500_and_says_nothing(server: Running, path: str) -> None:
    """Acceptance row 23: an exception planted in the server."""
    with Wire(server) as wire:
        reply = wire.send(request(path=path)).reply()
        after = wire.send(request()).reply()

    logged = server.logged(event="failed", id=reply.headers["x-request-id"])
    assert (500, "internal") == (reply.status, reply.json["code"])
    assert 200 == after.status
    assert logged["error"] in {"KeyError", "ValueError", "Panic"}
    assert "secret" not in reply.body.decode() + server.output()


@pytest.mark.parametrize("path", ["/panics", "/panics-later"])
@pytest.mark.parametrize(
    ("body", "error"), [(b"exits", "SystemExit"), (b"interrupts", "KeyboardInterrupt")]
)
def test_handler_cannot_end_the_server(server: Running, path: str, body: bytes, error: str) -> None:
    with Wire(server) as wire:
        reply = wire.send(request(path=path, body=body)).reply()
        after = wire.send(request()).reply()

    assert (500, "internal", 200) == (reply.status, reply.json["code"], after.status)
    server.logged(event="failed", id=reply.headers["x-request-id"], error=error)


def test_refusal_of_a_handler_is_told(server: Running) -> None:
    with Wire(server) as wire:
        reply = wire.send(request(path="/refuses")).reply()

    assert (422, "wrong_shape", "/a") == (reply.status, reply.json["code"], reply.json["pointer"])


def test_same_request_gets_the_same_body_a_hundred_times(server: Running) -> None:
    """Acceptance row 2: identical bodies."""
    with Wire(server) as wire:
        wire.send(request(path="/verify") * 100)
        bodies = {wire.reply().body for _ in range(100)}

    assert 1 == len(bodies)


def test_five_million_brackets_leave_the_server_well(server: Running) -> None:
    """Acceptance row 15: the server is still up."""
    with Wire(server) as wire:
        began = time.monotonic()
        reply = wire.send(request(path="/verify", body=b"[" * 5_000_000)[:200]).reply()
        elapsed_s = time.monotonic() - began

    assert 413 == reply.status
    assert 5 > elapsed_s
    assert 200 == server.request("GET", "/health").status


def test_bodies_that_have_not_come_in_full_have_a_limit_together() -> None:
    with Running.app(body_memory=1_000_000) as server, ExitStack() as wires:
        half = request(body=b"x" * 400_000)
        kept = [wires.enter_context(Wire(server)).send(half[:-1]) for _ in range(2)]
        for wire in kept:  # it is certain that both were read when a third is refused
            wire.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        third = wires.enter_context(Wire(server)).send(half).reply()
        finished = [wire.send(half[-1:]).reply().status for wire in kept]
        after = [wire.send(half).reply().status for wire in kept * 3]

    assert (503, "busy", "1") == (third.status, third.json["code"], third.headers["retry-after"])
    assert [200] * 8 == finished + after


def test_bodies_that_were_cut_are_held_no_longer() -> None:
    with Running.app(body_memory=1_000_000) as server:
        for _ in range(10):
            with Wire(server) as wire:
                wire.send(request(body=b"x" * 400_000)[:-1]).half_close().rest()
        whole = server.request("POST", "/echo", b"x" * 900_000)

    assert 200 == whole.status


REQUESTS = (
    request(body=b"one"),
    request(path="/later", body=b"two"),
    chunked(b"th", b"ree"),
    request("GET", "/health", b"", ""),
    request(path="/nope", body=b"x" * 50),
    request(path="/count", body=b"four"),
    b"\r\n" + request(body=b"five"),
    chunked(b"a", b"bc", path="/mirror"),
)
WHOLE = (
    (200, b"one"), (200, b"two"), (200, b"three"), (200, b'{"status":"ok"}'), (404, None),
    (200, b"4"), (200, b"five"), (200, b"abc"),
)  # fmt: skip


@settings(
    max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
@given(chosen=st.lists(st.integers(0, len(REQUESTS) - 1), min_size=1, max_size=12), data=st.data())
def test_replies_do_not_depend_on_where_bytes_are_cut(
    server: Running, chosen: list[int], data: st.DataObject
) -> None:
    """Law: any requests, cut anywhere, get the replies that they get one by one."""
    stream = b"".join(REQUESTS[number] for number in chosen)
    cuts = data.draw(st.lists(st.integers(0, len(stream)), max_size=8).map(sorted))
    with Wire(server) as wire:
        for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True):
            wire.send(stream[start:end])
        replies = [wire.reply() for _ in chosen]

    for number, reply in zip(chosen, replies, strict=True):
        status, body = WHOLE[number]
        assert (status, body or reply.body) == (reply.status, reply.body)


@settings(
    max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
@given(chosen=st.sampled_from(REQUESTS), data=st.data())
def test_damaged_requests_are_refused_or_answered_and_never_a_fault(
    server: Running, chosen: bytes, data: st.DataObject
) -> None:
    """Law: whatever bytes come, each reply is whole, and none says that the server failed."""
    at = data.draw(st.integers(0, len(chosen)))
    removed = data.draw(st.integers(0, 20))
    added = data.draw(st.binary(max_size=20) | st.sampled_from([b"\r\n", b"\r\n\r\n", b": ", b"0"]))
    with Wire(server) as wire:
        statuses = []
        try:
            wire.send(chosen[:at] + added + chosen[at + removed :] + chosen).half_close()
            while True:
                statuses.append(wire.reply().status)
        except ConnectionError:  # the end
            pass

    assert not [status for status in statuses if status >= 500]
    assert 200 == server.request("GET", "/health").status
