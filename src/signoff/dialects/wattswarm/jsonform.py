"""
JSON as a WattSwarm kernel reads and writes it: which numbers there are, and the canonical bytes.

An integer outside -2^63..2^64-1 is the nearest double, ``-0`` is one too, and a
double is written with its point or its exponent.  What the strict reader and the
sorted encoder of the core do already is left to them; here are the differences.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import isfinite
from typing import Final

import msgspec

from signoff.canonical import require_json, sorted_encoding
from signoff.errors import JSONError
from signoff.jsonlimits import deepest, depth_within
from signoff.jsonvalue import JSON, shown
from signoff.strictjson import Limits
from signoff.strictjson import loads as strictly

__all__ = [
    "MAX_DEPTH",
    "canonical",
    "has_unsafe",
    "is_safe",
    "loads",
    "loads_canonical",
    "rounded",
]

MAX_DEPTH: Final = 127
MAX_INTEGER: Final = 2**64 - 1
MIN_INTEGER: Final = -(2**63)

_FEW: Final = 2**12

_decode: Final = msgspec.json.Decoder().decode

# What is left of a text of numbers: any digit, the mark of an exponent, and all else.
_SKETCH: Final = bytes(
    ord("0") if 48 <= code <= 57 else ord("e") if code in b"eE" else ord("x") for code in range(256)
)
_LONG: Final = b"0" * 19
_EXPONENT: Final = b"0e0"
_TEXT: Final = rb'"(?>(?:[^"\\]++|\\.)*)"'  # atomic: no text is tried twice
_NEGATIVE_ZERO: Final = re.compile(_TEXT + rb"|(-0)(?![.0-9eE])", re.DOTALL)
_POSITIVE_EXPONENT: Final = re.compile(_TEXT + rb"|(?<=[0-9])e(?=[0-9])", re.DOTALL)


def loads(data: bytes) -> JSON:
    """
    The value of a JSON text, with the kernel's numbers.

    Raises:
        JSONError: The text is not strict JSON, is nested too deep, or holds a number whose
            double is infinite; says what and where.
    """
    return loads_canonical(data)[0]


def loads_canonical(data: bytes, *, max_depth: int = MAX_DEPTH) -> tuple[JSON, bytes]:
    """
    The value of a JSON text, and its canonical bytes.

    Args:
        data: The text.
        max_depth: Arrays and objects in each other.

    Raises:
        JSONError: As ``loads``.
    """
    try:
        value = _decode(data)
        encoded = sorted_encoding(value)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return _slowly(data, max_depth)
    # One byte is found several times as fast as two: most texts are not searched for these.
    if (
        (data != encoded and (_has_colon_escaped(data) or data.count(b":") != encoded.count(b":")))
        or (b"-" in data and b"-0" in data)
        or not _shallow(data, max_depth)
    ):
        return _slowly(data, max_depth)
    sketch = encoded.translate(_SKETCH)
    if _LONG in sketch or _EXPONENT in sketch:
        return _slowly(data, max_depth)
    return value, encoded


def canonical(value: JSON) -> bytes:
    """
    The canonical bytes of a JSON value; integers that the kernel does not have become doubles.

    Of what is no JSON the answer may mean nothing: NaN becomes ``null``.

    Raises:
        ValueError: It was found not to be JSON, or an integer is too large for a double.
    """
    try:
        encoded = sorted_encoding(value)
    except (TypeError, ValueError, RecursionError):
        require_json(value)
        encoded = sorted_encoding(_doubles(value))
    sketch = encoded.translate(_SKETCH)
    if _LONG in sketch:
        encoded = sorted_encoding(_doubles(value))
        sketch = encoded.translate(_SKETCH)
    return _POSITIVE_EXPONENT.sub(_signed, encoded) if _EXPONENT in sketch else encoded


def is_safe(x: float) -> bool:
    """The kernel's parser reads the double exactly: 15 digits, and an exponent that is small."""
    return x == 0 or (1e-8 <= abs(x) < 1e15 and float(f"{x:.14e}") == x)


def has_unsafe(value: JSON) -> bool:
    """There is a double in the value that the kernel's parser may read otherwise."""
    return any(not is_safe(number) for number in _floats(value))


def rounded(value: JSON) -> JSON:
    """The value with every double rounded to 15 significant digits."""
    if isinstance(value, dict):
        return {key: rounded(item) for key, item in value.items()}
    if isinstance(value, list):
        return [rounded(item) for item in value]
    if isinstance(value, float):
        near = float(f"{value:.14e}")
        return near if isfinite(near) else value
    return value


def _has_colon_escaped(data: bytes) -> bool:
    return b"\\" in data and b"\\u003" in data


def _shallow(data: bytes, max_depth: int) -> bool:
    if data.count(b"[") + data.count(b"{") <= max_depth:
        return True
    # What opens too many at once is refused for its beginning, whatever its size.
    return deepest(data[:_FEW]) <= max_depth and depth_within(data, max_depth)


def _slowly(data: bytes, max_depth: int) -> tuple[JSON, bytes]:
    limits = Limits(max_depth=max_depth, max_digits=4_000)
    if deepest(data[:_FEW]) > max_depth:
        data = data[:_FEW].decode(errors="ignore").encode()  # the fault is in there already
    value = strictly(data, limits=limits)
    if b"-0" in data:
        value = strictly(_NEGATIVE_ZERO.sub(_as_double, data), limits=limits)
    try:
        value = _doubles(value)
    except ValueError as exc:
        raise JSONError(str(exc)) from exc
    return value, canonical(value)


def _as_double(found: re.Match[bytes]) -> bytes:
    return b"-0.0" if found[1] else found[0]


def _signed(found: re.Match[bytes]) -> bytes:
    return b"e+" if found[0] == b"e" else found[0]


def _doubles(value: JSON) -> JSON:
    """The value with every integer that the kernel does not have as the nearest double."""
    if isinstance(value, dict):
        return {key: _doubles(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_doubles(item) for item in value]
    if type(value) is int and not MIN_INTEGER <= value <= MAX_INTEGER:
        return _double(value)
    return value


def _double(value: int) -> float:
    try:
        return float(value)
    except OverflowError:
        digits = f"an integer of {value.bit_length()} bits"
        raise ValueError(f"number out of range: {shown(digits)}") from None


def _floats(value: JSON) -> Iterator[float]:
    todo = [value]
    while todo:
        item = todo.pop()
        if isinstance(item, float):
            yield item
        elif isinstance(item, dict):
            todo.extend(item.values())
        elif isinstance(item, list):
            todo.extend(item)
