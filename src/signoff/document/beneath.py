"""
A file opened below a folder, by a name that cannot lead out of it.

Where the kernel has ``openat2`` (Linux 5.6) it resolves the whole name at once:
links that stay below the folder are followed, others are refused.  Elsewhere the
name is walked one part at a time, and every link is refused, because following
one safely would mean to resolve it here, part by part, against a changing tree.
"""

from __future__ import annotations

import ctypes
import errno
import os
import stat
import sys
from pathlib import PurePosixPath
from typing import Final

__all__ = ["open_beneath"]

_OPENAT2: Final = 437  # one number on every architecture but Alpha
_NO_MAGICLINKS: Final = 0x02
_BENEATH: Final = 0x08
_TRIES: Final = 8
# ENOSYS from an old kernel, EPERM from a system-call filter that does not know it.
_ABSENT: Final = (errno.ENOSYS, errno.EPERM)


class _How(ctypes.Structure):
    _fields_ = (
        ("flags", ctypes.c_uint64),
        ("mode", ctypes.c_uint64),
        ("resolve", ctypes.c_uint64),
    )


def open_beneath(folder: str, name: str, flags: int) -> int:
    """
    A file descriptor for ``name`` below ``folder``.

    Raises:
        OSError: As ``os.open``; EXDEV when the name leads out of the folder, or may.
        ValueError: The name has a null character.
    """
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts:
        raise _outside(name)
    if "\0" in name:
        raise ValueError("embedded null character")
    root = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        return _resolved(root, name, flags) if sys.platform == "linux" else _walk(root, name, flags)
    finally:
        os.close(root)


def _resolved(root: int, name: str, flags: int) -> int:
    for _ in range(_TRIES):  # EAGAIN: the tree changed while the kernel looked
        try:
            return _openat2(root, name, flags)
        except OSError as exc:
            if exc.errno in _ABSENT:
                return _walk(root, name, flags)
            if exc.errno != errno.EAGAIN:
                raise
    raise OSError(errno.EAGAIN, "the folder keeps changing", name)


def _openat2(root: int, name: str, flags: int) -> int:
    how = _How(flags=flags, mode=0, resolve=_BENEATH | _NO_MAGICLINKS)
    syscall = ctypes.CDLL(None, use_errno=True).syscall
    syscall.restype = ctypes.c_long
    handle: int = syscall(
        ctypes.c_long(_OPENAT2),
        ctypes.c_long(root),
        ctypes.c_char_p(os.fsencode(name)),
        ctypes.byref(how),
        ctypes.c_size_t(ctypes.sizeof(how)),
    )
    if handle < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), name)
    return handle


def _walk(root: int, name: str, flags: int) -> int:
    at = os.dup(root)
    *folders, last = PurePosixPath(name).parts or (".",)
    try:
        for part in folders:
            below = _step(at, part, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            os.close(at)
            at = below
        return _step(at, last, flags)
    finally:
        os.close(at)


def _step(at: int, part: str, flags: int) -> int:
    try:
        return os.open(part, flags | os.O_NOFOLLOW, dir_fd=at)
    except OSError as exc:
        # Systems disagree on the number, so a link is known by looking.
        if stat.S_ISLNK(os.stat(part, dir_fd=at, follow_symlinks=False).st_mode):
            raise _outside(part) from exc
        raise


def _outside(name: str) -> OSError:
    return OSError(errno.EXDEV, "leads out of the folder", name)
