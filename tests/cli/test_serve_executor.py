"""``signoff serve --wattswarm`` with executors, as an operator names them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.calling import call as signoff
from tests.embedding_server import saying, serving
from tests.sandbox.confined import need
from tests.service.calls import call, code, executed, fetched
from tests.service.running import Running

KEY = "sk-secret-0123456789"
REPLY = {"choices": [{"message": {"content": '{"answer": "yes"}'}}]}
AGENT = """
import json, os, pathlib
output = {"variable": os.environ.get("AGENT_WORD"), "file": pathlib.Path("FILE").read_text()}
print(json.dumps({"output": output}))
"""


def test_program_gets_the_variables_and_files_that_are_named(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    word = tmp_path / "data" / "word"
    word.write_text("sesame")
    agent = tmp_path / "agent.py"
    agent.write_text(AGENT.replace("FILE", str(word)))
    options = ("--executor-env", "AGENT_WORD", "--executor-read", str(word.parent))
    with Running.signoff(
        *("--wattswarm", "--executor", f"cmd:python3 {agent}", *options), env={"AGENT_WORD": "abc"}
    ) as running:
        reply = executed(running, call({}))

    assert {"variable": "abc", "file": "sesame"} == reply.json["candidate_output"]


def test_key_is_sent_and_stands_nowhere_else(tmp_path: Path) -> None:
    with serving(saying(REPLY)) as endpoint:
        runtime = ("--wattswarm", "--state-dir", str(tmp_path), "--openai-key-env", "CHAT_KEY")
        executor = ("--executor", f"openai:{endpoint.url}/v1#small")
        with Running.signoff(*runtime, *executor, env={"CHAT_KEY": KEY}) as running:
            reply = executed(running, call({"prompt": "why"}))
            pieces = [fetched(running, ref, running.url) for ref in reply.json["evidence_refs"]]
            running.stop()
            said = str(running.log_lines())
        (asked,) = endpoint.asked

    assert {"answer": "yes"} == reply.json["candidate_output"]
    assert f"Bearer {KEY}" == asked.headers["authorization"]
    assert KEY not in said
    assert all(KEY.encode() not in data for data in (reply.body, *pieces))
    assert KEY.encode() not in b"".join(
        path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()
    )


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--executor", "agent.py"), "must begin with call:, cmd: or openai:"),
        (("--executor", "call:no.such.module:f"), "cannot be imported"),
        (("--executor", "cmd:no-such-program"), "no program"),
        (("--executor", "cmd:sh", "--executor-env", "NOT_THERE"), "NOT_THERE has no value"),
        (("--executor", "cmd:sh", "--executor-read", "/not/there"), "which is not there"),
        (("--executor", "openai:http://api.example/v1#m"), "must be https"),
        (
            ("--executor", "openai:https://h/v1#m", "--openai-key-env", "NOT_THERE"),
            "NOT_THERE has no value",
        ),
        (("--executor-env", "HOME"), "--executor-env goes with --executor cmd:"),
        (("--executor", "call:a:b", "--executor-network"), "--executor-network goes with"),
        (("--executor", "cmd:sh", "--openai-key-env", "HOME"), "goes with --executor openai:"),
    ],
)
def test_executor_that_cannot_be_run_is_told_before_anything_is_served(
    arguments: tuple[str, ...], told: str
) -> None:
    done = signoff("serve", "--wattswarm", "--listen", "127.0.0.1:0", *arguments)

    assert 2 == done.code
    assert told in done.err


def test_events_are_acknowledged_where_that_was_asked_for(tmp_path: Path) -> None:
    answers = []
    for mode in ("off", "ack"):
        with Running.signoff(
            "--wattswarm", "--state-dir", str(tmp_path), "--agent-events", mode
        ) as running:
            answers.append(code(running.post("/agent-events", {"event": {}})))

    assert [(404, "not_found"), (422, "wrong_shape")] == answers


def test_network_is_kept_from_a_program_unless_it_is_given(tmp_path: Path) -> None:
    need("L2")
    agent = tmp_path / "agent.py"
    with serving(saying({"heard": True})) as endpoint:
        source = (
            "import json, urllib.request\n"
            f"try: urllib.request.urlopen({endpoint.url!r} + '/', b'{{}}', 5); found = True\n"
            "except OSError: found = False\n"
            "print(json.dumps({'output': found}))\n"
        )
        agent.write_text(source)
        found = []
        for more in ((), ("--executor-network",)):
            with Running.signoff("--wattswarm", "--executor", f"cmd:python3 {agent}", *more) as one:
                found.append(executed(one, call({})).json["candidate_output"])

    assert [False, True] == found
