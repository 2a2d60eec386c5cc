"""What a report of tests comes to, beside an exit code and what was demanded."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from msgspec import Struct

from signoff.jsonvalue import JSON, shown
from signoff.junit_report import Case, Counts, Ended, JUnitReport
from signoff.model import Finding
from signoff.sandbox.command import Ended as CommandEnded
from signoff.status import Status
from signoff.suite.failure import Failure

__all__ = ["ENDINGS", "Canaries", "Demands", "Problem", "finding_of", "problem_of", "summary"]

Ids = Callable[[Case], Iterable[str]]

ENDINGS: Final[Mapping[CommandEnded, Failure]] = {
    CommandEnded.SIGNALED: Failure.SIGNAL,
    CommandEnded.TIMED_OUT: Failure.TIMEOUT,
    CommandEnded.OUTPUT_LIMIT: Failure.OUTPUT_LIMIT,
    CommandEnded.MEMORY_LIMIT: Failure.COMMAND_FAILED,
    CommandEnded.DISK_LIMIT: Failure.COMMAND_FAILED,
    CommandEnded.CANCELLED: Failure.VERIFIER_ERROR,
    CommandEnded.NOT_FOUND: Failure.COMMAND_NOT_FOUND,
    CommandEnded.DENIED: Failure.PERMISSION_DENIED,
    CommandEnded.CWD_MISSING: Failure.CWD_MISSING,
    CommandEnded.ISOLATION_UNAVAILABLE: Failure.ISOLATION_UNAVAILABLE,
    CommandEnded.BROKEN: Failure.VERIFIER_ERROR,
}
"""What it is called that a run of tests did not end by itself."""


class Demands(Struct, frozen=True, kw_only=True):
    """
    What is demanded of a run of tests.

    Args:
        required: Ids of tests that must have passed.
        min_passed: Tests that must have passed, at least.
        max_skipped: Tests that may be skipped or expected to fail; None leaves it to a
            person, with a warning where there is one.
    """

    required: tuple[str, ...] = ()
    min_passed: int = 1
    max_skipped: int | None = None


class Canaries(Struct, frozen=True, kw_only=True):
    """Names of two tests that were added to a run: one must pass, the other must fail."""

    passes: str
    fails: str

    def __contains__(self, case: Case) -> bool:
        return case.name in {self.passes, self.fails}


class Problem(Struct, frozen=True, kw_only=True):
    """One way in which a run does not do, and the facts of it."""

    failure: Failure
    detail: str

    @property
    def finding(self) -> Finding:
        """The same as a finding."""
        return Finding(
            status=self.failure.status,
            detail=f"{self.failure.value}: {self.detail}",
            cause=self.failure.cause,
            data=self.facts,
        )

    @property
    def facts(self) -> dict[str, JSON]:
        """What it adds to the data of a finding."""
        return {"failure_class": self.failure.value}


def problem_of(
    report: JUnitReport,
    demands: Demands,
    *,
    exit_code: int,
    ids: Ids,
    canaries: Canaries | None = None,
) -> Problem | None:
    """
    Why a report with an exit code does not do; None when it does.

    Args:
        report: What the run wrote.
        demands: What is demanded.
        exit_code: With which it ended.
        ids: Gives the ids under which a case may be required.
        canaries: The tests that were added, where there are any.
    """
    cases = [case for case in report.cases if canaries is None or case not in canaries]
    bad = [case for case in cases if case.ended.is_bad]
    if bad and exit_code:
        detail = f"{_named(bad[0], ids)} ({len(bad)} of {len(cases)} failed)"
        return Problem(failure=Failure.TESTS_FAILED, detail=detail)
    return (
        (_wrong_canary(report, canaries) if canaries is not None else None)
        or _disagrees(report, exit_code, ids)
        or _too_few(cases, demands)
        or _not_passed(cases, demands, ids)
    )


def finding_of(cases: Iterable[Case], demands: Demands, elapsed_s: float, *notes: str) -> Finding:
    """The finding for a run without a problem: a warning where a person should look."""
    counts = Counts.of(cases)
    said = [note for note in notes if note]
    if not demands.required:
        said.append("no required tests are named")
    if demands.max_skipped is None and counts.not_run:
        said.append("skips are neither allowed nor forbidden")
    return Finding(
        status=Status.WARN if said else Status.PASS,
        detail="; ".join([f"{summary(counts)} in {elapsed_s:.1f} s", *said]),
    )


def summary(counts: Counts) -> str:
    """``12 passed, 0 skipped``; those that were expected to fail count among the skipped."""
    return f"{counts.passed} passed, {counts.not_run} skipped"


def _wrong_canary(report: JUnitReport, canaries: Canaries) -> Problem | None:
    for name, expected in ((canaries.passes, Ended.PASSED), (canaries.fails, Ended.FAILED)):
        found = [case.ended for case in report.cases if case.name == name]
        if found != [expected]:
            said = " and ".join(sorted({one.value for one in found})) or "not reported"
            detail = f"the test that must be {expected.value} is {said}"
            return Problem(failure=Failure.CANARY, detail=detail)
    return None


def _disagrees(report: JUnitReport, exit_code: int, ids: Ids) -> Problem | None:
    first = report.first_bad
    if bool(exit_code) is (first is not None):
        return None
    said = f"{_named(first, ids)} {first.ended.value}" if first else "no test failed"
    return Problem(failure=Failure.REPORT_MISMATCH, detail=f"exit {exit_code}, but {said}")


def _too_few(cases: Iterable[Case], demands: Demands) -> Problem | None:
    counts = Counts.of(cases)
    if counts.passed < demands.min_passed:
        detail = f"{summary(counts)}; {demands.min_passed} must pass"
    elif demands.max_skipped is not None and counts.not_run > demands.max_skipped:
        detail = f"{summary(counts)}; {demands.max_skipped} may be skipped"
    else:
        return None
    return Problem(failure=Failure.NO_TESTS, detail=detail)


def _not_passed(cases: Iterable[Case], demands: Demands, ids: Ids) -> Problem | None:
    found: dict[str, list[Ended]] = {}
    for case in cases:
        for id_ in ids(case):
            found.setdefault(id_, []).append(case.ended)
    for id_ in demands.required:
        wrong = [ended for ended in found.get(id_, ()) if ended is not Ended.PASSED]
        if id_ not in found or wrong:
            said = wrong[0].value if wrong else "not in the report"
            detail = f"{shown(id_)} is {said}"
            return Problem(failure=Failure.REQUIRED_MISSING, detail=detail)
    return None


def _named(case: Case, ids: Ids) -> str:
    return shown(next(iter(ids(case)), case.id))
