"""
Where in a valid JSON text each key and value stands.

The text was parsed before, so this reads it without judging it.  Only the
containers on the way to a pointer are looked into, each once.
"""

from __future__ import annotations

import re
from array import array
from json import loads as decode_literal
from typing import TypeAlias

from signoff.jsonvalue import parse_pointer

__all__ = ["JSONPlaces"]

_BLANK = re.compile(r"[ \t\r\n]*+")
_STRING = re.compile(r'"(?>(?:[^"\\]|\\.)*)"')
_SCALAR = re.compile(r"[^,\]} \t\r\n]++")
_NESTING = re.compile(r'"(?>(?:[^"\\]|\\.)*)"|[\[\]{}]')

# Offsets of key and value by key; of values by index.
_Inside: TypeAlias = "dict[str, tuple[int, int]] | array[int]"


class JSONPlaces:
    """The places of one JSON text."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._inside: dict[int, _Inside] = {}

    def find(self, pointer: str) -> tuple[int, int] | None:
        """The offsets of key and value; an item's key is its value; None where there is nothing."""
        at = self._blank(0)
        key_at = at
        for token in parse_pointer(pointer):
            inside = self._look_into(at)
            if isinstance(inside, dict):
                if token not in inside:
                    return None
                key_at, at = inside[token]
            else:
                index = _index(token, len(inside))
                if index is None:
                    return None
                key_at = at = inside[index]
        return key_at, at

    def _look_into(self, at: int) -> _Inside:
        if at not in self._inside:
            mark = self._text[at]
            empty: _Inside = {}
            read = {"{": self._members, "[": self._items}.get(mark)
            self._inside[at] = empty if read is None else read(at)
        return self._inside[at]

    def _members(self, at: int) -> _Inside:
        members: dict[str, tuple[int, int]] = {}
        at = self._blank(at + 1)
        while self._text[at] != "}":
            key = _STRING.match(self._text, at)
            assert key is not None
            value_at = self._blank(self._blank(key.end()) + 1)
            members[decode_literal(key[0])] = at, value_at
            at = self._next(value_at)
        return members

    def _items(self, at: int) -> _Inside:
        items = array("q")
        at = self._blank(at + 1)
        while self._text[at] != "]":
            items.append(at)
            at = self._next(at)
        return items

    def _next(self, at: int) -> int:
        """The place after the value at ``at``, its comma and blanks."""
        at = self._blank(self._end(at))
        return self._blank(at + 1) if self._text[at] == "," else at

    def _end(self, at: int) -> int:
        mark = self._text[at]
        if mark not in "[{":
            found = (_STRING if mark == '"' else _SCALAR).match(self._text, at)
            assert found is not None
            return found.end()
        depth = 0
        for found in _NESTING.finditer(self._text, at):
            depth += (found[0] in "[{") - (found[0] in "]}")
            if depth == 0:
                return found.end()
        return len(self._text)

    def _blank(self, at: int) -> int:
        found = _BLANK.match(self._text, at)
        assert found is not None
        return found.end()


def _index(token: str, length: int) -> int | None:
    """The index that the token spells, as JSON Pointer spells one, if it is within the length."""
    if not (token.isascii() and token.isdigit()) or len(token) > len(str(length)):
        return None
    index = int(token)
    return index if index < length and str(index) == token else None
