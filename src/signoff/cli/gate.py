"""``signoff gate``: judge a run directory again, trusting nothing in it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import click
import msgspec
from msgspec import UNSET

from signoff.cli.choosing import Choice, choosing
from signoff.cli.commands import Command, FileName, json_option
from signoff.cli.door import strict_option
from signoff.cli.exits import Exit
from signoff.cli.outfile import (
    remove_stale,
    require_apart,
    require_elsewhere,
    require_outside,
    write_file,
)
from signoff.cli.progress import Progress
from signoff.cli.reading import open_contract, open_output
from signoff.cli.report_text import Shown, report_lines, verdict_line
from signoff.cli.terminal import Terminal
from signoff.document import parse_document, read_bytes
from signoff.errors import DocumentError, RunUnreadable
from signoff.evidence import DirectoryStore
from signoff.gate import GateReport, gate_run
from signoff.jsonvalue import shown
from signoff.model import Contract
from signoff.record import MAX_OUTPUT_BYTES
from signoff.rundir import EVIDENCE, read_run
from signoff.status import Outcome

__all__ = ["command"]

MAX_PROBLEM: Final = 1_000
MAX_PROBLEMS: Final = 100

EXAMPLES: Final = """\b
Examples:
  signoff gate run/ --contract contract.lock.json
  signoff gate run/ --contract contract.lock.json --output dist/result.json
  signoff gate run/ --contract contract.lock.json --strict --junit gate.xml
"""


@click.command("gate", cls=Command, epilog=EXAMPLES)
@click.argument("folder", metavar="DIR", type=FileName())
@click.option(
    "--contract", required=True, type=FileName(), help="What had to hold, from a trusted place."
)
@click.option("--output", type=FileName(), help="A file that must be the output of the run.")
@click.option("--text", is_flag=True, help="The output may have been read as plain text.")
@click.option(
    "--allow",
    multiple=True,
    metavar="WORD",
    help="What may have been less strict, or recorded: probes need not be run again; repeatable.",
)
@choosing(looks=False)
@strict_option
@json_option
@click.option("--junit", type=FileName(), help="Write the results as JUnit XML too.")
@click.pass_obj
def command(
    terminal: Terminal,
    /,
    folder: str,
    *,
    contract: str,
    output: str | None,
    text: bool,
    allow: tuple[str, ...],
    choice: Choice,
    strict: bool,
    as_json: bool,
    junit: str | None,
) -> int:
    """
    Judge a run directory again, trusting nothing in it.

    DIR is what signoff verify --out has written.  Every digest is computed anew,
    and every check that is a function of the output is run again; anything that
    is missing, altered or in doubt fails, and so does what the run made less
    strict, unless it is allowed here.  Take the contract from where the work
    could not change it.

    Exit codes: 0 passed, 1 failed or anything is wrong with the run,
    3 inconclusive, 2 the request was unusable, 4 the JUnit file could not be
    written.
    """
    if junit:
        require_apart(junit, [name for name in (contract, output) if name], option="--junit")
        require_outside(folder, [junit])
        remove_stale(junit)
    require_elsewhere(contract, folder)
    registry = choice.registry()
    locked = open_contract(contract, registry).locked
    data = open_output(output, terminal, max_bytes=MAX_OUTPUT_BYTES) if output else None
    with Progress(terminal.err, "judging the run again"):
        found = gate_run(
            folder,
            contract=locked,
            registry=registry,
            output=data,
            text=text,
            allow=allow,
            strict=strict,
        )
    if junit:
        write_file(junit, _junit(found, locked.contract))
    if as_json:
        terminal.out.json(_document(found))
    else:
        _print(terminal, found, locked.contract, folder, strict=strict)
    return _ending(found)


def _ending(found: GateReport) -> Exit:
    if found.passed:
        return Exit.DONE
    inconclusive = found.outcome is Outcome.INCONCLUSIVE and not found.problems
    return Exit.INCONCLUSIVE if inconclusive else Exit.FAILED


def _document(found: GateReport) -> bytes:
    facts: dict[str, Any] = {
        "passed": found.passed,
        "outcome": found.outcome,
        "problems": found.problems,
        "rechecked": found.rechecked,
        "not_rechecked": found.not_rechecked,
        "report": found.report,
    }
    return msgspec.json.format(msgspec.json.encode(facts), indent=2)


def _junit(found: GateReport, contract: Contract) -> bytes:
    from signoff.cli.junit import junit_xml, problems_xml  # only where it is asked for

    if found.report is None or found.problems:
        return problems_xml(contract, found.problems)
    return junit_xml(found.report, contract)


def _print(
    terminal: Terminal, found: GateReport, contract: Contract, folder: str, *, strict: bool
) -> None:
    # What a run says is shown only when it can be trusted.
    if found.report is None or found.problems:
        _print_problems(terminal, found.problems, folder)
        return
    read = DirectoryStore(Path(folder) / EVIDENCE).read
    output = _recorded(folder)
    for line in report_lines(found.report, contract, terminal.out, output=output, read=read):
        terminal.out.line(line)
    for warning in found.report.warnings:
        terminal.note(shown(warning, MAX_PROBLEM))
    for id_ in found.not_rechecked:
        terminal.note(f"{shown(id_)} stands as recorded; it cannot be judged again here")
    terminal.out.line(verdict_line(found.report, contract, terminal.out, strict=strict))


def _recorded(folder: str) -> Shown | None:
    """The output in the run, for showing what is where in it; None when it cannot be shown."""
    try:
        run = read_run(folder)
        source = str(Path(folder) / ("output.txt" if run.text else "output.json"))
        if run.text or run.subject.output is UNSET:
            return Shown(run.subject.output, source=shown(source))
        data = read_bytes(source, max_bytes=MAX_OUTPUT_BYTES)
        document = parse_document(data, source, limits=run.limits, format="json")
        return Shown(document.value, source=document.source, document=document)
    except (RunUnreadable, DocumentError):
        return None


def _print_problems(terminal: Terminal, problems: tuple[str, ...], folder: str) -> None:
    out = terminal.out
    for problem in problems[:MAX_PROBLEMS]:
        out.line(f"{out.paint('problem:', 'bad')} {shown(problem, MAX_PROBLEM)}")
    if len(problems) > MAX_PROBLEMS:
        out.line(f"and {len(problems) - MAX_PROBLEMS} more; --json lists all of them")
    count = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
    out.line(f"{out.paint('failed', 'bad')}: {shown(folder)} does not show a pass: {count}")
