"""
A workspace: its files, opened one part of a path at a time so that no link is followed.

A path is written as the disk has it: where the disk would take another case, it is
not the same path.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from msgspec import Struct

from signoff.dialects.scc.settings import PATH, Settings, read_settings
from signoff.errors import DocumentError
from signoff.folder import Folder, reason
from signoff.jsonvalue import shown

__all__ = ["MAX_FILE_BYTES", "PathMissing", "PathUnsafe", "Workspace"]

MAX_FILE_BYTES: Final = 8 * 2**20
MAX_NAMES: Final = 1_000_000
MAX_SETTINGS_BYTES: Final = 2**20


class PathMissing(Exception):
    """There is no file at a path."""


class PathUnsafe(Exception):
    """A path leads through a link, out of the workspace, to no file, or is spelt otherwise."""


class Workspace(Struct, frozen=True, kw_only=True):
    """
    A folder that holds a repository.

    Args:
        root: Where it is, absolute and without links.
    """

    root: Path

    @classmethod
    def at(cls, place: str | os.PathLike[str]) -> Workspace:
        """
        The workspace at a place, which may lie behind links.

        Raises:
            DocumentError: There is no folder.
        """
        try:
            root = Path(place).resolve(strict=True)
        except (OSError, ValueError, RuntimeError) as exc:
            raise DocumentError(f"{shown(os.fspath(place))}: no such folder") from exc
        if not root.is_dir():
            raise DocumentError(f"{shown(os.fspath(place))}: is a file, not a folder")
        return cls(root=root)

    def settings(self) -> Settings:
        """
        What ``.signoff/scc.toml`` says; the defaults where there is none.

        Raises:
            DocumentError: It cannot be read.
            ConfigError: It has faults.
        """
        try:
            return read_settings(self.read(PATH, max_bytes=MAX_SETTINGS_BYTES))
        except PathMissing:
            return Settings()
        except PathUnsafe as exc:
            raise DocumentError(str(exc)) from exc

    def read(self, path: str, *, max_bytes: int = MAX_FILE_BYTES) -> bytes:
        """
        The content of a regular file.

        Raises:
            PathMissing: There is none.
            PathUnsafe: There is something else, or the path may not be followed.
        """
        with ExitStack() as stack:
            folder, name = self._parent(path, stack)
            try:
                return folder.read(name, max_bytes=max_bytes)
            except FileNotFoundError as exc:
                raise self._absent(path, folder, name) from exc
            except OSError as exc:
                raise PathUnsafe(f"{shown(path)}: {reason(exc)}") from exc

    def measure(self, path: str, *, max_bytes: int) -> tuple[str, int]:
        """
        The digest and the size of a regular file.

        Raises:
            PathMissing: There is none.
            PathUnsafe: As ``read``.
        """
        with ExitStack() as stack:
            folder, name = self._parent(path, stack)
            try:
                return folder.measure(name, max_bytes=max_bytes)
            except FileNotFoundError as exc:
                raise self._absent(path, folder, name) from exc
            except OSError as exc:
                raise PathUnsafe(f"{shown(path)}: {reason(exc)}") from exc

    def write(self, path: str, data: bytes) -> None:
        """
        Put a file at a path, whole and lasting, with the folders above it.

        Raises:
            OSError: It cannot be written.
        """
        *above, name = path.split("/")
        with ExitStack() as stack:
            folder = stack.enter_context(Folder.open(self.root))
            for part in above:
                folder = stack.enter_context(folder.child(part, create=True))
            folder.write(name, data)
            folder.sync()

    def require_spelling(self, path: str) -> None:
        """
        Nothing, if every part of a path is spelt as the disk has it.

        Raises:
            PathMissing: There is nothing at the path.
            PathUnsafe: It is spelt otherwise.
        """
        with ExitStack() as stack:
            folder, name = self._parent(path, stack)
            if name not in folder.names(limit=MAX_NAMES):
                raise self._absent(path, folder, name)

    def walk(self, top: str) -> Iterator[tuple[str, bool]]:
        """
        The path of each file below a folder, sorted, and whether it is a regular one.

        A link is told as what is no regular file, and is not followed; where there is
        no such folder, there are none.
        """
        place = self.root / top
        try:
            mode = place.stat(follow_symlinks=False).st_mode
        except OSError:
            return
        if not stat.S_ISDIR(mode) or place.resolve() != place:
            yield top, False
            return
        with os.scandir(place) as entries:
            found = sorted(entries, key=lambda entry: entry.name)
        for entry in found:
            path = f"{top}/{entry.name}"
            if entry.is_dir(follow_symlinks=False):
                yield from self.walk(path)
            else:
                yield path, entry.is_file(follow_symlinks=False)

    def _parent(self, path: str, stack: ExitStack) -> tuple[Folder, str]:
        parts = path.split("/")
        if {"", ".", ".."} & {*parts} or "\0" in path or "\\" in path:
            raise PathUnsafe(f"{shown(path)}: is no plain path in the workspace")
        try:
            folder = stack.enter_context(Folder.open(self.root))
            for part in parts[:-1]:
                try:
                    folder = stack.enter_context(folder.child(part))
                except FileNotFoundError as exc:
                    raise self._absent(path, folder, part) from exc
        except OSError as exc:
            raise PathUnsafe(f"{shown(path)}: {reason(exc)}") from exc
        return folder, parts[-1]

    def _absent(self, path: str, folder: Folder, name: str) -> Exception:
        """Why there is nothing: it is spelt otherwise, or there is none."""
        other = next((one for one in folder.names(limit=MAX_NAMES) if _alike(one, name)), None)
        if other is not None and other != name:
            return PathUnsafe(f"{shown(path)}: is spelt {shown(other)} on the disk")
        return PathMissing(f"{shown(path)}: no such file")


def _alike(one: str, other: str) -> bool:
    return one.casefold() == other.casefold()
