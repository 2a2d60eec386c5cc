"""
``signoff serve --wattswarm`` as an operator starts it: what it proposes, it also verifies.

Acceptance row 19: with each executor the reply decodes, the output passes its schema,
every reference is fetched at its uri and its digest and size match; then ``/verify``
of that candidate passes in mode required with no host allowed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.embedding_server import saying, serving
from tests.service.calls import SCHEMA, call, code, executed, fetched, question
from tests.service.running import ROOT, Running

AGENT = ROOT / "examples" / "wattswarm" / "agent.py"
KEY = "sk-secret-0123456789"


def model(text: str) -> dict[str, Any]:
    return {"choices": [{"message": {"role": "assistant", "content": text}}]}


@contextmanager
def served(kind: str, state: Path, *more: str) -> Iterator[Running]:
    """The server with one of the executors."""
    runtime = ("--wattswarm", "--state-dir", str(state), *more)
    with serving(saying(model('```json\n{"answer": "6"}\n```'))) as endpoint:
        executor = {
            "call": "call:signoff.executors:echo",
            "cmd": f"cmd:python3 {AGENT}",
            "openai": f"openai:{endpoint.url}/v1#small",
        }[kind]
        with Running.signoff(*runtime, "--executor", executor) as running:
            yield running


@pytest.mark.parametrize("kind", ["call", "cmd", "openai"])
def test_what_is_proposed_passes_verification(kind: str, tmp_path: Path) -> None:
    with served(kind, tmp_path) as running:
        called = call({"prompt": "1 and 2 and 3"}, schema=SCHEMA, time_ms=20_000)
        reply = executed(running, called)
        assert 200 == reply.status, reply.body
        proposal = reply.json
        pieces = [fetched(running, ref, running.url) for ref in proposal["evidence_refs"]]
        verdict = running.post("/verify", question(called, proposal)).json

        answers = {"call": "default::1 and 2 and 3", "cmd": "6", "openai": "6"}
        assert answers[kind] == proposal["candidate_output"]["answer"]
        assert called["execution_id"] == json.loads(pieces[0])["execution_id"]
        assert ("passed", True) == (verdict["verification_status"], verdict["passed"])
        assert [100] == verdict["reason_codes"]


def test_evidence_that_is_gone_fails_verification(tmp_path: Path) -> None:
    """So it is the evidence that the verdict above stands on."""
    with served("cmd", tmp_path) as running:
        called = call({"prompt": "1 and 2"}, schema=SCHEMA)
        proposal = executed(running, called).json
        digest = proposal["evidence_refs"][1]["digest"].removeprefix("sha256:")
        (tmp_path / "evidence" / "bytes" / digest).unlink()
        verdict = running.post("/verify", question(called, proposal)).json

        assert ("failed", [100, 200]) == (verdict["verification_status"], verdict["reason_codes"])


def test_two_workers_propose_and_verify_for_each_other(tmp_path: Path) -> None:
    with served("call", tmp_path, "--workers", "2") as running:
        called = call({"prompt": "why"}, schema=SCHEMA)
        replies = {executed(running, called).body for _ in range(6)}
        (body,) = replies
        verdicts = [running.post("/verify", question(called, json.loads(body))) for _ in range(6)]

        assert {"passed"} == {one.json["verification_status"] for one in verdicts}


def test_below_its_prefix_it_is_the_same_runtime(tmp_path: Path) -> None:
    with served("call", tmp_path) as running:
        called = call({"prompt": "why"}, schema=SCHEMA)
        at_root = executed(running, called)
        below = running.post("/wattswarm/execute", called)

        assert 200 == at_root.status
        assert at_root.body == below.body


def test_without_an_executor_it_verifies_only(tmp_path: Path) -> None:
    with Running.signoff("--wattswarm", "--state-dir", str(tmp_path)) as running:
        assert (501, "no_executor") == code(executed(running, call({})))
        assert 404 == running.post("/agent-events", {}).status


def test_large_call_is_read(tmp_path: Path) -> None:
    with served("call", tmp_path) as running:
        reply = executed(running, call({"prompt": "x" * 60_000, "more": [[]] * 300}, schema=SCHEMA))

        assert 200 == reply.status, reply.body
