"""The native API over sockets: what no body may do to a server, and who may ask it."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.service.native import CONTRACT, GOOD
from tests.service.running import WAIT_S, Running
from tests.service.test_native_verdicts import corpus, text_of

JSON = {"Content-Type": "application/json"}


@pytest.fixture(scope="module")
def server() -> Iterator[Running]:
    with Running.signoff() as made:
        yield made


def test_malformed_bodies_are_refused_one_after_the_other(server: Running) -> None:
    """All of them on one connection, which none of them ends."""
    connection = http.client.HTTPConnection(server.host, server.port, timeout=WAIT_S)
    wrong = []
    for path in ("/v1/verify", "/v1/contracts"):
        for case in (param.values[0] for param in corpus()):
            name = str(case["name"])
            body = text_of(case)
            connection.request("POST", path, body, JSON)
            reply = connection.getresponse()
            problem = json.loads(reply.read())
            around = path == "/v1/verify" and name.startswith("n_65_levels")
            expected = "400 bad_json" if name.startswith("n_") and not around else "422"
            if not f"{reply.status} {problem['code']}".startswith(expected):
                wrong.append((path, name, reply.status, problem))
    connection.close()

    assert [] == wrong
    assert 200 == server.request("GET", "/health").status


@pytest.mark.parametrize("count", [100_000, 2_000_000])
def test_open_brackets_are_refused_as_such(server: Running, count: int) -> None:
    for path in ("/v1/verify", "/v1/contracts"):
        reply = server.request("POST", path, b"[" * count, JSON)

        assert (400, "bad_json") == (reply.status, reply.json["code"])
    assert 200 == server.request("GET", "/health").status


def test_body_that_is_too_large_is_refused(server: Running) -> None:
    reply = server.request("POST", "/v1/verify", b"[" * 5_000_000, JSON)

    assert (413, "too_large") == (reply.status, reply.json["code"])


@pytest.mark.parametrize(
    "type_", ["application/json", "application/json; charset=utf-8", "application/x+json"]
)
def test_json_by_any_name_is_let_in(server: Running, type_: str) -> None:
    body = json.dumps({"contract": CONTRACT, "output": GOOD}).encode()
    reply = server.request("POST", "/v1/verify", body, {"Content-Type": type_})

    assert "passed" == reply.json["verdict"]["outcome"]


@pytest.mark.parametrize(
    ("path", "headers", "status"),
    [
        ("/v1/verify", {"Content-Type": "text/plain"}, 415),
        ("/v1/verify", {"Content-Type": "application/yaml"}, 415),
        ("/v1/verify", {**JSON, "Content-Encoding": "gzip"}, 415),
        ("/v1/verify", {**JSON, "Origin": "http://example.org"}, 403),
        ("/v1/contracts", {**JSON, "Origin": "null"}, 403),
        ("/v1/nothing", JSON, 404),
        ("/v1/verifiers", JSON, 405),
    ],
)
def test_request_that_may_not_be_made_is_refused(
    server: Running, path: str, headers: dict[str, str], status: int
) -> None:
    assert status == server.request("POST", path, b"{}", headers).status


def test_head_is_answered_without_a_body(server: Running) -> None:
    for path in ("/health", "/docs", "/openapi.json", "/v1/verifiers"):
        reply = server.request("HEAD", path)

        assert (200, b"") == (reply.status, reply.body)


def test_log_names_the_verdict_and_nothing_of_the_output() -> None:
    with Running.signoff() as server:
        body = {"contract": CONTRACT, "output": [{"score": 1, "secret": "mellon"}], "id": "mellon"}
        reply = server.post("/v1/verify", body, {"X-Request-Id": "mine"})
        told: dict[str, Any] = server.logged(event="request", id="mine")
        output = server.output()

    assert ("failed", "/v1/verify", 200) == (told["outcome"], told["route"], told["status"])
    assert reply.json["contract_digest"] == told["contract"]
    assert "mellon" not in output


def test_verdicts_are_counted_over_all_workers() -> None:
    pytest.importorskip("prometheus_client", reason="/metrics needs the extra metrics")
    with Running.signoff("--workers", "2") as server:
        for _ in range(12):
            server.post("/v1/verify", {"contract": CONTRACT, "output": GOOD})
        text = server.request("GET", "/metrics").body.decode()

    assert 'signoff_verdicts_total{outcome="passed"} 12.0' in text
