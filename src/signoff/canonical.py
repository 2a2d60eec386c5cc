"""
Canonical bytes of a JSON value (RFC 8785), and digests of them.

One addition to the RFC: integers beyond 2^53-1 are written in plain decimal,
so that outputs which hold them have a digest too and no digit is lost.
"""

from __future__ import annotations

import re
from hashlib import sha256
from json.encoder import encode_basestring
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
    "encode_exactly",
    "is_digest",
    "require_json",
]

Digest: TypeAlias = str
"""``sha256:`` and 64 lower-case hexadecimal digits."""

_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_ENCODE: Final = msgspec.json.Encoder(order="sorted").encode


def canonical_bytes(value: JSON) -> bytes:
    """
    The bytes of RFC 8785, integers of any size in plain decimal.

    Raises:
        ValueError: The value is not JSON: says where, and what is there.
    """
    require_json(value)
    return canonical_bytes_unchecked(value)


def canonical_bytes_unchecked(value: JSON) -> bytes:
    """
    The same bytes, for a value that is known to be JSON: it was loaded strictly.

    On anything else the answer means nothing: NaN becomes ``null``.
    """
    return settle(value, _ENCODE(value))


def settle(value: JSON, encoded: bytes) -> bytes:
    """The canonical bytes, given those of the sorted encoder, which are nearly always the same."""
    return encode_exactly(value)


def digest(value: JSON) -> Digest:
    """``sha256:`` and the hash of the value's canonical bytes."""
    return digest_bytes(canonical_bytes(value))


def digest_bytes(data: bytes) -> Digest:
    """``sha256:`` and the hash of the bytes as they are."""
    return f"sha256:{sha256(data).hexdigest()}"


def is_digest(text: object) -> bool:
    """The value is a text of the form of a digest."""
    return isinstance(text, str) and _DIGEST.fullmatch(text) is not None


def require_json(value: object) -> None:
    """
    Hold the value to what JSON has: null, booleans, finite numbers, strings, lists, dicts by string.

    Subclasses and other containers are refused too: they would not come back as
    they went out.

    Raises:
        ValueError: Says where, and what is there.
    """
    todo: list[tuple[str, object]] = [("", value)]
    while todo:
        where, item = todo.pop()
        kind = type(item)
        if kind is str:
            _require_text(str(item), where)
        elif isinstance(item, dict) and kind is dict:
            for key in item:
                if type(key) is not str:
                    raise ValueError(f"{where or '/'}: {type(key).__name__} is not a JSON key")
                _require_text(key, where)
            todo.extend((join_pointer(where, key), item[key]) for key in item)
        elif isinstance(item, list) and kind is list:
            todo.extend((join_pointer(where, i), entry) for i, entry in enumerate(item))
        elif isinstance(item, float) and kind is float:
            if not isfinite(item):
                raise ValueError(f"{where or '/'}: {item} is not a JSON number")
        elif item is not None and kind is not bool and kind is not int:
            raise ValueError(f"{where or '/'}: {kind.__name__} is not a JSON type")


def _require_text(text: str, where: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError(f"{where or '/'}: lone surrogate in a string") from None


def encode_exactly(value: JSON) -> bytes:
    """The canonical bytes by the letter of the RFC."""
    return _text(value).encode()


def _text(value: JSON) -> str:
    if isinstance(value, str):
        return encode_basestring(value)
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return number_text(value)
    if isinstance(value, list):
        return f"[{','.join(map(_text, value))}]"
    members = (
        f"{encode_basestring(key)}:{_text(value[key])}" for key in sorted(value, key=utf16_key)
    )
    return f"{{{','.join(members)}}}"
