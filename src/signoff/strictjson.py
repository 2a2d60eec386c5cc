"""
Strict JSON, fast: the one way in which texts become values.

Two loaders accept the same texts.  The fast one lets msgspec decode, and then
proves what msgspec does not check.  The exact one (``read_exactly``) walks the
text token by token; it decides whenever the fast one cannot, and it is the only
one that refuses, because it knows the place and the reason.

Why counting colons finds duplicate keys: every member of an object has one ":"
outside strings, and those inside strings survive decoding and encoding.  A
member that was overwritten takes its colon with it, so the decoded value, when
encoded again, has fewer of them than the text had, and as many otherwise.
"""

from __future__ import annotations

import re
from json import loads as decode_literal
from math import isfinite
from typing import Annotated, Final, NoReturn

import msgspec

from signoff.canonical import canonical_bytes_unchecked, settle, sorted_encoding
from signoff.errors import JSONError
from signoff.jsonvalue import JSON, shown

__all__ = ["Limits", "loads", "loads_canonical", "read_exactly"]


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
    max_depth: Annotated[int, msgspec.Meta(ge=1, le=128)] = 64
    max_digits: Annotated[int, msgspec.Meta(ge=1, le=4000)] = 1000
    last_key_wins: bool = False

    def __post_init__(self) -> None:
        if not 1 <= self.max_depth <= 128:
            raise ValueError(f"max_depth must be 1 to 128, got {self.max_depth}")
        if not 1 <= self.max_digits <= 4000:
            raise ValueError(f"max_digits must be 1 to 4000, got {self.max_digits}")


_DEFAULT: Final = Limits()
_decode: Final = msgspec.json.Decoder().decode
_encoding: Final = msgspec.json.Encoder().encode
_ONE_KIND: Final = bytes.maketrans(b"{}", b"[]")
_NO_MARKS: Final = bytes(set(range(256)) - set(b'[]{}"'))
_COLON_ESCAPE = re.compile(rb"\\(?:(u003[aA])|.)", re.DOTALL)


def loads(data: bytes | str, *, limits: Limits = _DEFAULT) -> JSON:
    """
    The value of a strict JSON text.

    Raises:
        JSONError: The text is not strict JSON or exceeds a limit; says what and where.
    """
    data = _as_bytes(data, limits)
    try:
        value: JSON = _decode(data)
        proven = _within_limits(data, limits) and (
            limits.last_key_wins or _colons(data) == _encoding(value).count(b":")
        )
    except (msgspec.MsgspecError, ValueError, RecursionError):
        proven = False
    return value if proven else read_exactly(data, limits=limits)


def loads_canonical(data: bytes | str, *, limits: Limits = _DEFAULT) -> tuple[JSON, bytes]:
    """
    The value of a strict JSON text, and its canonical bytes.

    Raises:
        JSONError: As ``loads``.
    """
    data = _as_bytes(data, limits)
    try:
        value: JSON = _decode(data)
        encoded = sorted_encoding(value)
        proven = _within_limits(data, limits) and (
            limits.last_key_wins or _colons(data) == encoded.count(b":")
        )
    except (msgspec.MsgspecError, ValueError, RecursionError):
        proven = False
    if proven:
        return value, settle(value, encoded)
    value = read_exactly(data, limits=limits)
    return value, canonical_bytes_unchecked(value)


def _as_bytes(data: bytes | str, limits: Limits) -> bytes:
    if len(data) > limits.max_bytes:
        raise JSONError(f"larger than {limits.max_bytes} bytes")
    if not isinstance(data, str):
        return data
    try:
        encoded = data.encode()
    except UnicodeEncodeError as exc:
        _refuse("lone surrogate in a string", data, exc.start)
    if len(encoded) > limits.max_bytes:
        raise JSONError(f"larger than {limits.max_bytes} bytes")
    return encoded


def _colons(data: bytes) -> int:
    # The colons that the decoded value has as well: those that an escape spells are counted too.
    count = data.count(b":")
    if b"\\u003" in data:
        count += sum(found[1] is not None for found in _COLON_ESCAPE.finditer(data))
    return count


def _within_limits(data: bytes, limits: Limits) -> bool:
    """The JSON text keeps to the limits for certain; if False, the exact loader decides."""
    brackets = data.count(b"[") + data.count(b"{")
    if brackets > limits.max_depth and not _depth_within(data, limits.max_depth):
        return False
    return len(data) <= limits.max_digits or not _has_long_digits(data, limits.max_digits)


def _depth_within(data: bytes, max_depth: int) -> bool:
    if b"\\" in data:  # first the backslashes that are escaped themselves, then the quotes
        data = data.replace(b"\\\\", b"").replace(b'\\"', b"")
    marks = data.translate(None, _NO_MARKS)
    brackets = marks.replace(b'""', b"")
    if b'"' in brackets:  # there are brackets inside of strings; if there are none, all quotes pair
        brackets = b"".join(marks.split(b'"')[::2])
    brackets = brackets.translate(_ONE_KIND)
    for _ in range(max_depth):  # each turn takes away the innermost containers
        brackets = brackets.replace(b"[]", b"")
        if not brackets:
            return True
    return False


def _has_long_digits(data: bytes, max_digits: int) -> bool:
    # More than n digits in a row fill at least one whole block of (n + 2) // 2 bytes.
    size = (max_digits + 2) // 2
    for start in range(0, len(data), size):  # three times as fast as any()
        if 48 <= data[start] <= 57 and data[start : start + size].isdigit():  # 0 to 9
            return True
    return False


_SPACE = re.compile(r"[ \t\n\r]*+")
_STRING_SO_FAR = re.compile(
    r'"[^"\\\x00-\x1f]*+(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*+)*+'
)
_STRING = re.compile(_STRING_SO_FAR.pattern + '"')
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*+)(\.[0-9]++)?([eE][+-]?[0-9]++)?(?![0-9A-Za-z_.+-])")
_WORD = re.compile(r"-?[0-9A-Za-z_.+-]++")
_SURROGATE = re.compile("[\ud800-\udfff]")
_WORDS: Final[dict[str, JSON]] = {"true": True, "false": False, "null": None}


def read_exactly(data: bytes, *, limits: Limits = _DEFAULT) -> JSON:
    """
    The value of a strict JSON text, found token by token, at any depth without recursion.

    Raises:
        JSONError: As ``loads``, which see.
    """
    try:
        text = data.decode()
    except UnicodeDecodeError as exc:
        before = data[: exc.start].decode()
        _refuse("not UTF-8", before, len(before))
    if text.startswith("\ufeff"):
        _refuse("byte-order mark before the text", text, 0)
    return _Reader(text, limits).read()


class _Reader:
    """One pass over one text; ``at`` is the place of the next token."""

    def __init__(self, text: str, limits: Limits) -> None:
        self.text = text
        self.limits = limits
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
        if first in ("[", "{") and first:
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
        digits = literal.lstrip("-")
        if len(digits) > self.limits.max_digits:
            self.refuse(f"integer of more than {self.limits.max_digits} digits")
        if len(digits) <= 500:
            return int(literal)
        value = 0
        for i in range(0, len(digits), 500):  # the interpreter may limit int() to 640 digits
            chunk = digits[i : i + 500]
            value = value * 10 ** len(chunk) + int(chunk)
        return -value if literal[0] == "-" else value

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
        _refuse(reason, self.text, self.at)


def _refuse(reason: str, text: str, at: int) -> NoReturn:
    before = text[:at]
    raise JSONError(
        reason,
        offset=len(before.encode("utf-8", "surrogatepass")),
        line=before.count("\n") + 1,
        column=at - before.rfind("\n"),
    )
