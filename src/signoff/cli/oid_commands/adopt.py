"""``signoff scc oid adopt``: register the documents under the OIDs that they have."""

from __future__ import annotations

from typing import Final

import click
import msgspec

from signoff.cli.commands import Command, json_option
from signoff.cli.exits import Exit, Refusal
from signoff.cli.scc_commands.place import (
    INIT,
    dsn_option,
    found_workspace,
    settings_of,
    the_registry,
    workspace_option,
)
from signoff.cli.terminal import Terminal
from signoff.dialects.scc.settings import PATH
from signoff.errors import DatabaseUnusable, RegistryRefused
from signoff.jsonvalue import shown
from signoff.scc.adoption import adopt_documents

__all__ = ["command"]

EXAMPLES: Final = """\b
Examples:
  signoff scc oid adopt
  signoff scc oid adopt --dsn postgresql://user@host/oids
"""


@click.command("adopt", cls=Command, epilog=EXAMPLES)
@workspace_option
@dsn_option
@json_option
@click.pass_obj
def command(
    terminal: Terminal,
    /,
    *,
    workspace: str,
    dsn: str | None,
    as_json: bool,  # noqa: ARG001  the answer is JSON anyway
) -> int:
    """
    Register the documents under the OIDs that they have.

    For a repository whose OIDs were minted elsewhere. Prints how many were
    adopted, known already, and left because something is wrong with them.

    Exit codes: 0 all are registered, 1 some were left or refused, 2 unusable.
    """
    place = found_workspace(workspace)
    settings = settings_of(place)
    if not settings.given:
        raise Refusal(f"{PATH} is absent", code=Exit.FAILED, next_step=INIT)
    with the_registry(place, terminal.env, dsn, may_write=True) as registry:
        try:
            done = adopt_documents(place, settings, registry)
        except (RegistryRefused, DatabaseUnusable) as exc:
            raise Refusal(str(exc), code=Exit.FAILED) from exc
    left = len({one.path for one in done.errors})
    answer = {"adopted": len(done.adopted), "known": done.known, "left": left}
    terminal.out.json(msgspec.json.encode(answer))
    for one in done.errors:
        terminal.err.line(f"{one.code}: {shown(one.path)}: {shown(one.message)}")
    return Exit.FAILED if done.errors else Exit.DONE
