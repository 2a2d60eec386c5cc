"""The files of a working tree as they are now, and the ids that they would have."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Final, TypeVar

from msgspec import Struct

from signoff.document.beneath import open_beneath
from signoff.errors import NotJudged
from signoff.git.files import OPENING
from signoff.git.objects import EXECUTABLE, LINK, REGULAR, Content, Entry, hasher
from signoff.git.program import Deadline
from signoff.jsonvalue import shown
from signoff.model import inconclusive
from signoff.status import Cause

__all__ = ["Worktree"]

_PIECE: Final = 2**20
T = TypeVar("T")


class Worktree(Struct, frozen=True, kw_only=True):
    """
    A folder of files, opened beneath it and without following links.

    Args:
        root: The folder.
        hashing: What ids are made with, ``sha1`` or ``sha256``.
        deadline: When everything must have been read.
    """

    root: str
    hashing: str
    deadline: Deadline

    def names(self, folder: bytes) -> list[tuple[bytes, bool]]:
        """The names in a folder, sorted, each with whether it is a folder itself."""
        with self._opened(folder) as handle, os.scandir(handle) as listing:
            found = [(os.fsencode(one.name), one.is_dir(follow_symlinks=False)) for one in listing]
        return sorted(found)

    def entries(self, folder: bytes, names: Iterable[bytes]) -> dict[bytes, Entry]:
        """What stands under some of the names in a folder, by path."""
        found: dict[bytes, Entry] = {}
        with self._opened(folder) as handle:
            for name in names:
                self.deadline.left()
                found[folder + name] = self._entry(handle, name)
        return found

    def content(self, path: bytes) -> Content:
        """The content of a file, or the target of a link; of anything else nothing."""
        return self._at(path, self._content)

    def digest(self, path: bytes) -> tuple[str, int]:
        """The digest of a file, ``sha256:`` and hex, and its size."""
        return self._at(path, self._digest)

    def digests(self, folder: bytes, names: Iterable[bytes]) -> dict[bytes, str]:
        """The digests of some of the files in a folder, by path."""
        with self._opened(folder) as handle:
            return {folder + name: self._digest(handle, name)[0] for name in names}

    def _at(self, path: bytes, read: Callable[[int, bytes], T]) -> T:
        folder, _, name = path.rpartition(b"/")
        with self._opened(folder) as handle:
            return read(handle, name)

    def _entry(self, folder: int, name: bytes) -> Entry:
        facts = os.stat(name, dir_fd=folder, follow_symlinks=False)
        if stat.S_ISLNK(facts.st_mode):
            target = os.readlink(name, dir_fd=folder)
            hashed = hasher(self.hashing, "blob", len(target))
            hashed.update(target)
            return Entry(LINK, hashed.hexdigest())
        if not stat.S_ISREG(facts.st_mode):
            return Entry(stat.S_IFMT(facts.st_mode), "")
        with _file(folder, name) as handle:
            facts = os.fstat(handle)
            hashed = hasher(self.hashing, "blob", facts.st_size)
            for piece in self._pieces(handle):
                hashed.update(piece)
        mode = EXECUTABLE if facts.st_mode & stat.S_IXUSR else REGULAR
        return Entry(mode, hashed.hexdigest())

    def _content(self, folder: int, name: bytes) -> Content:
        facts = os.stat(name, dir_fd=folder, follow_symlinks=False)
        if stat.S_ISLNK(facts.st_mode):
            return Content(os.readlink(name, dir_fd=folder))
        if not stat.S_ISREG(facts.st_mode):
            return Content(b"")
        with _file(folder, name) as handle:
            return Content.of(self._pieces(handle), os.fstat(handle).st_size)

    def _digest(self, folder: int, name: bytes) -> tuple[str, int]:
        hashed, size = hashlib.sha256(), 0
        with _file(folder, name) as handle:
            for piece in self._pieces(handle):
                hashed.update(piece)
                size += len(piece)
        return f"sha256:{hashed.hexdigest()}", size

    def _pieces(self, handle: int) -> Iterator[bytes]:
        while piece := os.read(handle, _PIECE):
            self.deadline.left()
            yield piece

    @contextmanager
    def _opened(self, folder: bytes) -> Iterator[int]:
        try:
            path = os.fsdecode(folder) or "."
            handle = open_beneath(self.root, path, OPENING | os.O_DIRECTORY)
            try:
                yield handle
            finally:
                os.close(handle)
        except OSError as exc:
            name = exc.filename if isinstance(exc.filename, bytes) else b""
            detail = f"Workspace cannot be read: {shown(os.fsdecode(folder + name) or '.')}"
            raise NotJudged(inconclusive(detail, Cause.EVIDENCE_UNREACHABLE)) from exc


@contextmanager
def _file(folder: int, name: bytes) -> Iterator[int]:
    """A regular file, opened: what took its place in the meantime is none."""
    handle = os.open(name, OPENING, dir_fd=folder)
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise OSError(None, "is no file any more", name)
        yield handle
    finally:
        os.close(handle)
