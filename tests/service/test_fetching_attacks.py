"""Acceptance row 12: servers that lie about their answer, or make it a burden."""

from __future__ import annotations

import socket
import ssl
import threading
from pathlib import Path
from time import monotonic

import pytest

from signoff.dialects.wattswarm.evidence import Fetched
from signoff.service.fetching import MAX_REFERENCE_BYTES
from tests.servers import WAIT_S, Script, Server, Talk, message, once
from tests.service.fetches import DATA, allowed, at, fetch, made_certificate, one, reference

HEAD = b"HTTP/1.1 200 OK\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
UNREACHABLE = "evidence_unreachable"
CORRUPT = "evidence_corrupt"
TIMED_OUT = "evidence_timed_out"


def of(script: Script, data: bytes = DATA, *, timeout_s: float = 5.0) -> Fetched:
    with Server(script) as server:
        return one(at(server), data, hosts=allowed(server), timeout_s=timeout_s)


def cause(found: Fetched) -> str:
    return "ok" if found.cause is None else found.cause.value


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (HEAD + b"Content-Length: 11\r\n\r\n" + DATA, CORRUPT),
        (HEAD + b"Content-Length: 13\r\n\r\n" + DATA, UNREACHABLE),
        (HEAD + b"Content-Length: 99999999999999999999\r\n\r\n" + DATA, UNREACHABLE),
        (HEAD + b"Content-Length: 99999999999999999999\r\n\r\n" + DATA + b"x", CORRUPT),
        (HEAD + b"Content-Length: 0\r\n\r\n" + DATA, CORRUPT),
        (HEAD + b"Content-Length: 12\r\n\r\n" + DATA + b"x", "ok"),
        (HEAD + b"Content-Length: -1\r\n\r\n" + DATA, UNREACHABLE),
        (HEAD + b"Content-Length: 0x0c\r\n\r\n" + DATA, UNREACHABLE),
        (HEAD + b"Content-Length: +12\r\n\r\n" + DATA, UNREACHABLE),
        (HEAD + b"Content-Length: " + b"9" * 5000 + b"\r\n\r\n" + DATA, UNREACHABLE),
        (HEAD + b"Content-Length: 12\r\nContent-Length: 13\r\n\r\n" + DATA, UNREACHABLE),
        (HEAD + b"Content-Length: 12\r\nContent-Length: 12\r\n\r\n" + DATA, "ok"),
    ],
)
def test_length_that_lies(answer: bytes, expected: str) -> None:
    """Acceptance row 12: what is short by the connection is not what is short by the answer."""
    assert expected == cause(of(once(answer)))


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (CHUNKED + b"c\r\n" + DATA + b"\r\n0\r\n\r\n", "ok"),
        (CHUNKED + b"000c;x=y\r\n" + DATA + b"\r\n0\r\nX: y\r\n\r\n", "ok"),
        (CHUNKED + b"d\r\n" + DATA + b"x\r\n0\r\n\r\n", CORRUPT),
        (CHUNKED + b"b\r\n" + DATA[:-1] + b"\r\n0\r\n\r\n", CORRUPT),
        (CHUNKED + b"0\r\n\r\n", CORRUPT),
        (CHUNKED + b"d\r\n" + DATA, UNREACHABLE),
        (CHUNKED + b"c\r\n" + DATA, UNREACHABLE),
        (CHUNKED + b"c\r\n" + DATA + b"\r\n", UNREACHABLE),
        (CHUNKED + b"c\r\n" + DATA + b"\r\n0\r\n", UNREACHABLE),
        (CHUNKED + b"b\r\n" + DATA + b"\r\n0\r\n\r\n", UNREACHABLE),
        (CHUNKED + b"-c\r\n" + DATA + b"\r\n0\r\n\r\n", UNREACHABLE),
        (CHUNKED + b"ffffffffffffffffff\r\n" + DATA, UNREACHABLE),
        (CHUNKED + b"fffffffffffffff\r\n" + DATA + b"x", CORRUPT),
        (CHUNKED + b"f" * 300 + b"\r\n" + DATA, UNREACHABLE),
        (CHUNKED + b"c" + b" " * 20_000 + b"\r\n" + DATA, UNREACHABLE),
        (HEAD + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", UNREACHABLE),
        (HEAD + b"Transfer-Encoding: identity\r\n\r\n" + DATA, UNREACHABLE),
        (HEAD + b"Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n", CORRUPT),
    ],
)
def test_chunks_that_lie(answer: bytes, expected: str) -> None:
    """Acceptance row 12."""
    assert expected == cause(of(once(answer)))


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"\r\n\r\n",
        b"hello\r\n\r\n",
        DATA,
        b"HTTP/0.9 200 OK\r\n\r\n" + DATA,
        b"HTTP/2.0 200 OK\r\n\r\n" + DATA,
        b"HTTP/1.1 20 OK\r\n\r\n" + DATA,
        b"HTTP/1.1 2000 OK\r\n\r\n" + DATA,
        b"HTTP/1.1 099 OK\r\n\r\n" + DATA,
        b"HTTP/1.1 \xc2\xb200 OK\r\n\r\n" + DATA,
        b"HTTP/1.1 101 x\r\n\r\n" + DATA,
        b"HTTP/1.1 700 x\r\n\r\n" + DATA,
        b"ICY 200 OK\r\n\r\n" + DATA,
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        HEAD + b"no colon\r\n\r\n" + DATA,
        HEAD + b"A b: c\r\n\r\n" + DATA,
        HEAD + b"X: a\x00b\r\n\r\n" + DATA,
        HEAD + b" folded: at once\r\n\r\n" + DATA,
        HEAD + b"X: " + b"x" * 40_000 + b"\r\n\r\n" + DATA,
        HEAD + b"X: y\r\n" * 7_000 + b"\r\n" + DATA,
        HEAD[:-2] + b"x" * 100_000,
        HEAD + b"Content-Length: 12\r\n",
        HEAD,
    ],
)
def test_what_is_no_answer(answer: bytes) -> None:
    """Acceptance row 12."""
    assert UNREACHABLE == cause(of(once(answer)))


@pytest.mark.parametrize(("count", "expected"), [(1, "ok"), (8, "ok"), (9, UNREACHABLE)])
def test_few_interim_answers_are_waited_through(count: int, expected: str) -> None:
    interim = b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"

    assert expected == cause(of(once(interim * count + message(DATA))))


def flood(head: bytes, piece: bytes) -> Script:
    """A head, and then the same for ever."""
    pieces = piece * max(1, 65_536 // len(piece))

    def script(talk: Talk) -> None:
        talk.request()
        talk.send(head)
        while not talk.ended.is_set():
            talk.send(pieces)

    return script


@pytest.mark.parametrize(
    ("head", "piece"),
    [
        (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
        (b"", b"x"),
        (b"", b"\r\n"),
        (HEAD, b"X: y\r\n"),
        (CHUNKED, b"0" * 1000),
        (CHUNKED + b"1;", b"x" * 1000),
        (CHUNKED + b"0\r\n", b"X: y\r\n"),
        (HEAD + b"X: ", b" "),
    ],
    ids=["interim", "junk", "lines", "headers", "size", "extension", "trailers", "blanks"],
)
def test_flood_ends_soon(head: bytes, piece: bytes) -> None:
    """Acceptance row 12: long before the time runs out, and with little kept."""
    begin = monotonic()
    found = of(flood(head, piece), timeout_s=60.0)

    assert UNREACHABLE == cause(found)
    assert monotonic() - begin < 20


def test_far_more_around_the_body_than_in_it_is_not_read_to_the_end() -> None:
    """Acceptance row 12: tiny chunks, each with a long extension."""
    script = flood(CHUNKED, b"1;" + b"x" * 8000 + b"\r\nx\r\n")
    begin = monotonic()
    found = of(script, bytes(2**20), timeout_s=60.0)

    assert (UNREACHABLE, "far more around its body than in it") == (cause(found), found.detail)
    assert monotonic() - begin < 20


def test_body_in_many_tiny_pieces_is_not_read_to_the_end() -> None:
    begin = monotonic()
    found = of(flood(CHUNKED, b"1\r\nx\r\n"), bytes(2**20), timeout_s=60.0)

    assert (UNREACHABLE, "its body in too many pieces") == (cause(found), found.detail)
    assert monotonic() - begin < 20


def test_answer_before_the_question_is_one() -> None:
    """Whoever answers without listening is judged by the bytes all the same."""

    def script(talk: Talk) -> None:
        talk.send(message(DATA))
        talk.wait()

    assert cause(of(script)) in {"ok", UNREACHABLE}


def test_connection_that_is_reset_is_out_of_reach() -> None:
    def script(talk: Talk) -> None:
        talk.request()
        talk.send(HEAD + b"\r\n" + DATA[:5])
        linger = b"\x01\x00\x00\x00\x00\x00\x00\x00"
        talk._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)

    assert UNREACHABLE == cause(of(script))


# -- TLS --


def test_handshake_that_drips_is_late() -> None:
    """Acceptance row 12: slow TLS handshake."""

    def script(talk: Talk) -> None:
        talk.drip(b"\x16\x03\x03\x40\x00" + bytes(10_000), every_s=0.02)

    with Server(script) as server:
        found = fetch(
            reference(at(server, tls=True)), hosts=allowed(server, tls=True), timeout_s=0.3
        )

    assert [TIMED_OUT] == found.causes
    assert found.elapsed_s < 2


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_certificate(tmp_path_factory.mktemp("tls"), "evidence.example")


@pytest.mark.parametrize(("is_farewell", "expected"), [(True, CORRUPT), (False, UNREACHABLE)])
def test_body_that_is_cut_on_its_way_is_not_short(
    is_farewell: bool, expected: str, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who cuts the line of an honest server must not turn its evidence into a lie."""
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)

    def script(talk: Talk) -> None:
        talk.request()
        talk.send(b"HTTP/1.0 200 OK\r\n\r\n" + DATA[:5])
        if is_farewell:
            talk._socket.settimeout(1.0)
            talk._socket.unwrap()  # type: ignore[attr-defined]  # it is secured

    with Server(script, tls=context) as server:
        found = one(
            at(server, host="evidence.example", tls=True),
            hosts=allowed(server, host="evidence.example", tls=True),
            resolve=lambda _, port: [(socket.AF_INET, ("127.0.0.1", port))],
        )

    assert expected == cause(found)


# -- all of it at once --


def test_no_thread_and_no_socket_is_left_behind() -> None:
    before = {*threading.enumerate()}
    with Server(flood(HEAD + b"\r\n", b"x")) as server:
        refs = [
            reference(at(server, f"/{number}"), bytes(MAX_REFERENCE_BYTES // 4))
            for number in range(8)
        ]
        found = fetch(*refs, hosts=allowed(server))

    assert {CORRUPT} == set(found.causes)
    left = {*threading.enumerate()} - before
    for thread in left:
        thread.join(WAIT_S)
    assert [] == [thread for thread in left if thread.is_alive()]
