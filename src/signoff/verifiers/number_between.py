"""A number lies between two bounds."""

from __future__ import annotations

from msgspec import UnsetType

from signoff.errors import ParamsError
from signoff.jsonvalue import (
    JSON,
    MISSING,
    is_number,
    json_type,
    number_text,
    parse_pointer,
    resolve,
    shown,
)
from signoff.model import Finding, Subject, failed, passed
from signoff.params import Number, Pointer, crossed
from signoff.registry import Check, reads, verifier


@verifier
def number_between(
    *,
    min: Number | None = None,
    max: Number | None = None,
    exclusive_min: bool = False,
    exclusive_max: bool = False,
    default: Number | None = None,
    path: Pointer = "",
) -> Check:
    """
    The number at ``path`` lies between ``min`` and ``max``, ends included unless said otherwise.

    Integers of any size are compared exactly, also with decimals.  A boolean is
    no number, and neither is a text of digits.

    Args:
        min: Smallest number; no lower bound when absent.
        max: Largest number; no upper bound when absent.
        exclusive_min: The number must be above ``min``.
        exclusive_max: The number must be below ``max``.
        default: Judged where the output has nothing at ``path``; without it that fails.
        path: RFC 6901 pointer to the number; the whole output when empty.

    Source: spec "The standard library of checks", 3.16.
    """
    _require_bounds(min, max, exclusive_min=exclusive_min, exclusive_max=exclusive_max)
    low, high = float("-inf") if min is None else min, float("inf") if max is None else max
    bounds = f"min={_bound_text(min, '-Infinity')}, max={_bound_text(max, 'Infinity')}"

    def check(subject: Subject) -> Finding:
        value, at = _number(subject, path, default)
        if not is_number(value):
            return failed(f"Output is {json_type(value)}, not number.", at=at)
        detail = f"value={shown(number_text(value))}, {bounds}"
        above = low < value if exclusive_min else low <= value
        below = value < high if exclusive_max else value <= high
        return passed(detail) if above and below else failed(detail, at=at)

    return reads(check, parse_pointer(path))


def _require_bounds(
    min: float | None, max: float | None, *, exclusive_min: bool, exclusive_max: bool
) -> None:
    if min is None and max is None:
        raise ParamsError("params.min or params.max is required")
    if exclusive_min and min is None:
        raise ParamsError("params.exclusive_min needs params.min", where="/exclusive_min")
    if exclusive_max and max is None:
        raise ParamsError("params.exclusive_max needs params.max", where="/exclusive_max")
    crossed(min, max, "min", "max")
    if min is not None and min == max and (exclusive_min or exclusive_max):
        text = number_text(min)
        raise ParamsError(f"params.min {text} is not below params.max {text}", where="/min")


def _bound_text(bound: float | None, absent: str) -> str:
    return absent if bound is None else number_text(bound)


def _number(subject: Subject, path: str, default: float | None) -> tuple[JSON, str]:
    """The value to judge and its place; for an absent one the default and the longest prefix."""
    if default is None or isinstance(subject.output, UnsetType):
        return subject.value(path), path
    value, at = resolve(subject.output, parse_pointer(path))
    return (default if value is MISSING else value), at
