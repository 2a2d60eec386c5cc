"""The verdict arithmetic: statuses, outcomes, causes, and which is worse."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from operator import attrgetter
from typing import Self

__all__ = ["Cause", "Outcome", "Status"]

_RANK = attrgetter("rank")


class Outcome(Enum):
    """What a whole contract comes to, best first."""

    PASSED = "passed"
    INCONCLUSIVE = "inconclusive"
    FAILED = "failed"


class Status(Enum):
    """
    What became of one criterion, mildest first.

    Not a ``StrEnum``: its members would compare as text, and ``max`` of "fail"
    and "warn" is "warn".  ``rank`` is the order, ``outcome`` what it alone comes to.
    """

    PASS = "pass", Outcome.PASSED
    WARN = "warn", Outcome.PASSED
    INCONCLUSIVE = "inconclusive", Outcome.INCONCLUSIVE
    SKIPPED = "skipped", Outcome.FAILED
    ERROR = "error", Outcome.FAILED
    FAIL = "fail", Outcome.FAILED

    rank: int
    outcome: Outcome
    holds: bool

    def __new__(cls, wire: str, outcome: Outcome) -> Self:
        """A member whose value is the wire text."""
        member = object.__new__(cls)
        member._value_ = wire
        member.rank = len(cls.__members__)
        member.outcome = outcome
        member.holds = outcome is Outcome.PASSED
        return member

    @classmethod
    def worst(cls, statuses: Iterable[Status]) -> Status:
        """The least mild; ``ERROR`` of none at all, since nothing checked is not a pass."""
        return max(statuses, key=_RANK, default=cls.ERROR)


class Cause(Enum):
    """
    Why something could not be established; a closed list, which every dialect translates.

    ``status`` is the status that goes with a cause when nothing more is known.
    """

    COMMAND_FAILED = "command_failed", Status.FAIL
    COMMAND_DENIED = "command_denied", Status.FAIL
    TIMED_OUT = "timed_out", Status.FAIL
    OUTPUT_LIMIT = "output_limit", Status.FAIL
    NO_TESTS = "no_tests", Status.FAIL
    REPORT_MISMATCH = "report_mismatch", Status.FAIL
    ISOLATION_UNAVAILABLE = "isolation_unavailable", Status.ERROR
    BAD_OUTPUT = "bad_output", Status.FAIL
    EVIDENCE_MISSING = "evidence_missing", Status.FAIL
    EVIDENCE_CORRUPT = "evidence_corrupt", Status.FAIL
    EVIDENCE_UNREACHABLE = "evidence_unreachable", Status.INCONCLUSIVE
    EVIDENCE_DENIED = "evidence_denied", Status.INCONCLUSIVE
    EVIDENCE_TIMED_OUT = "evidence_timed_out", Status.INCONCLUSIVE
    NOT_RECORDED = "not_recorded", Status.INCONCLUSIVE
    NO_SUCH_VERIFIER = "no_such_verifier", Status.ERROR
    BAD_PARAMS = "bad_params", Status.ERROR
    NOT_INSTALLED = "not_installed", Status.ERROR
    VERIFIER_BROKE = "verifier_broke", Status.ERROR
    NO_RESULT = "no_result", Status.ERROR

    rank: int
    status: Status

    def __new__(cls, wire: str, status: Status) -> Self:
        """A member whose value is the wire text."""
        member = object.__new__(cls)
        member._value_ = wire
        member.rank = len(cls.__members__)
        member.status = status
        return member
