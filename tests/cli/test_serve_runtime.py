"""What ``signoff serve --wattswarm`` is told of executors and events."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.cli.calling import call as command
from tests.embedding_server import saying, serving
from tests.service.calls import SCHEMA, call, code, executed
from tests.service.running import Running

EVENT = {
    "event_id": "e1",
    "event_type": "dm_received",
    "source_kind": "peer_direct_message",
    "payload": {},
    "requires_commit": False,
    "created_at": 1,
}
PROGRAM = """\
import json, os, sys
sys.stdin.read()
names = ("SIGNOFF_TEST_TOLD", "SIGNOFF_TEST_KEPT")
print(json.dumps({"output": {"answer": " ".join(os.environ.get(one, "-") for one in names)}}))
"""


def answer(running: Running) -> Any:
    reply = executed(running, call({"prompt": "?"}, schema=SCHEMA))
    assert 200 == reply.status, reply.body
    return reply.json["candidate_output"]["answer"]


def test_program_gets_the_variables_that_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    monkeypatch.setenv("SIGNOFF_TEST_TOLD", "told")
    monkeypatch.setenv("SIGNOFF_TEST_KEPT", "kept")
    executor = ("--executor", f"cmd:python3 {program}", "--executor-env", "SIGNOFF_TEST_TOLD")
    with Running.signoff("--wattswarm", *executor) as running:
        assert "told -" == answer(running)


def test_endpoint_gets_the_key_that_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SIGNOFF_TEST_KEY", "sk-secret-0123456789")
    reply = {"choices": [{"message": {"role": "assistant", "content": '{"answer": "6"}'}}]}
    with serving(saying(reply)) as endpoint:
        executor = ("--executor", f"openai:{endpoint.url}/v1#small")
        key = ("--openai-key-env", "SIGNOFF_TEST_KEY")
        with Running.signoff("--wattswarm", *executor, *key) as running:
            assert "6" == answer(running)
            told = running.output()
        (asked,) = endpoint.asked

    assert "Bearer sk-secret-0123456789" == asked.headers["authorization"]
    assert "sk-secret" not in told


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["--executor", "cmd:true", "--executor-env", "SIGNOFF_TEST_ABSENT"], "has no value"),
        (["--executor", "openai:https://m.example#m", "--openai-key-env", "sk-1"], "variable"),
        (["--agent-events", "maybe"], "--agent-events"),
    ],
)
def test_what_cannot_be_used_is_told_at_once(argv: list[str], said: str) -> None:
    called = command("serve", "--wattswarm", "--listen", "127.0.0.1:0", *argv)

    assert 2 == called.code
    assert said in called.err


@pytest.mark.parametrize("argv", [(), ("--agent-events", "off")])
def test_events_are_answered_only_if_asked_for(argv: tuple[str, ...]) -> None:
    with Running.signoff("--wattswarm", *argv) as running:
        assert (404, "not_found") == code(running.post("/agent-events", {"event": EVENT}))


def test_events_are_acknowledged() -> None:
    with Running.signoff("--wattswarm", "--agent-events", "ack") as running:
        reply = running.post("/agent-events", {"event": EVENT})

    assert (200, True) == (reply.status, reply.json["ok"])
    assert "received dm_received" == reply.json["detail"]
