"""Who descends from a process, and the end of all of them."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

__all__ = [
    "Process",
    "can_go_on",
    "can_see",
    "descendants",
    "end_all",
    "is_alive",
    "reap",
    "threads_of_user",
]

FIRST_WAIT_S: Final = 0.0005
LONGEST_WAIT_S: Final = 0.01


class Process(NamedTuple):
    """One process as the system lists it."""

    pid: int
    parent: int
    group: int
    state: bytes

    @property
    def runs(self) -> bool:
        """It has not ended; what has ended waits to be reaped and does nothing."""
        return self.state not in {b"Z", b"X"}


def descendants(root: int, spared: Callable[[int], bool] = lambda _: False) -> list[Process]:
    """
    All that descends from a process, itself not counted; empty without ``/proc``.

    Args:
        root: The process.
        spared: True of processes that are left out, with what descends from them.
    """
    children = dict[int, list[Process]]()
    for process in _processes():
        children.setdefault(process.parent, []).append(process)
    found = list[Process]()
    parents = [root]
    while parents:
        born = [one for one in children.pop(parents.pop(), []) if not spared(one.pid)]
        found += born
        parents += [process.pid for process in born]
    return found


def reap(note: Callable[[int, int], object]) -> bool:
    """Takes leave of children that have ended, noting pid and status; False when none is left."""
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return False
        if not pid:
            return True
        note(pid, status)


def end_all(
    note: Callable[[int, int], object],
    until: float,
    *,
    strike: Callable[[], object] = lambda: None,
    spared: Callable[[int], bool] = lambda _: False,
) -> bool:
    """
    Kills every descendant of this process, again and again, until none is left.

    Whole process groups are killed in one step, so that forking does not outrun it.

    Args:
        note: Told of each child that has ended, pid and status.
        until: When to give up, by the monotonic clock.
        strike: Kills what it can at one stroke, each time before the rest is killed one by one.
        spared: True of children that are to live, with what descends from them.
    """
    own, wait = os.getpid(), FIRST_WAIT_S
    while reap(note):
        strike()
        doomed = descendants(own, spared)
        if not doomed and not can_see():
            return False
        if not doomed:
            return True
        _kill(doomed)
        if time.monotonic() > until:
            return False
        time.sleep(wait)
        wait = min(wait * 2, LONGEST_WAIT_S)
    return True


def is_alive(pid: int) -> bool:
    """True of a process that runs; one that has ended may still be listed."""
    process = _process(str(pid))
    return process is not None and process.runs


def can_go_on(pid: int) -> bool:
    """True of a process that runs and has not been stopped."""
    process = _process(str(pid))
    return process is not None and process.runs and process.state != b"T"


def threads_of_user() -> int:
    """How many threads this user has, on the whole machine."""
    own, count = os.geteuid(), 0
    for process in _processes():
        try:
            if os.stat(f"/proc/{process.pid}").st_uid == own:
                count += len(os.listdir(f"/proc/{process.pid}/task"))
        except OSError:
            continue
    return count


def can_see() -> bool:
    """True where the system lists processes."""
    return os.path.exists("/proc/self/stat")


def _kill(doomed: list[Process]) -> None:
    # a command begins with a session of its own, so that its groups are its alone
    for group in {process.group for process in doomed} - {os.getpgrp()}:
        _send(os.killpg, group)
    for process in doomed:
        if process.runs:
            _send(os.kill, process.pid)


def _send(kill: Callable[[int, int], None], target: int) -> None:
    try:
        kill(target, signal.SIGKILL)
    except OSError:
        return  # it has just ended


def _processes() -> Iterator[Process]:
    try:
        names = os.listdir("/proc")
    except OSError:
        return
    for name in names:
        if name.isdecimal() and (process := _process(name)) is not None:
            yield process


def _process(name: str) -> Process | None:
    try:
        handle = os.open(f"/proc/{name}/stat", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        text = os.read(handle, 1_024)
    except OSError:
        return None
    finally:
        os.close(handle)
    # the name of the program stands in brackets and may hold anything
    state, parent, group, *_ = text.rpartition(b")")[2].split(None, 3)
    return Process(int(name), int(parent), int(group), state)
