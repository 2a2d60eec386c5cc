"""``signoff scc init``: install SCC in a workspace."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click
import msgspec

from signoff.cli.commands import Command, json_option
from signoff.cli.exits import Exit, Refusal
from signoff.cli.scc_commands.place import (
    dsn_option,
    found_workspace,
    registry_place,
    settings_of,
    workspace_option,
)
from signoff.cli.terminal import Terminal
from signoff.errors import DatabaseUnusable, NotInstalled, RegistryRefused
from signoff.folder import reason
from signoff.jsonvalue import shown
from signoff.scc.installation import Installed, InTheWay, install
from signoff.scc.workspace import Workspace

__all__ = ["command"]

EXAMPLES: Final = """\b
Examples:
  signoff scc init                       in the current folder
  signoff scc init --workspace repo      elsewhere
"""


@click.command("init", cls=Command, epilog=EXAMPLES)
@workspace_option
@dsn_option
@click.option("--force", is_flag=True, help="Replace files that differ.")
@json_option
@click.pass_obj
def command(
    terminal: Terminal, /, workspace: str, dsn: str | None, *, force: bool, as_json: bool
) -> int:
    """
    Install SCC in a workspace.

    Writes the seed's three scripts and the verdict schema, .signoff/scc.toml
    and the registry of OIDs.  What is in order is not written again.

    Exit codes: 0 installed, 2 a different file is in the way, 4 a file could
    not be written.
    """
    place = found_workspace(workspace)
    settings_of(place)
    done = _installed(place, registry_place(place, terminal.env, dsn), force=force)
    if as_json:
        terminal.out.json(msgspec.json.encode(done))
        return Exit.DONE
    for path in done.written:
        terminal.out.line(f"{terminal.out.paint('wrote', 'good')} {path}")
    for path in done.unchanged:
        terminal.out.line(f"{terminal.out.paint('in order', 'quiet')} {path}")
    return Exit.DONE


def _installed(workspace: Workspace, place: str | Path, *, force: bool) -> Installed:
    try:
        return install(workspace, place, force=force)
    except InTheWay as exc:
        raise Refusal(
            f"{shown(exc.problems[0])}, so nothing was written",
            next_step="look at it, and --force replaces what differs",
        ) from exc
    except RegistryRefused as exc:
        raise Refusal(str(exc), next_step="--dsn names the registry that minted it") from exc
    except (DatabaseUnusable, NotInstalled) as exc:
        raise Refusal(str(exc), code=Exit.UNWRITTEN) from exc
    except OSError as exc:
        name = shown(str(exc.filename or workspace.root))
        raise Refusal(f"{name}: {reason(exc)}", code=Exit.UNWRITTEN) from exc
