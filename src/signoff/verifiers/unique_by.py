"""A field has no value twice."""

from __future__ import annotations

from collections.abc import Hashable
from math import isfinite
from operator import eq
from typing import Any

from signoff.canonical import require_json
from signoff.items import Field, KeyField, column, of_items
from signoff.jsonvalue import JSON, MISSING, equality_key, join_pointer
from signoff.model import Finding, Subject, failed, held
from signoff.params import Pointer
from signoff.registry import Check, reads, verifier

EXACT_IN_DOUBLE = 2**53
FEW = 100
TEXT, WHOLE, NUMBERS = frozenset({str}), frozenset({int}), frozenset({int, float})
SOUND = frozenset({str, int, bool, type(None)})  # types whose every value is JSON


@verifier
def unique_by(*, field: KeyField, allow_missing: bool = False, path: Pointer = "") -> Check:
    """
    No two items have the same value in one of their fields.

    Values are the same when they are the same JSON: ``1`` is ``1.0``, ``"1"`` is
    not, the order of an object's keys is nothing, and null is a value like any
    other.  An empty array is a warning.

    Args:
        field: Key of each item, or a pointer inside it.
        allow_missing: True leaves items without the field out; otherwise they fail.
        path: RFC 6901 pointer to the array; the whole output when empty.

    Source: OpenSpec, "Standard Library of Acceptance Checks".
    """
    key = Field.named(field)
    some, none = (held(f"Unique by {key.quoted}.", items=count) for count in (1, 0))

    def check(subject: Subject) -> Finding:
        items = subject.array(path)
        values = column(items, key)
        if values is None or not _are_distinct(values):
            found = _first_problem(items, key, path, allow_missing=allow_missing)
            if found is not None:
                return found
        return some if items else none

    return reads(check, *of_items(path, key))


def _are_distinct(values: list[Any]) -> bool:
    """True for what certainly has nothing twice; False also for what needs a closer look."""
    kinds = {*map(type, values)}
    if kinds != TEXT and not (kinds and kinds <= NUMBERS and _are_within_2_53(values, kinds)):
        return False
    return len({*values}) == len(values)


def _are_within_2_53(values: list[float], kinds: set[type]) -> bool:
    # Larger integers can be prepared so that all have one hash, which takes time for many of them.
    if kinds == WHOLE and len(values) <= FEW:
        return True
    are_numbers = kinds == WHOLE or all(map(eq, values, values))  # NaN is not equal to itself
    return are_numbers and min(values) >= -EXACT_IN_DOUBLE and max(values) <= EXACT_IN_DOUBLE


def _first_problem(
    items: list[JSON], key: Field, path: str, *, allow_missing: bool
) -> Finding | None:
    seen = set[Hashable]()
    for index, item in enumerate(items):
        if type(item) is not dict:
            at = join_pointer(path, index)
            return failed(f"Index {index}: Item is not an object.", at=at)
        value = key.of(item)
        if value is MISSING:
            if allow_missing:
                continue
            at = join_pointer(path, index)
            return failed(f"Missing field {key.quoted} at index {index}", at=at)
        if type(value) not in SOUND and not (type(value) is float and isfinite(value)):
            require_json(value)
        same = equality_key(value)
        if same in seen:
            at = join_pointer(path, index, *key.tokens)
            return failed(f"Duplicate at index {index} for field {key.quoted}", at=at)
        seen.add(same)
    return None
