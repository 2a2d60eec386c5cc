"""``signoff scc oid validate``: say what is wrong with the OIDs of a workspace."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import click

from signoff.cli.commands import Command, FileName, json_option
from signoff.cli.exits import Exit, Refusal
from signoff.cli.outfile import write_file
from signoff.cli.scc_commands.place import (
    dsn_option,
    found_workspace,
    settings_of,
    workspace_option,
)
from signoff.cli.terminal import Terminal
from signoff.jsonvalue import shown
from signoff.scc.validation_text import as_line, as_markdown
from signoff.scc.validator import validate

__all__ = ["command"]

EXAMPLES: Final = """\b
Examples:
  signoff scc oid validate
  signoff scc oid validate --report-dir reports --json-out oids.json
"""


@click.command("validate", cls=Command, epilog=EXAMPLES)
@click.option("--report-dir", type=FileName(), help="Write oid_validator__TIME.md there.")
@click.option("--json-out", type=FileName(), help="Write the JSON line to that file too.")
@workspace_option
@dsn_option
@json_option
@click.pass_obj
def command(
    terminal: Terminal,
    /,
    report_dir: str | None,
    json_out: str | None,
    *,
    workspace: str,
    dsn: str | None,
    as_json: bool,  # noqa: ARG001  the answer is JSON anyway
) -> int:
    """
    Say what is wrong with the OIDs of a workspace.

    Prints one line of JSON.

    Exit codes: 0 nothing is wrong, 1 something is, 2 unusable, 4 a file could
    not be written.
    """
    place = found_workspace(workspace)
    now = datetime.now(UTC)
    found = validate(place, settings_of(place), now=now, env=terminal.env, dsn=dsn)
    line = as_line(found)
    if json_out is not None:
        write_file(json_out, line + b"\n")
    if report_dir is not None:
        _make(report_dir)
        name = f"oid_validator__{now:%Y%m%d-%H%M%S}.md"
        write_file(str(Path(report_dir) / name), as_markdown(found))
    terminal.out.json(line)
    for one in found.errors:
        terminal.err.line(f"{one.code}: {shown(one.path)}: {shown(one.message)}")
    for text in found.warnings:
        terminal.note(shown(text))
    return Exit.DONE if found.ok else Exit.FAILED


def _make(folder: str) -> None:
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as exc:
        raise Refusal(f"{shown(folder)}: cannot be made", code=Exit.UNWRITTEN) from exc
