"""How a command ends: the exit codes, and the refusal that carries one."""

from __future__ import annotations

from enum import IntEnum

__all__ = ["Exit", "Refusal"]


class Exit(IntEnum):
    """What the exit code of every command says."""

    DONE = 0
    FAILED = 1
    UNUSABLE = 2
    INCONCLUSIVE = 3
    UNWRITTEN = 4
    INTERRUPTED = 130


class Refusal(Exception):
    """
    A command cannot do what was asked.

    Args:
        message: What was wrong and where, one sentence without a full stop.
        code: How the command ends.
        next_step: What to do about it, ``""`` when the message says it.
    """

    def __init__(self, message: str, *, code: Exit = Exit.UNUSABLE, next_step: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.next_step = next_step
