"""The refusals of an executor's work, each with the class and the code that it is a FAIL for."""

from __future__ import annotations

from typing import Self

from signoff.dialects.scc.verdict import FailClass, Failure

__all__ = ["WorkRefused"]


class WorkRefused(Exception):
    """
    The work is refused; nothing of the contract may be run.

    Args:
        failure: What for.
    """

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.reason)
        self.failure = failure

    @classmethod
    def denied(cls, reason: str) -> Self:
        """The executor did what it may not."""
        return cls._of(FailClass.COMMAND_DENIED, 97, reason)

    @classmethod
    def unusable(cls, reason: str) -> Self:
        """A record or a reference is bad, so that it is not known what is to be judged."""
        return cls._of(FailClass.VERIFIER_ERROR, 2, reason)

    @classmethod
    def missing(cls, reason: str) -> Self:
        """What the record names is not there."""
        return cls._of(FailClass.ARTIFACT_MISSING, 1, reason)

    @classmethod
    def unread(cls, reason: str) -> Self:
        """The work could not be looked at."""
        return cls._of(FailClass.VERIFIER_ERROR, 125, reason)

    @classmethod
    def _of(cls, fail_class: FailClass, exit_code: int, reason: str) -> Self:
        return cls(
            Failure(fail_class=fail_class, exit_code=exit_code, reason=reason, criterion="scc.work")
        )
