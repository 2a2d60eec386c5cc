"""The names of areas, tasks and runs, and the workspace-relative paths that are made of them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Final

from signoff.jsonvalue import shown

__all__ = [
    "GATE_REPORT",
    "MAX_NAME",
    "REPORTS",
    "RUNS",
    "STATE",
    "clash",
    "is_run_id",
    "log_name",
    "mirror_path",
    "name_fault",
    "pointer_path",
    "report_path",
    "run_id_of",
    "run_path",
]

MAX_NAME: Final = 128
MAX_LOG_NAME: Final = 60
RUNS: Final = "artifacts/scc_runs"
REPORTS: Final = "docs/REPORT"
GATE_REPORT: Final = "mvm/verdict/verdict.json"
STATE: Final = ".signoff"

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
_RUN_ID: Final = re.compile(r"(\d{8}-\d{6})-[0-9a-f]{8}")
_DEVICE: Final = re.compile(r"(?:con|prn|aux|nul|conin\$|conout\$|com[0-9]|lpt[0-9])(?:\..*)?")
_ODD: Final = re.compile(r"[^A-Za-z0-9._-]")


def name_fault(text: str) -> str | None:
    """
    What is wrong with the name of an area, a TaskCode or a task_id; None if nothing is.

    A bad name is refused and never rewritten: two names that are rewritten can
    come out as one.
    """
    if not text:
        return "is empty"
    if len(text) > MAX_NAME:
        return f"has {len(text)} characters, expected at most {MAX_NAME}"
    if not _NAME.fullmatch(text):
        return (
            f'"{shown(text)}" must be letters, digits, ".", "_" and "-", beginning with a letter '
            "or a digit"
        )
    if text.endswith("."):
        return f'"{text}" ends in "."'
    if _DEVICE.fullmatch(text.lower()):
        return f'"{text}" is the name of a device'
    return None


def clash(name: str, present: Iterable[str]) -> str | None:
    """A name that is there already and differs in nothing but the case of its letters, or None."""
    folded = name.lower()
    return next((one for one in present if one != name and one.lower() == folded), None)


def run_id_of(started: datetime, random: bytes) -> str:
    """
    The run_id of a run.

    Args:
        started: The one reading of the clock that feeds every date and name of the run.
        random: Four random bytes.
    """
    return f"{started.astimezone(UTC):%Y%m%d-%H%M%S}-{random[:4].hex():0>8}"


def is_run_id(text: str) -> bool:
    """The text is ``YYYYMMDD-HHMMSS-`` and eight lower-case hex digits, with a date that exists."""
    found = _RUN_ID.fullmatch(text)
    if found is None or not text.isascii():
        return False
    try:
        datetime.strptime(found[1], "%Y%m%d-%H%M%S").replace(tzinfo=UTC)
    except ValueError:
        return False
    return True


def run_path(run_id: str) -> str:
    """The run output directory."""
    return f"{RUNS}/{run_id}"


def mirror_path(area: str, task_code: str) -> str:
    """The artifacts directory: the mirror of the latest run of a TaskCode."""
    return f"{REPORTS}/{area}/artifacts/{task_code}"


def pointer_path(area: str, task_id: str) -> str:
    """The stable pointer of a task."""
    return f"{REPORTS}/{area}/artifacts/{task_id}/verdict.json"


def report_path(area: str, task_code: str, started: datetime) -> str:
    """The report of a TaskCode, dated by the run's reading of the clock."""
    return f"{REPORTS}/{area}/REPORT__{task_code}__{started.astimezone(UTC):%Y%m%d}.md"


def log_name(position: int, check: str, stream: str) -> str:
    """
    The name of a check's log, which leads nowhere whatever the check is called.

    Args:
        position: Of the check in the contract, from 1.
        check: Its name.
        stream: ``stdout`` or ``stderr``.
    """
    return f"{position:03d}_{_ODD.sub('_', check)[:MAX_LOG_NAME]}.{stream}.txt"
