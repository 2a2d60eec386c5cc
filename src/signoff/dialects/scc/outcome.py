"""
How the core's findings come to a fail class and an exit code.

What a sandboxed command came to is read from ``finding.data``: ``ended``, ``exit_code``
and ``signal``, as the core's ``command`` tells them.
"""

from __future__ import annotations

from signal import Signals
from typing import Final

import msgspec

from signoff.dialects.scc.contract import Check
from signoff.dialects.scc.shape import Object
from signoff.dialects.scc.verdict import FailClass, Failure
from signoff.model import Finding, Report
from signoff.status import Cause, Outcome, Status

__all__ = ["failure_of", "failure_of_report", "settled"]

_CLASSES: Final = {
    Cause.COMMAND_FAILED: FailClass.COMMAND_FAILED,
    Cause.COMMAND_DENIED: FailClass.COMMAND_DENIED,
    Cause.TIMED_OUT: FailClass.TIMEOUT,
    Cause.OUTPUT_LIMIT: FailClass.COMMAND_FAILED,
    Cause.NO_TESTS: FailClass.ARTIFACT_MISSING,
    Cause.REPORT_MISMATCH: FailClass.UNKNOWN,
    Cause.ISOLATION_UNAVAILABLE: FailClass.VERIFIER_ERROR,
    Cause.BAD_OUTPUT: FailClass.UNKNOWN,
    Cause.EVIDENCE_MISSING: FailClass.ARTIFACT_MISSING,
    Cause.EVIDENCE_CORRUPT: FailClass.ARTIFACT_MISSING,
    Cause.EVIDENCE_UNREACHABLE: FailClass.ARTIFACT_MISSING,
    Cause.EVIDENCE_DENIED: FailClass.ARTIFACT_MISSING,
    Cause.EVIDENCE_TIMED_OUT: FailClass.ARTIFACT_MISSING,
    Cause.NOT_RECORDED: FailClass.ARTIFACT_MISSING,
    Cause.NO_SUCH_VERIFIER: FailClass.VERIFIER_ERROR,
    Cause.BAD_PARAMS: FailClass.VERIFIER_ERROR,
    Cause.NOT_INSTALLED: FailClass.VERIFIER_ERROR,
    Cause.VERIFIER_BROKE: FailClass.VERIFIER_ERROR,
    Cause.NO_RESULT: FailClass.VERIFIER_ERROR,
}
_CODES: Final = {
    FailClass.COMMAND_FAILED: 1,
    FailClass.COMMAND_DENIED: 97,
    FailClass.TIMEOUT: 124,
    FailClass.VERIFIER_ERROR: 125,
    FailClass.ARTIFACT_MISSING: 1,
    FailClass.VERDICT_MISSING: 1,
    FailClass.UNKNOWN: 1,
}
# However the core names it, a command that never ran as asked was not judged.
_UNSTARTED: Final = {"not_found": 127, "denied": 126, "cwd_missing": 125, "cancelled": 125}


def settled(check: Check, finding: Finding) -> Finding:
    """
    The finding of the core's ``command`` about a check, as SCC counts it.

    Evidence that is missing, or that stood there before and was not written again, is
    missing evidence; all that a command without further checks warns of is the latter.
    """
    data = _data(finding)
    if finding.status is Status.WARN:
        return _without_evidence(finding)
    as_expected = (
        finding.cause is Cause.COMMAND_FAILED
        and data.get("ended") == "exited"
        and data.get("exit_code") == check.exit_code
        and not data.get("left_processes")
    )
    return _without_evidence(finding) if as_expected else finding


def failure_of_report(report: Report, *, strict: bool = False) -> Failure | None:
    """
    What a report is a FAIL for, None if it is a PASS.

    Class and code come from the first blocker in contract order; under ``strict``
    a warning is a blocker too.
    """
    results = {result.criterion: result.finding for result in report.results}
    for blocker in report.verdict.blockers:
        if blocker not in results:
            return Failure(
                fail_class=FailClass.VERIFIER_ERROR,
                exit_code=125,
                reason="there is no result",
                criterion=blocker,
            )
    for result in report.results:
        warned = strict and result.finding.status is Status.WARN
        if result.criterion in report.verdict.blockers or warned:
            failure = failure_of(result.finding)
            return msgspec.structs.replace(failure, criterion=result.criterion)
    if report.verdict.outcome is Outcome.PASSED and report.results:
        return None
    return Failure(fail_class=FailClass.VERIFIER_ERROR, exit_code=2, reason="nothing was judged")


def failure_of(finding: Finding) -> Failure:
    """What a finding that does not hold is a FAIL for."""
    data = _data(finding)
    ended = data.get("ended")
    if isinstance(ended, str) and ended in _UNSTARTED:
        return Failure(
            fail_class=FailClass.VERIFIER_ERROR,
            exit_code=_UNSTARTED[ended],
            reason=finding.detail,
        )
    fail_class = _CLASSES[finding.cause] if finding.cause else FailClass.UNKNOWN
    return Failure(
        fail_class=fail_class, exit_code=_exit_code(fail_class, data), reason=finding.detail
    )


def _exit_code(fail_class: FailClass, data: Object) -> int:
    code, signal = data.get("exit_code"), data.get("signal")
    if fail_class is FailClass.COMMAND_FAILED:
        number = Signals.__members__.get(signal) if isinstance(signal, str) else signal
        if isinstance(number, int) and not isinstance(number, bool) and number > 0:
            return 128 + number
        if type(code) is int and code != 0:
            return code
    if fail_class is FailClass.VERIFIER_ERROR and type(code) is int and code in {2, 126, 127}:
        return code
    return _CODES[fail_class]


def _without_evidence(finding: Finding) -> Finding:
    return msgspec.structs.replace(finding, status=Status.FAIL, cause=Cause.EVIDENCE_MISSING)


def _data(finding: Finding) -> Object:
    return finding.data if isinstance(finding.data, dict) else {}
