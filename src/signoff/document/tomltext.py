"""
TOML 1.0 into JSON values.

The standard library parses, recursively and without a limit, so the nesting is
measured first, by one pass over the tokens.  Dates and times have no JSON form
and are refused with their place, like everything that JSON cannot hold.
"""

from __future__ import annotations

import re
import tomllib
from datetime import date, datetime
from math import isfinite
from typing import Any, Final

from signoff.document.text import MAX_TOML_BYTES, decoded, fault_at
from signoff.document.tomlplaces import places
from signoff.errors import TextError
from signoff.jsonvalue import JSON, join_pointer, shown
from signoff.strictjson import Limits

__all__ = ["loads"]

_DEFAULT: Final = Limits(max_bytes=MAX_TOML_BYTES)
# Strings and comments whole, also when they have no end; then what opens, closes, joins or parts.
_TOKEN = re.compile(
    r'"""(?>(?:[^"\\]|\\.|"(?!""))*)(?:"{3,5}|\Z|\\)'
    r"|'''(?>(?:[^']|'(?!''))*)(?:'{3,5}|\Z)"
    r'|"(?>(?:[^"\\\n]|\\.)*)"?'
    r"|'[^'\n]*+'?"
    r"|#[^\n]*+|[\[\]{}.=,\n]",
    re.DOTALL,
)
_PLACE = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")
_LONG_DIGITS = re.compile(r"(?<![0-9A-Za-z_.])[-+]?[0-9](?>(?:_?[0-9])*)(?![.eE0-9])")
_INDENT = re.compile(r"\s*+")
_WRITTEN = re.compile(r"[^\s,\]}#]*")
# The parser's words where they say less than a person needs.
_CLEARER: Final = {
    "Cannot overwrite a value": "this has a value already",
    "Invalid statement": "neither a key, a table nor a comment",
}
_TWICE = re.compile(
    r"Cannot (?:declare|mutate immutable namespace|redefine namespace) \((.*?),?\)(?: twice)?"
)
_INLINE = re.compile(r"Duplicate inline table key '(.*)'")


def loads(data: bytes, *, limits: Limits = _DEFAULT) -> JSON:
    """
    The value of a TOML document.

    Args:
        data: The text, UTF-8, at most ``MAX_TOML_BYTES`` whatever ``limits`` says.
        limits: As for JSON, save that a repeated key is always refused.

    Raises:
        TextError: The text is not TOML, or holds what JSON cannot; says what and where.
    """
    text = decoded(data, max_bytes=min(limits.max_bytes, MAX_TOML_BYTES))
    _refuse_depth(text, limits.max_depth)
    try:
        value: JSON = tomllib.loads(text)
    except tomllib.TOMLDecodeError as exc:
        raise _parse_fault(text, str(exc)) from exc
    except ValueError as exc:  # more digits than the interpreter converts
        raise _digits_fault(text, limits.max_digits) from exc
    _refuse_foreign(value, text, limits)
    return value


def _refuse_depth(text: str, max_depth: int) -> None:
    """Refuse brackets inside each other, and keys of parts, beyond the depth that is allowed."""
    if max(text.count("[") + text.count("{"), text.count(".")) < max_depth:
        return
    depth = parts = 0
    for found in _TOKEN.finditer(text):
        mark = found[0]
        if mark == ".":
            parts += 1
        elif mark in "[]{}=,\n":
            depth += (mark in "[{") - (mark in "]}" and depth > 0)
            parts = 0
        if depth > max_depth or parts >= max_depth:
            raise fault_at(text, found.start(), _too_deep(max_depth))


def _too_deep(max_depth: int) -> str:
    return f"nested deeper than {max_depth} levels"


def _parse_fault(text: str, message: str) -> TextError:
    place = _PLACE.search(message)
    said = message[: place.start()] if place else message
    at = _offset(text, int(place[1]), int(place[2])) if place and place[1] else len(text)
    if said.startswith("Cannot "):  # said after the value of the key in question
        at = _statement(text, at)
    return fault_at(text, at, _reason(said))


def _offset(text: str, line: int, column: int) -> int:
    start = 0
    for _ in range(line - 1):
        start = text.index("\n", start) + 1
    return start + column - 1


def _statement(text: str, before: int) -> int:
    """Where the statement begins that holds the character before an offset."""
    start = depth = 0
    for found in _TOKEN.finditer(text, 0, before):
        mark = found[0]
        if mark in "[]{}":
            depth += 1 if mark in "[{" else -1
        elif mark == "\n" and depth == 0:
            start = found.end()
    found_text = _INDENT.match(text, start)
    return found_text.end() if found_text else start


def _reason(message: str) -> str:
    if message in _CLEARER:
        return _CLEARER[message]
    if (found := _TWICE.fullmatch(message)) is not None:
        name = ".".join(part.strip().strip("'\"") for part in found[1].split(","))
        return f'"{shown(name)}" is defined already'
    if (found := _INLINE.fullmatch(message)) is not None:
        return f'duplicate key "{shown(found[1])}"'
    return f"not TOML: {shown(message[:1].lower() + message[1:])}"


def _digits_fault(text: str, max_digits: int) -> TextError:
    reason = f"integer of more than {max_digits} digits"
    for found in _LONG_DIGITS.finditer(text):
        if len(found[0].replace("_", "")) > max_digits:
            return fault_at(text, found.start(), reason)
    return TextError("integer of too many digits")


def _refuse_foreign(value: JSON, text: str, limits: Limits) -> None:
    """Refuse what JSON cannot hold, in document order."""
    waiting: list[tuple[Any, str, int]] = [(value, "", 1)]
    while waiting:
        item, pointer, depth = waiting.pop()
        if isinstance(item, (dict, list)):
            if depth > limits.max_depth:
                raise fault_at(text, places(text)[pointer][1], _too_deep(limits.max_depth))
            members = item.items() if isinstance(item, dict) else enumerate(item)
            below = [(member, join_pointer(pointer, key), depth + 1) for key, member in members]
            waiting.extend(reversed(below))
        elif (reason := _foreign(item, limits.max_digits)) is not None:
            at = places(text)[pointer][1]
            written = _WRITTEN.match(text, at)
            assert written is not None
            raise fault_at(text, at, reason.replace("{}", shown(written[0])))


def _foreign(item: object, max_digits: int) -> str | None:
    """Why JSON cannot hold the value, with ``{}`` for how it is written; None when it can."""
    if isinstance(item, (str, bool)):
        return None
    if isinstance(item, int):
        fits = abs(item) < 10**max_digits
        return None if fits else f"integer of more than {max_digits} digits"
    if isinstance(item, float):
        return None if isfinite(item) else "number out of range: {}"
    kind = (
        "date and time"
        if isinstance(item, datetime)
        else "date"
        if isinstance(item, date)
        else "time"
    )
    return f"a {kind} has no JSON form; write it as a string"
