"""Processes by a word on their command line: what a test looks for when nothing may be left."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path
from time import monotonic

WAIT_S = 5.0
SLEEPER = "import time; time.sleep(600)"


def new_marker() -> str:
    """A word that no other process has on its command line."""
    return f"marker-{uuid.uuid4().hex}"


def left(marker: str) -> list[int]:
    """Processes that run with the marker on their command line."""
    return [pid for pid in _processes() if marker.encode() in _command(pid)]


def gone(marker: str) -> bool:
    """None runs any more; a busy machine may take a moment to end the last of them."""
    until = monotonic() + WAIT_S
    while left(marker):
        if monotonic() > until:
            return False
    return True


def _processes() -> Iterator[int]:
    return (int(path.name) for path in Path("/proc").iterdir() if path.name.isdecimal())


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()  # empty of what has ended
    except OSError:
        return b""
