"""
The engine: every criterion gets exactly one result, whatever its check does.

``prepare`` binds the checks of a locked contract once; ``verify`` runs them on a
subject; ``judge`` folds the results into a verdict by arithmetic alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from time import perf_counter
from typing import Any, Final

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from signoff.backing import backing
from signoff.canonical import canonical_bytes
from signoff.errors import NotJudged
from signoff.guard import broken, found_by, has_bytes, message_of
from signoff.interrupt import is_from_a_person
from signoff.jsonvalue import shown
from signoff.model import (
    Criterion,
    Finding,
    LockedContract,
    Report,
    Result,
    Subject,
    Verdict,
    failed,
    skipped,
)
from signoff.parallel import SideBySide
from signoff.plan import Bound, Plan, prepare
from signoff.registry import Registry
from signoff.status import Cause, Outcome, Status

__all__ = ["Engine", "attempt", "judge"]

LOST: Final = broken("No result was recorded.", Cause.NO_RESULT)


class Engine:
    """
    Judges subjects by locked contracts, with the verifiers of one registry.

    Args:
        registry: Where verifiers are looked up.
        clock: Gives the time of day for reports, UTC; it orders nothing.
    """

    __slots__ = ("_clock", "registry")

    def __init__(
        self, registry: Registry, *, clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self.registry = registry
        self._clock = clock

    def prepare(self, locked: LockedContract) -> Plan:
        """The contract with its checks bound once, for any number of subjects; see ``prepare``."""
        return prepare(locked, self.registry)

    def verify(
        self,
        contract: LockedContract | Plan,
        subject: Subject,
        *,
        fail_fast: bool = False,
        jobs: int = 1,
        weakened: tuple[str, ...] = (),
        on_result: Callable[[Result], object] | None = None,
    ) -> Report:
        """
        The report on a subject; never raises for what a check does.

        Args:
            contract: What to judge by; a ``Plan`` saves binding the checks again.
            subject: What to judge.
            fail_fast: Skip what follows the first required criterion that does not hold.
            jobs: How many checks that start commands may run at a time.
            weakened: What the caller made less strict, for the report.
            on_result: Called with each result as it comes, for progress.

        Raises:
            LockCorrupt: The locked contract does not have its digest.
            ValueError: ``jobs`` is below 1.
            KeyboardInterrupt: A person ended the run; there is no verdict.
        """
        plan = contract if isinstance(contract, Plan) else self.prepare(contract)
        started, begin = self._clock(), perf_counter()
        subject = _digested(subject)
        results = []
        with SideBySide(plan, subject, jobs=jobs) as ahead:
            for result in map(ahead.timed, _results(ahead.bound, subject, fail_fast=fail_fast)):
                results.append(result)
                if on_result is not None:
                    on_result(result)
        rest = backing(results)
        return Report(
            contract_id=plan.contract_id,
            contract_digest=plan.locked.digest,
            output_digest=subject.output_digest,
            results=tuple(results),
            verdict=judge(plan.criteria, results),
            started=started,
            elapsed_s=perf_counter() - begin,
            engines=plan.engines,
            isolation=rest.isolation,
            assurance=rest.assurance,
            missing=rest.missing,
            weakened=weakened,
            warnings=plan.warnings,
        )

    def judge(self, plan: Plan, subject: Subject) -> tuple[tuple[Result, ...], Verdict]:
        """
        Results and verdict alone: no digest of the output, no time of day, no names.

        Args:
            plan: What to judge by.
            subject: What to judge.  Its output must be JSON, as that of ``Subject.from_json``
                is: where all checks are signoff's own, nobody looks again.
        """
        subject = subject if plan.own else _digested(subject)
        results = tuple(_results(plan.bound, subject, fail_fast=False))
        return results, judge(plan.criteria, results)


def judge(criteria: Iterable[Criterion], results: Iterable[Result]) -> Verdict:
    """
    Fold results into a verdict.

    Each required criterion counts as its result; none recorded counts as an error,
    several count as the worst.  The outcome is that of the worst; no required
    criteria at all is a failure, since nothing checked is not a pass.
    """
    results, required = tuple(results), [one.id for one in criteria if one.required]
    held = {result.criterion for result in results if result.finding.status.holds}
    if required and len(held) == len(results) and held.issuperset(required):
        return Verdict(outcome=Outcome.PASSED)
    worst: dict[str, Finding] = {}
    for result in results:
        known, finding = worst.get(result.criterion), result.finding
        if known is None or _badness(finding) > _badness(known):
            worst[result.criterion] = finding
    answers = [(id_, worst.get(id_, LOST)) for id_ in required]
    status = Status.worst([finding.status for _, finding in answers])
    if status.holds:
        return Verdict(outcome=Outcome.PASSED)
    decisive = (finding.cause for _, finding in answers if finding.status is status)
    return Verdict(
        outcome=status.outcome,
        cause=next(decisive, Cause.NO_RESULT),
        blockers=tuple(id_ for id_, finding in answers if not finding.status.holds),
    )


def _badness(finding: Finding) -> tuple[int, int]:
    """Orders findings by status, then by cause, so that the order of results never matters."""
    return finding.status.rank, -1 if finding.cause is None else finding.cause.rank


def _results(bound: Iterable[Bound], subject: Subject, *, fail_fast: bool) -> Iterator[Result]:
    before: bytes | None = None
    stopped_by = ""
    for entry in bound:
        begin = perf_counter()
        if stopped_by:
            finding = skipped(f'Not run after "{shown(stopped_by)}" did not hold.')
        elif subject.output_fault is not None:
            finding = failed(f"Output is not JSON: {subject.output_fault}", cause=Cause.BAD_OUTPUT)
        else:
            if not entry.own and before is None and subject.output is not UNSET:
                before = canonical_bytes(subject.output)
            finding = _finding(entry, subject)
            if not entry.own and before is not None and not has_bytes(subject.output, before):
                finding = broken("Verifier changed the output.")
                subject = replace(subject, output=msgspec.json.decode(before))
        if fail_fast and entry.criterion.required and not finding.status.holds:
            stopped_by = stopped_by or entry.criterion.id
        elapsed_s = perf_counter() - begin
        yield Result(criterion=entry.criterion.id, finding=finding, elapsed_s=elapsed_s)


def _finding(entry: Bound, subject: Subject) -> Finding:
    answer = attempt(entry.check, subject)
    if issubclass(type(answer), BaseException) and type(answer) is not NotJudged:
        return broken(message_of(answer, attempt(str, answer)))
    return found_by(answer, own=entry.own)


def attempt(call: Callable[[Any], Any], argument: object) -> Any:
    """What a call gives, or what it raised: nothing that foreign code raises goes further."""
    try:
        return call(argument)
    except BaseException as exc:
        if is_from_a_person(exc):
            raise
        return exc


def _digested(subject: Subject) -> Subject:
    """The subject with its output's digest; an output that is no JSON becomes a fault."""
    try:
        return replace(subject, output_digest=subject.digest())
    except (ValueError, RecursionError) as exc:
        return replace(subject, output=UNSET, output_fault=str(exc))
