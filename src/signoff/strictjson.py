"""
Strict JSON, fast: the one way in which texts become values.

Here msgspec decodes, and then what it does not check is proven.  Whatever is not
proven goes to ``exactjson``, which accepts the same texts, and alone refuses:
it knows the reason and the place.

Why counting colons finds duplicate keys: every member of an object has one ":"
outside strings, and those inside strings survive decoding and encoding.  A
member that was overwritten takes its colon with it, so the decoded value, when
encoded again, has fewer of them than the text had, and as many otherwise.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec

from signoff.canonical import canonical_bytes_unchecked, settle, sorted_encoding
from signoff.errors import JSONError
from signoff.jsonlimits import Limits, depth_within, has_long_digits, long_integer, marks_of
from signoff.jsonvalue import JSON

__all__ = ["Limits", "loads", "loads_canonical"]

_DEFAULT: Final = Limits()
_decode: Final = msgspec.json.Decoder().decode
_encoding: Final = msgspec.json.Encoder().encode


def loads(data: bytes | str, *, limits: Limits = _DEFAULT) -> JSON:
    """
    The value of a strict JSON text.

    Raises:
        JSONError: The text is not strict JSON or exceeds a limit; says what and where.
    """
    data = _as_bytes(data, limits)
    proven = _proven(data, limits, _encoding)
    return _decided(data, limits) if proven is None else proven[0]


def loads_canonical(data: bytes | str, *, limits: Limits = _DEFAULT) -> tuple[JSON, bytes]:
    """
    The value of a strict JSON text, and its canonical bytes.

    Raises:
        JSONError: As ``loads``.
    """
    data = _as_bytes(data, limits)
    proven = _proven(data, limits, sorted_encoding)
    if proven is not None:
        return proven[0], settle(*proven)
    value = _decided(data, limits)
    return value, canonical_bytes_unchecked(value)


def _decided(data: bytes, limits: Limits) -> JSON:
    from signoff.exactjson import decide  # patterns that ordinary texts do without

    return decide(data, limits=limits)


def _as_bytes(data: bytes | str, limits: Limits) -> bytes:
    if len(data) > limits.max_bytes:
        raise JSONError(f"larger than {limits.max_bytes} bytes")
    if not isinstance(data, str):
        return data
    try:
        encoded = data.encode()
    except UnicodeEncodeError as exc:
        from signoff.exactjson import refuse  # dear at start-up, see _decided

        refuse("lone surrogate in a string", data, exc.start)
    if len(encoded) > limits.max_bytes:
        raise JSONError(f"larger than {limits.max_bytes} bytes")
    return encoded


def _proven(
    data: bytes, limits: Limits, encode: Callable[[JSON], bytes]
) -> tuple[JSON, bytes] | None:
    """The value of the text and its encoding, None if the text may have to be refused."""
    marks = marks_of(data)
    brackets = marks.count(b"[") + marks.count(b"{")
    if brackets > limits.max_depth and not depth_within(data, limits.max_depth):
        return None
    long_digits = has_long_digits(data, limits.max_digits)
    if long_digits and long_integer(data, limits.max_digits) is not None:
        return None
    try:
        value: JSON = _decode(data)
        encoded = encode(value)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None
    lossless = (
        limits.last_key_wins
        or data == encoded  # the quicker proof: what comes back as it was has lost nothing
        or marks.count(b":") + _colon_escapes(data) == encoded.count(b":")
    )
    return (value, encoded) if lossless else None


def _colon_escapes(data: bytes) -> int:
    """How many colons of a JSON text are spelt by an escape."""
    if b"\\u003" not in data:
        return 0
    data = data.replace(b"\\\\", b"")
    return data.count(b"\\u003a") + data.count(b"\\u003A")
