"""Removes a folder that somebody hostile has filled."""

from __future__ import annotations

import os
from typing import Final

__all__ = ["remove"]

FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def remove(path: str) -> bool:
    """
    Removes a folder with all that is in it; True when nothing of it is left.

    However deep it is: folders in folders are first moved up, one at a time.  Links are not
    followed, and what is mounted inside stays, since the system refuses to move it.
    """
    try:
        top = os.open(path, FOLDER)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    try:
        _empty(top)
    finally:
        os.close(top)
    try:
        os.rmdir(path)
    except OSError:
        return False
    return True


def _empty(top: int) -> None:
    """Takes out what is in a folder, as far as it can be."""
    number = 0
    moved_to = f".removed-{os.urandom(8).hex()}"  # no name that somebody has put in the way
    waiting = [name for name in _names(top) if not _unlinked(name, top)]
    while waiting:
        name = waiting.pop()
        moved = f"{moved_to}-{number}"
        number += 1
        try:
            os.rename(name, moved, src_dir_fd=top, dst_dir_fd=top)
            inner = _opened(moved, top)
        except OSError:
            continue  # it stays, and the folder with it
        try:
            for child in _names(inner):
                if not _unlinked(child, inner):
                    lifted = f"{moved_to}-{number}"
                    number += 1
                    if _renamed(child, inner, lifted, top):
                        waiting.append(lifted)
        finally:
            os.close(inner)
        _unlinked(moved, top)


def _names(folder: int) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _opened(name: str, folder: int) -> int:
    try:
        handle = os.open(name, FOLDER, dir_fd=folder)
    except PermissionError:
        os.chmod(name, 0o700, dir_fd=folder)
        return os.open(name, FOLDER, dir_fd=folder)
    try:
        os.fchmod(handle, 0o700)
    except OSError:  # it is somebody else's
        os.close(handle)
        raise
    return handle


def _unlinked(name: str, folder: int) -> bool:
    try:
        os.unlink(name, dir_fd=folder)
    except OSError:
        try:
            os.rmdir(name, dir_fd=folder)
        except FileNotFoundError:
            return True
        except OSError:
            return False
    return True


def _renamed(name: str, folder: int, to: str, top: int) -> bool:
    try:
        os.rename(name, to, src_dir_fd=folder, dst_dir_fd=top)
    except PermissionError:
        # a folder that may not be written cannot be moved, since that changes its ".."
        try:
            os.chmod(name, 0o700, dir_fd=folder)
            os.rename(name, to, src_dir_fd=folder, dst_dir_fd=top)
        except OSError:
            return False
    except OSError:
        return False
    return True
