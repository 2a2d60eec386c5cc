"""
The triplet of a run as text: its report, ``selftest.log`` and ``evidence_hashes.json``.

Each is written by one function and read by another, and neither touches a disk.
Nothing that a program printed gets into any of them, and no name in them can begin
a line of its own.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Final

import msgspec
from msgspec import Struct

from signoff.dialects.scc.verdict import VerdictDocument
from signoff.errors import JSONError
from signoff.jsonvalue import shown
from signoff.strictjson import Limits, loads

__all__ = [
    "HASHES",
    "MAX_TRIPLET_BYTES",
    "NOT_HASHED",
    "SELFTEST",
    "Measured",
    "ReportText",
    "Selftest",
    "TestLine",
    "TripletFacts",
    "TripletInvalid",
    "hashes_bytes",
    "is_date",
    "read_hashes",
    "read_report",
    "read_selftest",
    "report_bytes",
    "selftest_bytes",
]

SELFTEST: Final = "selftest.log"
HASHES: Final = "evidence_hashes.json"
NOT_HASHED: Final = frozenset((HASHES, "verdict.json", "pointer.json"))
"""At the top of a mirror: what ``evidence_hashes.json`` does not list."""
MAX_TRIPLET_BYTES: Final = 64 * 2**20

_LIMITS: Final = Limits(max_bytes=MAX_TRIPLET_BYTES, max_depth=64)
_PATHS: Final = "## Evidence Paths"
_NOTES: Final = "## Notes"
_BULLETS: Final = ("TaskCode", "Area", "Date", "Run", "Verdict")
_PLAIN: Final = re.compile(r"[^\x00-\x20\x7f`\"][^\x00-\x1f\x7f`\x85\u2028\u2029]*")
_EXIT: Final = re.compile(r"EXIT_CODE=(-?[0-9]{1,10})")
_EXIT_LIKE: Final = re.compile(r"\s*EXIT_CODE\s*=", re.IGNORECASE)
_SHA256: Final = re.compile(r"[0-9a-f]{64}")
_MENTION: Final = re.compile(r"docs[/\\]+REPORT[/\\][^\s`\"'<>()\[\]|]*", re.IGNORECASE)


class TripletInvalid(ValueError):
    """A text is none that the verifier writes, with the reason."""


class TestLine(Struct, frozen=True, kw_only=True):
    """
    What became of one criterion.

    Args:
        id: Its id.
        status: ``pass``, ``fail``, ``not_run`` and so on.
        codes: Why, such as a fail class or codes of the guard.
    """

    id: str
    status: str
    codes: tuple[str, ...] = ()


class TripletFacts(Struct, frozen=True, kw_only=True):
    """
    What the texts say of a run.

    Args:
        run_id: Of the run.
        task_code: Under which it is filed.
        area: In which it is filed.
        started: The run's reading of the clock.
        verdict: What it came to.
        lines: One for each criterion.
        notes: For people, each one line.
    """

    run_id: str
    task_code: str
    area: str
    started: datetime
    verdict: VerdictDocument
    lines: tuple[TestLine, ...] = ()
    notes: tuple[str, ...] = ()


class Measured(Struct, frozen=True):
    """Digest, 64 hex digits, and size of a file."""

    sha256: str
    size: int


class Selftest(Struct, frozen=True, kw_only=True):
    """
    What a ``selftest.log`` says.

    Args:
        ts_utc: When.
        run_id: Of which run.
        lines: One for each criterion.
        exit_code: None where its last line is not the only one that gives one.
    """

    ts_utc: str
    run_id: str
    lines: tuple[TestLine, ...]
    exit_code: int | None


class ReportText(Struct, frozen=True, kw_only=True):
    """
    What a report says.

    Args:
        heading: Without the ``#``.
        facts: The bullets above the first section.
        paths: What stands under Evidence Paths.
        mentioned: Paths below docs/REPORT that its text names anywhere else.
    """

    heading: str
    facts: dict[str, str]
    paths: tuple[str, ...]
    mentioned: tuple[str, ...]


def selftest_bytes(run: TripletFacts) -> bytes:
    """The bytes of ``selftest.log``; ids stand in it as JSON strings."""
    lines = [
        f"TS_UTC={run.verdict.generated_utc}",
        f"RUN_ID={run.run_id}",
        *(_test_line(line) for line in run.lines),
        f"EXIT_CODE={run.verdict.exit_code}",
    ]
    return "".join(f"{line}\n" for line in lines).encode()


def read_selftest(data: bytes) -> Selftest:
    """What a ``selftest.log`` says; whatever is no line of it counts as nothing."""
    texts = data.decode("utf-8", "replace").splitlines()
    filled = [text for text in texts if text.strip()]
    last = _EXIT.fullmatch(filled[-1]) if filled else None
    exits = sum(_EXIT_LIKE.match(text) is not None for text in texts)
    return Selftest(
        ts_utc=_first(texts, "TS_UTC="),
        run_id=_first(texts, "RUN_ID="),
        lines=tuple(found for text in texts if (found := _read_line(text)) is not None),
        exit_code=int(last[1]) if last and exits == 1 else None,
    )


def report_bytes(run: TripletFacts, paths: Iterable[str]) -> bytes:
    """
    The bytes of the report.

    Args:
        run: What it is about.
        paths: Every file of the mirror, relative to the workspace.
    """
    facts = (
        run.task_code,
        run.area,
        f"{run.started.astimezone(UTC):%Y%m%d}",
        run.run_id,
        run.verdict.verdict,
    )
    lines = [
        f"# REPORT__{run.task_code}",
        "",
        *(f"- {name}: {value}" for name, value in zip(_BULLETS, facts, strict=True)),
        "",
        _PATHS,
        "",
        *(f"- {_written_path(path)}" for path in sorted({*paths})),
        "",
        _NOTES,
        "",
        *(f"- {_one_line(note)}" for note in run.notes or ("none",)),
    ]
    return "".join(f"{line}\n" for line in lines).encode()


def read_report(data: bytes) -> ReportText:
    """
    What a report says.

    Raises:
        TripletInvalid: It is not UTF-8, or has no heading.
    """
    try:
        lines = data.decode().split("\n")
    except UnicodeDecodeError as exc:
        raise TripletInvalid("the report is not UTF-8") from exc
    if not lines[0].startswith("# "):
        raise TripletInvalid("the report does not begin with its heading")
    facts: dict[str, str] = {}
    paths: list[str] = []
    rest: list[str] = []
    section = ""
    for line in lines[1:]:
        if line.startswith("## "):
            section = line.rstrip()
        if section == _PATHS and line.startswith("- "):
            paths.append(_read_path(line[2:]))
            continue
        if not section and line.startswith("- "):
            name, _, value = line[2:].partition(": ")
            facts.setdefault(name, value)
        rest.append(line)
    mentioned = {match[0].rstrip(".,;:!?*_") for match in _MENTION.finditer("\n".join(rest))}
    return ReportText(
        heading=lines[0][2:],
        facts=facts,
        paths=tuple(paths),
        mentioned=tuple(sorted(mentioned)),
    )


def hashes_bytes(files: Mapping[str, Measured]) -> bytes:
    """The bytes of ``evidence_hashes.json``."""
    document = {path: files[path] for path in sorted(files)}
    return msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n"


def read_hashes(data: bytes) -> dict[str, Measured]:
    """
    What ``evidence_hashes.json`` says.

    Raises:
        TripletInvalid: It is not strict JSON, or not of this form.
    """
    try:
        value = loads(data, limits=_LIMITS)
    except JSONError as exc:
        raise TripletInvalid(f"{HASHES} is not strict JSON: {exc}") from exc
    if not isinstance(value, dict):
        raise TripletInvalid(f"{HASHES} must be object")
    found: dict[str, Measured] = {}
    for path, one in value.items():
        sha256, size = (one.get("sha256"), one.get("size")) if isinstance(one, dict) else (0, 0)
        if not isinstance(sha256, str) or not _SHA256.fullmatch(sha256) or type(size) is not int:
            raise TripletInvalid(f'{HASHES}: "{shown(path)}" needs sha256 and size')
        found[path] = Measured(sha256, size)
    return found


def is_date(text: str) -> bool:
    """The text is ``YYYYMMDD`` and that day exists."""
    if not re.fullmatch(r"[0-9]{8}", text):
        return False
    try:
        datetime.strptime(text, "%Y%m%d").replace(tzinfo=UTC)
    except ValueError:
        return False
    return True


def _test_line(line: TestLine) -> str:
    codes = ",".join(line.codes) or "-"
    return f"CRITERION={json.dumps(line.id)} STATUS={line.status} CODES={codes}"


_LINE: Final = re.compile(r'CRITERION=("(?:[^"\\]|\\.)*") STATUS=(\S+) CODES=(\S+)')


def _read_line(text: str) -> TestLine | None:
    found = _LINE.fullmatch(text)
    if found is None:
        return None
    try:
        name = json.loads(found[1])
    except ValueError:
        return None
    codes = () if found[3] == "-" else tuple(found[3].split(","))
    return TestLine(id=name, status=found[2], codes=codes)


def _first(lines: Iterable[str], prefix: str) -> str:
    return next((line.removeprefix(prefix) for line in lines if line.startswith(prefix)), "")


def _written_path(path: str) -> str:
    """The path as it is, or as a JSON string where it could be read as something else."""
    return f"`{path}`" if _PLAIN.fullmatch(path) else json.dumps(path)


def _read_path(text: str) -> str:
    text = text.strip()
    if text.startswith('"'):
        try:
            return str(json.loads(text))
        except ValueError:
            return text
    return text.removeprefix("`").removesuffix("`")


def _one_line(text: str) -> str:
    # A note is no list: a path in it would be one that the report does not declare.
    return shown(_MENTION.sub("(a path below docs/REPORT)", " ".join(text.split())), 1_000)
