"""
The engine: every criterion gets exactly one result, whatever its check does.

``prepare`` binds the checks of a locked contract once; ``verify`` runs them on a
subject; ``judge`` folds the results into a verdict by arithmetic alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from time import perf_counter
from typing import Any, TypeGuard, TypeVar

import msgspec
from msgspec import UNSET, Struct

from signoff._version import __version__
from signoff.canonical import canonical_bytes, require_json
from signoff.contract import bind_criterion, check_lock
from signoff.errors import NotInstalled, NotJudged, ParamsError
from signoff.interrupt import is_from_a_person
from signoff.jsonvalue import JSON, is_number, shown
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
from signoff.registry import Check, Registry
from signoff.status import Cause, Outcome, Status

__all__ = ["Engine", "Plan", "judge"]

MAX_DETAIL = 4_096
T = TypeVar("T")


class Bound(Struct, frozen=True, kw_only=True):
    """A criterion with its check; ``own`` checks are not suspected of changing the output."""

    criterion: Criterion
    check: Check
    own: bool


class Plan(Struct, frozen=True, kw_only=True):
    """
    A contract with its checks bound, ready for any number of subjects.

    Args:
        locked: The contract that was prepared.
        criteria: Its criteria, in contract order.
        bound: One bound check for each criterion, in the same order.
        engines: Names and versions of the programs that decide.
    """

    locked: LockedContract
    contract_id: str
    criteria: tuple[Criterion, ...]
    bound: tuple[Bound, ...]
    engines: dict[str, str]

    def judge(
        self, subject: Subject, *, fail_fast: bool = False
    ) -> tuple[tuple[Result, ...], Verdict]:
        """The results and the verdict alone: what a report says, without digest, times of day or names."""
        results = tuple(_results(self.bound, subject, fail_fast, _ignore))
        return results, judge(self.criteria, results)


class Engine:
    """
    Judges subjects by locked contracts with the verifiers of one registry.

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
        """
        Bind the contract's checks once, for any number of subjects.

        A criterion that this registry cannot bind gets a check that answers error.

        Raises:
            LockCorrupt: The locked contract does not have its digest.
        """
        check_lock(locked)
        contract = locked.contract
        engines = {"signoff": __version__}
        bound = []
        for criterion in contract.criteria:
            verifier = self.registry.get(criterion.verifier)
            try:
                check = bind_criterion(criterion, self.registry)
            except ParamsError as exc:
                cause = Cause.NO_SUCH_VERIFIER if verifier is None else Cause.BAD_PARAMS
                check = _answer(f"{exc}.", cause)
            except NotInstalled as exc:
                check = _answer(f"{exc}.", Cause.NOT_INSTALLED)
            bound.append(
                Bound(criterion=criterion, check=check, own=verifier is None or verifier.own)
            )
            if verifier is not None and verifier.engines is not None:
                engines |= verifier.engines()
        return Plan(
            locked=locked,
            contract_id=contract.id,
            criteria=contract.criteria,
            bound=tuple(bound),
            engines=engines,
        )

    def verify(
        self,
        contract: LockedContract | Plan,
        subject: Subject,
        *,
        fail_fast: bool = False,
        weakened: tuple[str, ...] = (),
        on_result: Callable[[Result], None] | None = None,
    ) -> Report:
        """
        The report on a subject; never raises for what a check does.

        Args:
            contract: What to judge by; a ``Plan`` saves binding the checks again.
            subject: What to judge.
            fail_fast: Skip what follows the first required criterion that does not hold.
            weakened: What the caller made less strict, for the report.
            on_result: Called with each result as it comes, for progress.

        Raises:
            KeyboardInterrupt: A person ended the run; there is no verdict.
        """
        plan = contract if isinstance(contract, Plan) else self.prepare(contract)
        started, begin = self._clock(), perf_counter()
        subject = _digested(subject)
        results = tuple(_results(plan.bound, subject, fail_fast, on_result or _ignore))
        return Report(
            contract_id=plan.contract_id,
            contract_digest=plan.locked.digest,
            output_digest=subject.output_digest,
            results=results,
            verdict=judge(plan.criteria, results),
            started=started,
            elapsed_s=perf_counter() - begin,
            engines=plan.engines,
            weakened=weakened,
            warnings=plan.locked.warnings,
        )


def judge(criteria: Iterable[Criterion], results: Iterable[Result]) -> Verdict:
    """
    Fold results into a verdict.

    Each required criterion counts as its result; none recorded counts as an error,
    several count as the worst.  The outcome is the worst of them; no required
    criteria at all is a failure, since nothing checked is not a pass.
    """
    worst: dict[str, tuple[int, int, Finding]] = {}
    for result in results:
        finding = result.finding
        rank = (finding.status.rank, -finding.cause.rank if finding.cause else 1)
        if result.criterion not in worst or rank > worst[result.criterion][:2]:
            worst[result.criterion] = (*rank, finding)
    lost = Finding(status=Status.ERROR, detail="No result was recorded.", cause=Cause.NO_RESULT)
    answers = [(c.id, worst[c.id][2] if c.id in worst else lost) for c in criteria if c.required]
    status = Status.worst(finding.status for _, finding in answers)
    if status.holds:
        return Verdict(outcome=Outcome.PASSED)
    decisive = (finding.cause for _, finding in answers if finding.status is status)
    return Verdict(
        outcome=status.outcome,
        cause=next(decisive, Cause.NO_RESULT),
        blockers=tuple(id_ for id_, finding in answers if not finding.status.holds),
    )


def _ignore(_: Result) -> None:
    """What is done with a result when nobody asks for progress."""


def _results(
    bound: Iterable[Bound], subject: Subject, fail_fast: bool, on_result: Callable[[Result], None]
) -> Iterator[Result]:
    before: bytes | None = None
    stopped_by = ""
    for entry in bound:
        begin = perf_counter()
        if stopped_by:
            finding = skipped(f'Not run after "{shown(stopped_by)}" did not hold.')
        elif subject.output_fault is not None:
            finding = failed(f"Output is not JSON: {subject.output_fault}", cause=Cause.BAD_OUTPUT)
        elif entry.own or subject.output is UNSET:
            finding = _found(entry, subject)
        else:
            before = canonical_bytes(subject.output) if before is None else before
            finding = _found(entry, subject)
            if not _has_bytes(subject.output, before):
                finding = _broken("Verifier changed the output.")
                subject = msgspec.structs.replace(subject, output=msgspec.json.decode(before))
        result = Result(
            criterion=entry.criterion.id, finding=finding, elapsed_s=perf_counter() - begin
        )
        if fail_fast and entry.criterion.required and not finding.status.holds:
            stopped_by = stopped_by or entry.criterion.id
        on_result(result)
        yield result


def _found(entry: Bound, subject: Subject) -> Finding:
    found = _attempt(entry.check, subject)
    if isinstance(found, NotJudged):
        found = found.finding
    if isinstance(found, BaseException):
        message = _attempt(str, found)
        text = shown(message) if type(message) is str else ""
        return _broken(f"Verifier threw: {text or type(found).__name__}")
    if not _is_sound(found) or not (entry.own or _survives_encoding(found)):
        return _broken("Verifier returned no finding.")
    if entry.own:
        return found
    return msgspec.structs.replace(found, detail=shown(found.detail, MAX_DETAIL))


def _attempt(call: Callable[[Any], T], argument: Any) -> T | BaseException:
    """What a call gives, or what it raised: nothing that foreign code raises goes further."""
    try:
        return call(argument)
    except BaseException as exc:
        if is_from_a_person(exc):
            raise
        return exc


def _is_sound(found: object) -> TypeGuard[Finding]:
    return (
        type(found) is Finding
        and type(found.status) is Status
        and type(found.detail) is str
        and (found.cause is None or (type(found.cause) is Cause and not found.status.holds))
        and (found.score is None or (is_number(found.score) and math.isfinite(found.score)))
    )


def _survives_encoding(found: Finding) -> bool:
    try:
        require_json(found.data)
        return msgspec.json.decode(msgspec.json.encode(found), type=Finding).status is found.status
    except (TypeError, ValueError, RecursionError, msgspec.MsgspecError):
        return False


def _has_bytes(output: JSON, before: bytes) -> bool:
    try:
        return canonical_bytes(output) == before
    except (TypeError, ValueError, RecursionError):
        return False


def _broken(detail: str, cause: Cause = Cause.VERIFIER_BROKE) -> Finding:
    return Finding(status=Status.ERROR, detail=detail, cause=cause)


def _answer(detail: str, cause: Cause) -> Check:
    """A check for a criterion that cannot be bound: always the same error."""
    finding = _broken(detail, cause)
    return lambda _: finding


def _digested(subject: Subject) -> Subject:
    """The subject with its output's digest; an output that is no JSON becomes a fault."""
    try:
        return msgspec.structs.replace(subject, output_digest=subject.digest())
    except ValueError as exc:
        return msgspec.structs.replace(subject, output=UNSET, output_fault=str(exc))
