"""How the benchmarks are shown: a table for people, a document for programs."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import Struct

from benchmarks.row import Row
from benchmarks.timing import Measured
from signoff import __version__

__all__ = ["Outcome", "document", "heading", "line", "surroundings"]

PACKAGES: Final = (
    "msgspec",
    "jsonschema-rs",
    "google-re2",
    "jsonschema",
    "orjson",
    "rfc8785",
    "uvicorn",
    "uvloop",
    "httptools",
)

TOOLS: Final = ("node", "cargo")


class Outcome(Struct, frozen=True, kw_only=True):
    """
    What came of a row.

    Args:
        row: The row.
        measured: What was measured; None where the row could not be run.
        note: What a reader must know.
        agreed: Both sides answered the same.
    """

    row: Row
    measured: Measured | None = None
    note: str = ""
    agreed: bool = True


def surroundings() -> dict[str, str]:
    """The machine and the versions that the numbers belong to."""
    packages = [f"{name} {_version(name)}" for name in PACKAGES]
    load = "/".join(f"{value:.1f}" for value in os.getloadavg())
    return {
        "machine": f"{_processor()}, {os.cpu_count()} cores, load {load}",
        "system": f"{platform.system()} {platform.machine()}, "
        f"{platform.python_implementation()} {platform.python_version()}",
        "versions": ", ".join([f"signoff {__version__}", *packages]),
        "tools": ", ".join(f"{name} {_tool(name)}" for name in TOOLS),
    }


def heading() -> str:
    """The head of the table."""
    return _columns("row", "ours", "peer", "ratio", "spread", "aim", "", "ours against peer; note")


def line(outcome: Outcome) -> str:
    """One row of the table."""
    row, measured = outcome.row, outcome.measured
    aim = "" if row.aim is None else f"<= {row.aim:g}"
    about = "; ".join(filter(None, (f"{row.ours} / {row.peer}", _cpu(measured), outcome.note)))
    if measured is None:
        return _columns(row.name, "-", "-", "-", "-", aim, "", about)
    return _columns(
        row.name,
        _time(measured.ours_s),
        _time(measured.peer_s),
        _ratio(measured.ratio),
        f"{_ratio(measured.low)} to {_ratio(measured.high)}",
        aim,
        _reached(row.aim, measured),
        about,
    )


def document(outcomes: Iterable[Outcome]) -> bytes:
    """The same as JSON; times in seconds of one call."""
    rows = [
        {
            "row": outcome.row.name,
            "ours": outcome.row.ours,
            "peer": outcome.row.peer,
            "aim": outcome.row.aim,
            "note": outcome.note,
            "agreed": outcome.agreed,
            "measured": outcome.measured,
        }
        for outcome in outcomes
    ]
    whole: dict[str, Any] = {"surroundings": surroundings(), "rows": rows}
    return msgspec.json.format(msgspec.json.encode(whole), indent=2)


def _columns(*cells: str) -> str:
    return "{:<22} {:>9} {:>9} {:>7}  {:<14}  {:<6} {:<4} {}".format(*cells).rstrip()


def _reached(aim: float | None, measured: Measured) -> str:
    if aim is None:
        return ""
    return "yes" if measured.ratio <= aim else "no"


def _cpu(measured: Measured | None) -> str:
    if measured is None or measured.cpu_ratio is None:
        return ""
    return f"processor time {_ratio(measured.cpu_ratio)} times the peer's"


def _ratio(value: float) -> str:
    return f"{value:.3f}" if value < 0.1 else f"{value:.2f}" if value < 10 else f"{value:.1f}"


def _time(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds / 1e-9:.0f} ns"


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "absent"


def _tool(name: str) -> str:
    program = shutil.which(name)
    if program is None:
        return "absent"
    said = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
    return said.stdout.strip().removeprefix(name).strip() or "of no known version"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        lines = []
    names = (found.partition(":")[2].strip() for found in lines if found.startswith("model name"))
    return next(names, platform.processor() or "unknown processor")
