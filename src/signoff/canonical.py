"""
Canonical bytes of a JSON value (RFC 8785), and digests of them.

One addition to the RFC: integers beyond 2^53-1 are written in plain decimal,
so that outputs which hold them have a digest too and no digit is lost.

The sorted encoder of msgspec writes the same bytes but for three things: numbers
that it ends in ".0", numbers with an exponent, and the order of keys above U+DFFF.
The ".0" is cut out of the text; a text that holds one of the other two is written
again, by the letter of the RFC.
"""

from __future__ import annotations

import marshal
import re
from hashlib import sha256
from itertools import pairwise, repeat
from math import isfinite
from typing import Final, TypeAlias

import msgspec

from signoff.jsonlimits import MAX_DEPTH, depth_within
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

sorted_encoding: Final = msgspec.json.Encoder(order="sorted").encode
"""msgspec's sorted encoder: canonical bytes once ``settle`` has seen to them."""

_decode: Final = msgspec.json.Decoder().decode
_encoding: Final = msgspec.json.Encoder().encode

# What is left of a number with an exponent when digits and signs are gone is "e" alone, or ".e".
# Of true and false more than that must be left; of texts the quotes, and the usual escapes so
# that no other backslash comes to stand before a quote.
_SKETCH_KEEPS: Final = b'[]{},:.eus "\\nrt' + bytes(range(0xEE, 0xF5))
_SKETCH_DELETES: Final = bytes(set(range(256)) - set(_SKETCH_KEEPS))
_SKETCH: Final = bytes.maketrans(
    b"[:{]}.\xee\xef\xf0\xf1\xf2\xf3\xf4", b",,,,,,\x01\x01\x02\x02\x02\x02\x02"
)
_is_odd: Final = (1).__and__
_EXPONENT = re.compile(rb"[0-9]e-?[0-9]")
# From the first such character on; the colon follows keys alone.
_HIGH_TEXT = re.compile(rb'[\xee-\xf4](?>(?:[^"\\]++|\\.)*)"(:)?')


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
    if not _comes_back(value, encoded):
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
    sketch = encoded.translate(_SKETCH, _SKETCH_DELETES)
    if b",e," in sketch and _EXPONENT.search(encoded):
        return write_exactly(value)
    if b"\x01" in sketch and b"\x02" in sketch and _may_be_misordered(encoded):
        return write_exactly(value)
    if b".0" not in encoded:
        return encoded
    if b'\\"' not in sketch:
        return _without_zeros(encoded)
    # No encoder writes control characters; these two stand for what must not look like a quote.
    masked = encoded.replace(b"\\\\", b"\x01").replace(b'\\"', b"\x02")
    return _without_zeros(masked).replace(b"\x02", b'\\"').replace(b"\x01", b"\\\\")


def _may_be_misordered(encoded: bytes) -> bool:
    keys = b"".join(found[0] for found in _HIGH_TEXT.finditer(encoded) if found[1])
    marks = keys.translate(_SKETCH)
    return b"\x01" in marks and b"\x02" in marks


def _without_zeros(encoded: bytes) -> bytes:
    """The text without the ".0" that ends a number; every quote is one end of a string."""
    first, *rest = pieces = encoded.split(b".0")
    if b"-0.0" in encoded or any(map(_is_odd, map(bytes.count, pieces, repeat(b'"')))):
        return _without_zeros_slowly(pieces)
    # No cut is inside a string, for each piece has whole strings.
    return first + b"".join([after if after[0] in b",]}" else b".0" + after for after in rest])


def _without_zeros_slowly(pieces: list[bytes]) -> bytes:
    kept = pieces[:1]
    quotes = 0
    for before, after in pairwise(pieces):
        quotes += before.count(b'"')
        if quotes & 1 or after[:1] not in b",]}":
            kept.append(b".0")
        elif before.endswith(b"-0"):  # of -0 nothing stays but the 0
            kept[-1] = kept[-1][:-2] + b"0"
        kept.append(after)
    return b"".join(kept)


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
        if depth == MAX_DEPTH:
            raise ValueError(f"{where}: nested deeper than {MAX_DEPTH} levels")
        todo.extend(reversed(inner))


_SCALARS: Final = frozenset({type(None), bool, int, float, str})


def _comes_back(value: object, encoded: bytes) -> bool:
    """
    The value is what its encoding says, type for type, and not too deep: it is JSON.

    If False it may still be, and ``require_json`` knows.  What marshal takes is of
    Python's own types and not of subclasses; of these, decoding gives back only
    what JSON has: no tuple, no set, no bytes, no NaN equals what it was written as.
    """
    try:
        marshal.dumps(value)  # type: ignore[arg-type]  # it raises for what it does not take
        brackets = encoded.count(b"[") + encoded.count(b"{")
        shallow = brackets <= MAX_DEPTH or depth_within(encoded, MAX_DEPTH)
        return shallow and bool(_decode(encoded) == value)
    except (ValueError, RecursionError):
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
