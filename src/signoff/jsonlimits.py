"""
What a JSON text may be, and how to hold a text of any size to it quickly.

Depth and digits are read off the bytes themselves, a scan or two at the speed of
C and no step for each token, because every text is held to them, hostile ones
above all.
"""

from __future__ import annotations

import re
from array import array
from functools import lru_cache
from itertools import accumulate
from typing import Annotated, Final

import msgspec

__all__ = [
    "MAX_DEPTH",
    "MAX_DIGITS",
    "Limits",
    "deepest",
    "depth_within",
    "has_long_digits",
    "long_integer",
    "marks_of",
]

MAX_DEPTH: Final = 128
MAX_DIGITS: Final = 4_000


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """
    What a text may be.

    Args:
        max_bytes: Size of the text in UTF-8, checked before anything else is done.
        max_depth: Objects and arrays inside each other, 1 to 128; ``[]`` is one level.
        max_digits: Digits of an integer.
        last_key_wins: Of equal keys in one object the last counts, instead of a refusal.
    """

    max_bytes: Annotated[int, msgspec.Meta(ge=1)] = 64 * 2**20
    max_depth: Annotated[int, msgspec.Meta(ge=1, le=MAX_DEPTH)] = 64
    max_digits: Annotated[int, msgspec.Meta(ge=1, le=MAX_DIGITS)] = 1000
    last_key_wins: bool = False

    def __post_init__(self) -> None:
        if not 1 <= self.max_depth <= MAX_DEPTH:
            raise ValueError(f"max_depth must be 1 to {MAX_DEPTH}, got {self.max_depth}")
        if not 1 <= self.max_digits <= MAX_DIGITS:
            raise ValueError(f"max_digits must be 1 to {MAX_DIGITS}, got {self.max_digits}")


_NO_MARKS: Final = bytes(set(range(256)) - set(b'[]{}":'))
_ONE_KIND: Final = bytes.maketrans(b"{}", b"[]")
_STEPS: Final = bytes.maketrans(b"[{]}", b"\x01\x01\xff\xff")
_IN_QUOTES = re.compile(b'"[^"]*+"?')
_FEW: Final = 10_000


def marks_of(data: bytes) -> bytes:
    """The brackets, quotes and colons of a text, in their order."""
    return data.translate(None, _NO_MARKS)


def depth_within(data: bytes, max_depth: int) -> bool:
    """A JSON text is at most so deep."""
    brackets = _brackets(data)
    if len(brackets) > _FEW:
        return _deepest(brackets) <= max_depth
    brackets = brackets.translate(_ONE_KIND)
    for _ in range(max_depth):  # each turn takes away the innermost containers
        brackets = brackets.replace(b"[]", b"")
        if not brackets:
            return True
    return False


def deepest(data: bytes) -> int:
    """How deep the brackets outside strings nest; of any text, JSON or not."""
    return _deepest(_brackets(data))


def has_long_digits(data: bytes, max_digits: int) -> bool:
    """There may be more than so many digits in a row; if not, there certainly are not."""
    if len(data) <= max_digits:
        return False
    # More than n digits in a row fill at least one whole block of (n + 2) // 2 bytes.
    size = (max_digits + 2) // 2
    for start in range(0, len(data), size):  # three times as fast as any()
        if 48 <= data[start] <= 57 and data[start : start + size].isdigit():  # 0 to 9
            return True
    return False


def long_integer(data: bytes, max_digits: int) -> int | None:
    """The byte offset of the first integer of more digits in a JSON text, None without one."""
    data = _without_escapes(data)
    quotes = at = 0
    for found in _long(max_digits).finditer(data):
        quotes += data.count(b'"', at, found.start())
        at = found.start()
        if quotes % 2 == 0:
            return found.start(1)
    return None


@lru_cache(maxsize=8)
def _long(max_digits: int) -> re.Pattern[bytes]:
    # Begun only after what comes before a number, so that each digit is looked at once.
    return re.compile(rb"(?:[\[,: \t\r\n]|\A)(-?[0-9]{%d,}+)(?![.eE])" % (max_digits + 1))


def _without_escapes(data: bytes) -> bytes:
    # First the backslashes that are escaped themselves, then the quotes; offsets stay.
    if b"\\" in data:
        data = data.replace(b"\\\\", b"xx").replace(b'\\"', b"xx")
    return data


def _brackets(data: bytes) -> bytes:
    marks = marks_of(_without_escapes(data)).replace(b":", b"")
    brackets = marks.replace(b'""', b"")
    if b'"' in brackets:  # there are brackets inside of strings; if there are none, all quotes pair
        brackets = _IN_QUOTES.sub(b"", brackets)
    return brackets


def _deepest(brackets: bytes) -> int:
    return max(accumulate(array("b", brackets.translate(_STEPS))), default=0)
