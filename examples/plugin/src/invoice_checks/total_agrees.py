"""The total of an invoice is the sum of its lines."""

from __future__ import annotations

from math import fsum
from typing import Annotated

from msgspec import Meta

from signoff import EACH, Check, Finding, NotJudged, Subject, failed, held, reads, verifier


@verifier
def total_agrees(*, tolerance: Annotated[float, Meta(ge=0)] = 0) -> Check:
    """
    The total is the sum of the amounts of all lines.

    Amounts are added as floating-point numbers, rounded once at the end.

    Args:
        tolerance: Largest difference that is accepted, in the currency's unit.
    """

    def check(subject: Subject) -> Finding:
        total = number_at(subject, "/total")
        lines = subject.array("/lines")
        amounts = [number_at(subject, f"/lines/{i}/amount") for i in range(len(lines))]
        difference = abs(total - fsum(amounts))
        detail = f"total={total}, sum={fsum(amounts)}, tolerance={tolerance}"
        if not difference <= tolerance:
            return failed(detail, at="/total")
        return held(detail, items=len(lines))

    return reads(check, ("total",), ("lines", EACH, "amount"))


def number_at(subject: Subject, pointer: str) -> float:
    """The number at a pointer; ends the check where there is none."""
    value = subject.value(pointer)
    if type(value) not in (int, float):
        raise NotJudged(failed(f"{pointer} is no number.", at=pointer))
    return value
