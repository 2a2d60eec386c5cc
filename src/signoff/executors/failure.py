"""Why an executor gave nothing: it failed, was late, or gave what cannot be used."""

from __future__ import annotations

from signoff.errors import SignoffError
from signoff.jsonvalue import shown

__all__ = ["ExecutorFailed", "ExecutorFault", "ExecutorOutputInvalid", "ExecutorTimedOut"]


class ExecutorFault(SignoffError):
    """
    An executor gave nothing; one of the three below says why.

    Args:
        executor: Name of the executor.
        reason: What went wrong, without a full stop.
        log: What it printed for people, as far as that is kept.
    """

    def __init__(self, executor: str, reason: str, *, log: bytes = b"") -> None:
        super().__init__(f"{shown(executor)} {reason}")
        self.executor = executor
        self.reason = reason
        self.log = log


class ExecutorFailed(ExecutorFault):
    """It could not be run, or ended without an answer."""


class ExecutorTimedOut(ExecutorFault):
    """
    It had not answered when its time was over, and was ended.

    Args:
        executor: Name of the executor.
        limit_s: The seconds that it had.
        log: What it printed for people, as far as that is kept.
    """

    def __init__(self, executor: str, limit_s: float, *, log: bytes = b"") -> None:
        super().__init__(executor, f"timed out after {limit_s:.3g} s", log=log)
        self.limit_s = limit_s


class ExecutorOutputInvalid(ExecutorFault):
    """
    It answered what no executor may.

    Args:
        executor: Name of the executor.
        at: JSON Pointer into the answer; ``""`` for all of it.
        reason: What is wrong there, with what was expected and got, without a full stop.
        log: What it printed for people, as far as that is kept.
    """

    def __init__(self, executor: str, at: str, reason: str, *, log: bytes = b"") -> None:
        place = f" at {shown(at)}" if at else ""
        super().__init__(executor, f"gave an unusable answer: {reason}{place}", log=log)
        self.at = at
