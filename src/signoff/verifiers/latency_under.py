"""The work took no longer than it may."""

from __future__ import annotations

from typing import Annotated

from msgspec import UnsetType

from signoff.jsonvalue import is_number, join_pointer, number_text, parse_pointer, shown
from signoff.model import Finding, Subject, failed, inconclusive, passed, warned
from signoff.params import Pointer, number
from signoff.registry import Check, reads, verifier
from signoff.status import Cause

FIELD = "latencyMs"


@verifier
def latency_under(*, max: Annotated[float, number(ge=0)], path: Pointer = "") -> Check:
    """
    The work took at most ``max`` milliseconds, that many included.

    The recorded time decides.  Where none was recorded, ``latencyMs`` of the
    object at ``path`` does, and a pass is a warning, since the output says it of
    itself.  With neither it is inconclusive.

    Args:
        max: Most milliseconds; a recorded time is rounded to thousandths of one.
        path: RFC 6901 pointer to the object with ``latencyMs``; the whole output when empty.

    Source: OpenSpec, "Standard Library of Acceptance Checks".
    """
    most_text = number_text(max)
    at = join_pointer(path, FIELD)

    def compared(elapsed_ms: float) -> tuple[bool, str]:
        within = elapsed_ms <= max
        sign = "<=" if within else ">"
        return within, f"elapsed_ms={shown(number_text(elapsed_ms))} {sign} max={most_text}"

    def check(subject: Subject) -> Finding:
        if subject.elapsed_s is not None:
            within, detail = compared(_milliseconds(subject.elapsed_s))
            return passed(detail) if within else failed(detail)
        told = None if isinstance(subject.output, UnsetType) else subject.value(path)
        if type(told) is not dict or FIELD not in told:
            return inconclusive("No elapsed time was recorded.", Cause.NOT_RECORDED)
        elapsed_ms = told[FIELD]
        if not is_number(elapsed_ms) or not elapsed_ms >= 0:
            return failed("latencyMs is not a number of milliseconds.", at=at)
        within, detail = compared(elapsed_ms)
        detail += " (self-reported)"
        return warned(detail, at=at) if within else failed(detail, at=at)

    return reads(check, (*parse_pointer(path), FIELD))


def _milliseconds(elapsed_s: float) -> float:
    if not is_number(elapsed_s) or not elapsed_s >= 0:
        raise ValueError("the recorded time is not a number of seconds")
    return round(elapsed_s * 1000, 3)
