"""
Which processes that share a folder are still there, as their locks say.

A process holds a lock on a file of its own as long as it lives, and the system
gives it back however the process ends; numbers of processes are used again, locks are not.
"""

from __future__ import annotations

import fcntl
import os
import secrets
from contextlib import suppress
from pathlib import Path
from typing import Final

__all__ = ["Owner", "is_alive"]

SUFFIX: Final = ".owner"


class Owner:
    """
    This process, among those that share a folder.

    Args:
        folder: The folder; made if need be.

    Attributes:
        name: By which others ask whether it is still there.

    Raises:
        OSError: The folder cannot be used.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        _remove_dead(folder)
        self._path = folder / f"{secrets.token_hex(16)}{SUFFIX}"
        self.name = self._path.name.removesuffix(SUFFIX)
        self._handle = _locked(self._path)

    def close(self) -> None:
        """Others see from now on that it is gone."""
        self._path.unlink(missing_ok=True)
        os.close(self._handle)


def is_alive(folder: Path, name: str) -> bool:
    """The owner of that name is still there."""
    return not _remove_if_dead(folder / f"{name}{SUFFIX}")


def _locked(path: Path) -> int:
    """A handle that holds the lock of the file that is at the path."""
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        fcntl.flock(handle, fcntl.LOCK_EX)
        # Before it was locked, somebody may have taken it for that of a dead process.
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(handle), path.stat()):
                return handle
        os.close(handle)


def _remove_dead(folder: Path) -> None:
    for path in folder.glob(f"*{SUFFIX}"):
        _remove_if_dead(path)


def _remove_if_dead(path: Path) -> bool:
    """True when nobody holds the file's lock any more; then the file is gone."""
    try:
        handle = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        path.unlink(missing_ok=True)
    except BlockingIOError:
        return False
    finally:
        os.close(handle)
    return True
