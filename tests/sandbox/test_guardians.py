"""A guardian is used again when nothing of its command is left in it, and only then."""

from __future__ import annotations

import os
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from signoff.sandbox.command import Command, Ended
from signoff.sandbox.supervisor.cgroup import places
from signoff.sandbox.supervisor.kinship import descendants, is_alive
from tests.sandbox.attacks import Marked, eventually

GUARDIAN = "import os; print(os.getppid())"
EATS = "print(len(bytearray(300_000_000)))"
MIB = 2**20

without_groups = pytest.mark.skipif(
    {name for place in places() for name in place.controllers} < {"memory", "pids"},
    reason="no control groups that limit memory and processes can be made",
)


def groups(keeper: int) -> set[int]:
    """The guardians of a keeper that have control groups."""
    names = [path.name for place in places() for path in Path(place.path).iterdir()]
    return {int(name.split("-")[3]) for name in names if f"-{keeper}-" in name}


def guardian(plain: Marked) -> int:
    return int(plain.run(GUARDIAN).stdout.head)


@without_groups
def test_it_is_used_again(plain: Marked) -> None:
    seen = {guardian(plain) for _ in range(6)}

    assert len(seen) <= 2


@pytest.mark.parametrize(
    "program",
    [
        "import subprocess; subprocess.Popen(['sleep', '60'])",
        "import os; os.kill(os.getpid(), 9)",
        "import time; time.sleep(60)",
    ],
)
def test_it_is_not_used_again_after(plain: Marked, program: str) -> None:
    who = f"import os; print(os.getppid(), flush=True); {program.removeprefix('import os; ')}"
    before = int(plain.run(who, timeout_s=2).stdout.head)

    assert before not in {guardian(plain) for _ in range(4)}
    assert eventually(lambda: not is_alive(before))


@without_groups
def test_each_command_has_its_own_limits(plain: Marked) -> None:
    ended = [
        plain.run(EATS, memory_bytes=size * MIB, processes=size).ended
        for size in (100, 1_000, 200, 2_000, 2_000)
    ]

    assert [
        Ended.MEMORY_LIMIT,
        Ended.EXITED,
        Ended.MEMORY_LIMIT,
        Ended.EXITED,
        Ended.EXITED,
    ] == ended


def test_nothing_of_one_command_reaches_the_next(plain: Marked, tmp_path: Path) -> None:
    looks = """import os, resource
print(sorted(os.environ), os.umask(0), os.getpriority(0, 0), os.listdir('.'))
print(resource.getrlimit(resource.RLIMIT_NOFILE), sorted(os.listdir('/proc/self/fd')))
print(open('/proc/self/oom_score_adj').read(), os.getpgrp() == os.getsid(0) == os.getpid())"""
    first = plain.run(looks).stdout.head
    plain.run(
        "import os; os.umask(0o77); open('x', 'w'); os.setpriority(0, 0, 5); os.chdir('/')",
        workspace=str(tmp_path),
        env={"MORE": "1"},
        open_files=50,
    ).close()

    assert first == plain.run(looks).stdout.head


def test_one_that_is_killed_while_it_waits_is_replaced(plain: Marked) -> None:
    plain.run("pass")
    keeper = plain.sandbox._house.keeper().pid
    waiting = [process.pid for process in descendants(keeper)]
    for pid in waiting:
        os.kill(pid, signal.SIGKILL)

    assert eventually(lambda: not any(map(is_alive, waiting)))
    assert eventually(lambda: bool(descendants(keeper)))
    assert 0 == plain.run("pass").exit_code
    assert eventually(lambda: not groups(keeper) & {*waiting})


def test_no_control_group_is_left(marked: Marked) -> None:
    for program in ("pass", "import os; os.kill(os.getpid(), 9)", "pass"):
        marked.run(program)
    keeper = marked.sandbox._house.keeper().pid
    marked.sandbox.close()

    assert not groups(keeper)


def test_many_at_a_time_come_to_no_harm(plain: Marked) -> None:
    def code(number: int) -> int | None:
        command = Command(argv=("sh", "-c", f"exit {number}"))
        return plain.sandbox.run(command).exit_code

    with ThreadPoolExecutor(6) as pool:
        assert [*range(60)] == [*pool.map(code, range(60))]
