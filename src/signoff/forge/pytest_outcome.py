"""What a command comes to: by how it ended, its exit code, and its report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec import Struct
from msgspec.structs import asdict

from signoff.dialects.forge import FailureClass, VerificationStatus
from signoff.forge.pytest_report import Read, starts_pytest
from signoff.jsonvalue import JSON, shown
from signoff.junit_report import Case, JUnitReport
from signoff.junit_report import Ended as CaseEnded
from signoff.sandbox.command import Completed, Ended

__all__ = ["Demands", "Judged", "Ran", "broken", "judged"]

NO_TESTS_RAN: Final = 5
_EXITS: Final[Mapping[int, tuple[FailureClass, str]]] = {
    1: (FailureClass.TESTS_FAILED, "exit 1"),
    2: (FailureClass.RUNNER_ERROR, "exit 2"),
    3: (FailureClass.RUNNER_ERROR, "exit 3"),
    4: (FailureClass.RUNNER_ERROR, "exit 4"),
    NO_TESTS_RAN: (FailureClass.NO_TESTS, "exit 5, no tests ran"),
}
_ENDINGS: Final[Mapping[Ended, tuple[FailureClass, str]]] = {
    Ended.SIGNALED: (FailureClass.SIGNAL, "ended by {signal}"),
    Ended.TIMED_OUT: (FailureClass.TIMEOUT, "timed out after {timeout} s"),
    Ended.OUTPUT_LIMIT: (FailureClass.OUTPUT_LIMIT, "killed: it printed too much"),
    Ended.MEMORY_LIMIT: (FailureClass.COMMAND_FAILED, "killed: it took too much memory"),
    Ended.DISK_LIMIT: (FailureClass.COMMAND_FAILED, "killed: it wrote too much"),
    Ended.CANCELLED: (FailureClass.VERIFIER_ERROR, "was ended before it was done"),
    Ended.NOT_FOUND: (FailureClass.COMMAND_NOT_FOUND, "no such program: {program}"),
    Ended.DENIED: (FailureClass.PERMISSION_DENIED, "cannot be executed: {program}"),
    Ended.CWD_MISSING: (FailureClass.CWD_MISSING, "cwd is no folder"),
    Ended.ISOLATION_UNAVAILABLE: (FailureClass.ISOLATION_UNAVAILABLE, "{reason}"),
    Ended.BROKEN: (FailureClass.VERIFIER_ERROR, "{reason}"),
}


class Demands(Struct, frozen=True, kw_only=True):
    """
    What is demanded besides success.

    Args:
        required: Ids of tests that must have passed.
        max_skipped: Tests that may be skipped or expected to fail; None for any number.
    """

    required: tuple[str, ...] = ()
    max_skipped: int | None = None


class Ran(Struct, frozen=True, kw_only=True):
    """
    A command that was run.

    Args:
        argv: The command.
        done: How it ended.
        read: What was found where its report should be.
        timeout: Seconds that it had.
    """

    argv: tuple[str, ...]
    done: Completed
    read: Read
    timeout: float | None

    @property
    def timed_out(self) -> bool:
        """It was killed at the deadline."""
        return self.done.ended is Ended.TIMED_OUT

    @property
    def counts(self) -> dict[str, JSON] | None:
        """Numbers of tests by how they ended; None without a report."""
        return None if self.read.report is None else asdict(self.read.report.counts)


class Judged(Struct, frozen=True, kw_only=True):
    """What a run comes to."""

    status: VerificationStatus
    summary: str
    failure: FailureClass | None = None
    warnings: tuple[str, ...] = ()


def broken(failure: FailureClass, text: str) -> Judged:
    """A failure."""
    summary = f"{failure.value}: {text}"
    return Judged(status=VerificationStatus.FAIL, summary=summary, failure=failure)


def judged(ran: Ran, demands: Demands) -> Judged:
    """What a run comes to, by the table of the dialect."""
    done = ran.done
    if done.ended is not Ended.EXITED:
        failure, text = _ENDINGS[done.ended]
        facts = {
            "signal": done.signal or "a signal",
            "timeout": ran.timeout,
            "program": shown(ran.argv[0]),
            "reason": done.reason or "the sandbox broke",
        }
        return broken(failure, text.format(**facts))
    if done.exit_code:
        failure, text = _EXITS.get(
            done.exit_code, (FailureClass.COMMAND_FAILED, f"exit {done.exit_code}")
        )
        return broken(failure, text + _first_bad(ran.read.report))
    found = _reported(ran, demands)
    if found.failure is None and done.left_processes:
        text = f"left {done.left_processes} processes behind, which were killed"
        return Judged(
            status=VerificationStatus.WARN,
            summary=f"{found.summary}, but {text}",
            warnings=(*found.warnings, text),
        )
    return found


def _reported(ran: Ran, demands: Demands) -> Judged:
    """What a run with exit code 0 comes to by its report."""
    report = ran.read.report
    if ran.read.problem:
        return broken(FailureClass.REPORT_INVALID, ran.read.problem)
    if report is None:
        return _without_report(ran, demands)
    counts = report.counts
    if counts.bad:
        return broken(FailureClass.REPORT_MISMATCH, f"exit 0{_first_bad(report)}")
    said = f"{counts.passed} passed, {counts.not_run} skipped or expected to fail"
    if not counts.passed:
        return broken(FailureClass.NO_TESTS, said)
    missing = _missing(report, demands.required)
    if missing:
        return broken(FailureClass.REQUIRED_MISSING, missing)
    if demands.max_skipped is not None and counts.not_run > demands.max_skipped:
        return broken(FailureClass.NO_TESTS, f"{said}; {demands.max_skipped} may be")
    return Judged(status=VerificationStatus.PASS, summary=said)


def _without_report(ran: Ran, demands: Demands) -> Judged:
    if starts_pytest(ran.argv):
        text = "exit 0, and no report: it ended itself early, or is no pytest"
        return broken(FailureClass.NO_REPORT, text)
    if demands.required or demands.max_skipped is not None:
        return broken(FailureClass.NO_REPORT, "exit 0, and no report to find tests in")
    return Judged(status=VerificationStatus.PASS, summary="exit 0", warnings=("exit code only",))


def _first_bad(report: JUnitReport | None) -> str:
    case = None if report is None else report.first_bad
    return "" if case is None else f", {shown(case.pytest_id)} {case.ended.value}"


def _missing(report: JUnitReport, required: tuple[str, ...]) -> str:
    """What is wrong with the first required test that did not pass; ``""`` if all did."""
    for id_ in required:
        found = [case for case in report.cases if _is(case, id_)]
        wrong = [case.ended.value for case in found if case.ended is not CaseEnded.PASSED]
        if not found or wrong:
            return f"{shown(id_)} is {wrong[0] if wrong else 'not in the report'}"
    return ""


def _is(case: Case, id_: str) -> bool:
    return id_ in {case.pytest_id, case.id, case.pytest_id.partition("[")[0]}
