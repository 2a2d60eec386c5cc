"""
Canonical bytes of a JSON value (RFC 8785), and digests of them.

One addition to the RFC: integers beyond 2^53-1 are written in plain decimal,
so that outputs which hold them have a digest too and no digit is lost.

The sorted encoder of msgspec writes the same bytes but for three things: numbers
that it ends in ".0", numbers with an exponent, and the order of keys above U+DFFF.
A text that might hold one of these is written again, by the letter of the RFC.
"""

from __future__ import annotations

import re
from hashlib import sha256
from math import isfinite
from typing import Final, TypeAlias

import msgspec

from signoff.jsonvalue import JSON, join_pointer, number_text, utf16_key

__all__ = [
    "Digest",
    "canonical_bytes",
    "canonical_bytes_unchecked",
    "digest",
    "digest_bytes",
    "is_digest",
    "require_json",
    "settle",
    "sorted_encoding",
    "write_exactly",
]

Digest: TypeAlias = str
"""``sha256:`` and 64 lower-case hexadecimal digits."""

_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_MAX_DEPTH: Final = 128

sorted_encoding: Final = msgspec.json.Encoder(order="sorted").encode
"""msgspec's sorted encoder: canonical bytes once ``settle`` has seen to them."""

_decode: Final = msgspec.json.Decoder().decode
_encoding: Final = msgspec.json.Encoder().encode

# What is left of a number with an exponent when digits and signs are gone is "e" alone, or ".e".
_SKETCH_DELETES: Final = b"0123456789-"
_SKETCH: Final = bytes.maketrans(
    b"[:]}\xee\xef\xf0\xf1\xf2\xf3\xf4", b",,,,\x01\x01\x02\x02\x02\x02\x02"
)


def canonical_bytes(value: JSON) -> bytes:
    """
    The bytes of RFC 8785, integers of any size in plain decimal.

    Raises:
        ValueError: The value is not JSON, or deeper than 128 levels: says where, and what is there.
    """
    try:
        encoded = sorted_encoding(value)
    except (TypeError, ValueError, RecursionError):
        require_json(value)
        return write_exactly(value)
    if not _is_plain(value, may_hold_nan=b"null" in encoded):
        require_json(value)
    return settle(value, encoded)


def canonical_bytes_unchecked(value: JSON) -> bytes:
    """
    The same bytes, for a value that is known to be JSON because it was loaded strictly.

    Of anything else the answer means nothing: NaN becomes ``null``.
    """
    try:
        encoded = sorted_encoding(value)
    except ValueError:  # the interpreter's own limit on digits
        return write_exactly(value)
    return settle(value, encoded)


def settle(value: JSON, encoded: bytes) -> bytes:
    """The canonical bytes of a JSON value, given its sorted encoding; nearly always the same."""
    if type(value) is float:
        return write_exactly(value)
    if any(end in encoded for end in (b".0,", b".0}", b".0]")):
        short = encoded.replace(b".0,", b",").replace(b".0}", b"}").replace(b".0]", b"]")
        # A text that held ".0," has lost it and is not equal any more; -0 would be.
        if any(end in encoded for end in (b"-0.0,", b"-0.0}", b"-0.0]")) or _decode(short) != value:
            return write_exactly(value)
        encoded = short
    sketch = encoded.translate(_SKETCH, _SKETCH_DELETES)
    if b",e," in sketch or b".e," in sketch or (b"\x01" in sketch and b"\x02" in sketch):
        return write_exactly(value)
    return encoded


def digest(value: JSON) -> Digest:
    """``sha256:`` and the hash of the value's canonical bytes."""
    return digest_bytes(canonical_bytes(value))


def digest_bytes(data: bytes) -> Digest:
    """``sha256:`` and the hash of the bytes as they are."""
    return f"sha256:{sha256(data).hexdigest()}"


def is_digest(text: object) -> bool:
    """The value is a text of the form of a digest."""
    return isinstance(text, str) and _DIGEST.fullmatch(text) is not None


def write_exactly(value: JSON) -> bytes:
    """The canonical bytes of a JSON value by the letter of the RFC, piece by piece."""
    if isinstance(value, dict):
        members = (
            b"%b:%b" % (_encoding(key), write_exactly(value[key]))
            for key in sorted(value, key=utf16_key)
        )
        return b"{%b}" % b",".join(members)
    if isinstance(value, list):
        return b"[%b]" % b",".join(map(write_exactly, value))
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return number_text(value).encode()
    return _encoding(value)


def require_json(value: object) -> None:
    """
    Hold a value to what JSON has: null, booleans, finite numbers, texts, lists, dicts by text.

    Subclasses and other containers are refused too, because they would not come
    back as they went out; so is what is nested deeper than 128 levels, as a value
    that holds itself is.

    Raises:
        ValueError: Says where, and what is there.
    """
    todo: list[tuple[str, int, object]] = [("", 0, value)]
    while todo:
        where, depth, item = todo.pop()
        if type(item) is dict:
            for key in item:
                _require_key(key, where)
            inner = [(join_pointer(where, key), depth + 1, entry) for key, entry in item.items()]
        elif type(item) is list:
            inner = [(join_pointer(where, i), depth + 1, entry) for i, entry in enumerate(item)]
        else:
            _require_scalar(item, where)
            continue
        if depth == _MAX_DEPTH:
            raise ValueError(f"{where}: nested deeper than {_MAX_DEPTH} levels")
        todo.extend(reversed(inner))


_SCALARS: Final = frozenset({type(None), bool, int, float, str})
_KINDS: Final = _SCALARS | {list, dict}
_TEXT: Final = frozenset({str})


def _is_plain(value: object, *, may_hold_nan: bool) -> bool:
    # What require_json asks, but for lone surrogates, which no encoder writes; without the places.
    level: list[object] = [[value]]
    for _ in range(_MAX_DEPTH + 1):
        inner: list[object] = []
        for container in level:
            items: list[object]
            if isinstance(container, dict):
                if not _TEXT.issuperset(map(type, container)):
                    return False
                items = list(container.values())
            else:
                assert isinstance(container, list)
                items = container
            kinds = set(map(type, items))
            if not kinds <= _KINDS:
                return False
            if may_hold_nan and not all(isfinite(x) for x in items if isinstance(x, float)):
                return False
            if not kinds <= _SCALARS:
                inner += [item for item in items if isinstance(item, (list, dict))]
        if not inner:
            return True
        level = inner
    return False


def _require_key(key: object, where: str) -> None:
    if type(key) is not str:
        raise ValueError(f"{where or '/'}: {type(key).__name__} is not a JSON key")
    _require_scalar(key, where)


def _require_scalar(item: object, where: str) -> None:
    if type(item) not in _SCALARS:
        raise ValueError(f"{where or '/'}: {type(item).__name__} is not a JSON type")
    if isinstance(item, float) and not isfinite(item):
        raise ValueError(f"{where or '/'}: {item} is not a JSON number")
    if isinstance(item, str):
        try:
            item.encode()
        except UnicodeEncodeError:
            raise ValueError(f"{where or '/'}: lone surrogate in a string") from None
