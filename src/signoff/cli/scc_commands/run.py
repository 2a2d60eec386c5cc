"""``signoff scc run``: the verifier, from the contract to the published verdict."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, Final

import click
import msgspec

from signoff.cli.commands import Command, FileName
from signoff.cli.exits import Exit, Refusal
from signoff.cli.scc_commands.place import found_workspace, workspace_option
from signoff.cli.terminal import Terminal
from signoff.dialects.scc.settings import PATH as SETTINGS
from signoff.dialects.scc.verdict import FailClass
from signoff.errors import SignoffError
from signoff.folder import reason
from signoff.jsonvalue import shown
from signoff.sandbox import Sandbox
from signoff.scc.run import LockHeld, RunEnded, RunRefused, RunRequest, run

__all__ = ["command"]

EXAMPLES: Final = """\b
Examples:
  signoff scc run --contract c.json --area control_plane --taskcode T1
  signoff scc run --contract c.json                  TaskCode and area by default
"""
SIGNALS: Final = ("SIGINT", "SIGTERM", "SIGHUP")


@click.command("run", cls=Command, epilog=EXAMPLES)
@click.option("--contract", required=True, help="Path of the contract in the workspace, or OID.")
@click.option("--area", help="Report group; that of the settings if absent.")
@click.option("--taskcode", help="Name to file under; the contract's task_id if absent.")
@workspace_option
@click.option("--record", type=FileName(), help="The executor's record, in the workspace.")
@click.option("--fail-fast", is_flag=True, help="Start no check after the first that fails.")
@click.option("--strict", is_flag=True, help="Count every warning as a failure.")
@click.pass_obj
def command(
    terminal: Terminal,
    /,
    contract: str,
    area: str | None,
    taskcode: str | None,
    *,
    workspace: str,
    record: str | None,
    fail_fast: bool,
    strict: bool,
) -> int:
    """
    Judge a workspace by a contract, and publish the verdict.

    Prints one line for each check, then one line of JSON.

    Exit codes: 0 PASS, 1 FAIL, 2 the request or the contract was unusable,
    4 a verdict could not be removed or written.
    """
    place = found_workspace(workspace)
    with Sandbox(min_isolation="L0") as sandbox, _stoppable() as on_step:
        request = RunRequest(
            workspace=place,
            contract=contract,
            area=area,
            task_code=taskcode,
            record=record,
            fail_fast=fail_fast,
            strict=strict,
            env=terminal.env,
            clock=lambda: datetime.now(UTC),
            sandbox=sandbox,
            on_step=on_step,
        )
        ended = _ended(request)
    _print(terminal, ended)
    return ended.code


def _ended(request: RunRequest) -> RunEnded:
    try:
        return run(request)
    except RunRefused as exc:
        raise Refusal(str(exc)) from exc
    except LockHeld as exc:
        raise Refusal(str(exc), next_step="wait until that run has ended") from exc
    except KeyboardInterrupt as exc:
        raise Refusal("interrupted before anything was judged", code=Exit.FAILED) from exc
    except OSError as exc:
        name = shown(str(exc.filename or ""))
        text = f"{name}: {reason(exc)}" if name else reason(exc)
        raise _unwritten(text) from exc
    except SignoffError as exc:
        raise _unwritten(shown(str(exc), 1_000)) from exc


def _unwritten(why: str) -> Refusal:
    return Refusal(f"no verdict was written: {why}", code=Exit.UNWRITTEN)


@contextmanager
def _stoppable() -> Iterator[Any]:
    """A ``with`` in which signals end the run as a FAIL, once, and not while it is published."""
    stopper = _Stopper()
    before = {name: signal.signal(getattr(signal, name), stopper) for name in SIGNALS}
    try:
        yield stopper.on_step
    finally:
        for name, handler in before.items():
            signal.signal(getattr(signal, name), handler)


class _Stopper:
    """Turns the first signal into an interruption; later ones would interrupt its telling."""

    def __init__(self) -> None:
        self._listens = True

    def __call__(self, *_: object) -> None:
        if self._listens:
            self._listens = False
            raise KeyboardInterrupt

    def on_step(self, step: str) -> None:
        """From when the verdict is settled on, it is published whatever comes."""
        if step == "publish":
            self._listens = False


def _why(ended: RunEnded) -> str:
    """Why it is no PASS, with the check that it is about."""
    first = next((one for one in ended.checks if one.status == "fail"), None)
    if first is None or first.reason != ended.reason:
        return ended.reason
    return f"{first.name}: {ended.reason}"


def _print(terminal: Terminal, ended: RunEnded) -> None:
    for one in ended.checks:
        style = {"pass": "good", "fail": "bad"}.get(one.status, "quiet")
        why = f": {one.fail_class}" if one.fail_class else ""
        said = f" ({shown(one.reason)})" if one.reason else ""
        terminal.out.line(f"{terminal.out.paint(one.status, style)} {one.name}{why}{said}")
    if ended.reason:
        terminal.err.line(f"signoff: {shown(_why(ended), 4_000)}")
    if SETTINGS in ended.reason and ended.fail_class == FailClass.COMMAND_DENIED.value:
        terminal.note(f"settings of your own count once {SETTINGS} is committed")
    for text in ended.warnings:
        terminal.note(shown(text))
    document = {
        "ok": ended.verdict == "PASS",
        "verdict": ended.verdict,
        "fail_class": ended.fail_class,
        "exit_code": ended.exit_code,
        "task_id": ended.task_id,
        "task_code": ended.task_code,
        "run_dir": ended.run_dir,
        "artifacts_dir": ended.artifacts_dir,
    }
    terminal.out.json(msgspec.json.encode(document))
