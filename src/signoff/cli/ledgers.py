"""
Ledgers as commands use them: opened, or refused in one sentence.

What keeps a ledger is imported only where one is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final

import click

from signoff.cli.commands import FileName
from signoff.cli.exits import Exit, Refusal
from signoff.errors import DatabaseUnusable, LedgerCorrupt, NotInstalled
from signoff.jsonvalue import shown
from signoff.model import Report

__all__ = ["LEDGER", "ledger_options", "reading_ledger", "record", "require_ledger"]

LEDGER: Final = ".signoff/ledger.sqlite3"
MAX_PATH: Final = 4096


def ledger_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Options of a command that records its verdict: ``ledger`` and ``subject``."""
    ledger = click.option(
        "--ledger",
        type=FileName(),
        metavar="PATH|DSN",
        help="Record the verdict in a ledger: a file, or postgresql://...",
    )
    subject = click.option(
        "--subject", metavar="NAME", help="Record it under a name, such as a task's."
    )
    return ledger(subject(function))


def require_ledger(
    place: str | None, *, subject: str | None, read: Iterable[str], out: str | None
) -> None:
    """
    Nothing, if the verdict can be recorded as far as can be known before it is reached.

    Args:
        place: The ledger; None when none was asked for.
        subject: The name to record it under.
        read: The files that are read, of which none is the ledger.
        out: The folder of the run, which holds nothing else.

    Raises:
        Refusal: It cannot.
    """
    if place is None:
        if subject is not None:
            raise click.UsageError("--subject goes with --ledger")
        return
    if subject is not None and not (subject.isprintable() and subject):
        raise Refusal(
            f'--subject must be a line of text, got "{shown(subject)}"',
            next_step="give it a name, such as that of the task",
        )
    from signoff.cli.outfile import require_apart, require_outside  # dear at start-up

    require_apart(place, read, option="--ledger")
    if out:
        require_outside(out, [place])
    _writing(place).close()


def record(place: str | None, report: Report, *, subject: str | None, out: str | None) -> str:
    """
    Keep a verdict that was reached, where there is a ledger; what a person should know of it.

    Raises:
        Refusal: It was not kept.
    """
    if place is None:
        return ""
    from signoff.record import encode_report  # dear at start-up

    run = shown(str(Path(out).absolute()), MAX_PATH) if out else ""
    try:
        with _writing(place) as ledger:
            head = ledger.record(report, encode_report(report), subject=subject or "", run=run)
            return f"{ledger.name} keeps it; its head is now {head}"
    except (DatabaseUnusable, LedgerCorrupt, ValueError) as exc:
        raise _unwritten(exc) from exc


def reading_ledger(place: str) -> Any:
    """
    The ledger at a place, which is not changed.

    Raises:
        Refusal: It is not there, or cannot be read.
    """
    from signoff.ledger import open_ledger  # dear at start-up

    try:
        return open_ledger(place, may_write=False)
    except (DatabaseUnusable, NotInstalled) as exc:
        raise Refusal(str(exc), next_step="name the ledger with --ledger") from exc


def _writing(place: str) -> Any:
    from signoff.ledger import open_ledger  # dear at start-up

    try:
        return open_ledger(place)
    except NotInstalled as exc:
        raise Refusal(str(exc)) from exc
    except DatabaseUnusable as exc:
        raise _unwritten(exc) from exc


def _unwritten(exc: Exception) -> Refusal:
    return Refusal(
        str(exc),
        code=Exit.UNWRITTEN,
        next_step="nothing that reads as a pass was left; free the place or name another ledger",
    )
