from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from signoff.sandbox.supervisor import cgroup
from signoff.sandbox.supervisor.cgroup import ControlGroup, Place, end_abandoned, places


@pytest.mark.parametrize(
    ("groups", "mounts", "expected"),
    [
        ("0::/user/app\n", "cgroup2 {0}/u cgroup2 rw 0 0\n", [("u/user", 2, {"memory", "pids"})]),
        (
            "8:pids:/\n4:memory:/process\n0::/\n",
            "c {0}/pids cgroup rw,pids 0 0\nc {0}/memory cgroup rw,memory 0 0\n",
            [("pids", 1, {"pids"}), ("memory/process", 1, {"memory"})],
        ),
        ("4:memory:/outside\n", "c {0}/memory cgroup rw,memory 0 0\n", [("memory", 1, {"memory"})]),
        ("1:cpu:/\n", "c {0}/cpu cgroup rw,cpu 0 0\n", []),
        ("", "", []),
    ],
)
def test_where_groups_can_be_made(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    groups: str,
    mounts: str,
    expected: list[tuple[str, int, set[str]]],
) -> None:
    """In a hierarchy of either version, with the path of this process or that of a container."""
    for path in ("u/user/app", "pids", "memory/process", "cpu"):
        (tmp_path / path).mkdir(parents=True)
    for path in ("u/user/app", "u/user", "pids", "memory/process", "memory", "cpu"):
        (tmp_path / path / "cgroup.procs").touch()
    (tmp_path / "u/user/cgroup.subtree_control").write_text("cpu memory pids\n")
    texts = {"/proc/self/cgroup": groups, "/proc/self/mounts": mounts.format(tmp_path)}
    real = cgroup._read
    monkeypatch.setattr(cgroup, "_read", lambda path: texts[path] if path in texts else real(path))
    found = [
        (str(Path(p.path).relative_to(tmp_path)), p.version, {*p.controllers}) for p in places()
    ]

    assert expected == found


def test_a_second_version_is_limited_and_asked(tmp_path: Path) -> None:
    """The files of version 2, which the machine under test may not have."""
    place = Place(str(tmp_path), 2, frozenset({"memory", "pids"}))
    (tmp_path / "g").mkdir()
    for name in ("memory.max", "pids.max", "cgroup.procs", "cgroup.kill"):
        (tmp_path / "g" / name).touch()
    (tmp_path / "g" / "memory.events").write_text("low 0\noom 3\noom_kill 2\noom_group_kill 0\n")
    group = ControlGroup([place], "g")
    group.limit(1_000, 10)
    group.kill()
    values = [
        (tmp_path / "g" / name).read_text() for name in ("memory.max", "pids.max", "cgroup.kill")
    ]

    assert ["1000", "01", "1"] == values  # a plain file keeps what was written before
    assert (True, True, True) == (
        group.limits_memory,
        group.limits_processes,
        group.memory_ran_out(),
    )
    assert not group.remove()


def test_no_group_limits_nothing() -> None:
    group = ControlGroup([], "g")
    group.make()
    group.limit(1, 1)
    group.kill()

    assert (False, False, False) == (
        group.limits_memory,
        group.limits_processes,
        group.memory_ran_out(),
    )
    assert group.remove()


def test_what_was_abandoned_is_ended() -> None:
    where = places()
    if not where:
        pytest.skip("no control group can be made here")
    ended = subprocess.Popen([sys.executable, "-c", "pass"])
    ended.wait()
    name = cgroup.group_name(ended.pid, ended.pid)
    left = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    for place in where:
        Path(place.path, name).mkdir()
        Path(place.path, name, "cgroup.procs").write_text(str(left.pid))
    end_abandoned(where)

    assert -9 == left.wait()
    assert not any(Path(place.path, name).exists() for place in where)


def test_guardian_that_was_stopped_and_has_no_keeper_is_abandoned() -> None:
    """Nobody is left who would let it go on."""
    where = places()
    if not where:
        pytest.skip("no control group can be made here")
    ended = subprocess.Popen([sys.executable, "-c", "pass"])
    ended.wait()
    program = "import os; os.kill(os.getpid(), 19)"
    with subprocess.Popen([sys.executable, "-c", program]) as stopped:
        os.waitid(os.P_PID, stopped.pid, os.WSTOPPED | os.WNOWAIT)
        name = cgroup.group_name(ended.pid, stopped.pid)
        for place in where:
            Path(place.path, name).mkdir()
            Path(place.path, name, "cgroup.procs").write_text(str(stopped.pid))
        end_abandoned(where)
        stopped.send_signal(18)

        assert -9 == stopped.wait()
    assert not any(Path(place.path, name).exists() for place in where)


def test_what_belongs_to_the_living_is_left_alone() -> None:
    where = places()
    if not where:
        pytest.skip("no control group can be made here")
    name = cgroup.group_name(os.getpid(), 2**22 + 1)
    for place in where:
        Path(place.path, name).mkdir()
    end_abandoned(where)
    there = [Path(place.path, name).exists() for place in where]
    for place in where:
        Path(place.path, name).rmdir()

    assert all(there)
