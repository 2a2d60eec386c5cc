"""One question, one answer: connections that are kept, shared, stale, secured, or on another machine."""

from __future__ import annotations

import gc
import os
import shutil
import socket
import ssl
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from time import monotonic
from typing import Any

import pytest

from signoff.errors import BadAnswer, NoAnswer
from signoff.exchange import Client, Deadline, Endpoint
from tests.servers import WAIT_S, Server, Talk, answering, message, once

OK = message('{"pass": true}')
BODY = b'{"pass": true}'


def endpoint(server: Server, **changes: Any) -> Endpoint:
    fields: dict[str, Any] = {
        "host": "127.0.0.1",
        "port": server.port,
        "target": "/",
        "tls": False,
        "only_loopback": True,
    }
    return Endpoint(**(fields | changes))


def post(client: Client, body: bytes = b"{}", *, timeout_s: float = 5.0) -> bytes:
    return client.post(body, [], timeout_s=timeout_s, max_bytes=65_536)


# -- connections --


def test_connection_is_used_again() -> None:
    with Server(answering(OK)) as server:
        client = Client(endpoint(server))
        answers = [post(client) for _ in range(5)]
        client.close()

    assert [BODY] * 5 == answers
    assert 1 == server.connections


def test_connection_that_the_server_closed_is_not_used_again() -> None:
    with Server(once(OK)) as server:
        client = Client(endpoint(server))
        answers = [post(client) for _ in range(3)]

    assert [BODY] * 3 == answers
    assert 3 == server.connections


def test_connection_that_dies_under_the_question_is_replaced() -> None:
    def script(talk: Talk) -> None:
        talk.request()
        talk.send(OK)
        talk.request()  # and hangs up: a fresh connection must be tried

    with Server(script) as server:
        client = Client(endpoint(server))
        answers = [post(client) for _ in range(3)]

    assert [BODY] * 3 == answers
    assert (3, 5) == (server.connections, len(server.requests))


@pytest.mark.parametrize("more", [b" ", message('{"pass": false}')])
def test_connection_with_more_than_was_asked_for_is_not_used_again(more: bytes) -> None:
    def script(talk: Talk) -> None:
        talk.request()
        talk.send(OK + more)
        talk.request()

    with Server(script) as server:
        client = Client(endpoint(server))
        answers = [post(client) for _ in range(2)]

    assert [BODY] * 2 == answers
    assert 2 == server.connections


def test_connection_that_is_sent_something_unasked_is_not_used_again() -> None:
    answered, sent = Event(), Event()

    def script(talk: Talk) -> None:
        talk.request()
        talk.send(OK)
        answered.wait(WAIT_S)
        talk.send(message('{"pass": false}'))
        sent.set()
        talk.wait()

    def both_answer(talk: Talk) -> None:
        (script if not answered.is_set() else answering(OK))(talk)

    with Server(both_answer) as server:
        client = Client(endpoint(server))
        answers = [post(client)]
        answered.set()
        assert sent.wait(WAIT_S)
        answers.append(post(client))
        client.close()

    assert [BODY] * 2 == answers
    assert 2 == server.connections


@pytest.mark.parametrize(
    "answer", [message("", status="404 No"), message("", status="500 Oops"), b"junk\r\n\r\n"]
)
def test_connection_is_closed_after_a_failure(answer: bytes) -> None:
    with Server(answering(answer)) as server:
        client = Client(endpoint(server))
        for _ in range(2):
            with pytest.raises((NoAnswer, BadAnswer)):
                post(client)

    assert 2 == server.connections


def test_threads_share_a_client() -> None:
    def script(talk: Talk) -> None:
        while (request := talk.request()) is not None:
            talk.send(message(request.body))

    with Server(script) as server, ThreadPoolExecutor(8) as threads:
        client = Client(endpoint(server))
        bodies = [f"[{number}]".encode() for number in range(200)]
        answers = list(threads.map(lambda body: post(client, body), bodies))
        client.close()

    assert bodies == answers
    assert server.connections <= 16


def test_child_process_does_not_use_the_connections_of_its_parent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with Server(answering(OK)) as server:
        client = Client(endpoint(server))
        post(client)
        here = os.getpid()
        monkeypatch.setattr(os, "getpid", lambda: here + 1)
        post(client)
        client.close()

    assert 2 == server.connections


def test_client_that_is_let_go_leaves_no_socket_open() -> None:
    with Server(answering(OK)) as server:
        post(Client(endpoint(server)))
        gc.collect()  # a socket left open is a warning, and a warning an error

    assert 1 == server.connections


# -- addresses --


def test_plain_http_goes_to_this_machine_only(monkeypatch: pytest.MonkeyPatch) -> None:
    with Server(answering(OK)) as server:
        found = [(socket.AF_INET, 1, 6, "", ("192.0.2.1", server.port))]
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)
        with pytest.raises(NoAnswer, match="not on this machine"):
            post(Client(endpoint(server, host="localhost")))

    assert [] == server.requests


def test_next_address_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    with Server(answering(OK)) as server, socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
        closed.close()
        found = [
            (socket.AF_INET, 1, 6, "", ("127.0.0.1", port)),
            (socket.AF_INET, 1, 6, "", ("127.0.0.1", server.port)),
        ]
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)

        assert BODY == post(Client(endpoint(server, host="localhost")))


def test_address_that_swallows_everything_leaves_time_for_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # A listener whose queue is full takes no further connection.
    with Server(answering(OK)) as server, socket.socket() as full, socket.socket() as filling:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        filling.connect(full.getsockname())
        found = [
            (socket.AF_INET, 1, 6, "", full.getsockname()),
            (socket.AF_INET, 1, 6, "", ("127.0.0.1", server.port)),
        ]
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)

        assert BODY == post(Client(endpoint(server, host="localhost")), timeout_s=2.0)


@pytest.mark.parametrize(
    ("host", "port", "tls", "expected"),
    [
        ("judge.example", 443, True, "judge.example"),
        ("judge.example", 80, True, "judge.example:80"),
        ("judge.example", 80, False, "judge.example"),
        ("judge.example", 8443, True, "judge.example:8443"),
        ("::1", 80, False, "[::1]"),
        ("::1", 8080, False, "[::1]:8080"),
    ],
)
def test_authority(host: str, port: int, tls: bool, expected: str) -> None:
    found = Endpoint(host=host, port=port, target="/", tls=tls, only_loopback=False)

    assert expected == found.authority


def test_deadline_that_has_passed_is_late() -> None:
    with pytest.raises(NoAnswer) as caught:
        Deadline(0.0).left()

    assert caught.value.late


# -- TLS --


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Key and self-signed certificate for localhost in one file."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("openssl, which makes the certificate, is not installed")
    folder = tmp_path_factory.mktemp("tls")
    key, made, both = folder / "key.pem", folder / "made.pem", folder / "both.pem"
    subprocess.run(
        [
            *(openssl, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"),
            *("-nodes", "-days", "2", "-subj", "/CN=localhost"),
            *("-addext", "subjectAltName=DNS:localhost", "-keyout", str(key), "-out", str(made)),
        ],
        check=True,
        capture_output=True,
        timeout=60,
    )
    both.write_bytes(key.read_bytes() + made.read_bytes())
    return both


@pytest.fixture
def secured(certificate: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    return context


def test_trusted_server_is_asked_over_tls(
    secured: ssl.SSLContext, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    with Server(answering(OK), tls=secured) as server:
        client = Client(endpoint(server, host="localhost", tls=True, only_loopback=False))
        answers = [post(client) for _ in range(3)]
        client.close()

    assert [BODY] * 3 == answers
    assert 1 == server.connections


def test_server_that_nobody_vouches_for_is_not_asked(secured: ssl.SSLContext) -> None:
    with Server(answering(OK), tls=secured) as server:
        client = Client(endpoint(server, host="localhost", tls=True, only_loopback=False))
        with pytest.raises(NoAnswer, match="certificate is not trusted"):
            post(client)

    assert [] == server.requests


def test_server_with_the_name_of_another_is_not_asked(
    secured: ssl.SSLContext, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    with Server(answering(OK), tls=secured) as server:
        client = Client(endpoint(server, tls=True, only_loopback=False))
        with pytest.raises(NoAnswer, match="certificate is not trusted"):
            post(client)

    assert [] == server.requests


def test_server_without_tls_is_not_asked() -> None:
    def script(talk: Talk) -> None:
        talk.send(b"hello, who is there?\r\n" * 10)
        talk.wait()

    with Server(script) as server:
        client = Client(endpoint(server, tls=True, only_loopback=False))
        with pytest.raises(NoAnswer, match="no TLS"):
            post(client)


def test_handshake_that_never_comes_is_late() -> None:
    with Server(Talk.wait) as server:
        client = Client(endpoint(server, tls=True, only_loopback=False))
        begin = monotonic()
        with pytest.raises(NoAnswer) as caught:
            post(client, timeout_s=0.2)
        elapsed_s = monotonic() - begin

    assert caught.value.late
    assert elapsed_s < 2


def test_handshake_that_drips_is_late() -> None:
    def script(talk: Talk) -> None:
        talk.drip(b"\x16\x03\x03\x40\x00" + bytes(10_000))

    with Server(script) as server:
        client = Client(endpoint(server, tls=True, only_loopback=False))
        begin = monotonic()
        with pytest.raises(NoAnswer) as caught:
            post(client, timeout_s=0.3)
        elapsed_s = monotonic() - begin

    assert caught.value.late
    assert elapsed_s < 2


def test_question_that_is_not_taken_is_late_in_time() -> None:
    with Server(Talk.wait) as server:
        begin = monotonic()
        with pytest.raises(NoAnswer) as caught:
            post(Client(endpoint(server)), bytes(2**25), timeout_s=0.2)
        elapsed_s = monotonic() - begin

    assert caught.value.late
    assert elapsed_s < 3


def test_look_up_that_hangs_is_late_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    ended = Event()

    def hangs(*_: object, flags: int = 0, **__: object) -> Any:
        if not flags & socket.AI_NUMERICHOST:
            ended.wait(WAIT_S)
        raise OSError

    monkeypatch.setattr(socket, "getaddrinfo", hangs)
    nowhere = Endpoint(host="judge.invalid", port=443, target="/", tls=True, only_loopback=False)
    client = Client(nowhere)
    begin = monotonic()
    try:
        with pytest.raises(NoAnswer) as caught:
            post(client, timeout_s=0.1)
        elapsed_s = monotonic() - begin
    finally:
        ended.set()

    assert caught.value.late
    assert elapsed_s < 2
