"""
The command line: ``main`` for the shell, ``run`` for everyone else.

Whatever happens, a command ends with one sentence and an exit code; a traceback
is shown only where SIGNOFF_DEBUG asks for it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Final, NoReturn, TextIO

import click

from signoff.cli.commands import Commands
from signoff.cli.exits import Exit, Refusal
from signoff.cli.terminal import ByteReader, Terminal

__all__ = ["main", "run"]

COMPLETION: Final = "_SIGNOFF_COMPLETE"


def main() -> NoReturn:
    """Run the command in ``sys.argv`` and end the process with its exit code."""
    _open_standard_handles()
    # A shell asks without arguments; a variable that is left over must judge nothing away.
    if COMPLETION in os.environ and not sys.argv[1:]:
        sys.exit(_complete(os.environ[COMPLETION]))
    stdin = None if sys.stdin is None else sys.stdin.buffer
    try:
        code = run(sys.argv[1:], stdin, sys.stdout, sys.stderr)
    except KeyboardInterrupt:  # once more, while the first was being told
        code = Exit.INTERRUPTED
    sys.exit(code)


def run(
    argv: Sequence[str],
    stdin: ByteReader | None,
    stdout: TextIO | None,
    stderr: TextIO | None,
) -> int:
    """
    Run one command and return its exit code; never raises.

    Args:
        argv: The arguments, without the name of the program.
        stdin: Where ``-`` reads from; None when it is closed.
        stdout: Gets the answer.
        stderr: Gets notes, faults and progress.
    """
    terminal = Terminal(stdin, stdout, stderr, os.environ)
    code = _guarded(argv, terminal)
    try:
        terminal.flush()
    except Refusal as exc:
        terminal.err.line(f"signoff: {exc.message}")
        terminal.err.flush()
        return exc.code
    return code


def _guarded(argv: Sequence[str], terminal: Terminal) -> int:
    try:
        return _invoke(argv, terminal)
    except Refusal as exc:
        refusal = exc
    except click.UsageError as exc:
        if not argv:
            terminal.err.line(exc.format_message())
            return Exit.UNUSABLE
        refusal = _usage(exc)
    except KeyboardInterrupt:
        refusal = Refusal("interrupted, so there is no verdict", code=Exit.INTERRUPTED)
    except BaseException as exc:  # noqa: BLE001  one sentence instead of a traceback; and code that
        # a verifier brings may call for an exit, which must not be taken for a verdict
        refusal = _unexpected(exc, terminal)
    return _refuse(refusal, argv, terminal)


def _invoke(argv: Sequence[str], terminal: Terminal) -> int:
    group = Commands()
    try:
        with group.make_context("signoff", [*argv], obj=terminal) as ctx:
            code: int = group.invoke(ctx)
            terminal.flush()
            return code
    except click.exceptions.Exit as exc:
        return exc.exit_code


def _usage(exc: click.UsageError) -> Refusal:
    words = exc.format_message().split()  # choices come on lines of their own
    message = " ".join(words).rstrip(".")
    path = exc.ctx.command_path if exc.ctx else "signoff"
    return Refusal(
        message[:1].lower() + message[1:],
        next_step=f"{path} --help shows what can be asked",
    )


def _unexpected(exc: BaseException, terminal: Terminal) -> Refusal:
    from signoff.jsonvalue import shown  # only now: most commands bring it, --help does not

    if terminal.env.get("SIGNOFF_DEBUG"):
        import traceback

        terminal.err.write(traceback.format_exc())
    text = shown(str(exc))
    return Refusal(
        f"stopped by an unexpected {type(exc).__name__}{f' ({text})' if text else ''}",
        code=Exit.UNWRITTEN if terminal.is_writing else Exit.UNUSABLE,
        next_step="this is a fault of signoff; SIGNOFF_DEBUG=1 shows where it happened",
    )


def _refuse(refusal: Refusal, argv: Sequence[str], terminal: Terminal) -> int:
    from signoff.cli.refusal_text import as_json, as_lines  # only when something is wrong

    try:
        if "--json" in argv and not terminal.out.is_lost:
            terminal.out.json(as_json(refusal))
        else:
            for line in as_lines(refusal, terminal.err):
                terminal.err.line(line)
    except Refusal as exc:
        return exc.code
    return refusal.code


def _complete(instruction: str) -> int:
    from click.shell_completion import shell_complete  # only a shell asks for it

    return shell_complete(Commands(), {}, "signoff", COMPLETION, instruction)


def _open_standard_handles() -> None:
    """A closed standard stream would lend its number to the next file that is opened."""
    for handle in range(3):
        try:
            os.fstat(handle)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
