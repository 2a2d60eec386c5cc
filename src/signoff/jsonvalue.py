"""
JSON values: types, equality, pointers, and how numbers and texts print.

Python is not JSON: here ``True`` is not ``1``, while ``1`` is ``1.0`` and
integers of any size compare exactly.  Nothing here reads or writes JSON texts;
``strictjson`` reads them and ``canonical`` writes them.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Sequence
from enum import Enum
from functools import lru_cache
from math import isfinite
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeGuard

__all__ = [
    "INTEGER_CHUNK",
    "JSON",
    "MISSING",
    "Missing",
    "equality_key",
    "find",
    "first_difference",
    "is_number",
    "join_pointer",
    "json_equal",
    "json_type",
    "number_text",
    "parse_integer",
    "parse_pointer",
    "resolve",
    "shown",
    "utf16_key",
]

if TYPE_CHECKING:
    JSON: TypeAlias = bool | int | float | str | list["JSON"] | dict[str, "JSON"] | None
else:
    JSON = Any  # a recursive alias cannot be evaluated as the type of a struct's field


class Missing(Enum):
    """The type of ``MISSING``."""

    MISSING = "missing"


MISSING: Final = Missing.MISSING
"""Where there is no value, as opposed to ``None``, which is JSON's null."""

INTEGER_CHUNK: Final = 500
"""Digits that the interpreter converts at once under any limit of its own, which is 640 or more."""

_EXACT_IN_DOUBLE: Final = 2**53
_UNSAFE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
_STRAY_TILDE = re.compile("~(?![01])")


def json_type(value: JSON) -> str:
    """
    JSON's own word for the type of a value.

    Raises:
        TypeError: The value is of no JSON type.
    """
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, (int, float)):
        return "number"
    if isinstance(value, str):
        return "string"
    if isinstance(value, list):
        return "array"
    if isinstance(value, dict):
        return "object"
    raise TypeError(f"{type(value).__name__} is not a JSON type")


def is_number(value: object) -> TypeGuard[int | float]:
    """The value is a number; a boolean never is."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def json_equal(a: JSON, b: JSON) -> bool:
    """
    The two are the same JSON value.

    Objects are compared without order, arrays with; ``1`` is ``1.0``, ``-0`` is
    ``0``, ``True`` is not ``1``; integers are exact against decimals; strings are
    compared by code point, without normalisation.  Any depth is fine.
    """
    pairs: list[tuple[JSON, JSON]] = [(a, b)]
    while pairs:
        x, y = pairs.pop()
        if isinstance(x, dict):
            if not isinstance(y, dict) or x.keys() != y.keys():
                return False
            pairs.extend((item, y[key]) for key, item in x.items())
        elif isinstance(x, list):
            if not isinstance(y, list) or len(x) != len(y):
                return False
            pairs.extend(zip(x, y, strict=True))
        elif x != y or isinstance(x, bool) is not isinstance(y, bool):
            return False
    return True


def equality_key(value: JSON) -> Hashable:
    """
    A hashable that is equal for two values exactly when ``json_equal`` holds.

    Strings and numbers within 2^53 are their own keys.  All else is keyed by a
    text, because Python hashes texts with a secret and numbers without one:
    nobody can prepare an output whose keys all collide.
    """
    if isinstance(value, str):
        return value
    if is_number(value) and -_EXACT_IN_DOUBLE <= value <= _EXACT_IN_DOUBLE:
        return value
    return (_key_text(value),)


def first_difference(a: JSON, b: JSON) -> str | None:
    """
    Pointer to the first place where two values differ, None if they are equal.

    Keys are visited in UTF-16 order, items by index.  A key or an item that only
    one side has is a difference at its own place.
    """
    todo: list[tuple[_Path, JSON | Missing, JSON | Missing]] = [(None, a, b)]
    while todo:
        path, x, y = todo.pop()
        if isinstance(x, dict) and isinstance(y, dict):
            keys = sorted(x.keys() | y.keys(), key=utf16_key, reverse=True)
            todo.extend(((path, key), x.get(key, MISSING), y.get(key, MISSING)) for key in keys)
        elif isinstance(x, list) and isinstance(y, list):
            todo.extend(
                ((path, i), _item(x, i), _item(y, i)) for i in reversed(range(max(len(x), len(y))))
            )
        elif x is MISSING or y is MISSING or not json_equal(x, y):
            return join_pointer("", *_tokens(path))
    return None


@lru_cache(maxsize=1024)
def parse_pointer(text: str) -> tuple[str, ...]:
    """
    The tokens of an RFC 6901 pointer; none for ``""``, the whole value.

    Raises:
        ValueError: The text is no pointer.
    """
    if not text:
        return ()
    if not text.startswith("/"):
        raise ValueError(f'a JSON Pointer must be empty or begin with "/", got "{shown(text)}"')
    if _STRAY_TILDE.search(text):
        raise ValueError(f'"~" must be followed by 0 or 1 in a JSON Pointer, got "{shown(text)}"')
    return tuple(token.replace("~1", "/").replace("~0", "~") for token in text[1:].split("/"))


def join_pointer(prefix: str, *tokens: str | int) -> str:
    """The pointer ``prefix`` continued by keys and indices, which are escaped."""
    return prefix + "".join(
        f"/{token.replace('~', '~0').replace('/', '~1')}" if isinstance(token, str) else f"/{token}"
        for token in tokens
    )


def find(value: JSON, tokens: Iterable[str]) -> JSON | Missing:
    """
    The value at ``tokens``, ``MISSING`` where there is none.

    Only an object's own keys count, and an index is written as JSON writes a whole
    number: no sign, no leading zero, no "-", ASCII digits.
    """
    for token in tokens:
        if isinstance(value, dict):
            if token not in value:
                return MISSING
            value = value[token]
        elif isinstance(value, list) and _is_index(token, len(value)):
            value = value[int(token)]
        else:
            return MISSING
    return value


def resolve(value: JSON, tokens: Sequence[str]) -> tuple[JSON | Missing, str]:
    """
    The value at ``tokens`` as ``find`` finds it, and its pointer.

    Where there is none: ``MISSING``, and the pointer of the longest prefix that exists.
    """
    found = find(value, tokens)
    if found is not MISSING:
        return found, join_pointer("", *tokens)
    size = 0
    while (inner := find(value, tokens[size : size + 1])) is not MISSING:
        value = inner
        size += 1
    return MISSING, join_pointer("", *tokens[:size])


def utf16_key(text: str) -> bytes:
    """What to sort texts by to have them in the order of their UTF-16 code units."""
    return text.encode("utf-16-be", "surrogatepass")


def number_text(x: int | float) -> str:
    """
    The number as ECMAScript prints it: ``15``, ``4.5``, ``1e+21``; ``0`` for -0.

    An integer prints in plain decimal, whatever its size.

    Raises:
        ValueError: The number is NaN or infinite.
        TypeError: The value is no number.
    """
    if isinstance(x, float):
        return _float_text(x)
    if not is_number(x):
        raise TypeError(f"{type(x).__name__} is not a number")
    try:
        return int.__repr__(x)
    except ValueError:  # the interpreter's own limit on digits
        return _long_integer_text(int(x))


def parse_integer(literal: str) -> int:
    """The integer that decimal digits spell, however many, with at most a "-" before them."""
    digits = literal.removeprefix("-")
    if len(digits) <= INTEGER_CHUNK:
        return int(literal)
    value = 0
    for i in range(0, len(digits), INTEGER_CHUNK):
        chunk = digits[i : i + INTEGER_CHUNK]
        value = value * 10 ** len(chunk) + int(chunk)
    return -value if literal[0] == "-" else value


def shown(text: str, limit: int = 200) -> str:
    r"""
    The text as it may appear inside a message: one line, bounded, nothing invisible at work.

    Control characters, line separators, direction marks and lone surrogates are
    written as ``\uXXXX``; of more than ``limit`` characters the rest is ``...``.
    """
    if len(text) <= limit and text.isprintable():
        return text
    cut = text if len(text) <= limit else text[:limit]
    safe = _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", cut)
    return safe if cut is text else safe + "..."


_Path: TypeAlias = "tuple[_Path, str | int] | None"


def _key_text(value: JSON) -> str:
    # Injective: strings state their length, every other kind has its own first character.
    if isinstance(value, str):
        return f"'{len(value)}'{value}"
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return "null"
    if isinstance(value, (int, float)):
        return f"{int(value):#x}" if value == value // 1 else repr(value)
    if isinstance(value, list):
        return f"[{','.join(map(_key_text, value))}]"
    members = (f"{_key_text(key)}:{_key_text(value[key])}" for key in sorted(value))
    return f"{{{','.join(members)}}}"


def _item(items: list[JSON], index: int) -> JSON | Missing:
    return items[index] if index < len(items) else MISSING


def _tokens(path: _Path) -> list[str | int]:
    tokens: list[str | int] = []
    while path is not None:
        path, token = path
        tokens.append(token)
    return tokens[::-1]


def _is_index(token: str, length: int) -> bool:
    return (
        token.isascii()
        and token.isdigit()
        and (token[0] != "0" or token == "0")
        and len(token) <= len(str(length))  # int() of an endless token would be slow, or refused
        and int(token) < length
    )


def _float_text(x: float) -> str:
    if not isfinite(x):
        raise ValueError(f"{x} is not a JSON number")
    text = float.__repr__(x)
    if "e" not in text:
        plain = text.removesuffix(".0")
        return "0" if plain == "-0" else plain
    mantissa, _, exponent = text.partition("e")
    sign = "-" if mantissa[0] == "-" else ""
    first, _, rest = mantissa.lstrip("-").partition(".")
    return sign + _scientific_text(first, rest, int(exponent))


def _scientific_text(first: str, rest: str, exponent: int) -> str:
    # ECMA-262, Number::toString; Python's own digits are the shortest ones too, and it
    # writes an exponent from 1e16 on and below 1e-4 where ECMAScript waits for 1e21 and 1e-7.
    if 0 <= exponent < 21:
        return (first + rest).ljust(exponent + 1, "0")
    if -7 < exponent < 0:
        return f"0.{'0' * (-exponent - 1)}{first}{rest}"
    return f"{first}{'.' if rest else ''}{rest}e{exponent:+d}"


def _long_integer_text(x: int) -> str:
    sign, rest, chunks = "-" if x < 0 else "", abs(x), []
    while rest:
        rest, chunk = divmod(rest, 10**INTEGER_CHUNK)
        chunks.append(f"{chunk:0{INTEGER_CHUNK}d}")
    return sign + "".join(reversed(chunks)).lstrip("0")
