"""Ended at any instant, or with nothing left to write with: no pass that was not committed, none lost."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from signoff.errors import RunUnreadable, RunUnwritable
from signoff.rundir import begin_run, read_run
from tests import sample_run as sample

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = Path(__file__).with_name("interrupted_runs.py")
OLD, NEW, OTHER = "[1]", "[1, 2]", "[1, 2, 3]"
UNCOMMITTED = "fail: verdict.json: is missing, so no verdict was committed"
MEMORY = Path("/dev/shm")


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Path]:
    """A folder in memory where there is one: a kill loses nothing that was written, disk or not."""
    if not os.access(MEMORY, os.W_OK):
        yield tmp_path
        return
    folder = MEMORY / f"signoff-{os.getpid()}-{tmp_path.name}"
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


def attempts(*arguments: object, within: tuple[str, ...] = ()) -> list[dict[str, Any]]:
    """What each attempt of the program came to."""
    done = subprocess.run(
        [*within, sys.executable, str(PROGRAM), *map(str, arguments)],
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])},
        capture_output=True,
        check=False,
        text=True,
    )

    assert (0, "") == (done.returncode, done.stderr)
    return [json.loads(line) for line in done.stdout.splitlines()]


# -- killed --


def test_kill_at_every_step_leaves_the_old_run_or_a_failure_or_the_new_run(place: Path) -> None:
    found = attempts("step", place)
    finished = [one for one in found if not one["killed"]]

    assert ["before", "after", "half"] == [one["mode"] for one in finished]
    assert {"done"} == {one["said"] for one in finished}
    assert {OTHER} == {one["other"] for one in found}
    for mode in ("before", "after", "half"):
        states = [one["run"] for one in found if one["mode"] == mode]
        order = [OLD] * (mode != "half") + [UNCOMMITTED, NEW]
        assert order == list(dict.fromkeys(states)), mode
        assert sorted(states, key=order.index) == states, mode
    steps = {one["said"].strip() for one in found}
    assert {"write", "fsync", "replace", "unlink", "mkdir", "open", "close", "done"} == steps


def check_random_kills(place: Path, kills: int) -> None:
    found = attempts("moment", place, kills)

    assert kills == len(found)
    for one in found:
        last = one["done"] - 1
        known, other = one["states"][last % 2], one["states"][1 - last % 2]
        assert f"[{last}]" == known
        assert other in {f"[{last - 1}]", f"[{last + 1}]"} or other.startswith("fail: ")


def test_kill_at_random_moments_loses_nothing_acknowledged(place: Path) -> None:
    check_random_kills(place, 30)


@pytest.mark.long
def test_kill_at_random_moments_of_a_disk_loses_nothing_acknowledged(tmp_path: Path) -> None:
    check_random_kills(tmp_path / "runs", 250)


# -- nothing left to write with --


def check_refused_or_done(found: list[dict[str, Any]], before: set[str]) -> None:
    """Each attempt was refused and left no verdict of its own, or was done; both happened."""
    for one in found:
        assert OTHER == one["other"]
        assert [] == one["leftovers"]
        if one["said"].startswith("refused: "):
            assert one["run"] in before
        else:
            assert ("done", NEW) == (one["said"], one["run"])
    assert {"done", "refused"} == {one["said"].split(":")[0] for one in found}


def test_files_that_may_not_grow_leave_no_verdict(place: Path) -> None:
    check_refused_or_done(attempts("size", place), {UNCOMMITTED})


def test_no_more_handles_leave_no_new_verdict(place: Path) -> None:
    check_refused_or_done(attempts("handles", place), {OLD, UNCOMMITTED})


@pytest.fixture
def small_disk(tmp_path: Path) -> tuple[str, ...]:
    """The start of a command that sees a small disk at ``tmp_path``, and sees it alone."""
    mount = f'mount -t tmpfs -o size=256k none "{tmp_path}" && exec "$@"'
    for unshare in (("unshare", "--mount"), ("unshare", "--user", "--map-root-user", "--mount")):
        within = (*unshare, "sh", "-c", mount, "sh")
        if (
            shutil.which("unshare")
            and not subprocess.run([*within, "true"], check=False, capture_output=True).returncode
        ):
            return within
    pytest.skip("this system lets nobody mount a disk of their own")


def test_full_disk_leaves_no_verdict(small_disk: tuple[str, ...], tmp_path: Path) -> None:
    found = attempts("full", tmp_path, within=small_disk)

    assert "no space left on device" in found[-1]["said"]
    check_refused_or_done(
        found, {UNCOMMITTED, f"fail: {tmp_path}/runs/run: no such file or directory"}
    )


def test_read_only_disk_is_refused_and_earlier_runs_are_whole(
    small_disk: tuple[str, ...], tmp_path: Path
) -> None:
    (found,) = attempts("frozen", tmp_path, within=small_disk)

    assert "read-only file system" in found["said"]
    assert (OLD, OTHER) == (found["run"], found["other"])


# -- every step fails once --

STEPS = ("write", "fsync", "replace", "unlink", "mkdir", "open", "close", "scandir", "stat")


class Stumble:
    """Makes one of the calls that touch a disk fail, and all later ones of its name where asked."""

    def __init__(self, at: int, code: int, *, lasting: bool) -> None:
        self.left, self.code, self.lasting, self.name = at, code, lasting, ""

    def install(self, patch: pytest.MonkeyPatch) -> None:
        for name in STEPS:
            patch.setattr(os, name, self.wrapped(name, getattr(os, name)))

    def wrapped(self, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def step(*args: Any, **options: Any) -> Any:
            self.left -= 1
            if self.left and not (self.lasting and name == self.name):
                return call(*args, **options)
            self.name = name
            if name == "close":
                call(*args, **options)  # a failed close closes all the same
            raise OSError(self.code, os.strerror(self.code))

        return step


def state(folder: Path) -> str:
    try:
        read_run(folder)
    except RunUnreadable:
        return "fail"
    return (folder / "output.json").read_text()


@pytest.mark.parametrize("lasting", [False, True])
@pytest.mark.parametrize("code", [errno.EIO, errno.ENOSPC])
def test_error_at_every_step_is_reported_and_leaves_no_new_verdict(
    place: Path, code: int, lasting: bool
) -> None:
    seen: dict[str, set[str]] = {}
    other = sample.written(place / "other", OTHER.encode())
    for at in range(1, 1000):
        shutil.rmtree(place / "run", ignore_errors=True)
        sample.written(place / "run", OLD.encode())
        stumble = Stumble(at, code, lasting=lasting)
        refused = False
        with pytest.MonkeyPatch.context() as patch:
            stumble.install(patch)
            try:
                sample.written(place / "run", NEW.encode())
            except RunUnwritable:
                refused = True
        if not stumble.name:
            break
        found = state(place / "run")
        seen.setdefault(stumble.name, set()).add(found)
        assert found in ({OLD, "fail"} if refused else {NEW}), (at, stumble.name)
        assert OTHER == state(other)
    else:
        pytest.fail("the run never came to its end")

    assert {"write", "fsync", "replace", "unlink", "open", "close"} <= seen.keys()
    assert {"fail"} == seen["write"] == seen["replace"]


# -- what a power cut would keep --


class Trace:
    """The order in which files are written, flushed and named."""

    def __init__(self) -> None:
        self.steps: list[tuple[str, str]] = []
        self.names: dict[int, str] = {}

    def install(self, patch: pytest.MonkeyPatch) -> None:
        real = {name: getattr(os, name) for name in STEPS}

        def opened(path: Any, *args: Any, **options: Any) -> int:
            handle: int = real["open"](path, *args, **options)
            self.names[handle] = Path(str(path)).name
            return handle

        def wrote(handle: int, data: bytes) -> int:
            self.steps.append(("write", self.names.get(handle, "")))
            return int(real["write"](handle, data))

        def flushed(handle: int) -> None:
            real["fsync"](handle)
            self.steps.append(("fsync", self.names[handle]))

        def named(old: str, new: str, **options: Any) -> None:
            real["replace"](old, new, **options)
            self.steps.append((f"name {old}", new))

        def removed(name: str, **options: Any) -> None:
            self.steps.append(("unlink", name))
            real["unlink"](name, **options)

        for name, call in (
            ("open", opened),
            ("write", wrote),
            ("fsync", flushed),
            ("replace", named),
            ("unlink", removed),
        ):
            patch.setattr(os, name, call)


@pytest.fixture
def steps(tmp_path: Path) -> list[tuple[str, str]]:
    """What is done to replace one run by another."""
    sample.written(tmp_path / "run", OLD.encode())
    trace = Trace()
    with pytest.MonkeyPatch.context() as patch:
        trace.install(patch)
        sample.written(tmp_path / "run", NEW.encode())
    return trace.steps


def test_old_verdict_is_gone_for_good_before_anything_else_changes(
    steps: list[tuple[str, str]],
) -> None:
    changes = [step for step in steps if step != ("fsync", "run")]
    gone = steps.index(("unlink", "verdict.json"))

    assert ("unlink", "verdict.json") == changes[0]
    assert ("fsync", "run") == steps[gone + 1]


def test_every_file_is_flushed_before_it_is_named(steps: list[tuple[str, str]]) -> None:
    named = [(at, what.split()[1]) for at, (what, _) in enumerate(steps) if what.startswith("name")]

    assert 6 == len(named)
    for at, unfinished in named:
        before = [what for what, name in steps[:at] if name == unfinished]
        assert "fsync" == before[-1]
        assert "write" in before


def test_verdict_comes_last_and_after_all_else_lasts(steps: list[tuple[str, str]]) -> None:
    names = [name if what.startswith("name") else f"{what} {name}" for what, name in steps]
    last_file, verdict = names.index("report.json"), names.index("verdict.json")
    kept = next(at for at, name in enumerate(names) if len(name) == 64)

    assert kept < names.index("fsync evidence", kept) < verdict
    assert last_file < names.index("fsync run", last_file) < verdict
    assert ["verdict.json", "fsync run"] == names[verdict:]
    assert not [name for name in names[last_file:verdict] if name.startswith("unlink")]


def test_new_folders_last_before_they_are_used(tmp_path: Path) -> None:
    trace = Trace()
    with pytest.MonkeyPatch.context() as patch:
        trace.install(patch)
        sample.written(tmp_path / "a" / "b" / "run")

    assert [("fsync", tmp_path.name), ("fsync", "a"), ("fsync", "b")] == trace.steps[:3]


# -- two at once --


def test_writer_in_another_process_is_refused(tmp_path: Path) -> None:
    program = "import sys; from signoff.rundir import begin_run; begin_run(sys.argv[1])"
    with begin_run(tmp_path / "run") as run:
        second = subprocess.run(
            [sys.executable, "-c", program, str(tmp_path / "run")],
            env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            check=False,
            text=True,
        )
        assert "is in use by another run" in second.stderr
        sample.fill(run)

    assert read_run(tmp_path / "run").report.passed


def test_claim_of_a_killed_writer_is_free(tmp_path: Path) -> None:
    program = (
        "import os, signal, sys; from signoff.rundir import begin_run\n"
        "claim = begin_run(sys.argv[1]); os.kill(os.getpid(), signal.SIGKILL)"
    )
    subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "run")],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        check=False,
    )
    sample.written(tmp_path / "run")

    assert read_run(tmp_path / "run").report.passed
