"""How a process stands with the system when there is too little time or memory for all."""

from __future__ import annotations

import os
from typing import Final

__all__ = ["be_as", "be_first"]

AHEAD: Final = -10
NEVER: Final = "-1000"
CHOICE: Final = "/proc/self/oom_score_adj"


def be_first() -> tuple[int, str]:
    """
    Where the system permits it, this process runs before others and is not killed for memory.

    Returns:
        How it stood before, which a command is to be given back by ``be_as``.
    """
    before = os.getpriority(os.PRIO_PROCESS, 0), _read()
    try:
        os.setpriority(os.PRIO_PROCESS, 0, AHEAD)
    except OSError:
        pass  # only root may
    _write(NEVER)
    return before


def be_as(before: tuple[int, str]) -> None:
    """Stands as it did before."""
    priority, choice = before
    if os.getpriority(os.PRIO_PROCESS, 0) != priority:
        os.setpriority(os.PRIO_PROCESS, 0, priority)
    if choice and _read() != choice:
        _write(choice)


def _read() -> str:
    try:
        with open(CHOICE, encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return ""


def _write(choice: str) -> None:
    try:
        with open(CHOICE, "w", encoding="ascii") as file:
            file.write(choice)
    except OSError:
        return  # only root may, and only Linux knows of it
