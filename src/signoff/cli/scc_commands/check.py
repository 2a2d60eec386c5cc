"""``signoff scc check``: the phase-4 checks of a workspace."""

from __future__ import annotations

from typing import Final

import click

from signoff.cli.commands import Command, FileName, json_option
from signoff.cli.exits import Exit, Refusal
from signoff.cli.outfile import remove_stale, write_file
from signoff.cli.scc_commands.place import (
    dsn_option,
    found_workspace,
    settings_of,
    workspace_option,
)
from signoff.cli.terminal import Terminal
from signoff.dialects.scc.names import name_fault
from signoff.jsonvalue import shown
from signoff.scc.phase4 import UnknownCheck, check, encode_results

__all__ = ["command"]

EXAMPLES: Final = """\b
Examples:
  signoff scc check                          all checks
  signoff scc check --only oid-validator     one of them
  signoff scc check --taskcode T1 --json-out phase4.json
"""


@click.command("check", cls=Command, epilog=EXAMPLES)
@click.option("--only", multiple=True, help="Run that check; may be repeated.")
@click.option("--area", help="Look at verdicts of that area only.")
@click.option("--taskcode", help="Look at the verdict of that TaskCode, which must exist.")
@click.option("--json-out", type=FileName(), help="Write the JSON array to that file too.")
@workspace_option
@dsn_option
@json_option
@click.pass_obj
def command(
    terminal: Terminal,
    /,
    only: tuple[str, ...],
    area: str | None,
    taskcode: str | None,
    json_out: str | None,
    *,
    workspace: str,
    dsn: str | None,
    as_json: bool,  # noqa: ARG001  the answer is JSON anyway
) -> int:
    """
    Run the phase-4 checks of a workspace.

    Prints one JSON array; what is wrong is told on standard error.

    Exit codes: 0 every check passed, 1 one did not, 2 unusable, 4 a file could
    not be written.
    """
    place = found_workspace(workspace)
    settings = settings_of(place)
    for option, name in (("--area", area), ("--taskcode", taskcode)):
        if name is not None and (fault := name_fault(name)) is not None:
            raise Refusal(f"{option} {fault}")
    if json_out is not None:
        remove_stale(json_out)
    try:
        results = check(
            place, only or None, area, taskcode, settings=settings, env=terminal.env, dsn=dsn
        )
    except UnknownCheck as exc:
        raise Refusal(str(exc)) from exc
    data = encode_results(results)
    if json_out is not None:
        write_file(json_out, data + b"\n")
    terminal.out.json(data)
    for one in results:
        for text in one.problems:
            terminal.err.line(f"{one.name}: {shown(text, 1_000)}")
    for text in dict.fromkeys(text for one in results for text in one.warnings):
        terminal.note(shown(text, 1_000))
    return Exit.DONE if all(one.passed for one in results) else Exit.FAILED
