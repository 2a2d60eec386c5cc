"""The entry point as a process of its own, on pipes or on a pseudo-terminal."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
from collections.abc import Mapping
from time import monotonic

ENTRY = [sys.executable, "-m", "signoff"]
PATIENCE_S = 30


def environment(**more: str) -> dict[str, str]:
    """The environment without what chooses colours."""
    plain = {"NO_COLOR", "CLICOLOR_FORCE", "TERM", "SIGNOFF_DEBUG", "PYTHONUNBUFFERED"}
    kept = {name: value for name, value in os.environ.items() if name not in plain}
    return kept | {"TERM": "xterm"} | more


def on_terminal(*argv: str, until: str = "", env: Mapping[str, str] | None = None) -> str:
    """What a person sees who types the command, and leaves when ``until`` is seen."""
    master, slave = pty.openpty()
    process = subprocess.Popen(
        [*ENTRY, *argv], stdin=slave, stdout=slave, stderr=slave, env=env or environment()
    )
    os.close(slave)
    seen = bytearray()
    end = monotonic() + PATIENCE_S
    try:
        while monotonic() < end:
            if not select.select([master], [], [], 0.1)[0]:
                if process.poll() is not None:
                    break
                continue
            try:
                piece = os.read(master, 65_536)
            except OSError:  # Linux says so when the last slave is closed
                break
            if not piece:
                break
            seen += piece
            if until and until in seen.decode("utf-8", "replace"):
                break
    finally:
        process.kill()
        process.wait()
        os.close(master)
    return seen.decode().replace("\r\n", "\n")
