"""Who may ask, and where a server may listen without asking who it is."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from signoff.service.auth import (
    Tokens,
    check_bind,
    is_loopback,
    tokens_of_environment,
    tokens_of_file,
)
from signoff.service.message import Problem
from signoff.service.settings import CannotServe, Settings
from tests.service.running import Running
from tests.service.wire import JSON_HEADER, Wire, request

FIRST, SECOND = "first-token-0123456789", "second-token-0123456789"


@pytest.fixture(scope="module")
def server() -> Iterator[Running]:
    with Running.app(tokens=(FIRST, SECOND)) as running:
        yield running


@pytest.mark.parametrize("token", [FIRST, SECOND])
@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER"])
def test_each_token_will_do(server: Running, token: str, scheme: str) -> None:
    reply = server.request("POST", "/verify", b"{}", {"Authorization": f"{scheme} {token}"})

    assert 200 == reply.status


@pytest.mark.parametrize(
    "authorization",
    [
        None,
        "",
        "Bearer",
        "Bearer ",
        FIRST,
        f"Basic {FIRST}",
        f"Bearer {FIRST[:-1]}",
        f"Bearer {FIRST}x",
        f"Bearer {FIRST.upper()}",
        f"Bearer {FIRST}, Bearer {SECOND}",
        f"Bearer {FIRST} {SECOND}",
    ],
)
def test_anything_else_is_401(server: Running, authorization: str | None) -> None:
    """Acceptance row 18: no token, wrong token, other scheme."""
    headers = {} if authorization is None else {"Authorization": authorization}
    reply = server.request("POST", "/verify", b"{}", headers)

    assert (401, "unauthorized") == (reply.status, reply.json["code"])
    assert "Bearer" == reply.headers["www-authenticate"]


def test_token_in_the_query_is_401(server: Running) -> None:
    """Acceptance row 18: token in the query."""
    reply = server.request("POST", f"/verify?access_token={FIRST}&token={FIRST}", b"{}")

    assert 401 == reply.status


def test_token_is_asked_for_before_the_body_is_read(server: Running) -> None:
    with Wire(server) as wire:
        head = f"POST /verify HTTP/1.1\r\nHost: x\r\n{JSON_HEADER}Content-Length: 999999\r\n\r\n"

        assert 401 == wire.send(head.encode()).reply().status


def test_known_head_does_not_open_the_door_for_another(server: Running) -> None:
    """What is remembered of a head holds for the very same bytes alone."""
    allowed = request(path="/verify", headers=f"{JSON_HEADER}Authorization: Bearer {FIRST}\r\n")
    with Wire(server) as wire:
        for wrong in (FIRST[:-1] + "x", SECOND[:-1] + "x"):
            headers = f"{JSON_HEADER}Authorization: Bearer {wrong}\r\n"
            statuses = [
                wire.send(sent).reply().status
                for sent in (allowed, allowed, request(path="/verify", headers=headers), allowed)
            ]

            assert [200, 200, 401, 200] == statuses


def test_open_routes_ask_for_none(server: Running) -> None:
    """Acceptance row 18: ``/health`` is open, as is any route that says so."""
    assert 200 == server.request("GET", "/health").status
    assert 200 == server.request("GET", "/items/a/b").status


def test_tokens_are_in_no_log_and_no_reply(server: Running) -> None:
    """Acceptance row 18: tokens absent from logs."""
    told = b""
    for path in ("/verify", "/raises", "/refuses", "/nope", f"/nope/{FIRST}", f"/verify?{FIRST}"):
        headers = {"Authorization": f"Bearer {FIRST}", "X-Request-Id": "tokens"}
        told += server.request("POST", path, b"{}", headers).body
    server.request("POST", "/verify", b"{}", {"X-Request-Id": "last"})
    server.logged(event="request", id="last")

    assert FIRST not in server.output()
    assert FIRST.encode() not in told


def test_without_tokens_nobody_is_asked() -> None:
    Tokens(()).check(None)
    Tokens(()).check(b"Basic x")


def test_every_token_is_compared() -> None:
    tokens = Tokens((FIRST, SECOND))

    tokens.check(f"Bearer {SECOND}".encode())
    with pytest.raises(Problem):
        tokens.check(b"Bearer \xff\xfe")


def test_file_has_one_token_a_line(tmp_path: Path) -> None:
    path = tmp_path / "tokens"
    path.write_text(f"\n{FIRST}\r\n\n  {SECOND} \n")

    assert (FIRST, SECOND) == tokens_of_file(path)


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("", "holds no token"),
        ("\n \n", "holds no token"),
        ("0123456789abcde", "token 1 has 15 characters, at least 16 are needed"),
        (f"{FIRST}\nshort", "token 2 has 5 characters"),
        ("0123456789 abcdef", "token 1 has a character other than visible ASCII"),
        ("0123456789äbcdef0", "token 1 has a character other than visible ASCII"),
        ("a" * 70_000, "is longer than 65536 bytes"),
    ],
)
def test_unfit_file_is_refused(tmp_path: Path, content: str, complaint: str) -> None:
    path = tmp_path / "tokens"
    path.write_text(content)

    with pytest.raises(CannotServe, match=complaint) as caught:
        tokens_of_file(path)
    assert "abcde" not in str(caught.value).replace(str(path), "")


def test_absent_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CannotServe, match="cannot be read: No such file"):
        tokens_of_file(tmp_path / "none")


def test_environment_holds_one_token() -> None:
    assert (FIRST,) == tokens_of_environment("TOKEN", {"TOKEN": FIRST})
    with pytest.raises(CannotServe, match="the environment variable TOKEN holds no token"):
        tokens_of_environment("TOKEN", {})
    with pytest.raises(CannotServe, match="the token in TOKEN has 5 characters"):
        tokens_of_environment("TOKEN", {"TOKEN": "short"})


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("127.0.0.1", True),
        ("127.8.9.1", True),
        ("::1", True),
        ("[::1]", True),
        ("localhost", True),
        ("::ffff:127.0.0.1", True),
        ("unix:/run/signoff", True),
        ("0.0.0.0", False),
        ("::", False),
        ("", False),
        ("::ffff:0.0.0.0", False),
        ("10.0.0.1", False),
        ("fe80::1%lo", False),
        ("localhost.example.com", False),
        ("2130706433", False),
    ],
)
def test_loopback_is_told_from_the_rest(host: str, *, expected: bool) -> None:
    assert expected == is_loopback(host)


def test_bind_needs_one_of_three_reasons() -> None:
    check_bind(Settings(host="127.0.0.1"))
    check_bind(Settings(host="0.0.0.0", tokens=(FIRST,)))
    check_bind(Settings(host="0.0.0.0", insecure=True))
    with pytest.raises(CannotServe, match="needs a token"):
        check_bind(Settings(host="0.0.0.0"))
