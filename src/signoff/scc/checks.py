"""
The checks of a contract, run in their order in one view, and what each came to.

Every command is split and judged by the policy before the first one starts.  A check
that is one of the gate commands is not started: the run's own gate answers for it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from time import monotonic
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from signoff.canonical import digest_bytes
from signoff.command_finding import ending, kept_text, process_count, told
from signoff.dialects.scc.argv import arguments
from signoff.dialects.scc.contract import Check
from signoff.dialects.scc.names import log_name
from signoff.dialects.scc.placeholder import expand
from signoff.dialects.scc.policy import CommandPolicy, Gate, gate_of
from signoff.errors import CommandDenied
from signoff.folder import Folder
from signoff.jsonvalue import shown
from signoff.model import Finding, Isolation, failed, passed, skipped
from signoff.pathglob import Glob, parse_glob
from signoff.powers import Powers
from signoff.sandbox.command import Captured, Command, Completed, Ended, Limits, Runner
from signoff.scc.evidence_index import EvidenceFile
from signoff.scc.view import Stamp, View, copy_out, folder_state, stamps
from signoff.scc.workspace import PathUnsafe
from signoff.status import Cause

__all__ = [
    "CheckDone",
    "Collected",
    "Prepared",
    "Surroundings",
    "environment",
    "prepared",
    "run_checks",
]

KEPT_BYTES: Final = 4 * 2**20
LIVE: Final = "the command worked in the workspace itself"


class Prepared(Struct, frozen=True, kw_only=True):
    """
    A check before it runs.

    Args:
        index: Its position in the contract, from 1.
        check: As the contract has it.
        argv: The program and its arguments, ``()`` where it cannot be split.
        denied: Why it may not run, ``""`` if it may.
        gate: The gate command that it is, None for all others.
    """

    index: int
    check: Check
    argv: tuple[str, ...]
    denied: str = ""
    gate: Gate | None = None


class Collected(Struct, frozen=True, kw_only=True):
    """A file of evidence: its path in the view, and the copy."""

    path: str
    file: EvidenceFile


class CheckDone(Struct, frozen=True, kw_only=True):
    """
    What became of a check.

    Args:
        prepared: The check.
        finding: What it came to.
        started: The command ran, or was tried.
        exit_code: Of the command.
        signal: That ended it, by name.
        duration_s: How long it took.
        stdout: What it printed.
        stderr: Likewise.
        logs: The two files of it, standard output first; none where it was not started.
        evidence: What was collected.
        isolation: Level under which it ran.
        missing: What that level lacks here.
    """

    prepared: Prepared
    finding: Finding
    started: bool = False
    exit_code: int | None = None
    signal: str | None = None
    duration_s: float = 0.0
    stdout: Captured = Captured()
    stderr: Captured = Captured()
    logs: tuple[EvidenceFile, ...] = ()
    evidence: tuple[Collected, ...] = ()
    isolation: Isolation | None = None
    missing: tuple[str, ...] = ()


class Surroundings(Struct, frozen=True, kw_only=True):
    """
    What checks run in.

    Args:
        sandbox: Runs their commands.
        view: What they see of the workspace.
        env: Their variables, besides those that every command gets.
        values: Of each placeholder.
        folder: Where logs and evidence go: the run output directory as it is made.
        deadline: Of the run, by the monotonic clock.
        fail_fast: Start nothing after the first that fails.
        on_step: Called before each check.
        on_done: Called with each as it is done.
    """

    sandbox: Runner
    view: View
    env: Mapping[str, str]
    values: Mapping[str, str]
    folder: Path
    deadline: float
    fail_fast: bool = False
    on_step: Callable[[str], object] = lambda _: None
    on_done: Callable[[CheckDone], object] = lambda _: None


def prepared(
    checks: Iterable[Check], values: Mapping[str, str], policy: CommandPolicy, root: Path
) -> tuple[Prepared, ...]:
    """
    All checks, each with the reason why it may not run, if there is one.

    Args:
        checks: In contract order.
        values: Of each placeholder.
        policy: What the settings say of commands.
        root: The workspace, for folders that are links.
    """
    return tuple(_prepared(i, one, values, policy, root) for i, one in enumerate(checks, 1))


def _prepared(
    index: int, check: Check, values: Mapping[str, str], policy: CommandPolicy, root: Path
) -> Prepared:
    try:
        argv = arguments(check.command, values)
    except CommandDenied as exc:
        return Prepared(index=index, check=check, argv=(), denied=str(exc))
    gate = gate_of(argv, check.cwd)
    denied = "" if gate else policy.denial(argv) or ""
    if not denied and folder_state(str(root), check.cwd) == "link":
        denied = f'cwd "{shown(check.cwd)}" leads through a symbolic link'
    return Prepared(index=index, check=check, argv=argv, denied=denied, gate=gate)


def environment(
    caller: Mapping[str, str], allowed: Iterable[str], view: View, own: Mapping[str, str]
) -> dict[str, str]:
    """
    The variables of checks: of the caller's own only the search path and those allowed by name.

    Args:
        caller: The caller's.
        allowed: Names that the settings allow.
        view: Where home and temporary files are.
        own: What the run tells of itself.
    """
    interpreter = str(Path(sys.executable).parent)
    path = os.pathsep.join((interpreter, caller.get("PATH", os.defpath)))
    passed_on = {name: caller[name] for name in allowed if name in caller}
    return passed_on | {"PATH": path, "HOME": view.home, "TMPDIR": view.temporary, **own}


def run_checks(checks: Iterable[Prepared], around: Surroundings) -> None:
    """
    Run the checks in their order, and hand over each as it is done; gate commands as not judged.

    Raises:
        OSError: Logs or evidence cannot be written, or the view not read.
    """
    stopped = ""
    for one in checks:
        around.on_step(f"check {one.index}")
        if stopped:
            text = f'not run after "{shown(stopped)}" did not hold'
            result = CheckDone(prepared=one, finding=skipped(text))
        else:
            result = _done(one, around)
        around.on_done(result)
        if around.fail_fast and not stopped and one.gate is None:
            stopped = "" if result.finding.status.holds else one.check.name


def _done(one: Prepared, around: Surroundings) -> CheckDone:
    if one.gate is not None:
        return CheckDone(prepared=one, finding=skipped("the gate of the run has not judged yet"))
    if one.denied:
        return CheckDone(prepared=one, finding=failed(one.denied, cause=Cause.COMMAND_DENIED))
    left_s = around.deadline - monotonic()
    if left_s <= 0:
        text = "not started: the time of the run is up"
        return CheckDone(prepared=one, finding=failed(text, cause=Cause.TIMED_OUT))
    if (state := folder_state(around.view.root, one.check.cwd)) != "folder":
        return CheckDone(prepared=one, finding=_no_folder(one, state))
    return _ran(one, around, left_s)


def _no_folder(one: Prepared, state: str) -> Finding:
    if state == "link":
        text = f'cwd "{shown(one.check.cwd)}" leads through a symbolic link'
        return failed(text, cause=Cause.COMMAND_DENIED)
    text = f'cwd "{shown(one.check.cwd)}" is no folder of the workspace'
    finding = failed(text, cause=Cause.COMMAND_FAILED)
    return replace(finding, data={"ended": Ended.CWD_MISSING.value})


def _ran(one: Prepared, around: Surroundings, left_s: float) -> CheckDone:
    globs, faults = _globs(one.check, around.values)
    before = stamps(around.view.root, globs)
    limits = replace(
        Limits(),
        timeout_s=min(float(one.check.timeout_s), left_s),
        head_bytes=KEPT_BYTES // 2,
        tail_bytes=KEPT_BYTES // 2,
    )
    asked = Command(
        argv=one.argv,
        workspace=around.view.root,
        cwd=one.check.cwd,
        env=around.env,
        live=True,
        writable=(around.view.home, around.view.temporary),
        limits=limits,
    )
    with around.sandbox.run(asked) as done:
        finding = _judged(one, asked, done)
        logs = _logs(one, done, around.folder)
        finding, evidence = _with_evidence(finding, one, around, globs, before)
        if faults and finding.status.holds:
            finding = failed(faults[0], cause=Cause.EVIDENCE_MISSING)
        missing = tuple(text for text in done.missing if text != LIVE)
        return CheckDone(
            prepared=one,
            finding=replace(told(finding, done, powers=Powers(), argv=one.argv), missing=missing),
            started=done.isolation is not None,
            exit_code=done.exit_code,
            signal=done.signal,
            duration_s=done.elapsed_s,
            stdout=done.stdout,
            stderr=done.stderr,
            logs=logs,
            evidence=evidence,
            isolation=done.isolation,
            missing=missing,
        )


def _judged(one: Prepared, asked: Command, done: Completed) -> Finding:
    odd = ending(done, one.argv[0], asked.limits)
    if odd is not None:
        return odd
    if done.exit_code != one.check.exit_code:
        text = f"exit {done.exit_code}, expected {one.check.exit_code}"
        return failed(text, cause=Cause.COMMAND_FAILED)
    if done.left_processes:
        return failed(process_count(done), cause=Cause.COMMAND_FAILED)
    return passed(f"exit {done.exit_code} in {done.elapsed_s:.1f} s")


def _logs(one: Prepared, done: Completed, folder: Path) -> tuple[EvidenceFile, ...]:
    written: list[EvidenceFile] = []
    with Folder.open(folder / "logs", create=True) as logs:
        for stream, captured in (("stdout", done.stdout), ("stderr", done.stderr)):
            name, data = log_name(one.index, one.check.name, stream), kept_text(captured)
            logs.write(name, data)
            sha256 = digest_bytes(data).removeprefix("sha256:")
            written.append(EvidenceFile(path=f"logs/{name}", sha256=sha256, size=len(data)))
    return tuple(written)


def _globs(check: Check, values: Mapping[str, str]) -> tuple[tuple[Glob, ...], list[str]]:
    """What is to be looked for, and what of it cannot be."""
    globs: list[Glob] = []
    faults: list[str] = []
    for text in dict.fromkeys(expand(one, values) for one in check.evidence_paths):
        try:
            globs.append(parse_glob(text))
        except ValueError as exc:
            faults.append(f"evidence {shown(text)}: {shown(str(exc))}")
    return tuple(globs), faults


def _with_evidence(
    finding: Finding,
    one: Prepared,
    around: Surroundings,
    globs: tuple[Glob, ...],
    before: Mapping[str, Mapping[str, Stamp]],
) -> tuple[Finding, tuple[Collected, ...]]:
    """The finding, failed where evidence is missing, and what was collected."""
    collected: dict[str, Collected] = {}
    for text, after in (stamps(around.view.root, globs) if globs else {}).items():
        fresh = [path for path, stamp in after.items() if before[text].get(path) != stamp]
        for path in fresh:
            target = f"collected/{one.index:03d}/{path}"
            try:
                if path not in collected:
                    file = copy_out(around.view.root, path, around.folder, target)
                    collected[path] = Collected(path=path, file=file)
            except PathUnsafe as exc:
                finding = _missing(finding, str(exc))
        if not fresh:
            why = "was not written by the check" if after else "there is no such file"
            finding = _missing(finding, f"evidence {shown(text)}: {why}")
    return finding, tuple(collected[path] for path in sorted(collected))


def _missing(finding: Finding, why: str) -> Finding:
    return failed(why, cause=Cause.EVIDENCE_MISSING) if finding.status.holds else finding
