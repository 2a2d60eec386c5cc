"""
The gate: trusts nothing in a run directory that it can find out by itself.

It reads the run, holds it to a contract from elsewhere, judges the recorded
output again by every check that is a function of it, and compares.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping
from typing import Final

import msgspec
from msgspec import Struct

from signoff.engine import Engine
from signoff.errors import RunUnreadable
from signoff.jsonvalue import shown
from signoff.lockfile import check_lock
from signoff.model import Finding, LockedContract, Report, Subject
from signoff.plan import Plan
from signoff.probes import PROBES
from signoff.quick import LOCKED_AT_VERIFY
from signoff.record import subject_of
from signoff.registry import Powers, Registry
from signoff.rundir import Run, read_run
from signoff.status import Outcome, Status
from signoff.strictjson import Limits

__all__ = ["GateReport", "gate_run"]

RECORDED: Final = "recorded"
PRINTED: Final = ("stdout", "stderr")
COMPARED: Final = ("detail", "at", "score", "cause", "data", "evidence")


class GateReport(Struct, frozen=True, kw_only=True):
    """
    What the gate found.

    Args:
        outcome: That of the run; failed when there is any problem.
        problems: Why the run is not what it says, each as one sentence without a full stop.
        report: The report of the run; None when it could not be read.
        rechecked: Ids of the criteria that were judged again, in contract order.
        not_rechecked: Ids of those that stand as recorded: probes, and what was skipped.
    """

    outcome: Outcome
    problems: tuple[str, ...]
    report: Report | None = None
    rechecked: tuple[str, ...] = ()
    not_rechecked: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """True only if the outcome is passed and nothing was found wrong."""
        return self.outcome is Outcome.PASSED and not self.problems


def gate_run(
    folder: str | os.PathLike[str],
    *,
    contract: LockedContract,
    registry: Registry,
    output: bytes | None = None,
    text: bool = False,
    allow: Collection[str] = (),
    strict: bool = False,
    probes: Registry = PROBES,
) -> GateReport:
    """
    Whether a run directory shows that the contract was met; never raises for what it holds.

    Args:
        folder: The run directory.
        contract: What had to hold, from a place that the work could not write to.
        registry: The verifiers to judge again with.
        output: Bytes that must be the recorded output; they are what is judged again.
        text: The output may be plain text.  Whoever ran ``verify`` chose how the output was
            read, and a text meets claims that its JSON would not.
        allow: What the run may have made less strict, as its ``weakened`` names it, and
            ``"recorded"``: a required criterion may stand as recorded where it cannot be
            judged again.  That the contract was locked when it verified needs no leave:
            the given one was locked.
        strict: A required criterion that only warns fails too.
        probes: The verifiers that touch the world; what they found stands as recorded.

    Raises:
        LockCorrupt: The contract that was given does not have its digest.
    """
    check_lock(contract)
    try:
        run = read_run(folder, max_output_bytes=_most_bytes(allow))
    except RunUnreadable as exc:
        return GateReport(outcome=Outcome.FAILED, problems=exc.problems)
    problems = [*_faults_of_contract(run, contract)]
    if not problems:
        problems += _liberties(run, text=text, allow=allow)
    if problems:
        return GateReport(outcome=Outcome.FAILED, problems=tuple(problems), report=run.report)
    subject = run.subject if output is None else _given(run, output, problems)
    engine = Engine(registry.with_powers(_pure(registry.powers)))
    plan = engine.prepare(contract)
    again = _judged_again(engine, plan, run, subject, probes)
    problems += _unknown(plan, registry)
    problems += _differences(run.report, plan, again)
    problems += _unkept(run.report)
    problems += _unfitting(run.report, plan, probes)
    if RECORDED not in allow:
        problems += _unproven(run.report, plan, again)
    if strict:
        problems += _warnings(run.report, plan)
    ids = tuple(criterion.id for criterion in plan.criteria)
    return GateReport(
        outcome=Outcome.FAILED if problems else run.report.verdict.outcome,
        problems=tuple(problems),
        report=run.report,
        rechecked=tuple(id_ for id_ in ids if id_ in again),
        not_rechecked=tuple(id_ for id_ in ids if id_ not in again),
    )


def _most_bytes(allow: Collection[str]) -> int:
    """The largest output that is read: that of the default, or of a limit that is accepted."""
    named = (entry.removeprefix("max_bytes=") for entry in allow if entry.startswith("max_bytes="))
    numbers = (int(text) for text in named if text.isascii() and text.isdigit() and len(text) < 20)
    return max((Limits().max_bytes, *numbers))


def _faults_of_contract(run: Run, contract: LockedContract) -> Iterator[str]:
    if run.locked.digest != contract.digest or run.locked.canonical != contract.canonical:
        yield f"contract must be {contract.digest}, got {run.locked.digest}"


def _liberties(run: Run, *, text: bool, allow: Collection[str]) -> Iterator[str]:
    """What whoever ran it chose, and the gate was not told to accept."""
    if run.text and not text:
        yield "output.txt: the output was read as plain text, which is not allowed here"
    for entry in run.report.weakened:
        if entry != LOCKED_AT_VERIFY and entry not in allow:
            yield f"report.json: weakened by {shown(entry)}, which is not allowed here"


def _given(run: Run, output: bytes, problems: list[str]) -> Subject:
    """The subject of the run with the output that was given, which must be the same."""
    given = subject_of(output, text=run.text, limits=run.limits)
    if given.output_digest != run.report.output_digest:
        expected, got = run.report.output_digest, given.output_digest
        problems.append(f"output must be {expected or 'absent'}, got {got}")
    return msgspec.structs.replace(
        run.subject,
        output=given.output,
        output_digest=given.output_digest,
        output_fault=given.output_fault,
    )


def _pure(powers: Powers) -> Powers:
    """What a check may use that is judged again: functions, and nothing of the world."""
    return Powers(predicates=powers.predicates)


def _judged_again(
    engine: Engine, plan: Plan, run: Run, subject: Subject, probes: Registry
) -> Mapping[str, Finding]:
    """New findings by criterion, for every criterion that can be judged from the record."""
    chosen = tuple(
        entry
        for entry in plan.bound
        if probes.get(entry.criterion.verifier) is None
        and run.report.result(entry.criterion.id).finding.status is not Status.SKIPPED
    )
    results, _ = engine.judge(msgspec.structs.replace(plan, bound=chosen), subject)
    return {result.criterion: result.finding for result in results}


def _unproven(report: Report, plan: Plan, again: Mapping[str, Finding]) -> Iterator[str]:
    """Which passes rest on the record alone, which whoever writes the folder can write."""
    for criterion in plan.criteria:
        holds = report.result(criterion.id).finding.status.holds
        if not criterion.required or not holds or criterion.id in again:
            continue
        if report.result(criterion.id).finding.isolation is not None:
            yield (
                f'criterion "{shown(criterion.id)}": rests on a command that was run then, and the'
                f' gate runs none; "{RECORDED}" allows it where whoever ran it is trusted'
            )
        else:
            yield (
                f'criterion "{shown(criterion.id)}": stands as recorded and cannot be judged'
                " again, which is not allowed here"
            )


def _unkept(report: Report) -> Iterator[str]:
    """Which passes say that a command ran, and keep nothing that shows it."""
    for result in report.results:
        finding = result.finding
        if finding.isolation is None or not finding.status.holds:
            continue
        kept = {one.name for one in finding.evidence}
        wanted = PRINTED if finding.assurance in {None, "exit_code"} else (*PRINTED, "report.xml")
        for name in wanted:
            if name not in kept:
                yield f'criterion "{shown(result.criterion)}": its command kept no {name}'


def _unfitting(report: Report, plan: Plan, probes: Registry) -> Iterator[str]:
    """Which passes tell of another command, or keep what another one printed."""
    for criterion in plan.criteria:
        finding, what = report.result(criterion.id).finding, f'criterion "{shown(criterion.id)}"'
        is_ours = probes.get(criterion.verifier) is not None and finding.isolation is not None
        if not is_ours or not finding.status.holds:
            continue
        data = finding.data or {}
        if "argv" in criterion.params and data.get("argv") != criterion.params["argv"]:
            yield f"{what}: its command is not that of the contract"
        for kept in finding.evidence:
            printed = data.get(kept.name) if kept.name in PRINTED else None
            if not isinstance(printed, dict) or printed.get("omitted"):
                continue
            if (printed.get("digest"), printed.get("size")) != (kept.digest, kept.size):
                yield f"{what}: the {kept.name} that is kept is not what its command printed"


def _unknown(plan: Plan, registry: Registry) -> Iterator[str]:
    for criterion in plan.criteria:
        if registry.get(criterion.verifier) is None:
            name = shown(criterion.verifier)
            yield f'criterion "{shown(criterion.id)}": no verifier registered for "{name}"'


def _differences(report: Report, plan: Plan, again: Mapping[str, Finding]) -> Iterator[str]:
    # Another version of what decides may word its details otherwise; it may not judge otherwise.
    compared = COMPARED if report.engines == plan.engines else ()
    for id_, found in again.items():
        recorded, what = report.result(id_).finding, f'criterion "{shown(id_)}"'
        if recorded.status is not found.status:
            yield (
                f"{what}: recorded as {recorded.status.value}, judged again {found.status.value}"
                f" ({shown(found.detail)})"
            )
            continue
        for name in compared:
            if _written(recorded, name) != _written(found, name):
                yield f"{what}: {name} is not what judging again gives"


def _written(finding: Finding, name: str) -> bytes:
    """A field as a report has it, where an integer that stands for a float is written as one."""
    settled = msgspec.json.decode(msgspec.json.encode(finding), type=Finding)
    return msgspec.json.encode(getattr(settled, name), order="sorted")


def _warnings(report: Report, plan: Plan) -> Iterator[str]:
    for criterion in plan.criteria:
        finding = report.result(criterion.id).finding
        if criterion.required and finding.status is Status.WARN:
            yield f'criterion "{shown(criterion.id)}": warns ({shown(finding.detail)})'
