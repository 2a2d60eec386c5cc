"""The ways in which a run of tests does not do: a closed list, each with its cause."""

from __future__ import annotations

from enum import Enum
from typing import Self

from signoff.status import Cause, Status

__all__ = ["Failure"]


class Failure(Enum):
    """
    Why a run of tests does not do.

    ``cause`` is the cause that goes with it; ``status`` says whether the work is wrong
    or the check could not do its part.
    """

    TESTS_FAILED = "tests_failed", Cause.COMMAND_FAILED, Status.FAIL
    NO_TESTS = "no_tests", Cause.NO_TESTS, Status.FAIL
    NO_REPORT = "no_report", Cause.EVIDENCE_MISSING, Status.FAIL
    REPORT_INVALID = "report_invalid", Cause.EVIDENCE_MISSING, Status.FAIL
    REQUIRED_MISSING = "required_missing", Cause.EVIDENCE_MISSING, Status.FAIL
    REPORT_MISMATCH = "report_mismatch", Cause.REPORT_MISMATCH, Status.FAIL
    CANARY = "canary", Cause.REPORT_MISMATCH, Status.FAIL
    TAMPERED = "tampered", Cause.EVIDENCE_CORRUPT, Status.FAIL
    OUTPUT_LIMIT = "output_limit", Cause.OUTPUT_LIMIT, Status.FAIL
    COMMAND_FAILED = "command_failed", Cause.COMMAND_FAILED, Status.FAIL
    SIGNAL = "signal", Cause.COMMAND_FAILED, Status.FAIL
    LEFT_PROCESSES = "left_processes", Cause.COMMAND_FAILED, Status.FAIL
    TIMEOUT = "timeout", Cause.TIMED_OUT, Status.FAIL
    ISOLATION_UNAVAILABLE = "isolation_unavailable", Cause.ISOLATION_UNAVAILABLE, Status.ERROR
    RUNNER_ERROR = "runner_error", Cause.VERIFIER_BROKE, Status.FAIL
    COMMAND_NOT_FOUND = "command_not_found", Cause.VERIFIER_BROKE, Status.ERROR
    PERMISSION_DENIED = "permission_denied", Cause.VERIFIER_BROKE, Status.ERROR
    CWD_MISSING = "cwd_missing", Cause.VERIFIER_BROKE, Status.ERROR
    VERIFIER_ERROR = "verifier_error", Cause.VERIFIER_BROKE, Status.ERROR

    cause: Cause
    status: Status

    def __new__(cls, wire: str, cause: Cause, status: Status) -> Self:
        """A member whose value is the wire text."""
        member = object.__new__(cls)
        member._value_ = wire
        member.cause = cause
        member.status = status
        return member
