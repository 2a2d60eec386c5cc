"""
Forge results and core findings, each as the other, and what many results come to.

Forge has one word, ``fail``, for three of the core: the work is wrong, it could not
be found out, the check is broken.  Which of them it was stands in the evidence.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from msgspec import to_builtins

from signoff.dialects.forge.failure import (
    CLASS_OF_CAUSE,
    FailureClass,
    class_named,
    failure_class,
)
from signoff.dialects.forge.jsonform import jsonable
from signoff.dialects.forge.result import VerificationResult, VerificationStatus
from signoff.jsonvalue import JSON
from signoff.model import Finding, Verdict
from signoff.status import Cause, Status

__all__ = [
    "CORE_STATUS",
    "FORGE_STATUS",
    "RESERVED",
    "acceptance_results",
    "benchmark_status",
    "is_verified",
    "overall_status",
    "to_finding",
    "to_result",
    "to_verdict",
]

FORGE_STATUS: Final[Mapping[Status, VerificationStatus]] = {
    Status.PASS: VerificationStatus.PASS,
    Status.WARN: VerificationStatus.WARN,
    Status.INCONCLUSIVE: VerificationStatus.FAIL,
    Status.SKIPPED: VerificationStatus.SKIPPED,
    Status.ERROR: VerificationStatus.FAIL,
    Status.FAIL: VerificationStatus.FAIL,
}
"""The forge status of a core status."""

CORE_STATUS: Final[Mapping[VerificationStatus, Status]] = {
    VerificationStatus.PASS: Status.PASS,
    VerificationStatus.WARN: Status.WARN,
    VerificationStatus.SKIPPED: Status.SKIPPED,
    VerificationStatus.FAIL: Status.FAIL,
}
"""The core status of a forge status; the cause of a failure may say more."""

RESERVED: Final = ("checked", "core_cause", "core_status", "policy_source", "reported_verifier_id")
"""What only the adapter writes into evidence; a verifier's own entries of these names are lost."""

_OUR_DATA: Final = {"errors", "evidence", "warnings"}
_HOLDS: Final = (VerificationStatus.PASS, VerificationStatus.WARN)
_CAUSES: Final = {cause.value: cause for cause in Cause}


def to_finding(result: VerificationResult) -> Finding:
    """The core finding of what a verifier said; all of it stands in ``data``."""
    found = failure_class(result)
    evidence: Any = jsonable(result.evidence)
    if found is not None:
        evidence["failure_class"] = found.value
    else:
        evidence.pop("failure_class", None)
    cause = found.cause if found is not None else None
    return Finding(
        status=CORE_STATUS[result.status] if cause is None else cause.status,
        detail=result.summary,
        cause=cause,
        data={
            "evidence": evidence,
            "errors": list(result.errors),
            "warnings": list(result.warnings),
        },
    )


def to_result(
    verifier_id: str, finding: Finding, *, elapsed_seconds: float | None = None
) -> VerificationResult:
    """
    The forge result of a core finding.

    Every failure has a ``failure_class`` in its evidence, and the core's own words beside it.
    """
    data = finding.data
    if isinstance(data, dict) and data.keys() == _OUR_DATA:
        evidence, errors, warnings = data["evidence"], data["errors"], data["warnings"]
    else:
        evidence, errors, warnings = _facts(finding), (), ()
    status = FORGE_STATUS[finding.status]
    if status is VerificationStatus.FAIL:
        evidence = evidence | _of_failure(finding, evidence.get("failure_class"))
        errors = errors or (finding.detail,)
    elif status is VerificationStatus.WARN:
        warnings = warnings or (finding.detail,)
    return VerificationResult(
        status, verifier_id, finding.detail, evidence, errors, warnings, elapsed_seconds
    )


def overall_status(results: Iterable[VerificationResult]) -> VerificationStatus:
    """
    What some results come to.

    No results, any failure or any skip is ``fail``: asking for a check and not running
    it must not end a run as done.  Otherwise ``warn`` if there is one, else ``pass``.
    """
    found = {result.status for result in results}
    if not found or not found <= {*_HOLDS}:
        return VerificationStatus.FAIL
    return VerificationStatus.WARN if VerificationStatus.WARN in found else VerificationStatus.PASS


def is_verified(results: Iterable[VerificationResult], *, require: Iterable[str] = ()) -> bool:
    """The whole is pass or warn, and each required id is among the results."""
    results = tuple(results)
    if isinstance(require, str):
        raise TypeError("require must be an iterable of ids, got str")
    return overall_status(results) in _HOLDS and {one.verifier_id for one in results} >= {*require}


def benchmark_status(results: Iterable[VerificationResult] | None) -> str:
    """The word for a benchmark's ``verification_status``; ``not_run`` when nothing was verified."""
    return "not_run" if results is None else overall_status(results).value


def to_verdict(results: Iterable[VerificationResult]) -> Verdict:
    """
    The core verdict of some results, from which other dialects take theirs.

    Inconclusive only if every result that does not hold is inconclusive in the core.
    """
    results = tuple(results)
    blocking = [result for result in results if result.status not in _HOLDS]
    statuses = [_core_status(result) for result in results]
    worst = Status.worst(statuses)
    causes = (_core_cause(one) for one in blocking if _core_status(one) is worst)
    cause = next(causes, None) if results else Cause.NO_RESULT
    return Verdict(
        outcome=worst.outcome, cause=cause, blockers=tuple(one.verifier_id for one in blocking)
    )


def acceptance_results(results: Iterable[VerificationResult]) -> list[dict[str, JSON]]:
    """The results in the words of acceptance criteria: ``pass`` and ``details``."""
    return [{"pass": one.status in _HOLDS, "details": one.summary} for one in results]


def _facts(finding: Finding) -> dict[str, JSON]:
    """What a finding of the core tells besides its status and detail."""
    told = {
        "at": finding.at,
        "score": finding.score,
        "data": finding.data,
        "stored": [to_builtins(entry) for entry in finding.evidence] or None,
        "isolation": finding.isolation,
        "assurance": finding.assurance,
        "missing": finding.missing or None,
    }
    return {name: jsonable(value) for name, value in told.items() if value is not None}


def _of_failure(finding: Finding, stated: object) -> dict[str, JSON]:
    told = finding.data.get("failure_class") if isinstance(finding.data, dict) else None
    found = next(filter(None, map(class_named, (stated, told))), None)
    if found is None:
        cause = finding.cause
        found = FailureClass.UNSPECIFIED if cause is None else CLASS_OF_CAUSE[cause]
    return {
        "failure_class": found.value,
        "core_status": finding.status.value,
        "core_cause": finding.cause.value if finding.cause else None,
    }


def _core_status(result: VerificationResult) -> Status:
    """The core's word for a result; of a failure what its evidence says, where that is one."""
    found = failure_class(result)
    if found is None:
        return CORE_STATUS[result.status]
    stated = result.evidence.get("core_status")
    for status, word in FORGE_STATUS.items():
        if word is VerificationStatus.FAIL and status.value == stated:
            return status
    return Status.FAIL if found.cause is None else found.cause.status


def _core_cause(result: VerificationResult) -> Cause | None:
    found, stated = failure_class(result), result.evidence.get("core_cause")
    if found is None:
        return None
    return _CAUSES.get(stated, found.cause) if isinstance(stated, str) else found.cause
