"""What bubblewrap is told about the part of a sandbox that is the same for every command."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from signoff.sandbox.system import CPUS, FOLDERS

__all__ = ["find_bubblewrap", "options"]

HOST_NAME: Final = "sandbox"
USUAL: Final = ("/usr/bin", "/usr/local/bin", "/bin", "/run/current-system/sw/bin")


def find_bubblewrap(search: list[str]) -> str | None:
    """The program, from the system rather than from a folder of the search path."""
    for folder in (*USUAL, *search):
        path = Path(folder) / "bwrap"
        if os.path.isfile(path) and os.access(path, os.X_OK):
            return str(path)
    return None


def options(settings: str, *, network: bool) -> list[str]:
    """
    Namespaces, privileges and the system, read-only; the command's own folders come after these.

    Args:
        settings: Folder that stands for ``/etc``.
        network: The namespace for the network is signoff's.
    """
    own = ["user", "ipc", "pid", "uts", "cgroup-try", *([] if network else ["net"])]
    return [
        *(f"--unshare-{namespace}" for namespace in own),
        # it ends before what the command has left behind: the guardian counts that and kills it
        *("--new-session", "--cap-drop", "ALL", "--hostname", HOST_NAME),
        *_system(),
        # root's user id may write settings of the kernel, whatever privileges are gone
        *("--proc", "/proc", "--remount-ro", "/proc"),
        *("--dev", "/dev", "--ro-bind", settings, "/etc"),
    ]


def _system() -> Iterator[str]:
    for name in (*FOLDERS, CPUS):
        path = Path(name)
        if os.path.islink(path):
            yield from ("--symlink", str(path.readlink()), name)
        elif os.access(path, os.R_OK | os.X_OK) and os.listdir(path):
            yield from ("--ro-bind", name, name)
