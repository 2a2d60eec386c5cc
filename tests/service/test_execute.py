"""``POST /execute`` over real sockets, with executors in real processes."""

from __future__ import annotations

import json
import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from tests.leftovers import gone, left, new_marker
from tests.service.calls import SCHEMA, call, code, executed, fetched
from tests.service.proposing import PUBLIC, proposing
from tests.service.running import Reply, Running

ACTS = "call:tests.executor_functions:acts"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with proposing(tmp_path_factory.mktemp("state"), ACTS, timeout_s=15.0) as running:
        yield running


def replying(output: object, **more: Any) -> dict[str, Any]:
    return {"reply": {"output": output, **more}}


def test_proposal_is_answered_with_references_that_hold(server: Running) -> None:
    """Acceptance row 19, without the verifier."""
    evidence = [
        {"mime": "text/plain", "content": "seen", "name": "a"},
        {"mime": "application/octet-stream", "content_base64": "AAEC"},
    ]
    inline = [{"mime": "text/plain", "content": "why"}]
    called = call(replying({"answer": "yes"}, evidence=evidence, inline=inline), schema=SCHEMA)
    reply = executed(server, called)
    record, *others = (fetched(server, ref, PUBLIC) for ref in reply.json["evidence_refs"])
    told = json.loads(record)

    assert 200 == reply.status
    assert "application/json" == reply.headers["content-type"]
    assert {"answer": "yes"} == reply.json["candidate_output"]
    assert inline == reply.json["evidence_inline"]
    assert [b"seen", b"\x00\x01\x02"] == others
    assert called["execution_id"] == told["execution_id"]
    assert ACTS == told["executor"]
    assert told["started_at"] <= told["finished_at"]
    assert {"family/model"} == {ref["producer"] for ref in reply.json["evidence_refs"]}


def test_doubles_are_rounded(server: Running) -> None:
    """Acceptance row 20: doubles of 17 digits."""
    reply = executed(server, call(replying({"x": 0.12345678901234568, "y": [1 / 3]})))

    assert b'"candidate_output":{"x":0.123456789012346,"y":[0.333333333333333]}' in reply.body


def test_number_that_a_kernel_may_read_otherwise_is_kept_and_logged(server: Running) -> None:
    reply = executed(server, call(replying(1.5e-12)))
    line = server.line(lambda line: "unsafe_number" in line)

    assert 1.5e-12 == reply.json["candidate_output"]
    assert reply.headers["x-request-id"] in line


@pytest.mark.parametrize(
    ("inputs", "schema", "status", "name"),
    [
        ({"raises": "odd"}, None, 502, "executor_failed"),
        ({"reply": 3}, None, 502, "executor_output_invalid"),
        (replying(None), None, 502, "executor_output_invalid"),
        ({"long": 65_535, **replying("LONG")}, None, 502, "executor_output_invalid"),
        (replying({"no": "answer"}), SCHEMA, 502, "executor_output_invalid"),
        (replying({"answer": 3}), SCHEMA, 502, "executor_output_invalid"),
        (replying("x"), True, 502, "executor_output_invalid"),
        (
            replying("x", inline=[{"mime": "text/plain", "content": "data:image/png;base64,"}]),
            None,
            502,
            "executor_output_invalid",
        ),
        (
            {"long": 60_000}
            | replying("x", inline=[{"mime": "text/plain", "content": "LONG"}] * 2),
            None,
            502,
            "executor_output_invalid",
        ),
        (
            replying("x", evidence=[{"mime": "text/plain", "content": ""}] * 32),
            None,
            502,
            "executor_output_invalid",
        ),
    ],
)
def test_what_may_not_be_proposed_is_refused(
    inputs: object, schema: object, status: int, name: str, server: Running
) -> None:
    """Acceptance row 20: raises, output null, too large, schema-breaking, media."""
    reply = executed(server, call(inputs, schema=schema))

    assert (status, name) == code(reply)
    assert b"timed out" not in reply.body.lower()


@pytest.mark.parametrize("words", ["it timed out", "Connection TIMED OUT!", "timed outtimed out"])
def test_words_of_an_executor_are_not_taken_for_a_timeout(words: str, server: Running) -> None:
    """Row 6 of section 4: only what took too long says that it timed out."""
    reply = executed(server, call({"raises": words}))

    assert (502, "executor_failed") == code(reply)
    assert b"timed out" not in reply.body.lower()
    assert "exceeded its time" in reply.json["detail"]


def test_late_executor_is_ended_with_all_that_it_started(server: Running) -> None:
    """Acceptance row 20: hangs: 504, "timed out", no process left."""
    marker = new_marker()
    begin = monotonic()
    reply = executed(server, call({"marker": marker, "takes_s": 60}, time_ms=2_000))

    assert (504, "executor_timeout") == code(reply)
    assert "timed out" in reply.body[:512].decode()
    assert monotonic() - begin < 12
    assert [] == left(marker)


def test_log_holds_what_the_executor_printed_and_the_reply_does_not(server: Running) -> None:
    reply = executed(server, call({"said": "confidential", "raises": "odd"}))
    line = json.loads(server.line(lambda line: "confidential" in line))

    assert "executor_said" == line["event"]
    assert b"confidential" not in reply.body


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"profile": "other"}, (400, "unsupported_profile")),
        ({"profile": "Default"}, (400, "unsupported_profile")),
        ({"task_type": "other"}, (400, "unsupported_task_type")),
        ({"task_id": None}, (422, "wrong_shape")),
        ({"seed_bundle": 1}, (422, "wrong_shape")),
    ],
)
def test_calls_that_cannot_be_meant_for_us_are_refused(
    change: dict[str, Any], expected: tuple[int, str], server: Running
) -> None:
    """Acceptance row 20: unknown profile or task type."""
    assert expected == code(executed(server, call(replying(1), **change)))


def test_wrong_member_is_named_by_its_pointer(server: Running) -> None:
    called = call(replying(1))
    called["task_contract"]["budget"]["time_ms"] = -1

    assert "/task_contract/budget/time_ms" == executed(server, called).json["pointer"]


@pytest.mark.parametrize("body", [b"", b"{", b'{"task_id":1,"task_id":2}', b"[" * 100_000])
def test_bodies_that_are_no_json_are_refused(body: bytes, server: Running) -> None:
    reply = server.request("POST", "/execute", body, {"Content-Type": "application/json"})

    assert (400, "bad_json") == code(reply)


def test_simultaneous_duplicates_are_one_run(server: Running, tmp_path: Path) -> None:
    """Acceptance row 20: needs two seconds under three simultaneous duplicates (one run)."""
    runs = tmp_path / "runs"
    called = call({"file": str(runs), "takes_s": 2, **replying("done")})
    replies = at_once(server, [called] * 3)

    assert [200] * 3 == [reply.status for reply in replies]
    assert 1 == len({reply.body for reply in replies})
    assert 1 == len(runs.read_text().splitlines())


def at_once(server: Running, calls: list[dict[str, Any]]) -> list[Reply]:
    replies: list[Reply] = []
    asking = [
        threading.Thread(target=lambda called=called: replies.append(executed(server, called)))
        for called in calls
    ]
    for thread in asking:
        thread.start()
    for thread in asking:
        thread.join()
    return replies


def test_same_call_spelt_otherwise_gets_the_same_answer(server: Running, tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    called = call({"file": str(runs), **replying("done")})
    first = executed(server, called)
    spelt = json.dumps(dict(reversed(called.items())), indent=1).encode()
    second = server.request("POST", "/execute", spelt, {"Content-Type": "application/json"})

    assert first.body == second.body
    assert 1 == len(runs.read_text().splitlines())


def test_same_ids_with_another_body_are_a_conflict(server: Running) -> None:
    """Acceptance row 20: same key with other body."""
    called = call(replying("done"))
    executed(server, called)
    reply = executed(server, {**called, "stage": "DECIDE"})

    assert (409, "execution_conflict") == code(reply)


def test_client_that_is_gone_and_comes_back_gets_the_same_answer(
    server: Running, tmp_path: Path
) -> None:
    """Acceptance row 20: client gone and back."""
    runs = tmp_path / "runs"
    called = call({"file": str(runs), "takes_s": 2, **replying("done")})
    body = json.dumps(called).encode()
    head = (
        f"POST /execute HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    for _ in range(3):
        with server.connect() as connection:
            connection.sendall(head.encode() + body)
            while not runs.exists():
                assert server.process.poll() is None
    reply = executed(server, called)

    assert 200 == reply.status
    assert 1 == len(runs.read_text().splitlines())
    assert reply.body == executed(server, called).body


def test_failure_is_not_kept(server: Running, tmp_path: Path) -> None:
    (tmp_path / "gate").touch()
    called = call({"file": str(tmp_path / "gate" / "runs"), **replying("done")})
    first = executed(server, called)
    (tmp_path / "gate").unlink()
    (tmp_path / "gate").mkdir()

    assert (502, "executor_failed") == code(first)
    assert 200 == executed(server, called).status


def test_without_an_executor_that_is_said(tmp_path: Path) -> None:
    """Acceptance row 20: no executor."""
    with proposing(tmp_path) as running:
        assert (501, "no_executor") == code(executed(running, call(replying(1))))
        assert (400, "unsupported_profile") == code(
            executed(running, call(replying(1), profile="other"))
        )


def test_full_store_is_said_before_anything_is_run(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    with proposing(tmp_path / "state", ACTS, max_store=8_192) as running:
        reply = executed(running, call({"file": str(runs), **replying("done")}))
        assert 200 == reply.status
        reply = executed(running, call({"file": str(runs), **replying("done")}))

    assert (503, "store_full") == code(reply)
    assert 1 == len(runs.read_text().splitlines())


def test_duplicates_over_workers_are_one_run_and_outlast_the_server(tmp_path: Path) -> None:
    runs, state = tmp_path / "runs", tmp_path / "state"
    called = call({"file": str(runs), "takes_s": 2, **replying("done")})
    with proposing(state, ACTS, workers=2) as running:
        replies = at_once(running, [called] * 6)
    with proposing(state, ACTS) as running:
        replies.append(executed(running, called))
        reference = replies[-1].json["evidence_refs"][0]
        fetched(running, reference, PUBLIC)

    assert [200] * 7 == [reply.status for reply in replies]
    assert 1 == len({reply.body for reply in replies})
    assert 1 == len(runs.read_text().splitlines())


def test_nothing_is_left_of_an_executor_when_the_server_is_stopped(tmp_path: Path) -> None:
    marker, runs = new_marker(), tmp_path / "runs"
    with proposing(tmp_path / "state", ACTS) as running:
        called = call({"file": str(runs), "marker": marker, "takes_s": 60})
        body = json.dumps(called).encode()
        with running.connect() as connection:
            head = (
                f"POST /execute HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n"
                f"Content-Length: {len(body)}\r\n\r\n"
            )
            connection.sendall(head.encode() + body)
            while not left(marker):
                assert running.process.poll() is None
        running.stop()

    assert [] == left(marker)


def parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def test_run_of_a_worker_that_was_killed_is_taken_over_and_leaves_nothing(tmp_path: Path) -> None:
    marker, runs, gate = new_marker(), tmp_path / "runs", tmp_path / "gate"
    inputs = {"file": str(runs), "marker": marker, "gate": str(gate), **replying("done")}
    called = call(inputs)
    with proposing(tmp_path / "state", ACTS, workers=2) as running:
        body = json.dumps(called).encode()
        with running.connect() as connection:
            head = (
                f"POST /execute HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n"
                f"Content-Length: {len(body)}\r\n\r\n"
            )
            connection.sendall(head.encode() + body)
            while not left(marker):
                assert running.process.poll() is None
            function = int(runs.read_text())
            (sleeper,) = left(marker)
            os.kill(parent(parent(function)), signal.SIGKILL)
        gate.touch()
        reply = executed(running, called)

        assert 200 == reply.status
        assert 2 == len(runs.read_text().splitlines())
        until = monotonic() + 10
        while sleeper in left(marker):
            assert monotonic() < until
    assert [] == left(marker)


def test_full_queue_of_executors_keeps_nobody_from_other_answers(tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    with proposing(tmp_path / "state", ACTS) as running:
        calls = [call({"gate": str(gate), **replying("done")}) for _ in range(40)]
        replies: list[Reply] = []
        asking = threading.Thread(target=lambda: replies.extend(at_once(running, calls)))
        asking.start()
        while sum(line.get("status") == 503 for line in running.log_lines()) < 8:
            assert asking.is_alive()
        capable = running.request("GET", "/capabilities")
        assert asking.is_alive()
        gate.touch()
        asking.join()
        again = executed(running, call(replying("done")))

    busy = [reply for reply in replies if reply.status == 503]
    assert [8, 32] == [len(busy), sum(reply.status == 200 for reply in replies)]
    assert {("busy", "1")} == {(reply.json["code"], reply.headers["retry-after"]) for reply in busy}
    assert (200, 200) == (capable.status, again.status)


AGENT = """
import json, os, sys, time
inputs = json.load(sys.stdin)["inputs"]
sys.stderr.write(inputs.get("said", ""))
if "marker" in inputs:
    import subprocess
    argv = [sys.executable, "-c", "import time; time.sleep(600)", inputs["marker"]]
    subprocess.Popen(argv, start_new_session=True)
    time.sleep(600)
print(inputs.get("prints") or json.dumps(inputs["reply"]))
if inputs.get("bytes"):
    print(" " * inputs["bytes"])
sys.exit(inputs.get("exits", 0))
"""


@pytest.fixture(scope="module")
def commanded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("commanded")
    (folder / "agent.py").write_text(AGENT)
    executor = f"cmd:python3 {folder / 'agent.py'}"
    with proposing(folder / "state", executor, timeout_s=15.0) as running:
        yield running


def test_program_proposes(commanded: Running) -> None:
    reply = executed(commanded, call(replying({"answer": "yes"}), schema=SCHEMA))
    record = fetched(commanded, reply.json["evidence_refs"][0], PUBLIC)

    assert {"answer": "yes"} == reply.json["candidate_output"]
    assert "cmd:python3" == json.loads(record)["executor"]


@pytest.mark.parametrize(
    ("inputs", "name"),
    [
        ({"exits": 1, **replying(1)}, "executor_failed"),
        ({"prints": "garbage"}, "executor_output_invalid"),
        ({"bytes": 2**21, **replying(1)}, "executor_output_invalid"),
        ({}, "executor_failed"),
    ],
)
def test_trouble_of_a_program_is_told(
    inputs: dict[str, Any], name: str, commanded: Running
) -> None:
    """Acceptance row 20: exits 1, prints garbage, prints 2 MiB."""
    reply = executed(commanded, call({**inputs, "said": "timed out"}))

    assert (502, name) == code(reply)
    assert b"timed out" not in reply.body


def test_late_program_is_ended_with_all_that_it_started(commanded: Running) -> None:
    """Acceptance row 20: hangs: 504, "timed out", no process left."""
    marker = new_marker()
    reply = executed(commanded, call({"marker": marker}, time_ms=3_000))

    assert (504, "executor_timeout") == code(reply)
    assert "timed out" in reply.json["detail"]
    assert gone(marker)
