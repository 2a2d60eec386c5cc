"""Nothing of a command outlives it, whoever dies first."""

from __future__ import annotations

import os
import random
import secrets
import signal
import subprocess
import sys
import time
from pathlib import Path
from threading import Thread

import pytest

from signoff.sandbox import Sandbox
from signoff.sandbox.command import Command, Completed, Ended
from signoff.sandbox.supervisor.kinship import descendants, is_alive
from tests.sandbox.attacks import LATEST_S, MARK, Marked, eventually
from tests.sandbox.attacks import marked as left_with

ROOT = Path(__file__).parents[2]
RUNS = (sys.executable, "-m", "tests.sandbox.endless_commands")
ESCAPE = """
import os, sys, time
if os.fork():
    {parent}
os.setsid()
if os.fork():
    os._exit(0)
os.write(1, b'out ')
{child}
time.sleep(60)
"""


def test_a_sleep_past_the_deadline(marked: Marked) -> None:
    done, took_s = marked.timely("import time; time.sleep(60)", timeout_s=0.5)

    assert Ended.TIMED_OUT is done.ended
    assert (None, None) == (done.exit_code, done.signal)
    assert 0.5 <= took_s < 0.5 + LATEST_S
    assert not marked.left()


def test_ignored_signals(marked: Marked) -> None:
    program = "import signal, time\nfor n in (1, 2, 3, 13, 15): signal.signal(n, signal.SIG_IGN)\ntime.sleep(60)"
    done, took_s = marked.timely(program, timeout_s=0.5)

    assert Ended.TIMED_OUT is done.ended
    assert took_s < 0.5 + LATEST_S
    assert not marked.left()


def test_a_command_that_stops_itself(marked: Marked) -> None:
    done, took_s = marked.timely("import os; os.kill(os.getpid(), 19); print(1)", timeout_s=0.5)

    assert Ended.TIMED_OUT is done.ended
    assert took_s < 0.5 + LATEST_S
    assert not marked.left()


def test_double_fork_and_session_of_its_own(marked: Marked) -> None:
    """A grandchild that holds the pipe for a minute holds nobody up, and is killed."""
    program = ESCAPE.format(parent="time.sleep(0.3); os._exit(3)", child="")
    done, took_s = marked.timed(program, timeout_s=30)

    assert (Ended.EXITED, 3) == (done.ended, done.exit_code)
    assert b"out " == done.stdout.head
    assert took_s < 10
    assert not marked.left()


def test_what_is_left_is_counted(marked: Marked) -> None:
    program = "import os, time\nfor _ in range(3):\n    if not os.fork(): time.sleep(60)"
    done = marked.run(program)

    assert (0, 3) == (done.exit_code, done.left_processes)
    assert not marked.left()


@pytest.mark.parametrize("leaves", ["sleep 9 & sleep 8 & true", "(setsid sleep 9 & sleep 8 &)"])
def test_what_a_short_command_leaves_is_counted(marked: Marked, leaves: str) -> None:
    done = marked.sandbox.run(Command(argv=("sh", "-c", leaves), env={MARK: marked.mark}))

    assert (Ended.EXITED, 0, 2) == (done.ended, done.exit_code, done.left_processes)
    assert not marked.left()


def test_what_ends_with_its_parent_is_not_left(marked: Marked) -> None:
    program = "import os\nr, w = os.pipe()\nif not os.fork():\n    os.close(w); os.read(r, 1)"
    done = marked.run(program)

    assert (0, 0) == (done.exit_code, done.left_processes)


def test_closing_its_output_ends_nothing(marked: Marked) -> None:
    done = marked.run("import os, sys\nos.close(1); os.close(2)\nos._exit(5)")

    assert (Ended.EXITED, 5) == (done.ended, done.exit_code)


FIND = """
import os, signal, time
guardian = os.getppid()
keeper = int(open(f'/proc/{guardian}/stat').read().rpartition(')')[2].split()[1])
"""


@pytest.mark.parametrize(
    "attack",
    [
        "os.kill(guardian, 9)",
        "os.kill(guardian, 19)",
        "os.kill(keeper, 19); os.kill(guardian, 9)",
        "os.kill(keeper, 19); os.kill(guardian, 19)",
        "os.kill(keeper, 9); os.kill(guardian, 19)",
    ],
)
def test_who_watches_is_killed_or_stopped(plain: Marked, attack: str) -> None:
    """At the lowest level a command can do this; it gains nothing by it."""
    escape = ESCAPE.format(parent="pass", child="")
    done, _ = plain.timed(f"{FIND}{attack}\n{escape}\ntime.sleep(60)", timeout_s=1)

    assert done.ended in {Ended.BROKEN, Ended.TIMED_OUT}
    assert eventually(lambda: not plain.left())
    assert 0 == plain.run("pass").exit_code


def test_guardian_and_keeper_are_killed(plain: Marked) -> None:
    if os.geteuid():
        pytest.skip("what is left can only be found by its control group")
    done = plain.run(f"{FIND}os.kill(keeper, 9); os.kill(guardian, 9)\ntime.sleep(60)")

    assert Ended.BROKEN is done.ended
    assert eventually(lambda: not plain.left())
    assert 0 == plain.run("pass").exit_code


def test_guardian_and_keeper_are_killed_where_there_are_no_control_groups(
    marked: Marked, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is contained is found by its mounts, at the latest when the sandbox is closed."""
    if marked.sandbox._level != "L3":
        pytest.skip("what is not contained can only be found by its control group")
    monkeypatch.setattr("signoff.sandbox.running.places", list)
    done = list[Completed]()
    thread = Thread(target=lambda: done.append(marked.run("import time; time.sleep(60)")))
    thread.start()
    keeper = marked.sandbox._house.keeper().pid

    assert eventually(lambda: bool(marked.left()))

    for pid in (keeper, *(one.pid for one in descendants(keeper) if one.parent == keeper)):
        os.kill(pid, signal.SIGKILL)
    thread.join()
    marked.sandbox.close()

    assert [Ended.BROKEN] == [one.ended for one in done]
    assert not marked.left()


def test_a_command_goes_on_when_the_keeper_is_killed(plain: Marked) -> None:
    done = plain.run(f"{FIND}os.kill(keeper, 9)\ntime.sleep(0.2)\nprint('fine')")

    assert (Ended.EXITED, b"fine\n") == (done.ended, done.stdout.head)


@pytest.mark.parametrize("before", [0, 1, 5])
def test_a_guardian_that_waits_ends_with_the_keeper(before: int) -> None:
    with Sandbox(level="L1") as sandbox:
        for _ in range(before):
            sandbox.run(Command(argv=("true",)))
        keeper = sandbox._house.keeper().pid

        assert eventually(lambda: bool(descendants(keeper)))

        waiting = [process.pid for process in descendants(keeper)]
        os.kill(keeper, signal.SIGKILL)

        assert eventually(lambda: not any(map(is_alive, waiting)))


def test_a_killed_keeper_leaves_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with Sandbox(level="L1") as sandbox:
        marked = Marked(sandbox, secrets.token_hex(8))
        marked.run(f"{FIND}os.kill(keeper, 9)")
        marked.run("pass")

    assert [] == list(tmp_path.iterdir())


def _kill_at_random(level: str, folder: Path, kills: int) -> None:
    chance = random.Random(20261122)
    for _ in range(kills):
        mark = secrets.token_hex(8)
        env = os.environ | {MARK: mark, "TMPDIR": str(folder)}
        with subprocess.Popen([*RUNS, level], cwd=ROOT, env=env, stdout=subprocess.PIPE) as signoff:
            assert signoff.stdout is not None
            assert b"." == signoff.stdout.read(1)
            time.sleep(chance.uniform(0, 0.3))
            signoff.kill()

        assert eventually(lambda mark=mark: not left_with(mark))  # type: ignore[misc]  # a lambda
        assert eventually(lambda: not list(folder.glob("signoff-*")))


def test_signoff_is_killed_at_random_moments(level: str, tmp_path: Path) -> None:
    """Everything it had started ends, and everything temporary is removed."""
    _kill_at_random(level, tmp_path, 6)


@pytest.mark.long
def test_signoff_is_killed_at_many_random_moments(level: str, tmp_path: Path) -> None:
    _kill_at_random(level, tmp_path, 70)


def test_an_interrupt_ends_what_runs(plain: Marked) -> None:
    """A person's Ctrl-C reaches whoever waits, and nothing goes on behind his back."""

    def interrupted(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupted)
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    try:
        with pytest.raises(KeyboardInterrupt):
            plain.run("import time; time.sleep(60)", timeout_s=60)
    finally:
        signal.signal(signal.SIGALRM, before)

    assert eventually(lambda: not plain.left())


def test_an_interpreter_that_ends_without_closing_is_cleaned_up_after(tmp_path: Path) -> None:
    mark = secrets.token_hex(8)
    env = os.environ | {MARK: mark, "TMPDIR": str(tmp_path)}
    done = subprocess.run(
        [*RUNS, "L1", "once"], cwd=ROOT, env=env, check=False, capture_output=True
    )

    assert (0, b"") == (done.returncode, done.stderr)
    assert eventually(lambda: not list(tmp_path.iterdir()))
