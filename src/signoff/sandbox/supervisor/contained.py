"""Processes in a namespace of their own that is known by a folder of theirs."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from typing import Final

__all__ = ["end_contained"]

ROUNDS: Final = 100
STEP_S: Final = 0.002


def end_contained(folder: str) -> None:
    """
    Kills what has something of a folder mounted and is in another process namespace than we.

    What a guardian kept in is found so when everybody who knew it has been killed: mounts are
    what it cannot change.

    Args:
        folder: Absolute path, unlike any other's.
    """
    named = f" {folder}/".encode("utf-8", "surrogateescape")
    for _ in range(ROUNDS):
        found = [pid for pid in _elsewhere() if named in _read(f"/proc/{pid}/mountinfo")]
        if not found:
            return
        for pid in found:
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                continue  # it has just ended
        time.sleep(STEP_S)


def _elsewhere() -> Iterator[int]:
    """Processes in another process namespace, as far as this user may know."""
    try:
        own = os.readlink("/proc/self/ns/pid")
        names = os.listdir("/proc")
    except OSError:
        return
    for name in names:
        if not name.isdecimal():
            continue
        try:
            if os.readlink(f"/proc/{name}/ns/pid") != own:
                yield int(name)
        except OSError:
            continue  # of somebody else, or just gone


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""
