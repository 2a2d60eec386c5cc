"""
Strict JSON, token by token: which texts are refused, why, and where.

``read_exactly`` walks a text in Python, so it knows every reason and place, and
is slow.  ``decide`` answers for texts of any size: it walks the beginning, and
if no fault is found there it lets C-level scans and the standard library's
parser accept or refuse the same texts, with reasons that are true but coarser.
"""

from __future__ import annotations

import re
from json import JSONDecodeError, JSONDecoder
from json import loads as decode_literal
from math import isfinite
from typing import Any, Final, NoReturn

from signoff.errors import JSONError
from signoff.jsonlimits import Limits, deepest, has_long_digits, long_integer
from signoff.jsonvalue import INTEGER_CHUNK, JSON, parse_integer, shown

__all__ = ["decide", "read_exactly", "refuse"]

_DEFAULT: Final = Limits()
_CLOSELY: Final = 256 * 2**10
"""So many characters are walked; half a second's work at the most."""

_SPACE = re.compile(r"[ \t\n\r]*+")
_STRING_SO_FAR = re.compile(
    r'"[^"\\\x00-\x1f]*+(?>(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*+)*)'
)
_STRING = re.compile(_STRING_SO_FAR.pattern + '"')
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*+)(\.[0-9]++)?([eE][+-]?[0-9]++)?(?![0-9A-Za-z_.+-])")
_WORD = re.compile(r"-?[0-9A-Za-z_.+-]++")
_SURROGATE = re.compile("[\ud800-\udfff]")
_LONE_SURROGATE = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])"
    r"|(?<!\\u[dD][89abAB][0-9a-fA-F]{2})\\u[dD][c-fC-F][0-9a-fA-F]{2}"
)
_WORDS: Final[dict[str, JSON]] = {"true": True, "false": False, "null": None}


def read_exactly(data: bytes, *, limits: Limits = _DEFAULT) -> JSON:
    """
    The value of a strict JSON text, found token by token, at any depth without recursion.

    Raises:
        JSONError: The text is not strict JSON or exceeds a limit; says what and where.
    """
    return _Reader(_text(data), limits).read()


def decide(data: bytes, *, limits: Limits) -> JSON:
    """
    The same value, or refusal, in time that is bounded even for the largest texts.

    Raises:
        JSONError: As ``read_exactly``; late in a large text the reason is coarser, and
            the place may be unknown.
    """
    text = _text(data)
    try:
        return _Reader(text, limits, stop=_CLOSELY).read()
    except _TooFar:
        pass
    _hold_to_limits(data, limits)
    try:
        return _by_standard_library(data, text, limits)
    except RecursionError:  # of the caller's making: the text is not deep
        return _Reader(text, limits).read()


def _text(data: bytes) -> str:
    try:
        text = data.decode()
    except UnicodeDecodeError as exc:
        before = data[: exc.start].decode()
        refuse("not UTF-8", before, len(before))
    if text.startswith("\ufeff"):
        refuse("byte-order mark before the text", text, 0)
    return text


def _hold_to_limits(data: bytes, limits: Limits) -> None:
    if deepest(data) > limits.max_depth:
        raise JSONError(f"nested deeper than {limits.max_depth} levels")
    if has_long_digits(data, limits.max_digits):
        start = long_integer(data, limits.max_digits)
        if start is not None:
            before = data[:start].decode()
            refuse(f"integer of more than {limits.max_digits} digits", before, len(before))


def _by_standard_library(data: bytes, text: str, limits: Limits) -> JSON:
    # Judged first, with no object kept: refusing a large text takes a third of the time so.
    integer = parse_integer if has_long_digits(data, INTEGER_CHUNK) else None
    judge = JSONDecoder(
        object_pairs_hook=None if limits.last_key_wins else _no_duplicates,
        parse_float=_finite,
        parse_int=integer,
        parse_constant=_no_constant,
    )
    try:
        judge.decode(text)
    except JSONDecodeError as exc:
        what = exc.msg[:1].lower() + exc.msg[1:]
        refuse(f"malformed JSON: {shown(what)}", text, exc.pos)
    if "\\u" in text:
        lone = _LONE_SURROGATE.search(text.replace("\\\\", "xx"))
        if lone is not None:
            refuse("lone surrogate in a string", text, lone.start())
    value: JSON = JSONDecoder(parse_int=integer).decode(text)
    return value


def _no_duplicates(pairs: list[tuple[str, Any]]) -> None:
    if len(pairs) > 1 and len(dict(pairs)) < len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise JSONError(f'duplicate key "{shown(key)}"')
            seen.add(key)


def _finite(literal: str) -> float:
    value = float(literal)
    if not isfinite(value):
        raise JSONError(f"number out of range: {shown(literal)}")
    return value


def _no_constant(word: str) -> NoReturn:
    raise JSONError(f"{word} is not a JSON number")


class _TooFar(Exception):  # no error: the beginning of the text has no fault
    """The reader came to where it was to stop."""


class _Reader:
    """One pass over one text, or its beginning; ``at`` is the place of the next token."""

    def __init__(self, text: str, limits: Limits, *, stop: int | None = None) -> None:
        self.text = text
        self.limits = limits
        self.stop = len(text) if stop is None else stop
        self.at = 0

    def read(self) -> JSON:
        if not self.peek():
            self.refuse("the text is empty")
        # Each open container with the key that waits for its value ("" in an array).
        open_: list[tuple[list[JSON] | dict[str, JSON], str]] = []
        while True:
            value, opened = self.value(len(open_))
            if opened:
                assert isinstance(value, (list, dict))
                open_.append((value, self.key(value) if isinstance(value, dict) else ""))
                continue
            while open_:
                container, key = open_.pop()
                if isinstance(container, list):
                    container.append(value)
                else:
                    container[key] = value
                if self.goes_on(container):
                    open_.append(
                        (container, self.key(container) if isinstance(container, dict) else "")
                    )
                    break
                value = container
            else:
                if self.peek():
                    self.refuse("text after the value")
                return value

    def peek(self) -> str:
        found = _SPACE.match(self.text, self.at)
        assert found is not None
        self.at = found.end()
        return self.text[self.at : self.at + 1]

    def value(self, depth: int) -> tuple[JSON, bool]:
        """The next value, and whether it is a container that is still to be filled."""
        first = self.peek()
        if self.at > self.stop:
            raise _TooFar
        if first in {"[", "{"}:
            if depth >= self.limits.max_depth:
                self.refuse(f"nested deeper than {self.limits.max_depth} levels")
            self.at += 1
            container: list[JSON] | dict[str, JSON] = [] if first == "[" else {}
            if self.peek() == ("]" if first == "[" else "}"):
                self.at += 1
                return container, False
            return container, True
        if first == '"':
            return self.string(), False
        if first and first in "-0123456789":
            return self.number(), False
        return self.word(), False

    def goes_on(self, container: list[JSON] | dict[str, JSON]) -> bool:
        """A comma follows, and after it something; else the container ends here."""
        end = "]" if isinstance(container, list) else "}"
        mark = self.peek()
        if mark == end:
            self.at += 1
            return False
        if mark != ",":
            self.refuse(f'expected "," or "{end}"' if mark else "the text ends too early")
        comma = self.at
        self.at += 1
        if self.peek() == end:
            self.at = comma
            self.refuse(f'comma before "{end}"')
        return True

    def key(self, members: dict[str, JSON]) -> str:
        mark = self.peek()
        if mark != '"':
            self.refuse("expected a key in double quotes" if mark else "the text ends too early")
        start = self.at
        key = self.string()
        if key in members and not self.limits.last_key_wins:
            self.at = start
            self.refuse(f'duplicate key "{shown(key)}"')
        mark = self.peek()
        if mark != ":":
            self.refuse('expected ":" after a key' if mark else "the text ends too early")
        self.at += 1
        return key

    def string(self) -> str:
        found = _STRING.match(self.text, self.at)
        if found is None:
            self.refuse_string()
        literal = found[0]
        value = literal[1:-1]
        if "\\" in value:
            value = str(decode_literal(literal))
            if _SURROGATE.search(value):
                self.refuse("lone surrogate in a string")
        self.at = found.end()
        return value

    def number(self) -> int | float:
        found = _NUMBER.match(self.text, self.at)
        if found is None:
            self.refuse_number()
        literal, fraction, exponent = found[0], found[1], found[2]
        value = self.integer(literal) if fraction is None and exponent is None else float(literal)
        if isinstance(value, float) and not isfinite(value):
            self.refuse(f"number out of range: {shown(literal)}")
        self.at = found.end()
        return value

    def integer(self, literal: str) -> int:
        if len(literal.lstrip("-")) > self.limits.max_digits:
            self.refuse(f"integer of more than {self.limits.max_digits} digits")
        return parse_integer(literal)

    def word(self) -> JSON:
        found = _WORD.match(self.text, self.at)
        word = found[0] if found else self.text[self.at : self.at + 1]
        if word in _WORDS:
            self.at += len(word)
            return _WORDS[word]
        if not word:
            self.refuse("the text ends too early")
        if word in {"NaN", "Infinity"}:
            self.refuse(f"{word} is not a JSON number")
        if word[0] in "+.":
            self.refuse(f"malformed number: {shown(word)}")
        self.refuse(f"expected a value, got {shown(word)}")

    def refuse_number(self) -> NoReturn:
        """Say why there is no number here, though it begins like one."""
        word = _WORD.match(self.text, self.at)
        assert word is not None
        if word[0] == "-Infinity":
            self.refuse("-Infinity is not a JSON number")
        self.refuse(f"malformed number: {shown(word[0])}")

    def refuse_string(self) -> NoReturn:
        """Say why there is no whole string here."""
        fault = _STRING_SO_FAR.match(self.text, self.at)
        assert fault is not None
        start, self.at = self.at, fault.end()
        mark = self.text[self.at : self.at + 1]
        if not mark or (mark == "\\" and self.at + 1 == len(self.text)):
            self.at = start
            self.refuse("string without an end")
        if mark == "\\":
            self.refuse(f"bad escape in a string: {shown(self.text[self.at : self.at + 2])}")
        self.refuse("control character in a string")

    def refuse(self, reason: str) -> NoReturn:
        refuse(reason, self.text, self.at)


def refuse(reason: str, text: str, at: int) -> NoReturn:
    """Refuse a text for what stands at a character of it."""
    before = text[:at]
    raise JSONError(
        reason,
        offset=len(before.encode("utf-8", "surrogatepass")),
        line=before.count("\n") + 1,
        column=at - before.rfind("\n"),
    )
