"""The tests of a project pass under pytest, and their report shows it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Annotated, Any, Final

from msgspec import Struct
from msgspec.structs import replace

from signoff.command_finding import ARGUMENT, Folder, Timeout, runner_of
from signoff.errors import ReportError
from signoff.jsonvalue import JSON, shown
from signoff.junit_report import Case, Counts, JUnitReport
from signoff.model import Finding, Subject
from signoff.params import Count, Kind, array_of, integer, text
from signoff.registry import Check, CommandRunner, Powers, starts_commands, verifier
from signoff.sandbox.command import DEFAULT_TIMEOUT_S, Completed, Limits
from signoff.suite.failure import Failure
from signoff.suite.judging import Demands, Problem, finding_of, problem_of
from signoff.suite.protected import Protected, ProtectedPath, States, changed, states_of, unlike
from signoff.suite.pytest_run import (
    NO_PYTEST,
    Layout,
    Observed,
    command_of,
    laid_out,
    python_for,
)
from signoff.suite.telling import Written, finding_with, last_words, not_ended, processes_left
from signoff.workspace import workspace_of

NO_TESTS_RAN: Final = 5
RUNNER_ERRORS: Final = frozenset({2, 3, 4, NO_PYTEST})
MAX_HOOKS: Final = 50
SELECTING: Final = ("-k", "-m", "--deselect", "--lf", "--last-failed", "--sw", "--stepwise")


def _read_argument(value: JSON) -> Any:
    if type(value) is str and value.startswith("@"):
        raise ValueError  # pytest would read further arguments from a file of the workspace
    return ARGUMENT.read(value)


_ARGUMENTS: Final = array_of(
    Kind(says="", read=_read_argument, schema={**ARGUMENT.schema, "not": {"pattern": "^@"}}),
    'array of strings without NUL and newline, none of which begins with "@"',
    least=0,
)
_IDS: Final = array_of(
    text("id of a test", least=1), "array of ids such as tests/test_a.py::test_x", least=0
)


class Suite(Struct, frozen=True, kw_only=True):
    """The tests as they are to be run and what is demanded of them: the parameters, bound."""

    args: tuple[str, ...]
    demands: Demands
    canaries: bool
    protected: tuple[ProtectedPath, ...]
    limits: Limits
    cwd: str
    network: bool


@verifier
def pytest(
    *,
    args: Annotated[tuple[str, ...], _ARGUMENTS] = (),
    required_tests: Annotated[tuple[str, ...], _IDS] = (),
    min_passed: Annotated[int, integer(ge=1)] = 1,
    max_skipped: Count | None = None,
    canaries: bool = True,
    protected_paths: Protected = (),
    timeout_s: Timeout = DEFAULT_TIMEOUT_S,
    cwd: Folder = "",
    network: bool = False,
    powers: Powers,
) -> Check:
    """
    The tests of the workspace pass under pytest, and the report shows that they ran.

    pytest runs with its own plug-ins alone (name others by ``-p`` in ``args``), without
    ``addopts``, and without the current folder on the path (``pythonpath`` of its
    configuration counts).  The report must be written by this run and agree with the
    exit code.  Two tests of random name run along: one must pass, one must fail.  Code
    under test shares the process with pytest, and can forge a report if it adapts itself.

    In a contract, params are such as
    ``{"args": ["tests"], "required_tests": ["tests/test_a.py::test_x"]}``

    Args:
        args: Arguments of pytest.
        required_tests: Ids that must have passed, relative to ``cwd``; one without ``[...]``
            means all its cases.  A warning without any.
        min_passed: Tests that must have passed.
        max_skipped: Tests that may be skipped or expected to fail; a warning where it is
            not given and there is one.
        canaries: Add the two tests; not with plug-ins that run tests in other processes.
        protected_paths: Files that must be the same after the run, besides those of
            ``required_tests`` and ``args``; with ``digest`` also before, null for no file.
        timeout_s: Seconds until it is killed.
        cwd: Folder to start in, below the workspace.
        network: The tests may open connections.

    Source: spec "Forge dialect", 9, column "pytest probe".
    """
    suite = Suite(
        args=args,
        demands=Demands(required=required_tests, min_passed=min_passed, max_skipped=max_skipped),
        canaries=canaries,
        protected=protected_paths,
        limits=Limits(timeout_s=timeout_s),
        cwd=cwd,
        network=network,
    )

    def check(subject: Subject) -> Finding:
        runner = runner_of(powers, "pytest")
        workspace = workspace_of(subject, powers)
        protected = (*suite.protected, *_named(suite))
        before = states_of((one.path for one in protected), workspace)
        problem = unlike(protected, before)
        return problem.finding if problem else _run(suite, runner, workspace, before, powers)

    return starts_commands(check)


def _named(suite: Suite) -> Iterator[ProtectedPath]:
    """The test files that are named, as far as they can be told from other arguments."""
    for id_ in (*suite.demands.required, *suite.args):
        file = id_.partition("::")[0]
        path = PurePosixPath(suite.cwd, file)
        if file.endswith(".py") and not path.is_absolute() and ".." not in path.parts:
            yield ProtectedPath(path=str(path))


def _run(
    suite: Suite, runner: CommandRunner, workspace: str, before: States, powers: Powers
) -> Finding:
    with laid_out(runner.scratch, with_canaries=suite.canaries) as layout:
        command = command_of(
            layout,
            python=python_for(powers.python),
            args=suite.args,
            workspace=workspace,
            cwd=suite.cwd,
            network=suite.network,
            limits=suite.limits,
        )
        with runner.run(command) as done:
            ended = not_ended(done, command.argv[0], suite.limits)
            written, found = (Written(), ended) if ended else _found(suite, layout, before, done)
            argv = layout.told(command.argv)
            return finding_with(found, done, written, powers=powers, argv=argv)


def _found(
    suite: Suite, layout: Layout, before: States, done: Completed
) -> tuple[Written, Finding]:
    """What the run left, and what is found of it."""
    file = layout.report()
    if file is None:
        return Written(), _by_exit(done) or _failed(Failure.NO_REPORT, f"exit {done.exit_code}")
    try:
        report = file.report()
    except ReportError as exc:
        wrong = _by_exit(done) or _failed(Failure.REPORT_INVALID, shown(str(exc)))
        return Written(data=file.data), wrong
    observed = layout.observed()
    written = Written(
        data=file.data,
        counts=Counts.of(_own(layout, report)),
        assurance="report+canaries" if layout.canaries else "report",
        facts=_facts(observed) | {"args": [*suite.args]},
    )
    found = _by_exit(done, report) or _after(before, done)
    return written, found or _judged(suite, layout, done, report, observed)


def _by_exit(done: Completed, report: JUnitReport | None = None) -> Finding | None:
    """What an exit code says by itself; None for those that go with a report."""
    code = done.exit_code
    if code in {0, 1}:
        return None
    first = None if report is None else report.first_bad
    said = _id(first) if first else last_words(done)
    if code == NO_TESTS_RAN:
        return _failed(Failure.NO_TESTS, said)
    failure = Failure.RUNNER_ERROR if code in RUNNER_ERRORS else Failure.COMMAND_FAILED
    return _failed(failure, f"exit {code}: {said}")


def _after(before: States, done: Completed) -> Finding | None:
    """That a protected file was changed by the run."""
    if done.workspace is None:
        return None
    problem = changed(before, states_of(before, done.workspace))
    return problem.finding if problem else None


def _facts(observed: Observed | None) -> dict[str, JSON]:
    """What a person may want to know of the inside of a run."""
    if observed is None:
        return {}
    return {
        "collected": observed.collected,
        "deselected": observed.deselected,
        "hooks": [shown(hook) for hook in observed.hooks[:MAX_HOOKS]],
    }


def _judged(
    suite: Suite,
    layout: Layout,
    done: Completed,
    report: JUnitReport,
    observed: Observed | None,
) -> Finding:
    """What the report comes to beside the exit code."""
    problem = (
        problem_of(
            report,
            suite.demands,
            exit_code=done.exit_code or 0,
            ids=_ids,
            canaries=layout.canaries,
        )
        or _unobserved(observed)
        or processes_left(done)
    )
    if problem is not None:
        return problem.finding
    note = _deselected(suite, observed)
    return finding_of(_own(layout, report), suite.demands, done.elapsed_s, note)


def _unobserved(observed: Observed | None) -> Problem | None:
    """That a run did not come to its end, or reports other than was seen."""
    if observed is None:
        detail = "pytest wrote its report and did not come to its end"
    elif observed.turned:
        detail = f"{shown(observed.turned[0])} raised, and is reported as passed"
    else:
        return None
    return Problem(failure=Failure.REPORT_MISMATCH, detail=detail)


def _deselected(suite: Suite, observed: Observed | None) -> str:
    """A note on tests that were left out though the arguments leave out none."""
    count = 0 if observed is None else observed.deselected
    if count == 0 or any(item.startswith(SELECTING) for item in suite.args):
        return ""
    return f"{count} collected but not run"


def _own(layout: Layout, report: JUnitReport) -> Iterator[Case]:
    """The cases without the canaries."""
    canaries = layout.canaries
    return (case for case in report.cases if canaries is None or case not in canaries)


def _ids(case: Case) -> Iterator[str]:
    """What a case may be called: its id, and the id of its test without the parameters."""
    yield _id(case)
    name, bracket, _ = case.name.partition("[")
    if bracket and name:
        yield _id(replace(case, name=name))


def _id(case: Case) -> str:
    return case.pytest_id_in_file


def _failed(failure: Failure, detail: str) -> Finding:
    return Problem(failure=failure, detail=detail).finding
