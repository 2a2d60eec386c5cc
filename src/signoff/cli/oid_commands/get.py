"""``signoff scc oid get``: print the object of an OID."""

from __future__ import annotations

from typing import Final

import click
import msgspec

from signoff.cli.commands import Command, json_option
from signoff.cli.exits import Exit, Refusal
from signoff.cli.scc_commands.place import (
    dsn_option,
    found_workspace,
    the_registry,
    workspace_option,
)
from signoff.cli.terminal import Terminal
from signoff.errors import DatabaseUnusable
from signoff.jsonvalue import shown

__all__ = ["command"]

EXAMPLES: Final = """\b
Examples:
  signoff scc oid get --oid 01KGCV31W0C42YQHMVAT6FSR1H
"""


@click.command("get", cls=Command, epilog=EXAMPLES)
@click.option("--oid", required=True, help="The OID.")
@workspace_option
@dsn_option
@json_option
@click.pass_obj
def command(
    terminal: Terminal,
    /,
    oid: str,
    *,
    workspace: str,
    dsn: str | None,
    as_json: bool,  # noqa: ARG001  the answer is JSON anyway
) -> int:
    """
    Print the object of an OID.

    Exit codes: 0 printed, 1 there is none, 2 unusable.
    """
    place = found_workspace(workspace)
    with the_registry(place, terminal.env, dsn, may_write=False) as registry:
        try:
            found = registry.find(oid)
        except DatabaseUnusable as exc:
            raise Refusal(str(exc), code=Exit.FAILED) from exc
    if found is None:
        raise Refusal(f'"{shown(oid)}" is not registered', code=Exit.FAILED)
    terminal.out.json(msgspec.json.encode(found))
    return Exit.DONE
