"""
Evidence as JSON: what any Python value comes to in a document, and never an exception.

Whatever JSON has stays as it is; the rest becomes text, as the table of the
dialect says.  What is nested too deep, or holds itself, becomes a marker.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, time
from enum import Enum
from math import isfinite, isnan
from pathlib import PurePath
from typing import Any, Final

from signoff.canonical import canonical_bytes
from signoff.jsonlimits import MAX_DIGITS
from signoff.jsonvalue import JSON, number_text

__all__ = ["CYCLE", "TOO_DEEP", "copied", "jsonable", "plain_text"]

MAX_DEPTH: Final = 62
"""Levels of evidence, which stands in a result, which stands in a list: 64 in all."""
TOO_DEEP: Final = "[nested too deep]"
CYCLE: Final = "[holds itself]"

_LARGEST: Final = 10**MAX_DIGITS
_Above = frozenset[int]


def jsonable(value: object) -> JSON:
    """The JSON value that stands for any value; strict JSON can write it and read it back."""
    return _jsonable(value, frozenset())


def copied(value: object) -> Any:
    """
    The value with containers of its own, so that later changes elsewhere do not reach it.

    Values of types that cannot be told in JSON become the name of their type at once.
    """
    return _copied(value, frozenset())


def plain_text(text: str) -> str:
    """The text with U+FFFD for every lone surrogate, so that it has a form in UTF-8."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _jsonable(value: object, above: _Above) -> JSON:
    if isinstance(value, dict | list | tuple | set | frozenset):
        refused = _refused(value, above)
        return refused or _container(value, above | {id(value)})
    return _scalar(value)


def _container(
    value: dict[Any, Any] | list[Any] | tuple[Any, ...] | set[Any] | frozenset[Any], above: _Above
) -> JSON:
    if isinstance(value, dict):
        return dict(_members(value, above))
    items = [_jsonable(item, above) for item in value]
    return sorted(items, key=canonical_bytes) if isinstance(value, set | frozenset) else items


def _members(value: dict[Any, Any], above: _Above) -> Iterator[tuple[str, JSON]]:
    taken: set[str] = set()
    for key, item in dict.items(value):
        name = first = _key(key)
        number = 2
        while name in taken:
            name = f"{first} ({number})"
            number += 1
        taken.add(name)
        yield name, _jsonable(item, above)


def _key(key: object) -> str:
    told = _scalar(key)
    if isinstance(told, str):
        return told
    if isinstance(told, bool | None):
        return {None: "null", True: "true", False: "false"}[told]
    return number_text(told) if isinstance(told, int | float) else type(key).__name__


def _scalar(value: object) -> JSON:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, Enum):
        return plain_text(value.value if isinstance(value.value, str) else value.name)
    if isinstance(value, str):
        return plain_text(str.__str__(value))
    if isinstance(value, int):
        return int(value) if abs(value) < _LARGEST else number_text(int(value))
    if isinstance(value, float):
        return _decimal(float(value))
    if isinstance(value, bytes | bytearray):
        return bytes(value).decode("utf-8", "replace")
    if isinstance(value, PurePath):
        return plain_text(str(value))
    if isinstance(value, date | time):
        return value.isoformat()
    return plain_text(type(value).__name__)


def _decimal(number: float) -> JSON:
    if isfinite(number):
        return number
    if isnan(number):
        return "NaN"
    return "Infinity" if number > 0 else "-Infinity"


def _copied(value: object, above: _Above) -> Any:
    if isinstance(value, dict | list | tuple | set | frozenset):
        refused = _refused(value, above)
        return refused or _copied_container(value, above | {id(value)})
    if isinstance(value, bytearray):
        return bytes(value)
    known = (str, int, float, bytes, Enum, PurePath, date, time)
    return value if value is None or isinstance(value, known) else _scalar(value)


def _copied_container(
    value: dict[Any, Any] | list[Any] | tuple[Any, ...] | set[Any] | frozenset[Any], above: _Above
) -> Any:
    if isinstance(value, dict):
        return {key: _copied(item, above) for key, item in dict.items(value)}
    if isinstance(value, set | frozenset):
        return frozenset(value) if isinstance(value, frozenset) else set(value)
    items = [_copied(item, above) for item in value]
    return tuple(items) if isinstance(value, tuple) else items


def _refused(value: object, above: _Above) -> str:
    """The marker that stands for a container which is not followed; ``""`` for one that is."""
    if id(value) in above:
        return CYCLE
    return TOO_DEEP if len(above) >= MAX_DEPTH else ""
