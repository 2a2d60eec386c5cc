"""
An open folder: files in it read without following links, and written so that they last.

Everything goes through one handle of the folder, so a folder that is moved or
replaced meanwhile cannot divert a read or a write.  A file is written under a
name of its own, flushed to the disk, and renamed: at any instant there is the old
file, the new one, or none, and never a part.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Iterator
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Final, Self

__all__ = ["Folder", "Unfinished", "close_quietly", "is_unfinished", "reason"]

_PIECE: Final = 2**20
_READ: Final = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NOCTTY
_WRITE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_UNFINISHED: Final = re.compile(r"\.unfinished-[0-9a-f]{16}")
_KINDS: Final = {stat.S_IFDIR: "is a folder, not a file", stat.S_IFLNK: "is a symbolic link"}


def reason(exc: OSError) -> str:
    """What the system says, as the end of a sentence."""
    return (exc.strerror or "cannot be used").lower()


def close_quietly(handle: int) -> None:
    """Close a handle through which nothing was written, so that no error can mean a loss."""
    with suppress(OSError):
        os.close(handle)


def is_unfinished(name: str) -> bool:
    """The name is one under which a file is written before it is renamed."""
    return _UNFINISHED.fullmatch(name) is not None


class Folder:
    """
    An open folder; a context manager that closes it.

    Every method raises ``OSError`` with a ``strerror`` that says what was met.

    Args:
        handle: File descriptor of the folder, which this object owns.
    """

    __slots__ = ("handle",)

    def __init__(self, handle: int) -> None:
        self.handle = handle

    @classmethod
    def open(cls, path: str | os.PathLike[str], *, create: bool = False) -> Folder:
        """
        The folder at a path, which may not itself be a link.

        Args:
            path: Where it is; a final slash does not make a link acceptable.
            create: Make it, with the folders above it, if it is not there.
        """
        place = Path(path)
        try:
            if create:
                _make(place)
            return cls(os.open(place, _FOLDER))
        except OSError as exc:
            raise _as_folder(exc, place) from exc
        except ValueError as exc:  # an embedded null, or a character that no file name can have
            raise OSError(errno.EINVAL, "no folder can have this name") from exc

    def child(self, name: str, *, create: bool = False) -> Folder:
        """The folder of that name inside, which may not be a link."""
        if create:
            _make_in(self.handle, name)
        try:
            return type(self)(os.open(name, _FOLDER, dir_fd=self.handle))
        except OSError as exc:
            raise _as_folder(exc, name, self.handle) from exc

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Release the handle; once is enough, twice does no harm."""
        handle, self.handle = self.handle, -1
        if handle >= 0:
            close_quietly(handle)

    def names(self, *, limit: int) -> list[str]:
        """All names inside, sorted; refused when there are more than ``limit``."""
        found: list[str] = []
        with os.scandir(self.handle) as entries:
            for entry in entries:
                found.append(entry.name)
                if len(found) > limit:
                    raise OSError(errno.EFBIG, f"holds more than {limit} files")
        return sorted(found)

    def mode(self, name: str) -> int:
        """The file type and permissions of a name; of a link, its own."""
        return os.stat(name, dir_fd=self.handle, follow_symlinks=False).st_mode

    def read(self, name: str, *, max_bytes: int) -> bytes:
        """The whole content of a regular file."""
        return b"".join(self._pieces(name, max_bytes))

    def measure(self, name: str, *, max_bytes: int) -> tuple[str, int]:
        """The digest and the size of a regular file, which is never wholly in memory."""
        size, hashed = 0, sha256()
        for piece in self._pieces(name, max_bytes):
            hashed.update(piece)
            size += len(piece)
        return f"sha256:{hashed.hexdigest()}", size

    def write(self, name: str, data: bytes) -> None:
        """Put a file under a name, whole or not at all; its name lasts from the next ``sync``."""
        with Unfinished(self) as file:
            file.write(data)
            file.keep(name)

    def remove(self, name: str) -> None:
        """Remove a file, or nothing when there is none; a link goes, not what it leads to."""
        try:
            os.unlink(name, dir_fd=self.handle)
        except FileNotFoundError:
            return

    def sync(self) -> None:
        """Make the names inside last."""
        os.fsync(self.handle)

    def is_at(self, path: str | os.PathLike[str]) -> bool:
        """The path still leads to this folder."""
        try:
            there = Path(path).stat(follow_symlinks=False)
        except OSError:
            return False
        return os.path.samestat(there, os.fstat(self.handle))

    def _pieces(self, name: str, max_bytes: int) -> Iterator[bytes]:
        handle = _opened(name, self.handle)
        try:
            facts = os.fstat(handle)
            if not stat.S_ISREG(facts.st_mode):
                raise OSError(errno.EINVAL, _kind(facts.st_mode), name)
            # The cap holds for what is read too: a file can grow.
            left = -1 if facts.st_size > max_bytes else max_bytes
            while left >= 0 and (piece := os.read(handle, _PIECE)):
                left -= len(piece)
                yield piece
            if left < 0:
                raise OSError(errno.EFBIG, f"is larger than {max_bytes} bytes", name)
        finally:
            close_quietly(handle)


class Unfinished:
    """
    A file that is being written; it is gone at the end of the ``with`` unless it was kept.

    Args:
        folder: Where it is written.
    """

    __slots__ = ("_folder", "_handle", "_name")

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self._name = f".unfinished-{os.urandom(8).hex()}"
        self._handle = -1

    def __enter__(self) -> Self:
        self._handle = os.open(self._name, _WRITE, 0o666, dir_fd=self._folder.handle)
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self._close()
        finally:
            if self._name:
                self._folder.remove(self._name)

    def write(self, data: bytes) -> None:
        """Append bytes."""
        view = memoryview(data)
        while view:
            view = view[os.write(self._handle, view) :]

    def keep(self, name: str) -> None:
        """Flush it to the disk and give it its name, in place of what has that name."""
        os.fsync(self._handle)
        self._close()
        at = self._folder.handle
        os.replace(self._name, name, src_dir_fd=at, dst_dir_fd=at)
        self._name = ""

    def _close(self) -> None:
        handle, self._handle = self._handle, -1
        if handle >= 0:
            os.close(handle)


def _make(place: Path) -> None:
    """Make a folder and those above it, each lasting before anything is put into it."""
    missing: list[Path] = []
    while not place.is_dir() and place != place.parent:
        missing.append(place)
        place = place.parent
    for path in reversed(missing):
        above = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            _make_in(above, path.name)
        finally:
            close_quietly(above)


def _make_in(above: int, name: str) -> None:
    try:
        os.mkdir(name, dir_fd=above)
    except FileExistsError:
        return
    os.fsync(above)


def _opened(name: str, at: int) -> int:
    try:
        return os.open(name, _READ, dir_fd=at)
    except OSError as exc:
        # Systems disagree on the number, so what it is is known by looking.
        mode = _mode(name, at)
        if mode is None or stat.S_ISREG(mode):
            raise
        raise OSError(errno.EINVAL, _kind(mode), name) from exc


def _as_folder(exc: OSError, path: str | Path, at: int | None = None) -> OSError:
    """The same error, saying what is there where it is no folder."""
    mode = _mode(path, at)
    if mode is None or stat.S_ISDIR(mode):
        return exc
    kind = "is a symbolic link" if stat.S_ISLNK(mode) else "is a file, not a folder"
    return OSError(errno.ENOTDIR, kind, str(path))


def _mode(path: str | Path, at: int | None) -> int | None:
    try:
        return os.stat(path, dir_fd=at, follow_symlinks=False).st_mode
    except OSError:
        return None


def _kind(mode: int) -> str:
    return _KINDS.get(stat.S_IFMT(mode), "is not a regular file")
