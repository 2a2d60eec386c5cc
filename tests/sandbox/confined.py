"""Commands run at a given level; those that this machine lacks are named."""

from __future__ import annotations

import atexit
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from signoff.model import Isolation
from signoff.sandbox import Sandbox
from signoff.sandbox.command import Command, Completed, Ended, Limits
from tests.sandbox.given import absent

LEVELS: tuple[Isolation, ...] = ("L3", "L2", "L1")
CONFINING: tuple[Isolation, ...] = ("L3", "L2")
PATIENCE = Limits(timeout_s=30.0)


@cache
def sandbox(level: Isolation) -> Sandbox:
    """One for all tests, since each has to find out what the machine gives."""
    made = Sandbox(level=level)
    atexit.register(made.close)
    return made


@cache
def lacks(level: Isolation) -> str:
    """What this machine lacks for a level; "" when it has it."""
    report = next(one for one in sandbox(level).survey() if one.level == level)
    return "" if report.available else "; ".join(report.missing).removeprefix(f"{level}: ")


def need(level: Isolation) -> None:
    """Ends the test where the level is not to be had."""
    if why := lacks(level):
        absent(level, why)


@contextmanager
def ran(level: Isolation, *argv: str, **more: Any) -> Iterator[Completed]:
    """A command that has ended; its workspace is readable inside."""
    need(level)
    with sandbox(level).run(Command(argv=argv, **{"limits": PATIENCE, **more})) as done:
        yield done


def python(level: Isolation, program: str, **more: Any) -> str:
    """What a program printed, which must end well."""
    with ran(level, sys.executable, "-I", "-c", program, **more) as done:
        assert (Ended.EXITED, 0) == (done.ended, done.exit_code), (done.reason, said(done))
        assert level == done.isolation
        return done.stdout.head.decode()


def said(done: Completed) -> str:
    """What a command printed as an error."""
    return done.stderr.head.decode(errors="replace")


def workspace(folder: Path) -> Path:
    """A folder with a file and a folder in it."""
    made = folder / "work"
    (made / "inner").mkdir(parents=True)
    (made / "file").write_text("as it was")
    (made / "inner" / "deep").write_text("deep")
    return made


def content(folder: Path) -> dict[str, str]:
    """All files beneath a folder, by their names."""
    return {
        str(path.relative_to(folder)): path.read_text()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def is_root() -> bool:
    """Some of what is tested needs another user than the one who runs this."""
    return os.getuid() == 0
