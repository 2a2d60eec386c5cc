"""Executors that are functions, in real processes."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from signoff.executors import (
    ExecutorFailed,
    ExecutorOutputInvalid,
    ExecutorTimedOut,
)
from signoff.executors.function import FunctionExecutor
from signoff.jsonvalue import JSON
from tests.cli.streams import environment
from tests.leftovers import left, new_marker

ROOT = Path(__file__).resolve().parent.parent
LONG_S = 30.0


@contextmanager
def executor(name: str, **more: Any) -> Iterator[FunctionExecutor]:
    made = FunctionExecutor(f"tests.executor_functions:{name}", folder=ROOT, **more)
    try:
        yield made
    finally:
        made.close()


def test_echo_answers_profile_and_prompt() -> None:
    made = FunctionExecutor("signoff.executors:echo")
    made.prepare()

    found = made.run({"profile": "default", "inputs": {"prompt": "a::b"}}, LONG_S)

    assert {"answer": "default::a::b"} == found.output
    assert {"answer": "::"} == made.run({"inputs": []}, LONG_S).output
    assert "call:signoff.executors:echo" == made.name
    made.close()


def test_process_is_another_and_serves_again() -> None:
    with executor("process") as made:
        first, second = (made.run({}, LONG_S).output for _ in range(2))

    assert first == second != os.getpid()


def test_evidence_and_inline_texts_come_along() -> None:
    reply: JSON = {
        "output": [1.5, None, "é", 2**70],
        "evidence": [{"mime": "image/png", "content_base64": "AAH/", "name": "p.png"}],
        "inline": [{"mime": "text/plain", "content": "why"}],
    }
    with executor("returns") as made:
        found = made.run({"reply": reply}, LONG_S)

    assert [1.5, None, "é", 2**70] == found.output
    assert [(b"\x00\x01\xff", "image/png", "p.png")] == [
        (item.data, item.mime, item.name) for item in found.evidence
    ]
    assert ["why"] == [item.content for item in found.inline]


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        (None, "must be object, got null"),
        ({}, "is missing at /output"),
        ({"output": 1, "evidence": {}}, "must be array, got object at /evidence"),
        ({"output": 1, "evidence": [{"mime": "a/b"}]}, "either content or content_base64"),
        ({"output": 1, "evidence": [{"mime": "a/b", "content_base64": "?"}]}, "must be base64"),
        ({"output": 1, "evidence": [{"mime": "a\n", "content": ""}]}, "media type"),
        ({"output": 1, "evidence": [{"mime": "a/b", "content": ""}] * 32}, "at most 31 items"),
        ({"output": 1, "inline": [{"mime": "text/plain"}]}, "missing at /inline/0/content"),
        ({"output": "x" * 2**20}, "more than 1048576 bytes"),
    ],
)
def test_replies_of_another_shape_are_refused(reply: Any, told: str) -> None:
    with executor("returns") as made, pytest.raises(ExecutorOutputInvalid) as refused:
        made.run({"reply": reply}, LONG_S)

    assert told in str(refused.value)


@pytest.mark.parametrize("name", ["nan", "open", "deep", "half"])
def test_what_is_no_json_is_refused(name: str, tmp_path: Path) -> None:
    """And the process serves again."""
    (tmp_path / "odd_values.py").write_text(
        "def nan(request): return {'output': float('nan')}\n"
        "def half(request): return {'output': chr(0xd800)}\n"
        "def open(request): return {'output': object()}\n"
        "def deep(request):\n    found = []\n    for _ in range(10**5): found = [found]\n"
        "    return {'output': found}\n"
    )
    made = FunctionExecutor(f"odd_values:{name}", folder=tmp_path)
    for _ in range(2):
        with pytest.raises(ExecutorOutputInvalid, match="no JSON"):
            made.run({}, LONG_S)
    made.close()


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("raises", "raised RuntimeError (connection timed out)"),
        ("raises_oddly", "raised Odd"),
        ("exits", "raised SystemExit (5)"),
        ("vanishes", "exit code 3"),
        ("is_killed", "SIGKILL"),
    ],
)
def test_failures_are_told_and_the_next_call_is_served(name: str, told: str) -> None:
    with executor(name) as made:
        for _ in range(2):
            with pytest.raises(ExecutorFailed) as failed:
                made.run({}, LONG_S)

            assert told in str(failed.value)


def test_what_is_printed_is_the_log_and_no_part_of_the_reply() -> None:
    with executor("prints") as made:
        found = made.run({}, LONG_S)
        long = made.run({"more": 2**20}, LONG_S)

    assert "" == found.output
    assert b"on stdout" in found.log
    assert b"on stderr" in found.log
    assert 2**16 == len(long.log)


def test_late_call_is_killed_with_all_that_it_started(tmp_path: Path) -> None:
    """Acceptance row 20: hangs, no process left."""
    marker, begun = new_marker(), tmp_path / "begun"
    with executor("hangs_with_children") as made:
        made.prepare()
        with pytest.raises(ExecutorTimedOut, match="timed out after"):
            made.run({"marker": marker, "begun": str(begun)}, 3.0)

        assert begun.exists()
        assert [] == left(marker)


def test_close_ends_what_runs(tmp_path: Path) -> None:
    marker, begun = new_marker(), tmp_path / "begun"
    failures: list[Exception] = []
    with executor("hangs_with_children") as made:

        def call() -> None:
            try:
                made.run({"marker": marker, "begun": str(begun)}, LONG_S)
            except ExecutorFailed as exc:
                failures.append(exc)

        calling = threading.Thread(target=call)
        calling.start()
        while not begun.exists():
            assert calling.is_alive()
    calling.join(LONG_S)

    assert 1 == len(failures)
    assert [] == left(marker)


DYING = """
import os, signal, sys, threading, time
from pathlib import Path
from signoff.executors.function import FunctionExecutor
made = FunctionExecutor("tests.executor_functions:hangs_with_children", folder=Path(sys.argv[3]))
request = {"marker": sys.argv[1], "begun": sys.argv[2]}
threading.Thread(target=made.run, args=(request, 60.0), daemon=True).start()
while not Path(sys.argv[2]).exists():
    time.sleep(0.01)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_nothing_outlives_a_caller_that_is_killed(tmp_path: Path) -> None:
    marker, begun = new_marker(), tmp_path / "begun"
    argv = [sys.executable, "-c", DYING, marker, str(begun), str(ROOT)]
    subprocess.run(argv, env=environment(), check=False, timeout=60)
    until = monotonic() + 10

    assert begun.exists()
    while left(marker):
        assert monotonic() < until


def test_calls_beyond_the_workers_wait_and_may_be_late(tmp_path: Path) -> None:
    with executor("counts", max_workers=1) as made:
        made.prepare()
        slow: JSON = {"inputs": {"file": str(tmp_path / "runs"), "takes_s": 2}}
        calling = threading.Thread(target=made.run, args=(slow, LONG_S))
        calling.start()
        while not (tmp_path / "runs").exists():
            assert calling.is_alive()
        begin = monotonic()
        with pytest.raises(ExecutorTimedOut):
            made.run(slow, 0.05)

        assert calling.is_alive(), f"it waited {monotonic() - begin} s"
        calling.join()

    assert 1 == len((tmp_path / "runs").read_text().splitlines())


def test_worker_that_died_while_idle_is_replaced() -> None:
    with executor("process") as made:
        first = made.run({}, LONG_S).output
        assert isinstance(first, int)
        os.kill(first, 9)
        until = monotonic() + 10
        while Path(f"/proc/{first}/cmdline").exists():
            assert monotonic() < until

        assert first != made.run({}, LONG_S).output


@pytest.mark.parametrize(
    ("reference", "told"),
    [
        ("signoff.executors:nothing", 'no "nothing"'),
        ("no_such_module:f", "cannot be imported: ModuleNotFoundError"),
        ("tests.executor_functions:not_callable", "expected a function"),
    ],
)
def test_function_that_is_not_there_is_found_out_beforehand(reference: str, told: str) -> None:
    made = FunctionExecutor(reference, folder=ROOT)
    with pytest.raises(ExecutorFailed) as failed:
        made.prepare()
    with pytest.raises(ExecutorFailed):
        made.run({}, LONG_S)
    made.close()

    assert told in str(failed.value)
    assert "--executor" in str(failed.value)


def test_closed_executor_says_so() -> None:
    with executor("process") as made:
        made.run({}, LONG_S)
    with pytest.raises(ExecutorFailed, match="being shut down"):
        made.run({}, LONG_S)


def test_module_that_takes_long_to_import_is_imported_on_after_the_call(tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    (tmp_path / "slow_import.py").write_text(
        f"import os, time\nwhile not os.path.exists({str(gate)!r}): time.sleep(0.01)\n"
        "def f(request): return {'output': 1}\n"
    )
    made = FunctionExecutor("slow_import:f", folder=tmp_path, max_workers=1)
    with pytest.raises(ExecutorTimedOut):
        made.run({}, 0.5)
    gate.touch()

    assert 1 == made.run({}, LONG_S).output
    made.close()


FORKING = """
import os, sys
from pathlib import Path
from signoff.executors.function import FunctionExecutor
made = FunctionExecutor("tests.executor_functions:process", folder=Path(sys.argv[1]))
made.prepare()
first = made.run({}, 30.0).output
child = os.fork()
if not child:
    own = made.run({}, 30.0).output
    made.close()
    os._exit(0 if own != first else 1)
_, status = os.waitpid(child, 0)
print(os.waitstatus_to_exitcode(status), made.run({}, 30.0).output == first)
made.close()
"""


def test_fork_has_workers_of_its_own_and_leaves_those_of_its_parent_alone() -> None:
    argv = [sys.executable, "-c", FORKING, str(ROOT)]
    done = subprocess.run(argv, env=environment(), check=True, timeout=90, stdout=subprocess.PIPE)

    assert b"0 True\n" == done.stdout
