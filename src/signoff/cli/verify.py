"""``signoff verify``: judge an output by a contract."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import click
from msgspec import UNSET, Struct
from msgspec.structs import replace

from signoff.cli.choosing import Choice, choosing
from signoff.cli.commands import Command, FileName, json_option
from signoff.cli.door import ending, strict_option
from signoff.cli.exits import Exit, Refusal
from signoff.cli.ledgers import ledger_options, record, require_ledger
from signoff.cli.printed import Reader
from signoff.cli.progress import Progress
from signoff.cli.reading import open_contract, open_facts, open_output
from signoff.cli.recording import EvidenceStore, open_workspace, record_evidence, store_for
from signoff.cli.report_text import Shown, report_lines, verdict_line
from signoff.cli.running import Running, running
from signoff.cli.terminal import Terminal
from signoff.contractfile import ContractFile
from signoff.document import Document
from signoff.engine import Engine
from signoff.errors import RunUnwritable
from signoff.jsonlimits import MAX_DEPTH
from signoff.jsonvalue import shown
from signoff.model import Report, Result, Subject
from signoff.powers import CommandRunner
from signoff.quick import LOCKED_AT_VERIFY
from signoff.record import MAX_OUTPUT_BYTES, VerdictFile, encode_report, subject_of, weakened_by
from signoff.strictjson import Limits

__all__ = ["command"]

Commit = Callable[..., VerdictFile]

DEFAULT: Final = Limits()

EXAMPLES: Final = """\b
Examples:
  signoff verify contract.lock.json output.json --out run/
  some-agent | signoff verify contract.yaml -
  signoff verify contract.yaml answer.txt --text
  signoff verify contract.yaml output.json --facts facts.json --junit report.xml
  signoff verify contract.lock.json output.json --workspace work/ \\
      --evidence screenshot.png
  signoff verify contract.lock.json --workspace . --jobs 4
"""


class Request(Struct, frozen=True, kw_only=True):
    """What was asked for on the command line."""

    contract: str
    output: str | None
    out: str | None
    text: bool
    junit: str | None
    ledger: str | None
    subject: str | None
    strict: bool
    fail_fast: bool
    facts: str | None
    evidence: tuple[str, ...]
    workspace: str | None
    running: Running
    choice: Choice
    max_bytes: int | None
    max_depth: int | None
    duplicate_keys: str | None
    limits: Limits = DEFAULT
    as_json: bool
    quiet: bool


class Keeping(Struct, frozen=True, kw_only=True):
    """Where a run is kept: its evidence at once, the rest when it is judged."""

    store: EvidenceStore
    commit: Commit


class Judged(Struct, frozen=True, kw_only=True):
    """What came of it."""

    contract: ContractFile
    data: bytes | None
    subject: Subject
    report: Report
    store: EvidenceStore | None


@click.command("verify", cls=Command, epilog=EXAMPLES)
@click.argument("contract", type=FileName())
@click.argument("output", type=FileName(), required=False)
@click.option("--out", type=FileName(), help="Keep the run, with all that backs it, in a folder.")
@click.option("--text", is_flag=True, help="The output is plain text in UTF-8, not JSON.")
@json_option
@click.option("--junit", type=FileName(), help="Write the results as JUnit XML too.")
@ledger_options
@strict_option
@click.option(
    "--fail-fast", is_flag=True, help="Skip what follows the first required criterion not met."
)
@click.option("--facts", type=FileName(), help="What was recorded besides the output, as JSON.")
@click.option(
    "--evidence",
    type=FileName(),
    multiple=True,
    help="Record a file as evidence under its name; repeatable.",
)
@click.option("--workspace", type=FileName(), help="Folder the work was done in, for probes.")
@running
@choosing()
@click.option(
    "--max-bytes",
    type=click.IntRange(1, MAX_OUTPUT_BYTES),
    metavar="N",
    help=f"Largest output that is read ({DEFAULT.max_bytes} when absent).",
)
@click.option(
    "--max-depth",
    type=click.IntRange(1, MAX_DEPTH),
    metavar="N",
    help=f"Deepest nesting, 1 to {MAX_DEPTH} ({DEFAULT.max_depth} when absent).",
)
@click.option(
    "--duplicate-keys",
    type=click.Choice(["last"]),
    help="Of equal keys in one object the last counts, instead of a refusal.",
)
@click.option("-q", "--quiet", is_flag=True, help="Print only what is not met; nothing for a pass.")
@click.pass_obj
def command(terminal: Terminal, /, **asked: Any) -> int:
    """
    Judge an output by a contract.

    It prints one line for each criterion, and the verdict last.  CONTRACT is a
    lock file, or a contract that is locked on the spot.  OUTPUT is a file, or -
    for standard input; it must be strict JSON, or plain text with --text.  It can
    be left out where the work lies in the folder of --workspace, on a copy of
    which commands run.  The file of --facts is a JSON object with any of elapsed_s
    (seconds), exit_code, tools (a list of name and status), base (the commit that
    the work started from) and input.

    Exit codes: 0 passed, 1 failed, 3 inconclusive, 2 the request was unusable,
    4 the verdict could not be written.
    """
    request = Request(**asked)
    return (
        _written(terminal, request)
        if request.junit or request.out
        else _verified(terminal, request)
    )


def _require_work(request: Request) -> None:
    """There is something to judge."""
    if request.output is None and request.workspace is None:
        raise Refusal(
            "there is nothing to judge: no OUTPUT, and no --workspace",
            next_step="name the output, - for standard input, or the folder of the work",
        )
    if request.output is None and request.text:
        raise Refusal(
            "--text says how OUTPUT is read, and there is none",
            next_step="name the output, or leave --text out",
        )


def _written(terminal: Terminal, request: Request) -> int:
    """As ``_verified``, where files are written too."""
    from signoff.cli.outfile import remove_stale  # only where a file is written

    _require_apart(request)
    # What an earlier run left must not be taken for the answer of this one, so it
    # goes before anything can fail.
    if request.junit:
        remove_stale(request.junit)
    if request.out is None:
        return _verified(terminal, request)
    from signoff.rundir import begin_run  # only where a run is kept

    try:
        with begin_run(request.out) as run:
            return _verified(terminal, request, Keeping(store=run.store, commit=run.commit))
    except RunUnwritable as exc:
        raise Refusal(
            str(exc),
            code=Exit.UNWRITTEN,
            next_step="no verdict was left there; free the place or give --out another folder",
        ) from exc
    except Refusal as exc:
        if exc.code is Exit.UNWRITTEN:
            from signoff.cli.outfile import withdraw_verdict  # only after a failure

            withdraw_verdict(request.out)
        raise


def _require_apart(request: Request) -> None:
    from signoff.cli.outfile import require_apart, require_outside  # likewise

    read = _read(request)
    if request.junit:
        require_apart(request.junit, read, option="--junit")
        read.append(request.junit)
    if request.out:
        require_outside(request.out, read)


def _read(request: Request) -> list[str]:
    """The files that are read."""
    names = (request.contract, request.output, request.facts, request.choice.file)
    return [name for name in (*names, *request.evidence) if name]


def _verified(terminal: Terminal, request: Request, keeping: Keeping | None = None) -> int:
    _require_work(request)
    require_ledger(request.ledger, subject=request.subject, read=_read(request), out=request.out)
    request = replace(request, limits=_limits(request))
    # Whatever still runs is ended on every way out, that of Ctrl-C among them.
    said = request.running
    with request.choice.sandbox(min_isolation=said.min_isolation, warm=said.warm) as sandbox:
        judged = _judged(terminal, request, keeping, sandbox)
    terminal.is_writing = True
    kept = _keep(request, judged, keeping)
    terminal.is_writing = False
    _answer(terminal, request, judged)
    if kept and not request.quiet:
        terminal.note(kept)
    return ending(judged.report, judged.contract.locked.contract, strict=request.strict)


def _judged(
    terminal: Terminal, request: Request, keeping: Keeping | None, sandbox: CommandRunner
) -> Judged:
    workspace = open_workspace(request.workspace) if request.workspace else None
    store = keeping.store if keeping else store_for(request.evidence, workspace)
    registry = request.choice.registry(workspace=workspace, store=store, sandbox=sandbox)
    contract = open_contract(request.contract, registry)
    if not request.quiet:
        _tell_of_contract(terminal, request, contract)
    facts = open_facts(request.facts) if request.facts else {}
    if store is not None and request.evidence:
        facts["evidence"] = record_evidence(request.evidence, store)
    if workspace is not None:
        facts["workspace"] = str(workspace)
    data = _received(terminal, request)
    subject = subject_of(data, text=request.text, limits=request.limits, **facts)
    report = _report(terminal, request, contract, subject, Engine(registry))
    report = replace(report, warnings=report.warnings + request.choice.warnings(workspace))
    return Judged(contract=contract, data=data, subject=subject, report=report, store=store)


def _limits(request: Request) -> Limits:
    """The command line before the configuration, the configuration before the default."""
    given = {"max_bytes": request.max_bytes, "max_depth": request.max_depth}
    return replace(
        request.choice.limits(),
        last_key_wins=request.duplicate_keys == "last",
        **{name: value for name, value in given.items() if value is not None},
    )


def _tell_of_contract(terminal: Terminal, request: Request, contract: ContractFile) -> None:
    if not contract.was_locked:
        name = shown(request.contract)
        terminal.note(f"{name} was locked on the spot; signoff lock {name} binds it beforehand")


def _received(terminal: Terminal, request: Request) -> bytes | None:
    read = open_output
    if request.output is None:
        return None
    if request.output != "-":
        return read(request.output, terminal, max_bytes=request.limits.max_bytes)
    with Progress(terminal.err, "reading standard input"):
        return read("-", terminal, max_bytes=request.limits.max_bytes)


def _report(
    terminal: Terminal, request: Request, contract: ContractFile, subject: Subject, engine: Engine
) -> Report:
    plan = engine.prepare(contract.locked)
    ids = [criterion.id for criterion in plan.criteria]
    with Progress(terminal.err, f"judging {ids[0]}, 1 of {len(ids)}") as progress:
        judged = 0

        def tell(_: Result) -> None:
            nonlocal judged
            judged += 1
            if judged < len(ids):
                progress.text = f"judging {ids[judged]}, {judged + 1} of {len(ids)}"

        return engine.verify(
            plan,
            subject,
            fail_fast=request.fail_fast,
            jobs=request.running.jobs,
            weakened=_weakened(request, contract),
            on_result=tell,
        )


def _weakened(request: Request, contract: ContractFile) -> tuple[str, ...]:
    locked_now = () if contract.was_locked else (LOCKED_AT_VERIFY,)
    return locked_now + request.running.weakened + weakened_by(request.limits)


def _keep(request: Request, judged: Judged, keeping: Keeping | None) -> str:
    """
    Write what was asked for: all of it, or nothing that reads as a pass.

    The JUnit file is on the disk before the verdict is committed, and gets its name
    after: neither can say that the work passed without the other.
    """
    if request.junit is None:
        return _commit(request, judged, keeping)
    from signoff.cli.junit import junit_xml  # only where it is asked for
    from signoff.cli.outfile import held_back  # likewise

    with held_back(request.junit, junit_xml(judged.report, judged.contract.locked.contract)):
        return _commit(request, judged, keeping)


def _commit(request: Request, judged: Judged, keeping: Keeping | None) -> str:
    if keeping is not None:
        keeping.commit(
            judged.contract.locked,
            judged.report,
            judged.subject,
            output=judged.data,
            text=request.text,
            limits=request.limits,
        )
    return record(request.ledger, judged.report, subject=request.subject, out=request.out)


def _answer(terminal: Terminal, request: Request, judged: Judged) -> None:
    """Print it; a pass that does not arrive is not left for others to find."""
    try:
        _print(terminal, request, judged)
        terminal.flush()
    except Refusal:
        if request.junit:
            from signoff.cli.outfile import remove_stale  # only after a failure

            remove_stale(request.junit)
        raise


def _print(terminal: Terminal, request: Request, judged: Judged) -> None:
    report, contract, out = judged.report, judged.contract.locked.contract, terminal.out
    if not request.quiet:
        for warning in report.warnings:
            terminal.note(shown(warning))
    if request.as_json:
        out.json(encode_report(report).rstrip(b"\n"))
        return
    code = ending(report, contract, strict=request.strict)
    if request.quiet and code is Exit.DONE:
        return
    output = _shown(request, judged)
    read = _reader(request, judged)
    for line in report_lines(report, contract, out, output=output, read=read, quiet=request.quiet):
        out.line(line)
    out.line(verdict_line(report, contract, out, strict=request.strict))
    if request.out and not request.quiet:
        folder, name = shown(request.out), shown(request.contract)
        terminal.note(f"{folder} holds the run; signoff gate {folder} --contract {name}")


def _reader(request: Request, judged: Judged) -> Reader | None:
    """What gives kept evidence; a run that is kept has closed its store by now."""
    if request.out is None:
        return judged.store.read if judged.store else None
    from signoff.evidence import DirectoryStore  # only where a run is kept
    from signoff.rundir import EVIDENCE  # likewise

    return DirectoryStore(Path(request.out) / EVIDENCE).read


def _shown(request: Request, judged: Judged) -> Shown:
    source = "standard input" if request.output == "-" else shown(request.output or "")
    output = judged.subject.output
    if output is UNSET or request.text or judged.data is None:
        return Shown(output, source=source)
    document = Document(value=output, source=source, data=judged.data, format="json")
    return Shown(output, source=source, document=document)
