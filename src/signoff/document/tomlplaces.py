"""
Where in a valid TOML text each key and value stands.

The text was parsed before, so this reads it without judging it: tables, arrays of
tables, dotted and quoted keys, inline tables, arrays, the four kinds of string.
A table stands where its header does, and one that no header names where its name
is first written.
"""

from __future__ import annotations

import re
import tomllib

from signoff.jsonvalue import join_pointer

__all__ = ["places"]

_BLANK = re.compile(r"(?>(?:[ \t\r\n]++|#[^\n]*+)*)")
_SPACE = re.compile(r"[ \t]*+")
_PART = re.compile(r"""[A-Za-z0-9_-]++|"(?>(?:[^"\\\n]|\\.)*)"|'[^'\n]*+'""")
_STRING = re.compile(
    r'"""(?>(?:[^"\\]|\\.|"(?!""))*)"{3,5}'
    r"|'''(?>(?:[^']|'(?!''))*)'{3,5}"
    r'|"(?>(?:[^"\\\n]|\\.)*)"'
    r"|'[^'\n]*+'",
    re.DOTALL,
)
_BARE = re.compile(r"[^,\]}#\r\n]++")


def places(text: str) -> dict[str, tuple[int, int]]:
    """
    The offsets of the key and of the value for each pointer of a valid TOML text.

    An item of an array has no key, so both offsets are the value's.  The nesting
    must be bounded, as ``tomltext`` has seen to.
    """
    scanner = _Scanner(text)
    scanner.document()
    return scanner.places


class _Scanner:
    """One pass over one text; ``at`` is the place of the next token."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.places: dict[str, tuple[int, int]] = {"": (0, 0)}
        self.lengths: dict[str, int] = {}  # of arrays of tables, by pointer

    def document(self) -> None:
        table = ""
        self.skip(_BLANK)
        self.places[""] = self.at, self.at
        while self.at < len(self.text):
            if self.text[self.at] == "[":
                table = self.header()
            else:
                self.member(table)
            self.skip(_BLANK)

    def header(self) -> str:
        """Read ``[a.b]`` or ``[[a.b]]``; the pointer of the table it opens."""
        start = self.at
        double = self.text.startswith("[[", start)
        self.at += 1 + double
        *parents, (name, name_at) = self.key()
        self.skip(_SPACE)
        self.at += 1 + double
        pointer = join_pointer(self.descend("", parents), name)
        if not double:
            self.places[pointer] = name_at, start
            return pointer
        self.places.setdefault(pointer, (name_at, start))
        index = self.lengths.get(pointer, 0)
        self.lengths[pointer] = index + 1
        pointer = join_pointer(pointer, index)
        self.places[pointer] = start, start
        return pointer

    def member(self, table: str) -> None:
        """Read ``a.b = value``."""
        *parents, (name, name_at) = self.key()
        pointer = join_pointer(self.descend(table, parents), name)
        self.skip(_SPACE)
        self.at += 1
        self.skip(_SPACE)
        self.places[pointer] = name_at, self.at
        self.value(pointer)

    def descend(self, pointer: str, parts: list[tuple[str, int]]) -> str:
        for name, at in parts:
            pointer = join_pointer(pointer, name)
            self.places.setdefault(pointer, (at, at))
            if pointer in self.lengths:
                pointer = join_pointer(pointer, self.lengths[pointer] - 1)
        return pointer

    def key(self) -> list[tuple[str, int]]:
        """The parts of a key, each with its place."""
        parts: list[tuple[str, int]] = []
        while True:
            self.skip(_SPACE)
            written = _PART.match(self.text, self.at)
            assert written is not None
            parts.append((_name(written[0]), self.at))
            self.at = written.end()
            self.skip(_SPACE)
            if self.text[self.at] != ".":
                return parts
            self.at += 1

    def value(self, pointer: str) -> None:
        mark = self.text[self.at]
        if mark == "[":
            self.array(pointer)
        elif mark == "{":
            self.inline_table(pointer)
        else:
            self.skip(_STRING if mark in "\"'" else _BARE)

    def array(self, pointer: str) -> None:
        index = 0
        self.at += 1
        while self.more("]"):
            item = join_pointer(pointer, index)
            self.places[item] = self.at, self.at
            self.value(item)
            index += 1
        self.at += 1

    def inline_table(self, pointer: str) -> None:
        self.at += 1
        while self.more("}"):
            self.member(pointer)
        self.at += 1

    def more(self, end: str) -> bool:
        """Step over blanks and a comma; whether there is something before ``end``."""
        self.skip(_BLANK)
        if self.text[self.at] == ",":
            self.at += 1
            self.skip(_BLANK)
        return self.text[self.at] != end

    def skip(self, pattern: re.Pattern[str]) -> None:
        found = pattern.match(self.text, self.at)
        assert found is not None
        self.at = found.end()


def _name(written: str) -> str:
    if "\\" in written:
        return str(tomllib.loads(f"name = {written}")["name"])
    return written[1:-1] if written[0] in "\"'" else written
