"""
The files that a command left in its workspace, found by globs, and whether it wrote them.

Only regular files that hold something count; links are never followed to one.
What stood there before with the same size and time is told apart, because it
says nothing about the command.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath
from typing import Final

from msgspec import Struct

from signoff.pathglob import Glob
from signoff.workspace import OPENING

__all__ = ["LeftFile", "files_left"]

MAX_ENTRIES: Final = 1_000_000
_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_SPECIAL: Final = frozenset("*?[\\")


class LeftFile(Struct, frozen=True, kw_only=True):
    """A file below the workspace; ``written`` when it is not just as it was before."""

    path: str
    size: int
    written: bool


def files_left(
    globs: Iterable[Glob], *, after: str, before: str
) -> dict[str, tuple[LeftFile, ...]]:
    """
    The files that each glob matches, by its text, in the order of their names.

    Args:
        globs: What to look for.
        after: The workspace as the command left it.
        before: The workspace as it was; the same folder where the command worked in it.

    Raises:
        OSError: The folder cannot be read, or holds more than a million entries.
    """
    found: dict[str, list[LeftFile]] = {glob.text: [] for glob in globs}
    wild = [glob for glob in globs if not _SPECIAL.isdisjoint(glob.text)]
    left, was = os.open(after, _FOLDER), os.open(before, _FOLDER)
    try:
        for glob in globs:
            if glob not in wild:
                found[glob.text] += _file(glob.text, left, was)
        for path in _paths(left) if wild else ():
            matched = [glob for glob in wild if glob.matches(path)]
            for file in _file(path, left, was) if matched else ():
                for glob in matched:
                    found[glob.text].append(file)
    finally:
        os.close(left)
        os.close(was)
    return {text: tuple(files) for text, files in found.items()}


def _paths(root: int) -> Iterator[str]:
    """The names of all that is no folder, from the root on, links among them."""
    count = 0
    for folder, folders, names, _ in os.fwalk(".", dir_fd=root, follow_symlinks=False):
        folders.sort()
        count += len(folders) + len(names)
        if count > MAX_ENTRIES:
            raise OSError(f"the workspace holds more than {MAX_ENTRIES} files")
        for name in sorted(names):
            yield str(PurePosixPath(folder, name))


def _file(path: str, left: int, was: int) -> Iterator[LeftFile]:
    """The file of a name, if it is one that counts."""
    now = _facts(left, path)
    if now is not None and now.st_size:
        then = _facts(was, path)
        written = then is None or _stamp(then) != _stamp(now)
        yield LeftFile(path=path, size=now.st_size, written=written)


def _facts(root: int, path: str) -> os.stat_result | None:
    """What is known of a regular file that is reached through folders alone."""
    at = os.dup(root)
    *folders, name = PurePosixPath(path).parts
    try:
        for part in folders:
            below = os.open(part, _FOLDER | os.O_NOFOLLOW, dir_fd=at)
            os.close(at)
            at = below
        handle = os.open(name, OPENING | os.O_NOFOLLOW, dir_fd=at)
    except OSError:
        return None
    finally:
        os.close(at)
    try:
        facts = os.fstat(handle)
    finally:
        os.close(handle)
    return facts if stat.S_ISREG(facts.st_mode) else None


def _stamp(facts: os.stat_result) -> tuple[int, int]:
    return facts.st_size, facts.st_mtime_ns
