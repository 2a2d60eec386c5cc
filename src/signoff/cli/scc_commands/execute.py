"""``signoff scc execute``: an executor in an isolated checkout, and the record of what it did."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

import click
import msgspec

from signoff.cli.commands import Command
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
from signoff.sandbox import Sandbox
from signoff.scc.execute import ExecuteRefused, ExecuteRequest, execute
from signoff.scc.execution_record import Executed
from signoff.scc.lock import LockHeld
from signoff.scc.store import open_registry

__all__ = ["command"]

EXAMPLES: Final = """\b
Examples:
  signoff scc execute --contract c.json -- my-agent --quiet
  signoff scc execute --contract c.json --allow-net -- python tools/fix.py
"""


@click.command("execute", cls=Command, epilog=EXAMPLES)
@click.option("--contract", required=True, help="Path of the contract in the workspace, or OID.")
@click.option("--allow-net", is_flag=True, help="The executor may use the network.")
@workspace_option
@dsn_option
@click.argument("program", nargs=-1, required=True, type=click.UNPROCESSED)
@click.pass_obj
def command(
    terminal: Terminal,
    /,
    contract: str,
    workspace: str,
    dsn: str | None,
    program: tuple[str, ...],
    *,
    allow_net: bool,
) -> int:
    """
    Run an executor in an isolated checkout, and record what it did.

    It gets the contract on standard input and works on the commit that the
    contract names, or HEAD.  The workspace is not changed: the work is a patch
    beside the record, in .signoff/scc/records.  Prints one line of JSON.

    Exit codes: 0 recorded, 1 the executor failed or broke a rule, 2 unusable,
    4 the record could not be written.
    """
    place = found_workspace(workspace)
    settings_of(place)
    try:
        registry = open_registry(registry_place(place, terminal.env, dsn))
    except (DatabaseUnusable, NotInstalled) as exc:
        raise _unwritten(str(exc)) from exc
    with registry, Sandbox(min_isolation="L0") as sandbox:
        executed = _executed(
            ExecuteRequest(
                workspace=place,
                contract=contract,
                argv=program,
                allow_net=allow_net,
                env=terminal.env,
                registry=registry,
                clock=lambda: datetime.now(UTC),
                sandbox=sandbox,
            )
        )
    if executed.reason:
        terminal.err.line(f"signoff: {shown(executed.reason, 1_000)}")
        _tell_where(terminal, executed)
    terminal.out.json(msgspec.json.encode(executed))
    return Exit.DONE if executed.ok else Exit.FAILED


def _tell_where(terminal: Terminal, executed: Executed) -> None:
    """Where a person finds what the executor said."""
    if executed.record:
        folder = executed.record.rpartition("/")[0]
        terminal.note(f"what it printed is in {shown(folder)}/{executed.executor_run_id}")


def _executed(request: ExecuteRequest) -> Executed:
    try:
        return execute(request)
    except ExecuteRefused as exc:
        raise Refusal(shown(str(exc), 1_000)) from exc
    except LockHeld as exc:
        raise Refusal(str(exc), next_step="wait until that has ended") from exc
    except (DatabaseUnusable, RegistryRefused) as exc:
        raise _unwritten(str(exc)) from exc
    except OSError as exc:
        name = shown(str(exc.filename or ""))
        raise _unwritten(f"{name}: {reason(exc)}" if name else reason(exc)) from exc


def _unwritten(why: str) -> Refusal:
    return Refusal(f"no record was written: {why}", code=Exit.UNWRITTEN)
