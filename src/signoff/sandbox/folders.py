"""Folders for the temporary files of commands, used again as long as they are as new."""

from __future__ import annotations

import os
import stat
from threading import Lock
from typing import Final

from signoff.sandbox.supervisor.removal import remove

__all__ = ["Folders"]

INNER: Final = ("home", "tmp")
PRIVATE: Final = stat.S_IFDIR | 0o700


class Folders:
    """
    Gives every command a folder that no other has at the time.

    Making and removing folders is most of what a small command costs: file systems are slow to
    give out again what was just given back.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._count = 0
        self._free = dict[str, list[str]]()

    def take(self, base: str) -> str:
        """The path of a folder below another; it may not have been made yet."""
        with self._lock:
            if free := self._free.get(base):
                return free.pop()
            self._count += 1
            return f"{base}/{self._count}"

    def give_back(self, folder: str) -> None:
        """Removes a folder, or keeps it for the next command when this one has left nothing."""
        if not _is_as_new(folder):
            remove(folder)
            return
        with self._lock:
            self._free.setdefault(os.path.dirname(folder), []).append(folder)


def _is_as_new(folder: str) -> bool:
    try:
        if sorted(os.listdir(folder)) != [*INNER]:
            return False
        return all(_is_untouched(f"{folder}/{name}") for name in INNER)
    except OSError:
        return False


def _is_untouched(path: str) -> bool:
    about = os.lstat(path)
    return about.st_mode == PRIVATE and about.st_uid == os.geteuid() and not os.listdir(path)
