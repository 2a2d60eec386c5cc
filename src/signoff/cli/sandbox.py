"""``signoff sandbox``: which isolation this machine gives, and one command run in it."""

from __future__ import annotations

from typing import Any, Final

import click
import msgspec
from msgspec.structs import replace

from signoff.cli.choosing import Choice, choosing
from signoff.cli.commands import Command, FileName, json_option
from signoff.cli.exits import Exit, Refusal
from signoff.cli.recording import open_workspace
from signoff.cli.terminal import Terminal
from signoff.command_settings import LateSandbox
from signoff.jsonvalue import shown
from signoff.model import Isolation
from signoff.sandbox.command import DEFAULT_TIMEOUT_S, Captured, Completed, Ended
from signoff.sandbox.command import Command as Job
from signoff.sandbox.levels import LevelReport

__all__ = ["command"]

ASKABLE: Final = ("L1", "L2", "L3")
MAX_TIMEOUT_S: Final = 86_400.0
WHY: Final = {
    Ended.TIMED_OUT: "its time was up",
    Ended.OUTPUT_LIMIT: "it printed more than it may",
    Ended.MEMORY_LIMIT: "it used more memory than it may",
    Ended.DISK_LIMIT: "it wrote more than it may",
    Ended.CANCELLED: "it was interrupted",
}

EXAMPLES: Final = """\b
Examples:
  signoff sandbox check
  signoff sandbox check --min-isolation L3    exit code 1 where that is lacking
  signoff sandbox run -- python -c "print(1)"
  signoff sandbox run --workspace . --min-isolation L2 -- make test
"""


class Seconds(click.FloatRange):
    """A number of seconds; what is no number compares with no bound, and is none."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        found: float = super().convert(value, param, ctx)
        if found != found:  # noqa: PLR0124  so only of what is no number
            self.fail(f"{value} is no number of seconds.", param, ctx)
        return found


@click.command("sandbox", cls=Command, epilog=EXAMPLES)
@click.argument("action", metavar="check|run", type=click.Choice(["check", "run"]))
@click.argument("argv", nargs=-1, type=click.UNPROCESSED)
@click.option(
    "--min-isolation",
    type=click.Choice(ASKABLE),
    default="L1",
    help="The lowest level of isolation that will do; L1 when absent.",
)
@click.option("--workspace", type=FileName(), help="Folder that the command works on, unchanged.")
@click.option("--network", is_flag=True, help="The command may use the network.")
@click.option(
    "--timeout",
    "timeout_s",
    metavar="SECONDS",
    type=Seconds(0, MAX_TIMEOUT_S, min_open=True),
    default=DEFAULT_TIMEOUT_S,
    help="When the command is ended; 600 when absent.",
)
@choosing(verifiers=False)
@json_option
@click.pass_obj
def command(
    terminal: Terminal,
    /,
    action: str,
    argv: tuple[str, ...],
    *,
    choice: Choice,
    min_isolation: Isolation,
    workspace: str | None,
    network: bool,
    timeout_s: float,
    as_json: bool,
) -> int:
    """
    Show which isolation there is, or run one command in it.

    "check" runs something at each level and says what is missing and how to get
    it.  "run" runs the program behind "--" as checks run theirs: by the
    [commands] of the configuration, with an environment of its own, nothing on
    standard input, on a throw-away copy of the workspace.

    Exit codes: that of the command; or 0 shown, 1 there is no such isolation, or
    the command could not be started or was ended, 2 the request was unusable.
    """
    with choice.sandbox(min_isolation=min_isolation) as sandbox:
        if action == "check":
            if argv:
                raise click.UsageError("check takes no command")
            return _check(terminal, sandbox, min_isolation, as_json=as_json)
        folder = None if workspace is None else open_workspace(workspace)
        choice.require_trusted(folder)
        limits = replace(sandbox.limits, timeout_s=timeout_s)
        try:
            place = None if folder is None else str(folder)
            job = Job(argv=argv, workspace=place, network=network, limits=limits)
            with sandbox.run(job) as done:
                return _ran(terminal, done, as_json=as_json)
        except ValueError as exc:
            raise Refusal(
                str(exc), next_step="write the program and its arguments behind --"
            ) from exc


def _check(terminal: Terminal, sandbox: LateSandbox, wanted: Isolation, *, as_json: bool) -> int:
    levels = sandbox.survey()
    used = next((one.level for one in levels if one.available), None)
    if as_json:
        document = {"used": used, "levels": [msgspec.to_builtins(one) for one in levels]}
        terminal.out.json(msgspec.json.format(msgspec.json.encode(document), indent=2))
    else:
        for one in levels:
            _print_level(terminal, one, is_used=one.level == used)
    return Exit.DONE if used is not None and used >= wanted else Exit.FAILED


def _print_level(terminal: Terminal, one: LevelReport, *, is_used: bool) -> None:
    out = terminal.out
    state = "used" if is_used else "available" if one.available else "missing"
    colour = "good" if one.available else "odd"
    out.line(f"{one.level}  {out.paint(f'{state:<9}', colour)}  {one.means}")
    for sentence in one.missing:
        out.line(f"    lacks: {sentence.removeprefix(f'{one.level}: ')}")
    if one.remedy:
        out.line(f"    to get it: {one.remedy}")


def _ran(terminal: Terminal, done: Completed, *, as_json: bool) -> int:
    if as_json:
        terminal.out.json(msgspec.json.format(msgspec.json.encode(_facts(done)), indent=2))
    else:
        _print_output(terminal, done)
    return done.exit_code if done.exit_code is not None else Exit.FAILED


def _print_output(terminal: Terminal, done: Completed) -> None:
    for screen, captured in ((terminal.out, done.stdout), (terminal.err, done.stderr)):
        screen.write(_text(captured))
        screen.flush()
    if done.left_processes:
        terminal.note(f"{done.left_processes} processes that it had left behind were killed")
    if done.exit_code is None:
        terminal.err.line(f"signoff: {_why(done)}")


def _why(done: Completed) -> str:
    if done.ended is Ended.SIGNALED:
        return f"the command was ended by {done.signal}"
    if done.ended in WHY:
        return f"the command was ended: {WHY[done.ended]}"
    return done.reason or f"the command was not run ({done.ended.value})"


def _text(captured: Captured) -> str:
    head, tail = (part.decode("utf-8", "replace") for part in (captured.head, captured.tail))
    gap = f"\n... {captured.omitted} bytes are left out here ...\n" if captured.omitted else ""
    return head + gap + tail


def _facts(done: Completed) -> dict[str, Any]:
    streams = {"stdout": done.stdout, "stderr": done.stderr}
    return {
        "ended": done.ended.value,
        "exit_code": done.exit_code,
        "signal": done.signal,
        "elapsed_s": round(done.elapsed_s, 3),
        "isolation": done.isolation,
        "missing": done.missing,
        "reason": shown(done.reason),
        "left_processes": done.left_processes,
        **{
            name: {"text": _text(one), "size": one.size, "digest": one.digest}
            for name, one in streams.items()
        },
    }
