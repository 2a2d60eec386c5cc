"""
What a schema costs beyond the number of its subschemas, as was measured of the library.

Some keywords compare with everything that they list, some divide exactly, and a
complaint holds a copy of what it is about.  Whatever looks like a keyword is taken for one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from signoff.jsonvalue import JSON

__all__ = ["Effort", "amount", "effort_of"]

LISTING: Final = ("required", "dependentRequired", "dependencies", "enum", "const")
REFERRING: Final = frozenset(
    {"$ref", "$dynamicRef", "$recursiveRef", "unevaluatedItems", "unevaluatedProperties"}
)
"""What has subschemas looked at more than once."""
TEXT_SHARE: Final = 16
"""Characters of a text that count as much as a value."""
EXACT: Final = 2**53

FEW: Final = 100
"""Subschemas that are not dear, unless a value is huge."""

# Nanoseconds: to evaluate a subschema, to compare with one of many, to divide, to look for
# a pattern in a share of a text.
_SUBSCHEMA_NS: Final = 50
_PLAIN_NS: Final = 20
_MIXED_NS: Final = 700
_DECIMAL_NS: Final = 3_000
_WHOLE_PARTS_NS: Final = 5_000
_PARTS_NS: Final = 60_000
_PATTERN_NS: Final = 300


class Effort(Struct, frozen=True, kw_only=True):
    """
    What all subschemas together cost for a value.

    Args:
        entries: Subschemas, and what they list of which each entry may be told or copied.
        nanoseconds: What the dear keywords take for a value, or for a share of a text.
    """

    entries: int
    nanoseconds: int


def effort_of(schema: JSON, subschemas: int) -> Effort:
    """
    What a schema costs.

    Args:
        schema: The schema.
        subschemas: How many are evaluated for a value.
    """
    listed, costs, again = [0], [0], 1
    for keywords in _objects(schema):
        if not REFERRING.isdisjoint(keywords):
            again = subschemas
        listed += (amount(keywords[name]) for name in LISTING if name in keywords)
        costs.append(_nanoseconds(keywords))
    if again > 1:  # the dearest of them may be what is led to each time
        listed, costs = [again * max(listed)], [again * max(costs)]
    if subschemas > FEW:
        costs.append(subschemas * _SUBSCHEMA_NS)
    return Effort(entries=subschemas + sum(listed), nanoseconds=sum(costs))


def amount(value: JSON, limit: float = float("inf")) -> int:
    """How many values there are in a value, with shares of texts; counting stops above a limit."""
    total, todo = 0, [value]
    while todo and total <= limit:
        item = todo.pop()
        total += 1
        if isinstance(item, str):
            total += len(item) // TEXT_SHARE
        elif isinstance(item, list):
            todo += item
        elif isinstance(item, dict):
            total += sum(map(len, item)) // TEXT_SHARE
            todo += item.values()
    return total


def _objects(schema: JSON) -> Iterator[dict[str, JSON]]:
    todo = [schema]
    while todo:
        item = todo.pop()
        if isinstance(item, dict):
            yield item
            todo += item.values()
        elif isinstance(item, list):
            todo += item


def _nanoseconds(keywords: dict[str, JSON]) -> int:
    costs = []
    listed = keywords.get("enum")
    if isinstance(listed, list):
        costs.append(_compared(listed))
    if "const" in keywords:
        costs.append(_compared([keywords["const"]]))
    by_name = keywords.get("patternProperties")
    patterns = len(by_name) if isinstance(by_name, dict) else 0
    costs.append((patterns + ("pattern" in keywords)) * _PATTERN_NS)
    divisor = keywords.get("multipleOf")
    if isinstance(divisor, int | float):
        small = isinstance(divisor, int) and divisor <= EXACT
        costs.append(_WHOLE_PARTS_NS if small else _PARTS_NS)
    return sum(costs)


def _compared(listed: list[JSON]) -> int:
    """What it takes to compare with all of them."""
    kinds = {type(one) for one in listed}
    if kinds <= {str, bool, type(None)}:
        return amount(listed) * _PLAIN_NS if len(kinds) > 1 else 0
    if kinds == {int} and all(-EXACT <= one <= EXACT for one in listed if isinstance(one, int)):
        return 0
    dear = any(isinstance(one, float) or _is_long(one) for one in _leaves(listed))
    return amount(listed) * (_DECIMAL_NS if dear else _MIXED_NS)


def _is_long(value: JSON) -> bool:
    return isinstance(value, int) and not -EXACT <= value <= EXACT


def _leaves(value: JSON) -> Iterator[JSON]:
    todo = [value]
    while todo:
        item = todo.pop()
        if isinstance(item, dict):
            todo += item.values()
        elif isinstance(item, list):
            todo += item
        else:
            yield item
