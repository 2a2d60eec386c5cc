"""The runtime behind a real socket: the same bytes from every worker, at both of its places."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from signoff.ledger import open_ledger
from tests.dialects.wattswarm.world import compact, document, question
from tests.service.running import Running

JSON = {"Content-Type": "application/json"}
CASES = document("requests")["cases"]


@pytest.fixture(scope="module")
def server() -> Iterator[Running]:
    with Running.signoff("--wattswarm", "--workers", "2", "--no-log") as running:
        yield running


def test_every_request_of_the_vectors_has_its_reply(server: Running) -> None:
    """Acceptance row 1."""
    for case in CASES:
        for path in ("/verify", "/wattswarm/verify"):
            reply = server.request("POST", path, compact(case["request"]), JSON)
            assert reply.status == case["expect"]["http_status"]
            expect = {name: reply.json[name] for name in case["expect"] if name != "http_status"}
            assert expect | {"http_status": 200} == case["expect"]
            assert reply.json["signoff"]["audit_hash"] == case["audit"]["audit_hash"]


def test_the_same_request_gets_the_same_body_a_hundred_times() -> None:
    """Acceptance row 2: in parallel, over two workers, across restarts and hash seeds."""
    bodies = set()
    for seed in ("0", "7"):
        env = {"PYTHONHASHSEED": seed}
        with (
            Running.signoff("--wattswarm", "--workers", "2", "--no-log", env=env) as running,
            ThreadPoolExecutor(4) as pool,
        ):
            body = json.dumps(CASES[1]["request"], indent=1).encode()
            jobs = [pool.submit(running.request, "POST", "/verify", body, JSON) for _ in range(100)]
            bodies |= {job.result().body for job in jobs}
    assert len(bodies) == 1


def test_what_a_kernel_asks_first_is_answered(server: Running) -> None:
    for prefix in ("", "/wattswarm"):
        assert server.request("GET", f"{prefix}/health").status == 200
        told = server.request("GET", f"{prefix}/capabilities")
        assert told.json == {
            "task_types": ["swarm"],
            "profiles": ["default"],
            "provider_family": "swarm-runtime",
            "model_id": "swarm-model-v1",
        }
    assert server.request("GET", "/wattswarm/health").json == {"status": "ok"}


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (b"{", 400, "bad_json"),
        (b"[" * 100_000, 400, "bad_json"),
        (b'{"candidate":{}}', 422, "wrong_shape"),
        (compact(question() | {"policy": CASES[0]["request"]["policy"] | {"policy_version": "2"}}),
         400, "policy_version_mismatch"),
    ],
)  # fmt: skip
def test_what_cannot_be_judged_is_a_problem(
    server: Running, body: bytes, status: int, code: str
) -> None:
    """Acceptance rows 4, 15 and 16."""
    reply = server.request("POST", "/verify", body, JSON)
    assert (reply.status, reply.json["code"]) == (status, code)
    if status == 422:
        assert reply.json["pointer"] == "/candidate/candidate_id"


def test_verdicts_are_in_the_ledger_when_they_are_answered(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.sqlite3"
    arguments = ("--wattswarm", "--no-log", "--ledger", str(ledger))
    with Running.signoff(*arguments) as running:
        asked: list[Any] = [question(), question(output={}), question(output=None)]
        for body in asked:
            assert running.request("POST", "/verify", compact(body), JSON).status == 200
    with open_ledger(str(ledger)) as kept:
        found = [one.outcome.value for one in kept.verdicts()]
    assert sorted(found) == ["failed", "inconclusive", "passed"]
