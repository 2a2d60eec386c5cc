"""Why a result fails: the closed list of classes, what each is in the core, and what helps."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any, Final, Self

from signoff.dialects.forge.result import VerificationResult, VerificationStatus
from signoff.status import Cause

__all__ = [
    "CLASS_OF_CAUSE",
    "FailureClass",
    "Remedy",
    "class_named",
    "failure_class",
    "failure_signature",
    "retry_may_help",
]


class Remedy(Enum):
    """What may be done about a failure."""

    RETRY = "retry"
    """The work may be done again, with the errors as advice."""
    NONE = "none"
    """The same again fails again."""
    ESCALATE = "escalate"
    """A person should look at once."""
    REPAIR = "repair"
    """What checks is broken or badly set up; the work was not judged."""


class FailureClass(Enum):
    """
    Why a result fails.

    ``cause`` is the core's word, None where the work is simply wrong; ``remedy`` says
    whether another try may help.
    """

    JSON_INVALID = "json_invalid", None, Remedy.RETRY
    SCHEMA_INVALID = "schema_invalid", None, Remedy.RETRY
    NOT_JSON = "not_json", None, Remedy.RETRY
    INPUT_INVALID = "input_invalid", None, Remedy.NONE
    TESTS_FAILED = "tests_failed", Cause.COMMAND_FAILED, Remedy.RETRY
    NO_TESTS = "no_tests", Cause.NO_TESTS, Remedy.RETRY
    NO_REPORT = "no_report", Cause.EVIDENCE_MISSING, Remedy.RETRY
    REPORT_INVALID = "report_invalid", Cause.EVIDENCE_MISSING, Remedy.RETRY
    REQUIRED_MISSING = "required_missing", Cause.EVIDENCE_MISSING, Remedy.RETRY
    REPORT_MISMATCH = "report_mismatch", Cause.REPORT_MISMATCH, Remedy.ESCALATE
    CANARY = "canary", Cause.REPORT_MISMATCH, Remedy.ESCALATE
    TAMPERED = "tampered", Cause.EVIDENCE_CORRUPT, Remedy.ESCALATE
    OUTPUT_LIMIT = "output_limit", Cause.OUTPUT_LIMIT, Remedy.RETRY
    COMMAND_FAILED = "command_failed", Cause.COMMAND_FAILED, Remedy.RETRY
    SIGNAL = "signal", Cause.COMMAND_FAILED, Remedy.RETRY
    LEFT_PROCESSES = "left_processes", Cause.COMMAND_FAILED, Remedy.RETRY
    TIMEOUT = "timeout", Cause.TIMED_OUT, Remedy.RETRY
    ISOLATION_UNAVAILABLE = "isolation_unavailable", Cause.ISOLATION_UNAVAILABLE, Remedy.REPAIR
    RUNNER_ERROR = "runner_error", Cause.VERIFIER_BROKE, Remedy.REPAIR
    COMMAND_NOT_FOUND = "command_not_found", Cause.VERIFIER_BROKE, Remedy.REPAIR
    PERMISSION_DENIED = "permission_denied", Cause.VERIFIER_BROKE, Remedy.REPAIR
    CWD_MISSING = "cwd_missing", Cause.VERIFIER_BROKE, Remedy.REPAIR
    VERIFIER_ERROR = "verifier_error", Cause.VERIFIER_BROKE, Remedy.REPAIR
    BAD_RETURN = "bad_return", Cause.VERIFIER_BROKE, Remedy.REPAIR
    SUBJECT_CHANGED = "subject_changed", Cause.VERIFIER_BROKE, Remedy.REPAIR
    UNKNOWN_VERIFIER = "unknown_verifier", Cause.NO_SUCH_VERIFIER, Remedy.NONE
    CONTRACT_MISSING = "contract_missing", Cause.BAD_PARAMS, Remedy.NONE
    CONTRACT_INVALID = "contract_invalid", Cause.BAD_PARAMS, Remedy.NONE
    POLICY_INVALID = "policy_invalid", Cause.BAD_PARAMS, Remedy.NONE
    UNSPECIFIED = "unspecified", None, Remedy.NONE

    cause: Cause | None
    remedy: Remedy

    def __new__(cls, wire: str, cause: Cause | None, remedy: Remedy) -> Self:
        """A member whose value is the word on the wire."""
        member = object.__new__(cls)
        member._value_ = wire
        member.cause = cause
        member.remedy = remedy
        return member


_CLASSES: Final[Mapping[str, FailureClass]] = {one.value: one for one in FailureClass}

CLASS_OF_CAUSE: Final[Mapping[Cause, FailureClass]] = {
    Cause.COMMAND_FAILED: FailureClass.COMMAND_FAILED,
    Cause.COMMAND_DENIED: FailureClass.PERMISSION_DENIED,
    Cause.TIMED_OUT: FailureClass.TIMEOUT,
    Cause.OUTPUT_LIMIT: FailureClass.OUTPUT_LIMIT,
    Cause.NO_TESTS: FailureClass.NO_TESTS,
    Cause.REPORT_MISMATCH: FailureClass.REPORT_MISMATCH,
    Cause.ISOLATION_UNAVAILABLE: FailureClass.ISOLATION_UNAVAILABLE,
    Cause.BAD_OUTPUT: FailureClass.NOT_JSON,
    Cause.EVIDENCE_MISSING: FailureClass.REQUIRED_MISSING,
    Cause.EVIDENCE_CORRUPT: FailureClass.TAMPERED,
    Cause.EVIDENCE_UNREACHABLE: FailureClass.UNSPECIFIED,
    Cause.EVIDENCE_DENIED: FailureClass.UNSPECIFIED,
    Cause.EVIDENCE_TIMED_OUT: FailureClass.UNSPECIFIED,
    Cause.NOT_RECORDED: FailureClass.UNSPECIFIED,
    Cause.NO_SUCH_VERIFIER: FailureClass.UNKNOWN_VERIFIER,
    Cause.BAD_PARAMS: FailureClass.CONTRACT_INVALID,
    Cause.NOT_INSTALLED: FailureClass.VERIFIER_ERROR,
    Cause.VERIFIER_BROKE: FailureClass.VERIFIER_ERROR,
    Cause.NO_RESULT: FailureClass.VERIFIER_ERROR,
}
"""The class of a failure of which the core tells no more than its cause."""


def class_named(word: object) -> FailureClass | None:
    """The class of a word; None for what is no word of the list."""
    return _CLASSES.get(word) if isinstance(word, str) else None


def failure_class(result: VerificationResult) -> FailureClass | None:
    """The class of a failure; None of a result that does not fail."""
    if result.status is not VerificationStatus.FAIL:
        return None
    return class_named(result.evidence.get("failure_class")) or FailureClass.UNSPECIFIED


def failure_signature(result: VerificationResult) -> tuple[Any, ...] | None:
    """What is the same for the same failure: class, id, and each place with its keyword, sorted."""
    found = failure_class(result)
    if found is None:
        return None
    evidence = result.evidence
    listed = [evidence.get(name) for name in ("input_errors", "output_errors")]
    entries = [entry for one in listed if isinstance(one, list) for entry in one]
    places = {
        (str(entry.get("path")), str(entry.get("keyword")))
        for entry in entries
        if isinstance(entry, dict)
    }
    return found.value, result.verifier_id, tuple(sorted(places))


def retry_may_help(result: VerificationResult, *, before: VerificationResult | None = None) -> bool:
    """
    Another try may end better.

    Args:
        result: A result that fails.
        before: That of the try before; the same failure twice in a row ends the retries.
    """
    found = failure_class(result)
    if found is None or found.remedy is not Remedy.RETRY:
        return False
    return before is None or failure_signature(before) != failure_signature(result)
