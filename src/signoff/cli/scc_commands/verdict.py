"""``signoff scc verdict``: guard and triplet, judged from disk."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final

import click

from signoff.cli.commands import Command, json_option
from signoff.cli.exits import Exit, Refusal
from signoff.cli.scc_commands.place import INIT, found_workspace, settings_of, workspace_option
from signoff.cli.terminal import Terminal
from signoff.dialects.scc.names import name_fault
from signoff.errors import DocumentError
from signoff.folder import reason
from signoff.jsonvalue import shown
from signoff.scc.gate import Gated, GateRequest, gate
from signoff.scc.gate_report import report_place

__all__ = ["command"]

EXAMPLES: Final = """\b
Examples:
  signoff scc verdict --case basic                   every TaskCode
  signoff scc verdict --case basic --taskcode T1     one of them
"""


@click.command("verdict", cls=Command, epilog=EXAMPLES)
@click.option(
    "--case", type=click.Choice(["basic"]), default="basic", help="What is judged: basic."
)
@click.option("--area", help="Area of the TaskCode; AREA names it too.")
@click.option("--taskcode", help="Judge that TaskCode; TASK_CODE names it too.")
@click.option("--strict", is_flag=True, help="Refuse keys of a verdict beyond the five.")
@workspace_option
@json_option
@click.pass_obj
def command(
    terminal: Terminal,
    /,
    case: str,  # noqa: ARG001  there is but one
    area: str | None,
    taskcode: str | None,
    *,
    strict: bool,
    workspace: str,
    as_json: bool,
) -> int:
    """
    Judge triplet and verdicts from disk, and write the gate report.

    Everything is recomputed.  Without a TaskCode all are judged, and if there
    is none that is a failure.

    Exit codes: 0 passed, 1 failed, 2 unusable, 4 the report could not be
    removed or written.
    """
    place = found_workspace(workspace)
    settings = settings_of(place)
    task_code = _named(terminal.env, "--taskcode", taskcode, "TASK_CODE")
    wanted = _named(terminal.env, "--area", area, "AREA")
    try:
        request = GateRequest(
            workspace=place,
            area=wanted or (settings.area if task_code else ""),
            task_code=task_code,
            place=report_place(terminal.env, place),
            now=datetime.now(UTC),
            strict=strict,
        )
        done = gate(request)
    except DocumentError as exc:
        raise Refusal(str(exc)) from exc
    except OSError as exc:
        name = shown(str(exc.filename or "the gate report"))
        raise Refusal(f"{name}: {reason(exc)}", code=Exit.UNWRITTEN) from exc
    _tell(terminal, done, as_json=as_json)
    if not settings.given and "scc init" not in done.problem:
        terminal.note(INIT)
    return Exit.DONE if done.passed else Exit.FAILED


def _named(env: Mapping[str, str], option: str, given: str | None, variable: str) -> str:
    """What an option or its variable says, ``""`` where neither does."""
    name = given if given is not None else env.get(variable, "")
    if given is None and not name:
        return ""
    if (fault := name_fault(name)) is not None:
        raise Refusal(f"{option if given is not None else variable} {fault}")
    return name


def _tell(terminal: Terminal, done: Gated, *, as_json: bool) -> None:
    if as_json:
        terminal.out.json(done.data)
    for report in done.reports:
        if not as_json:
            status = ("PASS", "good") if report.passed else ("FAIL", "bad")
            name = "/".join(part for part in (report.area, report.task_code) if part)
            codes = "".join(f" {code}" for code in report.fail_codes)
            terminal.out.line(f"{terminal.out.paint(*status)} {shown(name)}{codes}".rstrip())
        for one in report.findings:
            terminal.err.line(f"{one.code}: {shown(one.path)}: {shown(one.message)}")
    if done.problem:
        terminal.note(shown(done.problem))
