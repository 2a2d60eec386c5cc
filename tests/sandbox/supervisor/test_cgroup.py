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


FILES = {
    1: ("memory.limit_in_bytes", "memory.memsw.limit_in_bytes", "memory.oom_control", "pids.max"),
    2: ("memory.max", "memory.events", "pids.max", "cgroup.kill"),
}


class Hierarchy:
    """
    Folders that behave as control groups: files are there once a group is, and go with it.

    Args:
        folder: Where to make them.
        lacks: Names of files that this system does not have.
    """

    def __init__(self, folder: Path, *lacks: str) -> None:
        self.folder = folder
        self._lacks = lacks
        self._mkdir, self._rmdir = os.mkdir, os.rmdir

    def place(self, name: str, version: int, *controllers: str) -> Place:
        path = self.folder / f"{name}.v{version}"
        self._mkdir(path)
        (path / "cgroup.procs").touch()
        return Place(str(path), version, frozenset(controllers))

    def mkdir(self, path: str | Path, mode: int = 0o777) -> None:
        self._mkdir(path, mode)
        place = Path(path).parent
        for name in ("cgroup.procs", *FILES[int(place.suffix[2:])]):
            belongs = name.split(".")[0] in {"cgroup", place.stem, "both"} or place.stem == "both"
            if belongs and name not in self._lacks:
                Path(path, name).touch()

    def rmdir(self, path: str) -> None:
        for file in Path(path).iterdir():
            if file.read_text() == "busy":
                raise OSError(16, "it is in use")
            file.unlink()
        self._rmdir(path)


@pytest.fixture
def hierarchy(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Hierarchy:
    made = Hierarchy(tmp_path, *getattr(request, "param", ()))
    monkeypatch.setattr(os, "mkdir", made.mkdir)
    monkeypatch.setattr(os, "rmdir", made.rmdir)
    return made


def test_each_controller_limits_in_its_own_hierarchy(hierarchy: Hierarchy) -> None:
    where = [hierarchy.place("memory", 1, "memory"), hierarchy.place("pids", 1, "pids")]
    group = ControlGroup(where, "g")
    group.make()
    group.limit(1_000, 10)
    memory, pids = (Path(place.path, "g") for place in where)

    assert ["0", "0"] == [(path / "cgroup.procs").read_text() for path in (memory, pids)]
    assert ["1000", "1000"] == [(memory / name).read_text() for name in FILES[1][:2]]
    assert "11" == (pids / "pids.max").read_text()
    assert not (memory / "pids.max").exists()
    assert group.is_used_again
    assert group.remove()
    assert not memory.exists()


@pytest.mark.parametrize("hierarchy", [("memory.memsw.limit_in_bytes",)], indirect=True)
def test_memory_is_limited_where_swap_is_not_counted(hierarchy: Hierarchy) -> None:
    place = hierarchy.place("both", 1, "memory", "pids")
    group = ControlGroup([place], "g")
    group.make()
    group.limit(1_000, 10)

    assert group.limits_memory
    assert "1000" == Path(place.path, "g", "memory.limit_in_bytes").read_text()
    assert group.remove()


@pytest.mark.parametrize("hierarchy", [("memory.max", "memory.events")], indirect=True)
def test_a_group_without_one_of_its_limits_is_not_used_again(hierarchy: Hierarchy) -> None:
    group = ControlGroup([hierarchy.place("both", 2, "memory", "pids")], "g")
    group.make()
    group.limit(1_000, 10)

    assert (False, True) == (group.limits_memory, group.limits_processes)
    assert not group.is_used_again
    assert not group.memory_ran_out()


@pytest.mark.parametrize("hierarchy", [("memory.events",)], indirect=True)
def test_deaths_that_are_not_told_are_none(hierarchy: Hierarchy) -> None:
    group = ControlGroup([hierarchy.place("both", 2, "memory", "pids")], "g")
    group.make()
    group.limit(1_000, 10)

    assert group.limits_memory
    assert not group.memory_ran_out()


@pytest.mark.parametrize(
    ("said", "ran_out"),
    [
        ("oom_kill_disable 0\nunder_oom 0\noom_kill 1\n", True),
        ("oom_kill_disable 0\nunder_oom 0\noom_kill 0\n", False),
        ("oom_kill_disable 0\nunder_oom 1\n", False),  # older systems do not count
    ],
)
def test_a_group_whose_memory_ran_out_is_not_used_again(
    hierarchy: Hierarchy, said: str, ran_out: bool
) -> None:
    place = hierarchy.place("both", 1, "memory", "pids")
    group = ControlGroup([place], "g")
    group.make()
    group.limit(1_000, 10)
    Path(place.path, "g", "memory.oom_control").write_text(said)

    assert (ran_out, not ran_out) == (group.memory_ran_out(), group.is_used_again)
    assert group.remove()


@pytest.mark.parametrize("hierarchy", [("cgroup.procs",)], indirect=True)
def test_a_place_that_lets_nobody_in_is_left_out(hierarchy: Hierarchy) -> None:
    place = hierarchy.place("both", 2, "memory", "pids")
    group = ControlGroup([place], "g")
    group.make()
    group.limit(1_000, 10)

    assert not group.limits_memory
    assert not Path(place.path, "g").exists()


def test_this_process_moves_out_before_a_group_goes(hierarchy: Hierarchy) -> None:
    place = hierarchy.place("both", 1, "memory", "pids")
    group = ControlGroup([place], "g")
    group.make()
    Path(place.path, "g", "cgroup.procs").write_text(f"{os.getpid()}\n")

    assert group.remove()
    assert "0" == Path(place.path, "cgroup.procs").read_text()


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("hierarchy", [("cgroup.kill",)], indirect=True)
def test_where_a_group_cannot_be_killed_at_one_stroke_each_of_it_is(
    hierarchy: Hierarchy, version: int
) -> None:
    """This process is spared, and one that has just ended is no hindrance."""
    place = hierarchy.place("both", version, "memory", "pids")
    group = ControlGroup([place], "g")
    group.make()
    with subprocess.Popen(["sleep", "60"]) as one, subprocess.Popen(["sleep", "60"]) as other:
        members = f"{2**22 + 1}\n{os.getpid()}\n{one.pid}\n{other.pid}\n"
        Path(place.path, "g", "cgroup.procs").write_text(members)
        group.kill()

        assert (-9, -9) == (one.wait(), other.wait())
    assert "0" == Path(place.path, "g", "pids.max").read_text()  # nobody of it forks any more


def test_guardians_of_a_keeper_that_was_given_up_are_killed(hierarchy: Hierarchy) -> None:
    """Also one that lives; those of another keeper go on."""
    place = hierarchy.place("both", 1, "memory", "pids")
    with subprocess.Popen(["sleep", "60"]) as one, subprocess.Popen(["sleep", "60"]) as other:
        for keeper, guardian in ((os.getppid(), one.pid), (os.getpid(), other.pid)):
            path = Path(place.path, cgroup.group_name(keeper, guardian))
            path.mkdir()
            (path / "cgroup.procs").write_text(f"{guardian}\n")
        end_abandoned([place], given_up=os.getppid())

        assert -9 == one.wait()
        assert other.poll() is None
        other.kill()
    assert [path.name] == [one.name for one in Path(place.path).iterdir() if one.is_dir()]


def test_a_group_that_does_not_go_holds_nobody_up(
    hierarchy: Hierarchy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cgroup, "ROUNDS", 3)
    monkeypatch.setattr(cgroup, "_members", lambda _: [])
    place = hierarchy.place("both", 1, "memory", "pids")
    path = Path(place.path, cgroup.group_name(2**22 + 1, 2**22 + 2))
    path.mkdir()
    (path / "cgroup.procs").write_text("busy")
    end_abandoned([place])

    assert path.exists()


def test_nothing_is_abandoned_in_a_place_that_is_gone(tmp_path: Path) -> None:
    end_abandoned([Place(str(tmp_path / "gone"), 2, frozenset())])

    assert [] == [*tmp_path.iterdir()]
