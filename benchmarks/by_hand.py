"""The criteria of ``samples.FIVE`` written by hand: five loops, no engine, no findings."""

from __future__ import annotations

from typing import Any

from benchmarks.samples import FIELDS

__all__ = ["holds"]


def holds(output: Any) -> bool:
    """All five hold; on any JSON value, without raising."""
    return (
        count_between(output, 5, 50)
        and contains_fields(output, FIELDS)
        and sorted_by(output, "rating")
        and unique_by(output, "id")
        and number_between(output[0]["rating"], 4, 5)
    )


def count_between(items: Any, low: int, high: int) -> bool:
    return isinstance(items, list) and low <= len(items) <= high


def contains_fields(items: list[Any], fields: tuple[str, ...]) -> bool:
    for item in items:
        if not isinstance(item, dict):
            return False
        for field in fields:
            if field not in item:
                return False
    return True


def sorted_by(items: list[dict[str, Any]], field: str) -> bool:
    previous = None
    for item in items:
        value = item[field]
        if not is_number(value) or (previous is not None and value > previous):
            return False
        previous = value
    return True


def unique_by(items: list[dict[str, Any]], field: str) -> bool:
    seen = set()
    for item in items:
        value = item[field]
        if value in seen:
            return False
        seen.add(value)
    return True


def number_between(value: Any, low: float, high: float) -> bool:
    return is_number(value) and low <= value <= high


def is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
