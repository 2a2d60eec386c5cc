"""The tests that a command runs pass, and the JUnit XML that it writes shows it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Annotated, Final

from msgspec import Struct

from signoff.command_finding import ARGUMENT, Argv, Environment, Folder, Timeout, runner_of
from signoff.errors import ReportError
from signoff.jsonvalue import JSON, shown
from signoff.junit_report import Case, JUnitReport
from signoff.model import Finding, Subject
from signoff.params import MAX_TEXT, Count, Kind, array_of, integer, text
from signoff.registry import Check, Powers, starts_commands, verifier
from signoff.sandbox.command import DEFAULT_TIMEOUT_S, Command, Completed, Limits
from signoff.suite.failure import Failure
from signoff.suite.judging import Demands, Problem, finding_of, problem_of
from signoff.suite.report_file import ReportFile, report_file
from signoff.suite.telling import Written, finding_with, last_words, not_ended, processes_left
from signoff.workspace import workspace_of


def _read_path(value: JSON) -> str:
    name: str = ARGUMENT.read(value)
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or not path.parts:
        raise ValueError
    return str(path)


_PATH: Final = Kind(
    says="path of a file below the workspace",
    read=_read_path,
    schema={"type": "string", "minLength": 1, "maxLength": MAX_TEXT},
)
_IDS: Final = array_of(
    text("id of a test", least=1), "array of ids, classname::name or name", least=0
)


class Suite(Struct, frozen=True, kw_only=True):
    """The tests as they are to be run, and what is demanded of them."""

    argv: tuple[str, ...]
    report: str
    demands: Demands
    limits: Limits


@verifier
def junit(
    *,
    argv: Argv,
    report: Annotated[str, _PATH],
    required_tests: Annotated[tuple[str, ...], _IDS] = (),
    min_passed: Annotated[int, integer(ge=1)] = 1,
    max_skipped: Count | None = None,
    timeout_s: Timeout = DEFAULT_TIMEOUT_S,
    cwd: Folder = "",
    network: bool = False,
    env: Environment = {},  # noqa: B006  never changed
    powers: Powers,
) -> Check:
    """
    The tests that a command runs pass, by the JUnit XML report that it writes.

    The report must be written by this run, be well-formed, agree with the exit code and
    hold the required tests as passed.  Whatever runs tests and can write such a report
    will do: node, go, cargo and others.

    In a contract, params are such as
    ``{"argv": ["node", "--test", "--test-reporter=junit",
    "--test-reporter-destination=report.xml"], "report": "report.xml"}``

    Args:
        argv: The program and its arguments; no shell reads them.
        report: File that it must write, below the workspace.
        required_tests: Tests that must have passed, as ``classname::name`` or the name
            alone, which then means every case of that name.  A warning without any.
        min_passed: Tests that must have passed.
        max_skipped: Tests that may be skipped or expected to fail; a warning where it is
            not given and there is one.
        timeout_s: Seconds until it is killed.
        cwd: Folder to start in, below the workspace.
        network: The command may open connections.
        env: Variables of its environment.

    Source: spec "The standard library of checks", 3.16.
    """
    suite = Suite(
        argv=argv,
        report=report,
        demands=Demands(required=required_tests, min_passed=min_passed, max_skipped=max_skipped),
        limits=Limits(timeout_s=timeout_s),
    )

    def check(subject: Subject) -> Finding:
        runner = runner_of(powers, "junit")
        workspace = workspace_of(subject, powers)
        before = report_file(report, workspace)
        command = Command(
            argv=argv,
            workspace=workspace,
            cwd=cwd,
            env=env,
            network=network,
            limits=suite.limits,
        )
        with runner.run(command) as done:
            written, found = _found(suite, before, done)
            return finding_with(found, done, written, powers=powers, argv=argv)

    return starts_commands(check)


def _found(suite: Suite, before: ReportFile | None, done: Completed) -> tuple[Written, Finding]:
    """What the command left, and what is found of it."""
    ended = not_ended(done, suite.argv[0], suite.limits)
    if ended is not None:
        return Written(), ended
    after = report_file(suite.report, done.workspace or "")
    if after is None or after == before:
        return Written(), _unwritten(suite, after, done)
    try:
        report = after.report()
    except ReportError as exc:
        return Written(data=after.data), _failed(Failure.REPORT_INVALID, shown(str(exc)))
    written = Written(data=after.data, counts=report.counts)
    return written, _judged(suite, done, report)


def _unwritten(suite: Suite, after: ReportFile | None, done: Completed) -> Finding:
    if done.exit_code:
        return _failed(Failure.COMMAND_FAILED, f"exit {done.exit_code}: {last_words(done)}")
    said = "was not written" if after is None else "is what it was before; remove it first"
    return _failed(Failure.NO_REPORT, f"exit 0, but {shown(suite.report)} {said}")


def _judged(suite: Suite, done: Completed, report: JUnitReport) -> Finding:
    exit_code = done.exit_code or 0
    problem = problem_of(report, suite.demands, exit_code=exit_code, ids=_ids)
    problem = problem or processes_left(done)
    if problem is not None:
        return problem.finding
    return finding_of(report.cases, suite.demands, done.elapsed_s)


def _ids(case: Case) -> Iterator[str]:
    yield case.id
    if case.classname:
        yield case.name


def _failed(failure: Failure, detail: str) -> Finding:
    return Problem(failure=failure, detail=detail).finding
