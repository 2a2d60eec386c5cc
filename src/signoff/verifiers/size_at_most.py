"""The output is no larger than it may be."""

from __future__ import annotations

from signoff.canonical import canonical_bytes
from signoff.jsonvalue import number_text, parse_pointer
from signoff.model import Finding, Subject, failed, passed
from signoff.params import Count, Pointer
from signoff.registry import Check, reads, verifier


@verifier
def size_at_most(*, bytes: Count, path: Pointer = "") -> Check:
    """
    The value at ``path`` has at most ``bytes`` bytes in canonical form.

    The canonical form (RFC 8785) has no white space between the tokens, so the
    size does not depend on how the output was laid out.

    Args:
        bytes: Most bytes of UTF-8, quotes of a text included.
        path: RFC 6901 pointer to the value; the whole output when empty.

    Source: spec "The standard library of checks", 3.16.
    """
    most, most_text = bytes, number_text(bytes)

    def check(subject: Subject) -> Finding:
        size = len(canonical_bytes(subject.value(path)))
        detail = f"bytes={size}, max={most_text}"
        return passed(detail) if size <= most else failed(detail, at=path)

    return reads(check, parse_pointer(path))
