"""
Many strict JSON texts, one a line, proven together: the same rules as ``strictjson``, at less cost.

Each line is put into an array of its own before they are decoded in one go.  A
string cannot go over the end of a line, and no array or object can: after the
``]`` that ends one line, the ``[`` that begins the next would have to be preceded
by a comma.  So every line gives one value or more, and where there are as many
values as lines, each with one element, each line is exactly one text.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from signoff.jsonlimits import MAX_DEPTH, Limits, depth_within, has_long_digits, marks_of
from signoff.jsonvalue import JSON

__all__ = ["proven_lines"]

_decode: Final = msgspec.json.Decoder().decode_lines
_encoding: Final = msgspec.json.Encoder().encode
_ONE: Final = {1}


def proven_lines(lines: Sequence[bytes], *, limits: Limits) -> list[list[JSON]] | None:
    """
    The value of each line in a list of its own; None if one of them may have to be refused.

    Args:
        lines: Texts without a line feed, each within ``limits.max_bytes`` already.
        limits: What each of them may be.
    """
    data = b"[%b]" % b"]\n[".join(lines)
    if b"\\u003" in data or limits.max_depth >= MAX_DEPTH:  # a colon may be spelt by an escape
        return None
    marks = marks_of(data)
    shallow = marks.count(b"[") + marks.count(b"{") <= limits.max_depth
    if not shallow and not depth_within(data, limits.max_depth + 1):
        return None
    if has_long_digits(data, limits.max_digits):
        return None
    try:
        values: list[list[JSON]] = _decode(data)
        encoded = _encoding(values)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None
    whole = len(values) == len(lines) and {*map(len, values)} == _ONE
    lossless = limits.last_key_wins or marks.count(b":") == encoded.count(b":")
    return values if whole and lossless else None
