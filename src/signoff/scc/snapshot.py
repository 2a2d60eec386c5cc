"""
Files as they were when they were judged: each opened once, through no link, and hashed as opened.

What was looked at can be asked for again at the end: whatever was changed, moved
or exchanged meanwhile is named.
"""

from __future__ import annotations

import os
import stat
from contextlib import ExitStack
from enum import Enum
from hashlib import sha256
from typing import Final, Self

from msgspec import Struct

from signoff.folder import Folder, close_quietly
from signoff.scc.workspace import Workspace

__all__ = ["Kind", "Seen", "Snapshot"]

MAX_KEPT_BYTES: Final = 64 * 2**20
MAX_NAMES: Final = 1_000_000
_PIECE: Final = 2**20
_READ: Final = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NOCTTY

Stamp = tuple[int, ...]


class Kind(Enum):
    """What is at a path."""

    ABSENT = "absent"
    FILE = "file"
    FOLDER = "folder"
    ODD = "link, or no regular file"
    CHANGED = "changed while it was read"
    UNREADABLE = "cannot be read"


class Seen(Struct, frozen=True, kw_only=True):
    """
    What was at a path.

    Args:
        kind: What it is.
        sha256: 64 hex digits of a file's bytes.
        size: Number of a file's bytes.
        data: A file's bytes, where they were asked for and are not too many.
    """

    kind: Kind
    sha256: str = ""
    size: int = 0
    data: bytes | None = None

    @property
    def is_file(self) -> bool:
        """True only for a regular file that was read to its end."""
        return self.kind is Kind.FILE


class Snapshot:
    """
    What was found in a workspace, from the first look on; a context manager that closes it.

    The folder that was used last stays open for its next file; that it is still the one
    at its path is asked at the end, like all the rest.

    Args:
        workspace: Where.
    """

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._seen: dict[str, Seen] = {}
        self._stamps: dict[str, Stamp | None] = {}
        self._folders: dict[str, Stamp] = {}
        self._open: tuple[str, Folder] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._close()

    def look(self, path: str, *, keep: bool = False) -> Seen:
        """
        What is at a path, as it was the first time it was looked at.

        Args:
            path: Relative to the workspace, of plain parts.
            keep: Its bytes are wanted; ask so at the first time.
        """
        if path not in self._seen:
            self._seen[path] = self._look(path, keep=keep)
        return self._seen[path]

    def names(self, folder: str) -> tuple[Kind, tuple[str, ...]]:
        """What is at the path of a folder, and the names inside."""
        kind, entries = self._entries(folder)
        return kind, tuple(sorted(entries))

    def below(self, folder: str) -> dict[str, Kind]:
        """What is at each path below a folder; of folders only those that cannot be opened."""
        found: dict[str, Kind] = {}
        waiting = [folder]
        while waiting:
            top = waiting.pop()
            kind, entries = self._entries(top)
            if kind is not Kind.FOLDER:
                found[top] = kind
                continue
            for name, there in sorted(entries.items()):
                path = f"{top}/{name}"
                if there is Kind.FOLDER:
                    waiting.append(path)
                else:
                    found[path] = there
        return found

    def changed(self) -> tuple[str, ...]:
        """The paths at which there is no longer what was looked at, sorted."""
        self._close()
        broken = {path for path, seen in self._seen.items() if seen.kind is Kind.CHANGED}
        moved = {path for path, stamp in self._stamps.items() if self._stamp(path) != stamp}
        self._close()
        for path, identity in tuple(self._folders.items()):
            stamp = self._stamp(path) if path else identity
            if stamp is None or stamp[:2] != identity[:2]:
                moved.add(path)
        return tuple(sorted(broken | moved))

    def _look(self, path: str, *, keep: bool) -> Seen:
        above, _, name = path.rpartition("/")
        with ExitStack() as stack:
            try:
                handle = os.open(name, _READ, dir_fd=self._folder(above).handle)
            except FileNotFoundError:
                self._stamps[path] = None
                return Seen(kind=Kind.ABSENT)
            except (OSError, ValueError):
                return Seen(kind=self._odd(path))
            stack.callback(close_quietly, handle)
            facts = os.fstat(handle)
            if not stat.S_ISREG(facts.st_mode):
                return Seen(kind=Kind.ODD)
            self._stamps[path] = _stamp(facts)
            try:
                return _read(handle, facts, keep=keep)
            except OSError:
                return Seen(kind=Kind.UNREADABLE)

    def _entries(self, folder: str) -> tuple[Kind, dict[str, Kind]]:
        """What is at the path of a folder, and what is inside by name."""
        found: dict[str, Kind] = {}
        try:
            handle = self._folder(folder).handle
            self._stamps.setdefault(folder, _stamp(os.fstat(handle)))
            with os.scandir(handle) as entries:
                for entry in entries:
                    found[entry.name] = _kind_of(entry)
                    if len(found) > MAX_NAMES:
                        return Kind.ODD, {}
        except FileNotFoundError:
            self._stamps.setdefault(folder, None)
            return Kind.ABSENT, {}
        except (OSError, ValueError):
            return Kind.ODD, {}
        return Kind.FOLDER, found

    def _odd(self, path: str) -> Kind:
        """What that is which cannot be opened."""
        above, _, name = path.rpartition("/")
        try:
            mode = self._folder(above).mode(name)
        except (OSError, ValueError):
            return Kind.ODD
        return Kind.UNREADABLE if stat.S_ISREG(mode) else Kind.ODD

    def _stamp(self, path: str) -> Stamp | None:
        above, _, name = path.rpartition("/")
        try:
            handle = self._folder(above).handle
            return _stamp(os.stat(name, dir_fd=handle, follow_symlinks=False))
        except OSError:
            return None

    def _folder(self, path: str) -> Folder:
        """The folder at a path, reached through no link."""
        if self._open is not None and self._open[0] == path:
            return self._open[1]
        self._close()
        folder = Folder.open(self._workspace.root)
        try:
            for part in path.split("/") if path else ():
                with folder as above:
                    folder = above.child(part)
        except (OSError, ValueError):
            folder.close()
            raise
        self._open = (path, folder)
        self._folders.setdefault(path, _stamp(os.fstat(folder.handle)))
        return folder

    def _close(self) -> None:
        opened, self._open = self._open, None
        if opened is not None:
            opened[1].close()


def _kind_of(entry: os.DirEntry[str]) -> Kind:
    if entry.is_dir(follow_symlinks=False):
        return Kind.FOLDER
    return Kind.FILE if entry.is_file(follow_symlinks=False) else Kind.ODD


def _read(handle: int, before: os.stat_result, *, keep: bool) -> Seen:
    hashed, size = sha256(), 0
    kept: list[bytes] = []
    whole = keep and before.st_size <= MAX_KEPT_BYTES
    while size <= before.st_size and (piece := os.read(handle, _PIECE)):
        hashed.update(piece)
        size += len(piece)
        if whole:
            kept.append(piece)
    if size != before.st_size or _stamp(os.fstat(handle)) != _stamp(before):
        return Seen(kind=Kind.CHANGED)
    data = b"".join(kept) if whole else None
    return Seen(kind=Kind.FILE, sha256=hashed.hexdigest(), size=size, data=data)


def _stamp(facts: os.stat_result) -> Stamp:
    """What changes when a file is written, moved or exchanged; nobody can set the last one."""
    return (facts.st_dev, facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns)
