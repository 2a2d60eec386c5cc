"""
Runs that are ended in the middle: a program of its own, because it forks and kills.

    interrupted_runs.py step FOLDER         one kill before, after and half-way through every step
    interrupted_runs.py moment FOLDER N     N kills at random moments, seeded
    interrupted_runs.py size FOLDER         no file may grow beyond each of some sizes
    interrupted_runs.py handles FOLDER      no more than each of some numbers of handles
    interrupted_runs.py full FOLDER         FOLDER is on a small disk: fill it, more and more of it
    interrupted_runs.py frozen FOLDER       FOLDER is on a disk that can be made read-only

Each attempt prints one JSON line: what was done, and what the folders hold then.
"""

from __future__ import annotations

import errno
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from signoff.errors import RunUnreadable, RunUnwritable
from signoff.rundir import read_run
from tests import sample_run as sample

OLD, NEW, OTHER = b"[1]", b"[1, 2]", b"[1, 2, 3]"
STEPS = ("write", "fsync", "replace", "rename", "link", "unlink", "rmdir", "mkdir", "open", "close")


def state(folder: Path) -> str:
    """The output of the pass in a folder, or why there is none."""
    try:
        run = read_run(folder)
    except RunUnreadable as exc:
        return f"fail: {exc}"
    return (folder / "output.json").read_text() if run.report.passed else "no pass"


def prepare(folder: Path) -> tuple[Path, Path]:
    """A folder with an older run, and another that nobody touches; both acknowledged."""
    shutil.rmtree(folder, ignore_errors=True)
    return sample.written(folder / "run", OLD), sample.written(folder / "other", OTHER)


def in_child(work: Callable[[], None]) -> tuple[int, bytes]:
    """How a child ended that did some work, and whatever it wrote to the pipe on handle 3."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        os.dup2(writer, 3)
        try:
            work()
        except RunUnwritable as exc:
            os.write(3, f"refused: {exc}".encode())
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        said = pipe.read()
    return os.waitpid(child, 0)[1], said


def tell(folder: Path, said: bytes, **facts: Any) -> None:
    leftovers = [str(path) for path in folder.rglob(".unfinished-*")]
    facts |= {"said": said.decode(), "run": state(folder / "run"), "other": state(folder / "other")}
    facts |= {"verdict": (folder / "run" / "verdict.json").exists(), "leftovers": leftovers}
    sys.stdout.write(json.dumps(facts) + "\n")
    sys.stdout.flush()  # before the next fork, which would write it again


def write_run(folder: Path, output: bytes = NEW) -> None:
    sample.written(folder / "run", output)
    real_write(3, b"done")


# -- killed at every step --

real_write = os.write


class Killer:
    """Kills the process at one step, counted over all calls that change a disk."""

    def __init__(self, at: int, mode: str) -> None:
        self.left, self.mode = at, mode

    def install(self) -> None:
        for name in ("write",) if self.mode == "half" else STEPS:
            setattr(os, name, self.wrapped(name, getattr(os, name)))

    def wrapped(self, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def step(*args: Any, **options: Any) -> Any:
            self.left -= 1
            if self.left:
                return call(*args, **options)
            real_write(3, f"{name} ".encode())
            try:
                if self.mode == "half":
                    call(args[0], bytes(args[1])[: len(args[1]) // 2])
                elif self.mode == "after":
                    call(*args, **options)
            finally:
                os.kill(os.getpid(), signal.SIGKILL)

        return step


def step(folder: Path) -> None:
    for mode in ("before", "after", "half"):
        ended, at = signal.SIGKILL.value, 0
        while ended:
            at += 1
            prepare(folder)

            def work(at: int = at, mode: str = mode) -> None:
                Killer(at, mode).install()
                write_run(folder)

            ended, said = in_child(work)
            tell(folder, said, mode=mode, at=at, killed=bool(ended))
            sample.written(folder / "run", NEW)  # what was left behind is no hindrance
            assert state(folder / "run") == NEW.decode()


# -- killed at random moments --


def moment(folder: Path, kills: int) -> None:
    chance = random.Random(20260504)
    for _ in range(kills):
        shutil.rmtree(folder, ignore_errors=True)
        reader, writer = os.pipe()
        child = os.fork()
        if not child:
            endless(folder, writer)
        os.close(writer)
        with os.fdopen(reader, "rb") as pipe:
            pipe.read(1)  # the first run is acknowledged: from here on there is something to lose
            time.sleep(chance.uniform(0, 0.02))
            os.kill(child, signal.SIGKILL)
            done = 1 + len(pipe.read())
        os.waitpid(child, 0)
        states = [state(folder / "0"), state(folder / "1")]
        sys.stdout.write(json.dumps({"done": done, "states": states}) + "\n")
        sys.stdout.flush()


def endless(folder: Path, pipe: int) -> None:
    """Run after run, each with its number as output, in two folders in turn; one byte for each."""
    try:
        number = 0
        while True:
            sample.written(folder / str(number % 2), f"[{number}]".encode())
            os.write(pipe, b".")
            number += 1
    finally:
        os._exit(1)


# -- nothing left to write with --


def limited(folder: Path, kind: int, limits: range) -> None:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    for limit in limits:
        prepare(folder)

        def work(limit: int = limit) -> None:
            resource.setrlimit(kind, (limit, resource.getrlimit(kind)[1]))
            write_run(folder)

        _, said = in_child(work)
        tell(folder, said, limit=limit)


def full(folder: Path) -> None:
    """Leave fewer and fewer pages of the disk, down to none."""
    for left in range(65_536, -1, -4_096):
        (folder / "ballast").unlink(missing_ok=True)
        shutil.rmtree(prepare(folder / "runs")[0])  # its pages would be free for the new run
        disk = os.statvfs(folder)
        ballast = disk.f_bavail * disk.f_frsize - left
        (folder / "ballast").write_bytes(b"x" * ballast)
        _, said = in_child(lambda: write_run(folder / "runs"))
        tell(folder / "runs", said, left=left)


def frozen(folder: Path) -> None:
    """Make the disk read-only before a run begins."""
    runs = folder / "runs"
    prepare(runs)

    def remount(how: str) -> None:
        subprocess.run(["mount", "-o", f"remount,{how}", str(folder)], check=True)

    remount("ro")
    _, said = in_child(lambda: write_run(runs))
    tell(runs, said, when="before")
    remount("rw")


if __name__ == "__main__":
    place = Path(sys.argv[2])
    match sys.argv[1]:
        case "step":
            step(place)
        case "moment":
            moment(place, int(sys.argv[3]))
        case "size":
            limited(place, resource.RLIMIT_FSIZE, range(0, 1200, 25))
        case "handles":
            limited(place, resource.RLIMIT_NOFILE, range(4, 16))
        case "full":
            full(place)
        case "frozen":
            frozen(place)
        case _:
            sys.exit(errno.EINVAL)
