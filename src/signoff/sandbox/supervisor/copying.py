"""A private copy of a folder: its regular files, folders and links."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from collections.abc import Callable
from typing import Final

__all__ = ["Copied", "TooMuch", "copy_tree"]

FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
FILE: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
FICLONE: Final = 0x40049409
BLOCK: Final = 4_096
CHUNK: Final = 8 * 2**20
MAX_ENTRIES: Final = 1_000_000
MAX_DEPTH: Final = 200
NAMED: Final = 3
HOLES: Final = {errno.EINVAL, errno.EOPNOTSUPP, errno.ENOTSUP}
NO_SHORTCUT: Final = {
    errno.EXDEV,
    errno.EINVAL,
    errno.ENOSYS,
    errno.EOPNOTSUPP,
    errno.EPERM,
    errno.EBADF,
}


class TooMuch(Exception):
    """A folder is beyond what may be copied; the message says in what."""


class Copied:
    """
    What was copied, and what was not.

    Args:
        tick: Called often; raises to end the copying.
        max_bytes: Most bytes that may be copied.
    """

    def __init__(self, tick: Callable[[], object], max_bytes: int) -> None:
        self.tick = tick
        self.max_bytes = max_bytes
        self.size = 0
        """Bytes of data."""
        self.entries = 0
        self.left_out = 0
        self.names = list[str]()

    @property
    def occupied(self) -> int:
        """Most bytes that the copy can take on a disk, which gives out whole blocks."""
        return self.size + self.entries * BLOCK

    def entry(self) -> None:
        """One more file, folder or link."""
        self.entries += 1
        if self.entries > MAX_ENTRIES:
            raise TooMuch(f"it has more than {MAX_ENTRIES} files")
        if self.entries % 64 == 0:
            self.tick()

    def grow(self, size: int) -> None:
        """So many more bytes."""
        self.size += size
        if self.size > self.max_bytes:
            raise TooMuch(f"it has more than {self.max_bytes} bytes")
        if size >= CHUNK:
            self.tick()

    def leave_out(self, name: str) -> None:
        """One that is neither file, folder nor link, or that may not be read."""
        self.left_out += 1
        if len(self.names) < NAMED:
            self.names.append(name[:60])

    def missing(self) -> list[str]:
        """What was left out, in one sentence or none."""
        if not self.left_out:
            return []
        named = ", ".join(repr(name) for name in self.names)
        return [
            f"the copy of the workspace lacks {self.left_out} that could not be copied: {named}"
        ]


def copy_tree(source: str, target: str, copied: Copied) -> None:
    """
    Copies a folder into a new one, without following a link beneath it.

    Modes (without set-user-id) and times of modification are kept.  Devices, sockets and pipes
    are left out, and so is what may not be read.

    Raises:
        TooMuch: It is larger than may be copied, or deeper.
        OSError: The folder cannot be read, or the copy not written.
    """
    handle = os.open(source, FOLDER & ~os.O_NOFOLLOW)
    try:
        os.mkdir(target, 0o700)
        into = os.open(target, FOLDER)
        try:
            _copy_folder(handle, into, copied, 0)
        finally:
            os.close(into)
    finally:
        os.close(handle)


def _copy_folder(source: int, target: int, copied: Copied, depth: int) -> None:
    if depth > MAX_DEPTH:
        raise TooMuch(f"it has folders deeper than {MAX_DEPTH}")
    for name in os.listdir(source):
        copied.entry()
        try:
            about = os.stat(name, dir_fd=source, follow_symlinks=False)
        except FileNotFoundError:
            continue  # gone since the folder was listed
        if stat.S_ISLNK(about.st_mode):
            os.symlink(os.readlink(name, dir_fd=source), name, dir_fd=target)
        elif stat.S_ISDIR(about.st_mode):
            _copy_inner(source, target, name, copied, depth)
        elif stat.S_ISREG(about.st_mode):
            _copy_file(source, target, name, copied)
        else:
            copied.leave_out(name)
    _keep_times(source, target)


def _copy_inner(source: int, target: int, name: str, copied: Copied, depth: int) -> None:
    try:
        handle = os.open(name, FOLDER, dir_fd=source)
    except OSError:
        copied.leave_out(name)
        return
    try:
        os.mkdir(name, 0o700, dir_fd=target)
        into = os.open(name, FOLDER, dir_fd=target)
        try:
            _copy_folder(handle, into, copied, depth + 1)
            os.fchmod(into, stat.S_IMODE(os.fstat(handle).st_mode) & 0o777)
        finally:
            os.close(into)
    finally:
        os.close(handle)


def _copy_file(source: int, target: int, name: str, copied: Copied) -> None:
    try:
        handle = os.open(name, FILE, dir_fd=source)
    except OSError:
        copied.leave_out(name)
        return
    try:
        about = os.fstat(handle)
        if not stat.S_ISREG(about.st_mode):
            copied.leave_out(name)
            return
        into = os.open(name, NEW, 0o600, dir_fd=target)
        try:
            _copy_bytes(handle, into, about.st_size, copied)
            os.fchmod(into, stat.S_IMODE(about.st_mode) & 0o777)
            os.utime(into, ns=(about.st_atime_ns, about.st_mtime_ns))
        finally:
            os.close(into)
    finally:
        os.close(handle)


def _keep_times(source: int, target: int) -> None:
    about = os.fstat(source)
    os.utime(target, ns=(about.st_atime_ns, about.st_mtime_ns))


def _copy_bytes(source: int, target: int, size: int, copied: Copied) -> None:
    if not size:
        return
    try:
        fcntl.ioctl(target, FICLONE, source)
    except OSError:
        _copy_data(source, target, size, copied)
    else:
        copied.grow(size)


def _copy_data(source: int, target: int, size: int, copied: Copied) -> None:
    """Copies what is data; holes stay holes."""
    start = 0
    while start < size:
        try:
            start = os.lseek(source, start, os.SEEK_DATA)
            end = os.lseek(source, start, os.SEEK_HOLE)
        except OSError as exc:
            if exc.errno == errno.ENXIO:
                break  # nothing but a hole up to the end
            if exc.errno not in HOLES:
                raise
            end = size
        _copy_range(source, target, start, min(end, size), copied)
        start = end
    os.ftruncate(target, size)


def _copy_range(source: int, target: int, start: int, end: int, copied: Copied) -> None:
    while start < end:
        copied.grow(min(CHUNK, end - start))
        done = _copy_chunk(source, target, start, min(CHUNK, end - start))
        if not done:
            return  # the file has become shorter
        start += done


def _copy_chunk(source: int, target: int, start: int, size: int) -> int:
    try:
        return os.copy_file_range(source, target, size, start, start)
    except OSError as exc:
        if exc.errno not in NO_SHORTCUT:
            raise
    except AttributeError:
        pass  # only Linux has the call
    return os.pwrite(target, os.pread(source, size, start), start)
