"""Items are ordered by a field."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from operator import ge, le
from typing import Any, Literal

from signoff.canonical import require_json
from signoff.items import Field, KeyField, column, of_items
from signoff.jsonvalue import JSON, MISSING, join_pointer, json_type, utf16_key
from signoff.model import Finding, Subject, failed, held, passed
from signoff.params import Pointer
from signoff.registry import Check, reads, verifier

COMPARABLE = frozenset({"number", "string", "boolean"})
TEXT, NUMBERS, BOOLEAN = frozenset({str}), frozenset({int, float}), frozenset({bool})


@verifier
def sorted_by(
    *, field: KeyField, order: Literal["asc", "desc"] = "asc", path: Pointer = ""
) -> Check:
    """
    Items stand in the order of one of their fields; equal neighbours are in order.

    An item without the field fails: an unknown place is no place.  Texts are
    ordered by UTF-16 code unit, so ISO 8601 times of one form are in order of
    time, and ``"10"`` comes before ``"9"``.  An empty array is a warning; pair
    with ``count_between`` to forbid it.

    Args:
        field: Key of each item, or a pointer inside it; numbers, texts or booleans, not mixed.
        order: "asc" for smallest first, "desc" for largest first.
        path: RFC 6901 pointer to the array; the whole output when empty.

    Source: OpenSpec, "Standard Library of Acceptance Checks".
    """
    key = Field.named(field)
    in_order = le if order == "asc" else ge
    several = passed(f"Sorted by {key.quoted} ({order}).")
    one, none = (held("≤1 item is trivially sorted", items=count) for count in (1, 0))

    def check(subject: Subject) -> Finding:
        items = subject.array(path)
        values = column(items, key)
        if values is None or not _is_sorted(values, descending=order == "desc"):
            found = _first_problem(items, key, path, in_order)
            if found is not None:
                return found
        return several if len(items) > 1 else one if items else none

    return reads(check, *of_items(path, key))


def _is_sorted(values: list[Any], *, descending: bool) -> bool:
    """True for what is certainly in order; False also for what needs a closer look."""
    kinds = {*map(type, values)}
    if kinds == TEXT:
        if not all(map(str.isascii, values)):
            values = list(map(utf16_key, values))
    elif kinds and kinds <= NUMBERS:
        if not _are_finite(values):
            return False
    elif kinds != BOOLEAN:
        return not values
    return sorted(values, reverse=descending) == values


def _are_finite(values: list[float]) -> bool:
    """True for finite numbers alone, though not for all of them: their sum is finite."""
    try:
        return -inf < sum(values) < inf
    except OverflowError:
        return False


def _first_problem(
    items: list[JSON], key: Field, path: str, in_order: Callable[[Any, Any], bool]
) -> Finding | None:
    first, previous = "", None
    for index, item in enumerate(items):
        at = join_pointer(path, index)
        if type(item) is not dict:
            return failed(f"Index {index}: Item is not an object.", at=at)
        value = key.of(item)
        if value is MISSING:
            return failed(f"Missing field {key.quoted} at index {index}", at=at)
        at = join_pointer(at, *key.tokens)
        kind = json_type(value)
        first = first or kind
        if kind not in COMPARABLE or kind != first:
            expected = first if kind in COMPARABLE else "number, string or boolean"
            return failed(
                f"Field {key.quoted} at index {index} is {kind}, expected {expected}", at=at
            )
        require_json(value)
        comparable = utf16_key(value) if isinstance(value, str) else value
        if index and not in_order(previous, comparable):
            return failed(f"Order violation at index {index}", at=at)
        previous = comparable
    return None
