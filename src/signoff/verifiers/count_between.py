"""The number of items lies between two bounds."""

from __future__ import annotations

from signoff.errors import ParamsError
from signoff.jsonvalue import number_text, parse_pointer
from signoff.model import Finding, Subject, failed, passed
from signoff.params import Count, Pointer, crossed
from signoff.registry import Check, reads, verifier


@verifier
def count_between(
    *, min: Count | None = None, max: Count | None = None, path: Pointer = ""
) -> Check:
    """
    The array at ``path`` has ``min`` to ``max`` items, both ends included.

    An empty array is judged like any other: the count is the claim.

    Args:
        min: Fewest items; no lower bound when absent.
        max: Most items; no upper bound when absent.
        path: RFC 6901 pointer to the array; the whole output when empty.

    Source: OpenSpec, "Standard Library of Acceptance Checks".
    """
    if min is None and max is None:
        raise ParamsError("params.min or params.max is required")
    crossed(min, max, "min", "max")
    low, low_text = (0, "-Infinity") if min is None else (min, number_text(min))
    high, high_text = (float("inf"), "Infinity") if max is None else (max, number_text(max))

    def check(subject: Subject) -> Finding:
        count = len(subject.array(path))
        detail = f"length={count}, min={low_text}, max={high_text}"
        return passed(detail) if low <= count <= high else failed(detail, at=path)

    return reads(check, parse_pointer(path))
