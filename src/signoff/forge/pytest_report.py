"""The JUnit report of a run: where it is, and whether this run wrote it."""

from __future__ import annotations

import os
from itertools import pairwise
from typing import Final

from msgspec import Struct

from signoff.document import read_bytes
from signoff.errors import DocumentError, ReportError
from signoff.junit_report import MAX_REPORT_BYTES, JUnitReport, read_report

__all__ = ["Read", "ReportAt", "named_report", "starts_pytest"]

_OPTIONS: Final = ("--junitxml", "--junit-xml")
_PROGRAMS: Final = ("pytest", "py.test", "pytest.exe", "py.test.exe")

_State = tuple[int, int, int, int] | None


class Read(Struct, frozen=True, kw_only=True):
    """
    What was found where a report should be.

    Args:
        report: What it says; None without one that can be read.
        problem: Why one that is there cannot be read, else ``""``.
    """

    report: JUnitReport | None = None
    problem: str = ""


class ReportAt:
    """
    The place of a report, before the run.

    Args:
        path: Absolute path of the file.
        named: The command names it, so it may be there already, from another run.
    """

    def __init__(self, path: str, *, named: bool = False) -> None:
        self.path = path
        self.named = named
        self._before = _state(path)

    def read(self) -> Read:
        """What is there after the run; a file that is as it was before is no report of it."""
        now = _state(self.path)
        if now is None or now == self._before:
            return Read()
        try:
            return Read(report=read_report(read_bytes(self.path, max_bytes=MAX_REPORT_BYTES)))
        except (DocumentError, ReportError) as exc:
            return Read(problem=str(exc).replace(self.path, "the report"))


def named_report(argv: tuple[str, ...], folder: str) -> ReportAt | None:
    """The report that a command line names for itself, None if it names none."""
    if not starts_pytest(argv):
        return None
    found = ""
    for index, item in enumerate(argv):
        option, equals, path = item.partition("=")
        if option in _OPTIONS:
            found = path if equals else argv[index + 1] if index + 1 < len(argv) else ""
    if not found:
        return None
    return ReportAt(os.path.join(folder, os.path.expanduser(found)), named=True)  # noqa: PTH111, PTH118  as pytest does


def starts_pytest(argv: tuple[str, ...]) -> bool:
    """A command line starts pytest: by its name, or as a module of Python."""
    if os.path.basename(argv[0]) in _PROGRAMS:  # noqa: PTH119  a text, which may be no path
        return True
    pairs = pairwise(argv)
    return ("-m", "pytest") in pairs or "-mpytest" in argv


def _state(path: str) -> _State:
    """What tells a file from one that was written anew; None where there is no file."""
    try:
        facts = os.stat(path)  # noqa: PTH116  a text, like all paths of commands
    except (OSError, ValueError):
        return None
    return facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns
