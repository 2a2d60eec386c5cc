"""
The folders that a program needs to start: its own installation, and those it is started by.

Where the operator's search path leads is trusted.  What lies in the workspace is not: a link or a
first line in there could name a folder of secrets, so that it may lead to a Python and no further.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Sequence
from glob import escape, glob
from pathlib import Path
from typing import Final

__all__ = ["Reach", "beneath"]

MAX_HOPS: Final = 16
MAX_LINE: Final = 512
PROGRAM_FOLDERS: Final = ("bin", "sbin", "shims", "Scripts")
INSTALLED: Final = ("pyvenv.cfg", "lib", "lib64", "libexec", "versions")
# Too wide to be an installation, whatever lies in it.
WIDE: Final = tuple(
    map(Path, ("/", "/dev", "/etc", "/home", "/media", "/mnt", "/proc", "/root", "/run", "/srv"))
) + tuple(map(Path, ("/sys", "/tmp", "/usr", "/var", "/var/lib", "/var/tmp")))  # noqa: S108  not used to write in
# Folders of a home that hold programs next to things of its owner: what of them is needed.
MIXED: Final = {
    ".local": ("bin", "lib"),
    ".cargo": ("bin", "registry", "../.rustup"),
    ".npm-global": ("bin", "lib"),
    "go": ("bin", "pkg"),
}
PYTHON: Final = re.compile(r"pypy3?|python[0-9.]*[a-z]?")


class Reach:
    """
    Which folders programs need, as the search path has them.

    Args:
        search: Folders of the operator's search path, in its order.
        home: The operator's home folder, of which only parts are ever given.
        workspace: Folder whose content is not trusted; None for none.
    """

    def __init__(self, search: Sequence[str], home: str, workspace: str | None) -> None:
        self._search = tuple(Path(entry) for entry in search if entry.startswith("/"))
        self._home = Path(home) if home.startswith("/") else Path("/root")
        self._workspace = Path(workspace) if workspace else None

    def everywhere(self) -> Iterator[Path]:
        """Folders for whatever is found by name: the search path, and signoff's own Python."""
        for entry in self._search:
            if not self._is_inside(entry):
                yield from self._installation(entry)
        for prefix in dict.fromkeys((sys.prefix, sys.base_prefix)):
            if not self._is_wide(Path(prefix)):
                yield Path(prefix)

    def of(self, program: str, cwd: str | None) -> Iterator[Path]:
        """Folders for one program, named as in the first item of an argv."""
        found = self._found(program, cwd)
        if found is not None:
            yield from self._followed(found, MAX_HOPS, trusted=True)

    def _found(self, program: str, cwd: str | None) -> Path | None:
        if "/" in program:
            return Path(os.path.normpath(Path(cwd or "/") / program))
        for folder in self._search:
            if os.access(folder / program, os.X_OK) and os.path.isfile(folder / program):
                return folder / program
        return None

    def _followed(self, file: Path, hops: int, *, trusted: bool) -> Iterator[Path]:
        if hops == 0:
            return
        inside = self._is_inside(file)
        trusted = trusted and not inside
        if trusted:
            yield from self._installation(file.parent)
        elif not inside:
            yield from _python_home(file)
        if os.path.islink(file):
            target = Path(os.path.normpath(file.parent / os.readlink(file)))
            yield from self._followed(target, hops - 1, trusted=trusted)
        elif (named := _interpreter(file)) and (found := self._found(named, None)):
            yield from self._followed(found, hops - 1, trusted=trusted)

    def _installation(self, folder: Path) -> Iterator[Path]:
        """The folder of a program, and the whole that it is the ``bin`` of."""
        whole = folder.parent
        if folder.name in PROGRAM_FOLDERS and whole.parent == self._home and whole.name in MIXED:
            yield from (Path(os.path.normpath(whole / part)) for part in MIXED[whole.name])
            return
        named = folder.name in PROGRAM_FOLDERS and not self._is_wide(whole)
        if named and any(os.path.exists(whole / mark) for mark in INSTALLED):
            yield whole
            yield from _made_from(whole)
        elif not self._is_wide(folder):
            yield folder

    def _is_wide(self, folder: Path) -> bool:
        return folder in WIDE or folder == self._home or folder in self._home.parents

    def _is_inside(self, path: Path) -> bool:
        return self._workspace is not None and beneath(path, self._workspace)


def beneath(path: Path, folder: Path) -> bool:
    """The path is the folder, or in it, as both are written and where both lead."""
    return path.is_relative_to(folder) or Path(os.path.realpath(path)).is_relative_to(
        os.path.realpath(folder)
    )


def _made_from(environment: Path) -> Iterator[Path]:
    """What a virtual environment was made from."""
    try:
        text = (environment / "pyvenv.cfg").read_text("utf-8", "replace")
    except OSError:
        return
    for line in text.splitlines():
        key, _, value = line.partition("=")
        if key.strip().lower() == "home" and value.strip().startswith("/"):
            yield from _python_home(Path(value.strip()) / "python3")


def _python_home(file: Path) -> Iterator[Path]:
    """The installation that a Python belongs to, where it looks like one."""
    home = file.parent.parent
    is_python = PYTHON.fullmatch(file.name) and file.parent.name == "bin"
    if is_python and any(glob(f"{escape(str(home))}/lib*/py*3*/os.py")):
        yield home


def _interpreter(file: Path) -> str | None:
    """The program that a script names in its first line, as it would be looked for."""
    try:
        with file.open("rb") as opened:
            line = opened.read(MAX_LINE).partition(b"\n")[0]
    except OSError:
        return None
    words = os.fsdecode(line[2:]).split() if line.startswith(b"#!") else []
    if words and Path(words[0]).name == "env":
        words = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
    return words[0] if words else None
