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
from functools import cached_property
from glob import escape, glob
from typing import Final

__all__ = ["Reach", "is_in"]

MAX_HOPS: Final = 16
MAX_LINE: Final = 512
PROGRAM_FOLDERS: Final = ("bin", "sbin", "shims")
INSTALLED: Final = ("pyvenv.cfg", "lib", "lib64", "libexec", "versions")
# Too wide to be an installation, whatever lies in it.
WIDE: Final = frozenset(
    (
        *("/", "/dev", "/etc", "/home", "/media", "/mnt", "/proc", "/root", "/run", "/srv", "/sys"),
        *("/tmp", "/usr", "/var", "/var/lib", "/var/tmp"),  # noqa: S108  nothing is written there
    )
)
# Folders of a home that hold programs next to things of its owner: what of them is needed.
MIXED: Final = {
    ".local": ("bin", "lib"),
    ".cargo": ("bin", "registry", "../.rustup"),
    ".npm-global": ("bin", "lib"),
    "go": ("bin", "pkg"),
}
PYTHON: Final = re.compile(r"(?:python|pypy)[0-9.]*[a-z]?")


class Reach:
    """
    Which folders programs need, as the search path has them.

    Args:
        search: Folders of the operator's search path, in its order.
        home: The operator's home folder, of which only parts are ever given.
        workspace: Folder whose content is not trusted; None for none.
    """

    def __init__(self, search: Sequence[str], home: str, workspace: str | None) -> None:
        self._search = [os.path.normpath(entry) for entry in search if entry.startswith("/")]
        self._home = os.path.normpath(home) if home.startswith("/") else "/root"
        self._untrusted = {workspace, os.path.realpath(workspace)} if workspace else set[str]()

    @cached_property
    def everywhere(self) -> tuple[str, ...]:
        """Folders for whatever is found by name: the search path, and signoff's own Python."""
        found = list[str]()
        for entry in self._search:
            if not self._is_untrusted(entry):
                found += self._installation(entry)
        found += (prefix for prefix in (sys.prefix, sys.base_prefix) if not self._is_wide(prefix))
        return tuple(dict.fromkeys(found))

    def of(self, program: str, cwd: str | None) -> Iterator[str]:
        """Folders for one program, named as in the first item of an argv."""
        found = self._found(program, cwd)
        if found is not None:
            yield from self._followed(found, MAX_HOPS, trusted=True)

    def _found(self, program: str, cwd: str | None) -> str | None:
        if "/" in program:
            return os.path.normpath(f"{cwd or ''}/{program}" if program[0] != "/" else program)
        for folder in self._search:
            file = f"{folder}/{program}"
            if os.access(file, os.X_OK) and os.path.isfile(file):
                return file
        return None

    def _followed(self, file: str, hops: int, *, trusted: bool) -> Iterator[str]:
        if hops == 0:
            return
        inside = self._is_untrusted(os.path.dirname(file))
        trusted = trusted and not inside
        if trusted:
            yield from self._installation(os.path.dirname(file))
        elif not inside:
            yield from _python_home(file)
        if os.path.islink(file):
            target = os.path.normpath(os.path.join(os.path.dirname(file), os.readlink(file)))
            yield from self._followed(target, hops - 1, trusted=trusted)
        elif (named := _interpreter(file)) and (found := self._found(named, None)):
            yield from self._followed(found, hops - 1, trusted=trusted)

    def _installation(self, folder: str) -> Iterator[str]:
        """The folder of a program, and the whole that it is the ``bin`` of."""
        whole, name = os.path.split(folder)
        above, kind = os.path.split(whole)
        if name in PROGRAM_FOLDERS and above == self._home and kind in MIXED:
            yield from (os.path.normpath(f"{whole}/{part}") for part in MIXED[kind])
            return
        named = name in PROGRAM_FOLDERS and not self._is_wide(whole)
        if named and any(os.path.exists(f"{whole}/{mark}") for mark in INSTALLED):
            yield whole
            yield from _made_from(whole)
        elif not self._is_wide(folder):
            yield folder

    def _is_wide(self, folder: str) -> bool:
        return folder in WIDE or is_in(self._home, folder)

    def _is_untrusted(self, folder: str) -> bool:
        """In the workspace, as it is written or as it leads there."""
        leads = os.path.realpath(folder) if self._untrusted else folder
        return any(is_in(path, top) for top in self._untrusted for path in (folder, leads))


def is_in(path: str, folder: str) -> bool:
    """The path is the folder, or in it, as both are written."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def _made_from(environment: str) -> Iterator[str]:
    """What a virtual environment was made from."""
    try:
        with open(f"{environment}/pyvenv.cfg", encoding="utf-8", errors="replace") as settings:
            lines = settings.read(MAX_LINE * 16).splitlines()
    except OSError:
        return
    for line in lines:
        key, _, value = line.partition("=")
        if key.strip().lower() == "home" and value.strip().startswith("/"):
            yield from _python_home(f"{value.strip()}/python3")


def _python_home(file: str) -> Iterator[str]:
    """The installation that a Python belongs to, where it looks like one."""
    folder, name = os.path.split(file)
    home = os.path.dirname(folder)
    is_python = PYTHON.fullmatch(name) and os.path.basename(folder) == "bin"
    if is_python and any(glob(f"{escape(home)}/lib*/py*3*/os.py")):
        yield home


def _interpreter(file: str) -> str | None:
    """The program that a script names in its first line, as it would be looked for."""
    try:
        handle = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        line = os.read(handle, MAX_LINE).partition(b"\n")[0]
    except OSError:
        return None
    finally:
        os.close(handle)
    words = os.fsdecode(line[2:]).split() if line.startswith(b"#!") else []
    if words and os.path.basename(words[0]) == "env":
        words = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
    return words[0] if words else None
