"""A warm process: forks of it are like programs of their own, and it gives no more than L1."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from signoff.sandbox import Sandbox
from signoff.sandbox.command import Command, Completed, Ended, Limits
from signoff.status import Status
from tests.suites import PASSING, found, write

PRELOAD = "import json, decimal"


@pytest.fixture(scope="module")
def warm() -> Iterator[Sandbox]:
    with Sandbox(warm=True) as made:
        yield made


def run(
    sandbox: Sandbox, folder: Path, source: str, *args: str, timeout_s: float = 30
) -> Completed:
    write(folder, {"program.py": source})
    command = Command(
        argv=(sys.executable, str(folder / "program.py"), *args),
        workspace=str(folder),
        env={"GIVEN": "1"},
        preload=PRELOAD,
        limits=Limits(timeout_s=timeout_s),
    )
    return sandbox.run(command)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("print('a')", (0, "a\n", "")),
        ("import sys; print(sys.argv[1:]); sys.exit(3)", (3, "['x']\n", "")),
        ("import sys; sys.exit('why')", (1, "", "why\n")),
        ("import sys; sys.exit(None)", (0, "", "")),
        ("import atexit; atexit.register(print, 'late')", (0, "late\n", "")),
        ("import os; os._exit(7)", (7, "", "")),
        ("import threading; threading.Timer(0.05, print, ['thread']).start()", (0, "thread\n", "")),
        ("import os; print(os.environ['GIVEN'], 'SECRET' in os.environ)", (0, "1 False\n", "")),
        ("import gc; print(gc.isenabled())", (0, "True\n", "")),
        ("import os; print(sorted(os.listdir('.')))", (0, "['program.py']\n", "")),
        ("if __name__ == '__main__': print('main')", (0, "main\n", "")),
        ("import sys; print('decimal' in sys.modules)", (0, "True\n", "")),
        ("import sys; print([m for m in sys.modules if 'signoff' in m])", (0, "[]\n", "")),
    ],
)
def test_program_runs_as_if_it_was_started(
    warm: Sandbox,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    source: str,
    expected: tuple[int, str, str],
) -> None:
    monkeypatch.setenv("SECRET", "hush")
    with run(warm, tmp_path, source, "x") as done:
        printed = done.stdout.head.decode(), done.stderr.head.decode()

        assert Ended.EXITED is done.ended
        assert expected == (done.exit_code, *printed)
        assert "L1" == done.isolation


def test_exception_is_printed(warm: Sandbox, tmp_path: Path) -> None:
    with run(warm, tmp_path, "1 / 0") as done:
        assert 1 == done.exit_code
        assert b"ZeroDivisionError" in done.stderr.head


def test_runs_share_nothing(warm: Sandbox, tmp_path: Path) -> None:
    source = "import json; print(hasattr(json, 'mark')); json.mark = 1; open('left', 'w').close()"
    for _ in range(2):
        with run(warm, tmp_path, source) as done:
            assert b"False\n" == done.stdout.head
    assert not (tmp_path / "left").exists()


def test_deadline_and_what_is_left_behind_are_seen_to(warm: Sandbox, tmp_path: Path) -> None:
    with run(warm, tmp_path, "import time; time.sleep(60)", timeout_s=0.5) as late:
        assert Ended.TIMED_OUT is late.ended
        assert late.elapsed_s < 5
    leaves = "import os, time\nif not os.fork():\n    os.setsid()\n    time.sleep(60)\n"
    with run(warm, tmp_path, leaves) as done:
        assert (Ended.EXITED, 1) == (done.ended, done.left_processes)


def test_process_that_kills_the_warm_one_gains_nothing(tmp_path: Path) -> None:
    kills = "import os, signal\nos.kill(os.getppid(), signal.SIGKILL)\n"
    with Sandbox(warm=True) as sandbox:
        with run(sandbox, tmp_path, kills) as done:
            assert Ended.BROKEN is done.ended
        with run(sandbox, tmp_path, "print('again')") as done:
            assert 0 == done.exit_code


def test_preloading_that_fails_is_no_run(tmp_path: Path) -> None:
    write(tmp_path, {"a.py": ""})
    command = Command(argv=(sys.executable, str(tmp_path / "a.py")), preload="import nowhere")
    with Sandbox(warm=True) as sandbox, sandbox.run(command) as done:
        assert (Ended.BROKEN, None) == (done.ended, done.isolation)
        assert "cannot preload: ModuleNotFoundError" in done.reason
    missing = Command(argv=("/no/such/python", "a.py"), preload=PRELOAD)
    with Sandbox(warm=True) as sandbox, sandbox.run(missing) as done:
        assert Ended.BROKEN is done.ended
        assert "/no/such/python" in done.reason


def test_nothing_is_warm_unless_asked_for_on_both_sides(tmp_path: Path) -> None:
    source = "import sys; print('decimal' in sys.modules)"
    with Sandbox(level="L1") as cold, run(cold, tmp_path, source) as done:
        assert b"False\n" == done.stdout.head


def test_higher_level_is_not_given_up_for_warmth(tmp_path: Path) -> None:
    with Sandbox(warm=True) as sandbox, run(sandbox.requiring("L2"), tmp_path, "pass") as done:
        assert done.isolation in {"L2", "L3"} or done.ended is Ended.ISOLATION_UNAVAILABLE


@pytest.mark.parametrize(
    ("text", "status", "detail"),
    [
        (PASSING, Status.PASS, "2 passed, 0 skipped in "),
        ("def test_one():\n    assert 0\n", Status.FAIL, "tests_failed: "),
        ("import os\nos._exit(0)\n", Status.FAIL, "no_report: "),
        ("import signoff\nfrom signoff.model import Finding\n" + PASSING, Status.PASS, "2 passed"),
    ],
)
def test_tests_are_judged_alike(
    warm: Sandbox, tmp_path: Path, text: str, status: Status, detail: str
) -> None:
    write(tmp_path, {"tests/test_a.py": text})
    source = str(Path(__file__).parents[2] / "src")
    write(tmp_path, {"pytest.ini": f"[pytest]\npythonpath = {source}\n"})
    finding = found(
        warm, "pytest", tmp_path, args=["tests"], required_tests=["tests/test_a.py::test_one"]
    )

    assert (status, "L1") == (finding.status, finding.isolation), finding
    assert finding.detail.startswith(detail)
    assert any("warm" in text for text in finding.missing)
