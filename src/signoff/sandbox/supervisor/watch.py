"""What a command uses up: the memory of its processes, and the disk below its folders."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterable, Iterator
from typing import Final

from signoff.sandbox.supervisor.kinship import descendants

__all__ = ["DiskWatch", "memory_of"]

BLOCK: Final = 512
PAGE: Final = os.sysconf("SC_PAGE_SIZE")
SLICE_S: Final = 0.01
"""How long to count at a time, so that a deadline is not missed over it."""
REST: Final = 10
"""After counting for so long, how many times that long to do nothing."""


def memory_of(root: int, limit: int) -> int:
    """
    Bytes of memory that all descendants of a process use together.

    What they share is counted once, if counting it for each would exceed the limit.
    """
    pids = [process.pid for process in descendants(root) if process.runs]
    each = sum(_resident(pid) for pid in pids)
    return each if each <= limit else sum(_proportional(pid) for pid in pids)


def _resident(pid: int) -> int:
    fields = _read(f"/proc/{pid}/statm").split()
    return int(fields[1]) * PAGE if len(fields) > 1 else 0


def _proportional(pid: int) -> int:
    for line in _read(f"/proc/{pid}/smaps_rollup").splitlines():
        if line.startswith(b"Pss:"):
            return int(line.split()[1]) * 1_024
    return _resident(pid)


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""


class DiskWatch:
    """
    Counts what is below some folders, a little at a time.

    Args:
        folders: Where the command may write.
        limit: Bytes that may be added.
        before: Bytes there at the start; None to find out by the first count.
    """

    def __init__(self, folders: Iterable[str], limit: int, before: int | None) -> None:
        self._folders = [*folders]
        self._limit = limit
        self._before = before
        self._free = self._all_free()
        self._count: Iterator[int] | None = None
        self._used = 0
        self._sum = 0
        self._spent_s = 0.0
        self._next = time.monotonic()

    def exceeded(self, root: int) -> bool:
        """
        True when too much was found, so far; call it often.

        Args:
            root: Process whose descendants may hold files open that have no name any more.
        """
        if self._step(time.monotonic() + SLICE_S) and self._too_much(self._used):
            return True
        hidden = self._vanished() > self._limit
        return hidden and self._too_much(self._used + self._nameless(root))

    def finally_exceeded(self, within_s: float) -> bool:
        """True when too much was written after the last count; looks only if space is missing."""
        if self._vanished() <= self._limit // 2:
            return False
        self._next = 0.0
        until = time.monotonic() + within_s
        return self._step(until) and self._too_much(self._used)

    def _too_much(self, used: int) -> bool:
        return self._before is not None and used > self._before + self._limit

    def _vanished(self) -> int:
        """How much less is free than at the start, whoever took it."""
        return self._free - self._all_free()

    def _all_free(self) -> int:
        free = dict[int, int]()
        for folder in self._folders:
            try:
                about = os.statvfs(folder)
                free[about.f_fsid] = about.f_bfree * about.f_frsize
            except OSError:
                continue
        return sum(free.values())

    def _step(self, until: float) -> bool:
        """Counts on until a time; True when that ends a count."""
        begin = time.monotonic()
        if self._count is None:
            if begin < self._next:
                return False
            self._count, self._sum, self._spent_s = _sizes(self._folders), 0, 0.0
        for size in self._count:
            self._sum += size
            if time.monotonic() > until:
                self._spent_s += time.monotonic() - begin
                return False
        self._spent_s += time.monotonic() - begin
        self._count, self._used = None, self._sum
        self._next = time.monotonic() + REST * self._spent_s
        if self._before is None:
            self._before = self._used
        return True

    def _nameless(self, root: int) -> int:
        """Bytes of files that are open below a process and were removed."""
        sizes = dict[tuple[int, int], int]()
        devices = {os.stat(folder).st_dev for folder in self._folders if os.path.exists(folder)}
        for process in descendants(root):
            handles = f"/proc/{process.pid}/fd"
            for handle in _names(handles):
                try:
                    about = os.stat(f"{handles}/{handle}")
                except OSError:
                    continue
                if stat.S_ISREG(about.st_mode) and not about.st_nlink and about.st_dev in devices:
                    sizes[about.st_dev, about.st_ino] = about.st_blocks * BLOCK
        return sum(sizes.values())


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _sizes(folders: Iterable[str]) -> Iterator[int]:
    """Bytes of every file below folders, links not followed, hard links counted once."""
    seen = set[tuple[int, int]]()
    waiting = [*folders]
    while waiting:
        path = waiting.pop()
        try:
            entries = os.scandir(path)
        except OSError:
            continue
        with entries:
            for entry in entries:
                try:
                    about = entry.stat(follow_symlinks=False)
                except OSError:
                    continue
                if stat.S_ISDIR(about.st_mode):
                    waiting.append(entry.path)
                elif about.st_nlink > 1:
                    if (about.st_dev, about.st_ino) in seen:
                        continue
                    seen.add((about.st_dev, about.st_ino))
                yield about.st_blocks * BLOCK
