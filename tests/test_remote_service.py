"""A service is refused when it is configured, and its secrets stand in no message."""

from __future__ import annotations

import socket
from typing import Any

import pytest

from signoff.errors import NoAnswer
from signoff.remote_service import MAX_REPLY_BYTES, Service

SECRET = "s3cr3t"


@pytest.mark.parametrize(
    "url",
    [
        "https://judge.example/",
        "https://judge.example",
        "https://judge.example:8443/v1?key=1",
        "https://192.0.2.1/",
        "https://[2001:db8::1]:8443/",
        "http://localhost:8000/",
        "http://127.0.0.1/",
        "http://127.9.9.9:1/",
        "http://[::1]/",
    ],
)
def test_url_that_can_be_asked(url: str) -> None:
    assert url == Service(url=url).url


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("", "url must be https://HOST/PATH or http://HOST/PATH"),
        ("judge.example", "url must be https://HOST/PATH or http://HOST/PATH"),
        ("ftp://judge.example/", "url must be https://HOST/PATH or http://HOST/PATH"),
        ("https:///path", "url must be https://HOST/PATH or http://HOST/PATH"),
        ("https://judge.example:0/", "url must be https://HOST/PATH or http://HOST/PATH"),
        ("https://judge.example:99999/", "url cannot be read"),
        ("https://[::1/", "url cannot be read"),
        ("https://judge.example/a b", "url must be printable ASCII without spaces"),
        ("https://judge.example/\r\nX: y", "url must be printable ASCII without spaces"),
        ("https://jüdge.example/", "url must be printable ASCII without spaces"),
        ("https://judge.example/" + "x" * 5_000, "url must be printable ASCII without spaces"),
        (
            f"https://me:{SECRET}@judge.example/",
            "url must not hold a user or password; send a header",
        ),
        ("https://judge.example/#top", "url must not have a fragment"),
        ("http://judge.example/", "url must be https, or allow_http must be true"),
        ("http://127.0.0.1.judge.example/", "url must be https, or allow_http must be true"),
        ("http://192.0.2.1/", "url must be https, or allow_http must be true"),
        ("http://0.0.0.0/", "url must be https, or allow_http must be true"),
    ],
)
def test_url_that_cannot_be_asked(url: str, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}$") as caught:
        Service(url=url)

    assert SECRET not in str(caught.value)


def test_operator_may_allow_plain_http() -> None:
    assert Service(url="http://judge.example/", allow_http=True).allow_http


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"timeout_s": 0}, "timeout_s must be"),
        ({"timeout_s": -1.0}, "timeout_s must be"),
        ({"timeout_s": float("nan")}, "timeout_s must be"),
        ({"timeout_s": float("inf")}, "timeout_s must be"),
        ({"timeout_s": 601}, "timeout_s must be"),
        ({"max_bytes": 0}, "max_bytes must be"),
        ({"max_bytes": MAX_REPLY_BYTES + 1}, "max_bytes must be"),
        ({"headers": {"": SECRET}}, "a name that is none"),
        ({"headers": {"X Y": SECRET}}, "a name that is none"),
        ({"headers": {"X\r\nY": SECRET}}, "a name that is none"),
        ({"headers": {"Host": SECRET}}, "must not have Host"),
        ({"headers": {"content-length": SECRET}}, "must not have content-length"),
        ({"headers": {"Transfer-Encoding": SECRET}}, "must not have Transfer-Encoding"),
        ({"headers": {"X-Key": f"{SECRET}\n"}}, "headers.X-Key must be text"),
        ({"headers": {"X-Key": ""}}, "headers.X-Key must be text"),
    ],
)
def test_field_that_is_wrong_is_named_without_its_value(
    fields: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        Service(url="https://judge.example/", **fields)

    assert SECRET not in str(caught.value)


def test_what_is_printed_holds_no_query_and_no_header() -> None:
    service = Service(url=f"https://judge.example/v1?key={SECRET}", headers={"X-Key": SECRET})

    assert "Service(https://judge.example)" == repr(service) == str(service)


def test_name_of_this_machine_that_leads_elsewhere_is_not_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = [(socket.AF_INET, 1, 6, "", ("192.0.2.1", 8000))]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)

    with pytest.raises(NoAnswer, match="not on this machine"):
        Service(url="http://localhost:8000/").ask(b"{}")


def test_operator_may_let_plain_http_leave_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    # Bound and not listening: whoever connects is refused.
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        found = [(socket.AF_INET, 1, 6, "", closed.getsockname())]
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)

        with pytest.raises(NoAnswer, match="refused"):
            Service(url="http://judge.example/", allow_http=True).ask(b"{}")
