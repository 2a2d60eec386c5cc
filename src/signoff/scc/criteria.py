"""
All that a run asks, as criteria of the core, and what the core's fold comes to.

Each check is a required criterion, and so are the verifier's own conditions, which
are called ``scc.*``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, Final

import msgspec
from msgspec import Struct

from signoff._version import __version__
from signoff.backing import backing
from signoff.canonical import digest
from signoff.dialects.scc.outcome import failure_of, failure_of_report
from signoff.dialects.scc.policy import Gate
from signoff.dialects.scc.settings import Settings
from signoff.dialects.scc.verdict import FailClass, Failure
from signoff.engine import judge
from signoff.model import (
    Contract,
    Criterion,
    Finding,
    Report,
    Result,
    failed,
    passed,
    skipped,
    warned,
)
from signoff.scc.checks import CheckDone, Prepared
from signoff.scc.gate_report import GateReport
from signoff.scc.phase4 import PhaseResult
from signoff.status import Cause, Status

__all__ = [
    "NOT_RUN",
    "Judged",
    "check_results",
    "codes_of",
    "contract_digest",
    "judged",
    "report_of",
]

NOT_RUN: Final = "not run: the run had ended before"
ECHO: Final = ("VERDICT_FAIL",)
_CAUSES: Final = {
    FailClass.COMMAND_FAILED: Cause.COMMAND_FAILED,
    FailClass.COMMAND_DENIED: Cause.COMMAND_DENIED,
    FailClass.TIMEOUT: Cause.TIMED_OUT,
    FailClass.VERIFIER_ERROR: Cause.VERIFIER_BROKE,
    FailClass.ARTIFACT_MISSING: Cause.EVIDENCE_MISSING,
    FailClass.VERDICT_MISSING: Cause.EVIDENCE_MISSING,
    FailClass.UNKNOWN: None,
}


class Judged(Struct, frozen=True, kw_only=True):
    """
    What a run has found out so far.

    Args:
        failure: What ended it before the checks, None if nothing did.
        ended_at: The condition that ended it.
        warnings: What holds with a warning before the checks.
        checks: In contract order; those of a run that ended before as well.
        evidence: Files that were registered, None where they were not.
        phases: Of the phase-4 checks.
        gate: Of the guard.
        outputs: Which expected outputs are missing, None where nobody looked.
    """

    failure: Failure | None = None
    ended_at: str = ""
    warnings: tuple[str, ...] = ()
    checks: tuple[CheckDone, ...] = ()
    evidence: int | None = None
    phases: tuple[PhaseResult, ...] = ()
    gate: GateReport | None = None
    outputs: tuple[str, ...] | None = None


def contract_digest(task_id: str, checks: Iterable[Prepared], settings: Settings) -> str:
    """The digest of the core's contract that the checks come to."""
    return digest(msgspec.json.decode(msgspec.json.encode(_contract(task_id, checks, settings))))


def report_of(
    found: Judged, *, task_id: str, started: datetime, elapsed_s: float, locked: str
) -> Report:
    """
    The core's report on a run.

    Args:
        found: What was found out.
        task_id: Of the contract.
        started: Of the run.
        elapsed_s: How long it took.
        locked: Digest of the core's contract.
    """
    results = _results(found)
    rest = backing(results)
    return Report(
        contract_id=task_id,
        contract_digest=locked,
        output_digest=None,
        results=results,
        verdict=judge(_criteria(results), results),
        started=started,
        elapsed_s=elapsed_s,
        engines={"signoff": __version__},
        isolation=rest.isolation,
        assurance=rest.assurance,
        missing=rest.missing,
        warnings=found.warnings,
    )


def judged(found: Judged, report: Report, *, strict: bool) -> Failure | None:
    """
    What a run is a FAIL for, None for PASS.

    That the gate finds a FAIL where there is one decides nothing: what made it a FAIL
    does, wherever in the contract the gate was asked.
    """
    echoes = _echoes(found)
    results = tuple(one for one in report.results if one.criterion not in echoes)
    rest = msgspec.structs.replace(
        report, results=results, verdict=judge(_criteria(results), results)
    )
    failure = failure_of_report(rest, strict=strict)
    if failure is not None or not echoes:
        return failure
    return failure_of_report(report, strict=strict)


def codes_of(finding: Finding) -> tuple[str, ...]:
    """Why a criterion does not hold, in words of the triplet."""
    if finding.status.holds or finding.status is Status.SKIPPED:
        return ()
    given = finding.data.get("codes") if isinstance(finding.data, dict) else None
    if isinstance(given, list):
        return tuple(map(str, given))
    return (failure_of(finding).fail_class.value,)


def _contract(task_id: str, checks: Iterable[Prepared], settings: Settings) -> Contract:
    criteria = tuple(
        Criterion(
            id=one.check.name,
            verifier="command",
            params={
                "argv": [*one.argv] or [one.check.command],
                "cwd": one.check.cwd,
                "timeout_s": str(one.check.timeout_s),
                "exit_code": str(one.check.exit_code),
                "expect_files": [*one.check.evidence_paths],
            },
        )
        for one in checks
    )
    return Contract(id=task_id, criteria=criteria, min_isolation=settings.min_isolation)


def _criteria(results: Iterable[Result]) -> tuple[Criterion, ...]:
    return tuple(Criterion(id=one.criterion, verifier="scc") for one in results)


def _results(found: Judged) -> tuple[Result, ...]:
    made: list[Result] = [_result("scc.contract", _condition(found, "scc.contract"))]
    made.append(_result("scc.work", _condition(found, "scc.work")))
    made += (
        Result(
            criterion=one.prepared.check.name,
            finding=_check(found, one),
            elapsed_s=one.duration_s,
        )
        for one in found.checks
    )
    made.append(_result("scc.evidence", _evidence(found)))
    made += (_result(f"scc.phase4.{one.name}", _phase(one)) for one in found.phases)
    if not found.phases:
        made.append(_result("scc.phase4", skipped(NOT_RUN)))
    made.append(_result("scc.gate", _gate(found)))
    made.append(_result("scc.outputs", _outputs(found)))
    return tuple(made)


def _result(name: str, finding: Finding) -> Result:
    return Result(criterion=name, finding=finding)


def _condition(found: Judged, name: str) -> Finding:
    order = ("scc.contract", "scc.work", "scc.run")
    if found.failure is not None and found.ended_at == name:
        return _of_failure(found.failure)
    if found.failure is not None and order.index(found.ended_at) < order.index(name):
        return skipped(NOT_RUN)
    if name == "scc.work" and found.failure is not None:
        # An end between conditions and verdict is told where the conditions end.
        return _of_failure(found.failure)
    if name == "scc.contract" and found.warnings:
        return warned("; ".join(found.warnings))
    return passed("holds")


def _of_failure(failure: Failure) -> Finding:
    cause = _CAUSES[failure.fail_class]
    data: dict[str, Any] = {"exit_code": failure.exit_code}
    return Finding(status=Status.FAIL, detail=failure.reason, cause=cause, data=data)


def _check(found: Judged, one: CheckDone) -> Finding:
    """What a check came to; the gate answers for its own commands."""
    gate = one.prepared.gate
    if gate is None or found.failure is not None:
        return one.finding
    if gate is Gate.CHECK:
        failing = [phase for phase in found.phases if not phase.passed]
        return _as_expected(one, _phase(failing[0]) if failing else None)
    finding = _gate(found)
    return _as_expected(one, None if finding.status.holds else finding)


def _as_expected(one: CheckDone, odd: Finding | None) -> Finding:
    wanted, got = one.prepared.check.exit_code, 0 if odd is None else 1
    if wanted == got:
        return passed(f"exit {got}, by the gate of the run")
    if odd is not None:
        return odd
    return failed(f"exit 0, expected {wanted}", cause=Cause.COMMAND_FAILED)


def _evidence(found: Judged) -> Finding:
    if found.failure is not None:
        return skipped(NOT_RUN)
    if found.evidence is None:
        return Finding(
            status=Status.ERROR,
            detail="the evidence could not be registered",
            cause=Cause.VERIFIER_BROKE,
        )
    return passed(f"{found.evidence} files, each with its OID")


def _phase(one: PhaseResult) -> Finding:
    if one.passed:
        return passed("holds")
    detail = "; ".join(one.problems[:5]) or f"{one.name} does not hold"
    if one.status == "ERROR":
        return Finding(status=Status.ERROR, detail=detail, cause=Cause.VERIFIER_BROKE)
    return failed(detail)


def _gate(found: Judged) -> Finding:
    if found.gate is None:
        return skipped(NOT_RUN)
    if found.gate.passed:
        return passed("nothing was found")
    cause = Cause.EVIDENCE_MISSING if found.gate.lacks_part else None
    told = [f"{one.code}: {one.path}: {one.message}" for one in found.gate.findings[:5]]
    # Of a mere echo only the code, so that what the guard has judged need not be written anew.
    detail = ECHO[0] if found.gate.fail_codes == ECHO else "; ".join(told)
    return Finding(
        status=Status.FAIL, detail=detail, cause=cause, data={"codes": [*found.gate.fail_codes]}
    )


def _outputs(found: Judged) -> Finding:
    if found.failure is not None or found.outputs is None:
        return skipped(NOT_RUN)
    if found.outputs:
        detail = f"expected outputs are missing: {', '.join(found.outputs)}"
        return failed(detail, cause=Cause.EVIDENCE_MISSING)
    return passed("all are there")


def _echoes(found: Judged) -> set[str]:
    """Criteria that do not hold for no other reason than that the verdict is FAIL."""
    if found.gate is None or found.gate.fail_codes != ECHO:
        return set()
    asked = (one.prepared for one in found.checks if one.prepared.gate is Gate.VERDICT)
    return {"scc.gate", *(one.check.name for one in asked)}


def check_results(found: Judged, report: Report) -> Sequence[Result]:
    """The results of the checks alone, in their order."""
    names = {one.prepared.check.name for one in found.checks}
    return [one for one in report.results if one.criterion in names]
