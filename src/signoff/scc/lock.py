"""
Locks on the folders that a run writes: one run at a time for each TaskCode and each task.

A lock is held by an open file, so it ends with the process, however that ends.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterable
from contextlib import ExitStack, suppress
from typing import Final, Self

from signoff.folder import Folder, close_quietly
from signoff.scc.run_names import LOCKS
from signoff.scc.workspace import Workspace

__all__ = ["LockHeld", "Locks"]

_FLAGS: Final = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class LockHeld(Exception):
    """Another run has one of the locks; nothing was taken."""


class Locks:
    """
    The locks of one run; a context manager that gives them back.

    TaskCodes and task_ids share their names, because they share their folders.
    """

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._held = dict[tuple[str, str], int]()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def take(self, wanted: Iterable[tuple[str, str]]) -> None:
        """
        Hold further locks, each of an area and a name.

        Raises:
            LockHeld: Another run has one; what was held before is still held.
            OSError: A lock cannot be made.
        """
        # Names that differ in case alone have one folder on some disks, so they have one lock.
        names = {(area.lower(), name.lower()) for area, name in wanted}
        fresh = sorted(names - self._held.keys())
        for area, name in fresh:
            handle = self._opened(area, name)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as exc:
                close_quietly(handle)
                raise LockHeld(f"{area}/{name} is in use by another run") from exc
            self._held[area, name] = handle

    def release(self) -> None:
        """Give all of them back."""
        held, self._held = self._held, {}
        for handle in held.values():
            # Closing alone would not do where a child process has inherited the handle.
            with suppress(OSError):
                fcntl.flock(handle, fcntl.LOCK_UN)
            close_quietly(handle)

    def _opened(self, area: str, name: str) -> int:
        with ExitStack() as stack:
            folder = stack.enter_context(Folder.open(self._workspace.root))
            for part in (*LOCKS.split("/"), area):
                folder = stack.enter_context(folder.child(part, create=True))
            return os.open(f"{name}.lock", _FLAGS, 0o666, dir_fd=folder.handle)
