"""
What a verifier of the forge dialect says: its statuses, its results, and their JSON form.

Source: forge-lcdl, "Verification registry", Core types.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum
from math import isfinite
from typing import Any, Final, NoReturn

from msgspec import Struct
from msgspec.structs import force_setattr

from signoff.dialects.forge.errors import VerificationError
from signoff.dialects.forge.jsonform import copied, jsonable, plain_text
from signoff.jsonvalue import JSON, shown

__all__ = [
    "VerificationResult",
    "VerificationStatus",
    "verification_result_from_dict",
    "verification_result_to_dict",
    "verification_results_to_jsonable",
]

MAX_SUMMARY: Final = 500
_REQUIRED: Final = ("status", "verifier_id", "summary", "evidence", "errors", "warnings")
_FIELDS: Final = (*_REQUIRED, "elapsed_seconds")


class VerificationStatus(str, Enum):  # noqa: UP042  a StrEnum compares as text
    """
    What became of one verifier; the values are the words on the wire.

    A member equals its word and prints as it.  Members have no order: as texts
    "warn" would stand above "fail".
    """

    PASS = "pass"
    """Checked, holds."""
    FAIL = "fail"
    """Checked, does not hold; or could not be checked although it had to be."""
    WARN = "warn"
    """Holds; a person should look."""
    SKIPPED = "skipped"
    """Deliberately not run."""

    def __str__(self) -> str:
        return self.value

    def __format__(self, spec: str) -> str:
        return format(self.value, spec)

    def __lt__(self, other: object) -> NoReturn:
        raise TypeError("verification statuses have no order")

    __le__ = __gt__ = __ge__ = __lt__


class VerificationResult(Struct, frozen=True):
    """
    What one verifier found.

    Args:
        status: A member, or its word.
        verifier_id: The id under which the slot was looked up.
        summary: One line; more lines are joined, and cut at 500 characters.
        evidence: Facts.  They are copied on the way in and on the way out, so that nobody
            changes a result through them.
        errors: What is wrong.
        warnings: What a person should know.
        elapsed_seconds: Seconds it took, by the monotonic clock.

    Raises:
        ValueError: A status that is none, an empty id, errors with a pass or a skip, a time
            that is none.
        TypeError: A value of another type.
    """

    status: VerificationStatus
    verifier_id: str
    summary: str
    evidence: dict[str, Any] = {}
    errors: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    elapsed_seconds: float | None = None

    def __post_init__(self) -> None:
        status = VerificationStatus(self.status)
        kept = {
            "status": status,
            "verifier_id": _identifier(self.verifier_id),
            "summary": _line(self.summary),
            "evidence": _facts(Struct.__getattribute__(self, "evidence")),
            "errors": _texts("errors", self.errors),
            "warnings": _texts("warnings", self.warnings),
            "elapsed_seconds": _seconds(self.elapsed_seconds),
        }
        if kept["errors"] and status in {VerificationStatus.PASS, VerificationStatus.SKIPPED}:
            raise ValueError(f"a result with errors is no {status}")
        for name, value in kept.items():
            force_setattr(self, name, value)

    def __getattribute__(self, name: str) -> Any:
        value = super().__getattribute__(name)
        return copied(value) if name == "evidence" else value


def verification_result_to_dict(result: VerificationResult) -> dict[str, JSON]:
    """The JSON object of a result; ``elapsed_seconds`` is left out when it is None."""
    found: dict[str, JSON] = {
        "status": result.status.value,
        "verifier_id": plain_text(result.verifier_id),
        "summary": plain_text(result.summary),
        "evidence": jsonable(result.evidence),
        "errors": [plain_text(text) for text in result.errors],
        "warnings": [plain_text(text) for text in result.warnings],
    }
    if result.elapsed_seconds is not None:
        found["elapsed_seconds"] = result.elapsed_seconds
    return found


def verification_results_to_jsonable(results: Iterable[VerificationResult]) -> list[JSON]:
    """The JSON objects of some results."""
    return [verification_result_to_dict(result) for result in results]


def verification_result_from_dict(document: Mapping[str, Any]) -> VerificationResult:
    """
    The result in its JSON form, with or without ``elapsed_seconds``.

    Raises:
        VerificationError: It is no such form, has other fields, or lacks one.
    """
    if not isinstance(document, Mapping):
        raise VerificationError(f"a result must be an object, got {type(document).__name__}")
    unknown = [name for name in document if name not in _FIELDS]
    missing = [name for name in _REQUIRED if name not in document]
    if unknown or missing:
        wrong = f"has no field {missing[0]}" if missing else f"has a field {shown(str(unknown[0]))}"
        raise VerificationError(f"a result {wrong}; its fields are {', '.join(_FIELDS)}")
    try:
        return VerificationResult(**document)
    except (TypeError, ValueError) as exc:
        raise VerificationError(f"a result is malformed: {shown(str(exc))}") from exc


def _identifier(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"verifier_id must be str, got {type(value).__name__}")
    if not value:
        raise ValueError("verifier_id is empty")
    return value


def _line(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"summary must be str, got {type(value).__name__}")
    lines = value.splitlines()
    line = value if lines == [value] else " ".join(filter(None, map(str.strip, lines)))
    return line if len(line) <= MAX_SUMMARY else f"{line[: MAX_SUMMARY - 3]}..."


def _facts(value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise TypeError(f"evidence must be dict, got {type(value).__name__}")
    facts: dict[str, Any] = copied(value)
    return facts


def _texts(name: str, value: object) -> tuple[str, ...]:
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        raise TypeError(f"{name} must be an iterable of str, got {type(value).__name__}")
    texts = tuple(value)
    for text in texts:
        if not isinstance(text, str):
            raise TypeError(f"{name} must hold str, got {type(text).__name__}")
    return texts


def _seconds(value: object) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"elapsed_seconds must be a number or None, got {type(value).__name__}")
    if not isfinite(value) or value < 0:
        raise ValueError(f"elapsed_seconds must be finite and not negative, got {value}")
    return float(value)
