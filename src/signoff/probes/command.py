"""A command ends by itself as it should, and what it leaves and prints holds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Any, Final

from msgspec import Struct
from msgspec.structs import replace

from signoff.command_finding import (
    Argv,
    Environment,
    Folder,
    Timeout,
    ending,
    process_count,
    runner_of,
    told,
)
from signoff.errors import Fault, NotJudged, ParamsError
from signoff.jsonvalue import JSON, shown
from signoff.left_files import LeftFile, files_left
from signoff.model import Finding, Subject, failed, passed
from signoff.params import MAX_ITEMS, Kind, integer
from signoff.pathglob import Glob, Globs
from signoff.registry import Check, Powers, starts_commands, verifier
from signoff.sandbox.command import (
    DEFAULT_TIMEOUT_S,
    MAX_KEPT_BYTES,
    Captured,
    Command,
    Completed,
    Limits,
    Runner,
)
from signoff.status import Cause, Status
from signoff.workspace import workspace_of

DEFAULTS: Final = Limits()
MAX_DETAIL: Final = 400
MAX_LISTED: Final = 20

Bind = Callable[[str, Mapping[str, JSON]], Check]


class Asked(Struct, frozen=True, kw_only=True):
    """A verifier that is to judge what was printed, and its params."""

    verifier: str
    params: dict[str, JSON]


class Expected(Struct, frozen=True, kw_only=True):
    """What must hold of a command that has ended."""

    exit_code: int
    files: tuple[Glob, ...]
    printed: tuple[tuple[str, Check], ...]
    is_json: bool


def _read_asked(value: JSON) -> tuple[Asked, ...]:
    if type(value) is not list or not 0 < len(value) <= MAX_ITEMS:
        raise ValueError
    return tuple(map(_asked, value))


def _asked(entry: JSON) -> Asked:
    if type(entry) is not dict or not entry.keys() <= {"verifier", "params"}:
        raise ValueError
    id_, params = entry.get("verifier"), entry.get("params", {})
    if type(id_) is not str or type(params) is not dict:
        raise ValueError
    return Asked(verifier=id_, params=params)


ASKED: Final = Kind(
    says="array of 1 or more {verifier, params?}",
    read=_read_asked,
    schema={
        "type": "array",
        "items": {
            "type": "object",
            "properties": {"verifier": {"type": "string"}, "params": {"type": "object"}},
            "required": ["verifier"],
            "additionalProperties": False,
        },
        "minItems": 1,
        "maxItems": MAX_ITEMS,
    },
)


@verifier
def command(
    *,
    argv: Argv,
    cwd: Folder = ".",
    timeout_s: Timeout = DEFAULT_TIMEOUT_S,
    exit_code: Annotated[int, integer(ge=0, le=255)] = 0,
    expect_files: Globs = (),
    network: bool = False,
    env: Environment | None = None,
    stdout: Annotated[tuple[Asked, ...], ASKED] = (),
    stdout_json: bool = False,
    powers: Powers,
    bind: Bind,
) -> Check:
    """
    A command ends by itself with its exit code, and what it leaves and prints holds.

    It must leave no process behind.  It runs in a sandbox, in a private copy of the
    workspace, without a shell, without network and without signoff's environment.  An
    exit code is what the command says of itself: files and printed text that other
    checks judge are worth more.

    In a contract, params are such as ``{"argv": ["ruff", "check", "."], "timeout_s": 30}``

    Args:
        argv: The program and its arguments, one item each; no shell reads them.
        cwd: The folder to start in, relative to the workspace.
        timeout_s: Seconds until it is killed with all that it started.
        exit_code: What it must end with.
        expect_files: Globs such as ``build/*.json``, each of which must match a regular file
            that is not empty.  If all that it matches was there before and was not written
            again, the check warns.
        network: It may open sockets of any kind.
        env: Variables to set besides ``PATH``, ``HOME``, ``TMPDIR`` and ``LANG``.
        stdout: Verifiers with params that judge what was printed on standard output; they
            start no commands.
        stdout_json: They get what it is as JSON, rather than its text.

    Source: spec "The standard library of checks", 3.16.
    """
    if stdout_json and not stdout:
        raise ParamsError("params.stdout_json needs params.stdout", where="/stdout_json")
    printed = _bound(stdout, bind)
    expected = Expected(
        exit_code=exit_code, files=expect_files, printed=printed, is_json=stdout_json
    )

    def check(subject: Subject) -> Finding:
        runner: Runner = runner_of(powers, "command")
        kept = MAX_KEPT_BYTES if printed else DEFAULTS.head_bytes
        limits = replace(runner.limits, timeout_s=timeout_s, head_bytes=kept)
        asked = Command(
            argv=argv,
            workspace=workspace_of(subject, powers),
            cwd="" if cwd == "." else cwd,
            env=env or {},
            network=network,
            limits=limits,
        )
        with runner.run(asked) as done:
            finding, files = _judged(done, asked, expected)
            listed: list[JSON] = [{"path": one.path, "size": one.size} for one in files]
            facts = {"files": listed[:MAX_LISTED]} if listed else {}
            return told(finding, done, powers=powers, argv=argv, facts=facts)

    check.warnings = _warnings(printed)  # type: ignore[attr-defined]  # functions carry attributes
    return starts_commands(check)


def _bound(asked: Iterable[Asked], bind: Bind) -> tuple[tuple[str, Check], ...]:
    """The checks of what is printed; all faults of their params at once."""
    faults: list[Fault] = []
    found: list[tuple[str, Check]] = []
    for index, one in enumerate(asked):
        where = f"/stdout/{index}"
        try:
            check = bind(one.verifier, one.params)
        except ParamsError as exc:
            faults += (_placed(fault, where, one.verifier) for fault in exc.faults)
            continue
        if getattr(check, "starts_commands", False):
            message = f"params.stdout cannot use {one.verifier}, which starts commands"
            faults.append(Fault(f"{where}/verifier", message))
        found.append((one.verifier, check))
    if faults:
        raise ParamsError(tuple(faults))
    return tuple(found)


def _placed(fault: Fault, where: str, id_: str) -> Fault:
    is_unknown = fault.got == id_ and not fault.where
    return replace(
        fault, where=f"{where}/verifier" if is_unknown else f"{where}/params{fault.where}"
    )


def _warnings(printed: Iterable[tuple[str, Check]]) -> tuple[str, ...]:
    return tuple(
        f"stdout, {id_}: {text}"
        for id_, check in printed
        for text in getattr(check, "warnings", ())
    )


def _judged(
    done: Completed, asked: Command, expected: Expected
) -> tuple[Finding, tuple[LeftFile, ...]]:
    """What a command comes to, and the files that were looked for."""
    found = ending(done, asked.argv[0], asked.limits) or _odd(done, expected.exit_code)
    if found is not None:
        return found, ()
    finding = passed(f"exit {done.exit_code} in {done.elapsed_s:.1f} s")
    files: tuple[LeftFile, ...] = ()
    if expected.files:
        finding, files = _with_files(finding, done, asked, expected.files)
    return _with_printed(finding, done, expected), files


def _odd(done: Completed, exit_code: int) -> Finding | None:
    """Why a command that ended by itself does not do."""
    if done.exit_code != exit_code:
        detail = f"exit {done.exit_code}, expected {exit_code}"
        return failed(detail, cause=Cause.COMMAND_FAILED)
    left = process_count(done)
    return failed(left, cause=Cause.COMMAND_FAILED) if left else None


def _with_files(
    finding: Finding, done: Completed, asked: Command, globs: tuple[Glob, ...]
) -> tuple[Finding, tuple[LeftFile, ...]]:
    if done.workspace is None:
        detail = "the workspace that the command left cannot be looked at"
        return _error(detail), ()
    found = files_left(globs, after=done.workspace, before=asked.workspace or "")
    files = tuple({file.path: file for matched in found.values() for file in matched}.values())
    stale = []
    for text, matched in found.items():
        if not matched:
            return failed(f"missing file: {shown(text)}", cause=Cause.COMMAND_FAILED), files
        if not any(file.written for file in matched):
            stale.append(shown(text))
    return _warned(finding, f"not written by it: {', '.join(stale)}") if stale else finding, files


def _with_printed(finding: Finding, done: Completed, expected: Expected) -> Finding:
    """The finding, after the verifiers of what was printed, the worst of which decides."""
    if not finding.status.holds or not expected.printed:
        return finding
    subject = _subject(done, is_json=expected.is_json)
    if isinstance(subject, Finding):
        return subject
    for id_, check in expected.printed:
        found = _answer(check, subject)
        detail = f"stdout, {shown(id_)}: {shown(found.detail, MAX_DETAIL)}"
        if not found.status.holds:
            return Finding(status=found.status, detail=detail, cause=found.cause)
        if found.status is Status.WARN:
            finding = _warned(finding, detail)
    return finding


def _subject(done: Completed, *, is_json: bool) -> Subject | Finding:
    """What was printed as a subject of its own, or why it is none."""
    printed: Captured = done.stdout
    if printed.omitted:
        detail = f"stdout has {printed.size} bytes, too many to be judged"
        return failed(detail, cause=Cause.OUTPUT_LIMIT)
    data = printed.head + printed.tail
    if is_json:
        subject = Subject.from_json(data, elapsed_s=done.elapsed_s)
        if subject.output_fault is not None:
            detail = f"stdout is not JSON: {shown(subject.output_fault)}"
            return failed(detail, cause=Cause.BAD_OUTPUT)
        return subject
    try:
        return Subject(output=data.decode(), elapsed_s=done.elapsed_s)
    except UnicodeDecodeError as exc:
        return failed(f"stdout is not UTF-8 at byte {exc.start}", cause=Cause.BAD_OUTPUT)


def _answer(check: Check, subject: Subject) -> Finding:
    """What a verifier answers, which may be one from anywhere."""
    found: Any
    try:
        found = check(subject)
    except NotJudged as exc:
        found = exc.finding
    is_finding = type(found) is Finding and type(found.status) is Status
    if not is_finding or type(found.detail) is not str:
        return _error("Verifier returned no finding.")
    is_cause = found.cause is None or type(found.cause) is Cause
    return found if is_cause else _error("Verifier returned no finding.")


def _error(detail: str) -> Finding:
    return Finding(status=Status.ERROR, detail=detail, cause=Cause.VERIFIER_BROKE)


def _warned(finding: Finding, why: str) -> Finding:
    return replace(finding, status=Status.WARN, detail=f"{finding.detail}; {why}")
