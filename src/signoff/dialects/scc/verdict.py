"""
``verdict.json``: its five keys, the fail classes, and how the core's report comes to one.

Writing refuses what reading would refuse, so whatever was written reads back.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from enum import Enum
from typing import Final

import msgspec
from msgspec import Struct

from signoff.dialects.scc.shape import LIMITS, Object
from signoff.errors import JSONError, VerdictRefused
from signoff.jsonvalue import json_type, shown
from signoff.strictjson import loads

__all__ = [
    "FIELDS",
    "FailClass",
    "Failure",
    "VerdictDocument",
    "decode_verdict",
    "encode_verdict",
    "path_fault",
    "utc_of",
    "utc_text",
    "verdict_document",
]

FIELDS: Final = ("verdict", "fail_class", "exit_code", "evidence_paths", "generated_utc")
AHEAD: Final = timedelta(minutes=5)

_UTC: Final = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(?:Z|\+00:00)", re.ASCII)
_UNSAFE: Final = re.compile(r"[\x00\ud800-\udfff]|\\|^/|^[A-Za-z]:|(?:^|/)(?:\.{0,2})(?:/|$)")


class FailClass(Enum):
    """Why a run is a FAIL; closed, and at most ten."""

    COMMAND_FAILED = "command_failed"
    COMMAND_DENIED = "command_denied"
    TIMEOUT = "timeout"
    VERIFIER_ERROR = "verifier_error"
    ARTIFACT_MISSING = "artifact_missing"
    VERDICT_MISSING = "verdict_missing"
    UNKNOWN = "unknown"


class Failure(Struct, frozen=True, kw_only=True):
    """
    What a FAIL is for.

    Args:
        fail_class: One of the seven.
        exit_code: Never 0.
        reason: For people, in one sentence.
        criterion: Id of the criterion that decided, ``""`` when none did.
    """

    fail_class: FailClass
    exit_code: int
    reason: str = ""
    criterion: str = ""


class VerdictDocument(Struct, frozen=True, kw_only=True):
    """
    The five keys.

    Args:
        verdict: ``PASS`` or ``FAIL``.
        fail_class: None if and only if PASS.
        exit_code: 0 if and only if PASS.
        evidence_paths: Relative to the run output directory.
        generated_utc: End of the run.
    """

    verdict: str
    fail_class: str | None
    exit_code: int
    evidence_paths: tuple[str, ...]
    generated_utc: str

    @property
    def passed(self) -> bool:
        """True only if it says PASS."""
        return self.verdict == "PASS"


def utc_text(moment: datetime) -> str:
    """``YYYY-MM-DDTHH:MM:SS.ffffffZ``."""
    return f"{moment.astimezone(UTC):%Y-%m-%dT%H:%M:%S.%f}Z"


def utc_of(text: str, name: str) -> datetime:
    """
    The moment that an ISO-8601 text in UTC says, to the microsecond.

    Args:
        text: With ``Z`` or ``+00:00``.
        name: What it is called, for the reason.

    Raises:
        VerdictRefused: It is none.
    """
    found = _UTC.fullmatch(text)
    if found is None:
        raise VerdictRefused(f'{name} "{shown(text)}" is no ISO-8601 time in UTC')
    try:
        return datetime.fromisoformat(f"{found[1]}.{(found[2] or '')[:6]:0<6}+00:00")
    except ValueError as exc:
        raise VerdictRefused(f'{name} "{text}" is no time that exists') from exc


def verdict_document(
    failure: Failure | None, evidence_paths: Iterable[str], generated: datetime
) -> VerdictDocument:
    """
    The verdict of a run.

    Args:
        failure: None for PASS.
        evidence_paths: In any order; sorted here.
        generated: End of the run.
    """
    return VerdictDocument(
        verdict="PASS" if failure is None else "FAIL",
        fail_class=None if failure is None else failure.fail_class.value,
        exit_code=0 if failure is None else failure.exit_code,
        evidence_paths=tuple(sorted(set(evidence_paths))),
        generated_utc=utc_text(generated),
    )


def encode_verdict(document: VerdictDocument) -> bytes:
    """
    The bytes of ``verdict.json``.

    Raises:
        VerdictRefused: No reader would accept them.
    """
    for path in document.evidence_paths:
        if (fault := path_fault(path)) is not None:
            raise VerdictRefused(f"evidence_paths: {fault}")
    data = msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n"
    # The clock of the machine that reads is no fault of the document.
    decoded = decode_verdict(data, now=datetime.max.replace(tzinfo=UTC) - AHEAD, strict=True)
    if not decoded.evidence_paths:
        raise VerdictRefused("evidence_paths is empty")
    if any(path.split("/")[-1] == "verdict.json" for path in decoded.evidence_paths):
        raise VerdictRefused("evidence_paths lists verdict.json itself")
    if decoded.fail_class == FailClass.VERDICT_MISSING.value:
        raise VerdictRefused("verdict_missing is given by a reader and never written")
    if decoded.fail_class not in {None, *(one.value for one in FailClass)}:
        raise VerdictRefused(f'fail_class "{shown(decoded.fail_class or "")}" is not one of them')
    return data


def decode_verdict(data: bytes, *, now: datetime, strict: bool = False) -> VerdictDocument:
    """
    The verdict in the bytes of a file.

    Args:
        data: The file.
        now: The reader's time; a verdict of more than five minutes later is refused.
        strict: Keys beyond the five are refused.

    Raises:
        VerdictRefused: It counts as missing.
    """
    try:
        value = loads(data, limits=LIMITS)
    except JSONError as exc:
        raise VerdictRefused(f"is not strict JSON: {exc}") from exc
    if not isinstance(value, dict):
        raise VerdictRefused(f"must be object, got {json_type(value)}")
    missing = [name for name in FIELDS if name not in value]
    if missing:
        raise VerdictRefused(f"{missing[0]} is required")
    extra = [name for name in value if name not in FIELDS]
    if strict and extra:
        raise VerdictRefused(f'"{shown(extra[0])}" is not a key of a verdict')
    return _consistent(value, now)


def path_fault(path: str) -> str | None:
    """What is wrong with an evidence path, None if nothing is."""
    if not path or _UNSAFE.search(path):
        return f'"{shown(path)}" is no plain relative path'
    return None


def _consistent(value: Object, now: datetime) -> VerdictDocument:
    verdict, fail_class = value["verdict"], value["fail_class"]
    exit_code, generated = value["exit_code"], value["generated_utc"]
    if not isinstance(verdict, str) or verdict not in {"PASS", "FAIL"}:
        raise VerdictRefused("verdict must be PASS or FAIL")
    if fail_class is not None and not isinstance(fail_class, str):
        raise VerdictRefused(f"fail_class must be string or null, got {json_type(fail_class)}")
    if type(exit_code) is not int:
        raise VerdictRefused(f"exit_code must be integer, got {_got(exit_code)}")
    if (verdict == "PASS") is not (fail_class is None):
        raise VerdictRefused(f"{verdict} {'with' if fail_class is not None else 'without'} a class")
    if (verdict == "PASS") is not (exit_code == 0):
        raise VerdictRefused(f"{verdict} with exit_code {shown(str(exit_code))}")
    paths = _paths(value["evidence_paths"])
    if verdict == "PASS" and not paths:
        raise VerdictRefused("PASS without evidence")
    if not isinstance(generated, str):
        raise VerdictRefused(f"generated_utc must be string, got {json_type(generated)}")
    _require_time(generated, now)
    return VerdictDocument(
        verdict=verdict,
        fail_class=fail_class,
        exit_code=exit_code,
        evidence_paths=paths,
        generated_utc=generated,
    )


def _got(value: object) -> str:
    return "decimal number" if isinstance(value, float) else json_type(value)  # type: ignore[arg-type]  # it came out of JSON


def _paths(value: object) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise VerdictRefused("evidence_paths must be array")
    paths: list[str] = []
    for one in value:
        if not isinstance(one, str):
            raise VerdictRefused("evidence_paths must hold strings")
        if (fault := path_fault(one)) is not None:
            raise VerdictRefused(f"evidence_paths: {fault}")
        paths.append(one)
    if len({*paths}) != len(paths):
        raise VerdictRefused("evidence_paths lists a path twice")
    return tuple(paths)


def _require_time(text: str, now: datetime) -> None:
    if utc_of(text, "generated_utc") > now + AHEAD:
        raise VerdictRefused(f"generated_utc {text} is more than 5 minutes ahead")
