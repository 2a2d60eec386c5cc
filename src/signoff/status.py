"""The verdict arithmetic: statuses, outcomes, causes, and which is worse."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum

__all__ = ["Cause", "Outcome", "Status"]


class Outcome(Enum):
    """What a whole contract comes to, best first."""

    PASSED = "passed"
    INCONCLUSIVE = "inconclusive"
    FAILED = "failed"


class Status(Enum):
    """
    What became of one criterion, mildest first.

    Not a ``StrEnum``: its members would compare as text, and ``max`` of
    ``"fail"`` and ``"warn"`` is ``"warn"``.  These have no order of their own;
    ``rank`` is the arithmetic.
    """

    PASS = "pass"  # noqa: S105  a status, no password
    WARN = "warn"
    INCONCLUSIVE = "inconclusive"
    SKIPPED = "skipped"
    ERROR = "error"
    FAIL = "fail"

    rank: int
    outcome: Outcome
    holds: bool

    def __init__(self, _: str) -> None:
        self.rank = len(type(self).__members__)
        self.holds = self._name_ in {"PASS", "WARN"}
        self.outcome = (
            Outcome.PASSED
            if self.holds
            else Outcome.INCONCLUSIVE
            if self._name_ == "INCONCLUSIVE"
            else Outcome.FAILED
        )

    @classmethod
    def worst(cls, statuses: Iterable[Status]) -> Status:
        """The least mild of the statuses; ``ERROR`` of none, since nothing checked is not a pass."""
        return max(statuses, key=lambda status: status.rank, default=cls.ERROR)


_INCONCLUSIVE = {"EVIDENCE_UNREACHABLE", "EVIDENCE_DENIED", "EVIDENCE_TIMED_OUT", "NOT_RECORDED"}
_ERROR = {
    "ISOLATION_UNAVAILABLE",
    "NO_SUCH_VERIFIER",
    "BAD_PARAMS",
    "NOT_INSTALLED",
    "VERIFIER_BROKE",
    "NO_RESULT",
}


class Cause(Enum):
    """
    Why something could not be established.

    A closed list: every dialect translates every member.  ``status`` is the
    status that goes with a cause when nothing more is known.
    """

    COMMAND_FAILED = "command_failed"
    COMMAND_DENIED = "command_denied"
    TIMED_OUT = "timed_out"
    OUTPUT_LIMIT = "output_limit"
    NO_TESTS = "no_tests"
    REPORT_MISMATCH = "report_mismatch"
    ISOLATION_UNAVAILABLE = "isolation_unavailable"
    BAD_OUTPUT = "bad_output"
    EVIDENCE_MISSING = "evidence_missing"
    EVIDENCE_CORRUPT = "evidence_corrupt"
    EVIDENCE_UNREACHABLE = "evidence_unreachable"
    EVIDENCE_DENIED = "evidence_denied"
    EVIDENCE_TIMED_OUT = "evidence_timed_out"
    NOT_RECORDED = "not_recorded"
    NO_SUCH_VERIFIER = "no_such_verifier"
    BAD_PARAMS = "bad_params"
    NOT_INSTALLED = "not_installed"
    VERIFIER_BROKE = "verifier_broke"
    NO_RESULT = "no_result"

    rank: int
    status: Status

    def __init__(self, _: str) -> None:
        self.rank = len(type(self).__members__)
        self.status = (
            Status.INCONCLUSIVE
            if self._name_ in _INCONCLUSIVE
            else Status.ERROR
            if self._name_ in _ERROR
            else Status.FAIL
        )
