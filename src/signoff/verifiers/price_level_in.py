"""Price levels are in an allowed set."""

from __future__ import annotations

from typing import Annotated

from signoff.items import Field, Lookup, Problem, first_problem, measured, of_value_or_items
from signoff.jsonvalue import JSON, is_number, json_type, shown
from signoff.model import Finding, Subject, held, passed
from signoff.params import MAX_ITEMS, FieldName, Kind, Pointer
from signoff.registry import Check, reads, verifier

NAMES = ("FREE", "INEXPENSIVE", "MODERATE", "EXPENSIVE", "VERY_EXPENSIVE")
LEVELS: dict[JSON, int] = {
    **{level: level for level in range(5)},
    **{"$" * level: level for level in range(1, 5)},
    **{name: level for level, name in enumerate(NAMES)},
    **{f"PRICE_LEVEL_{name}": level for level, name in enumerate(NAMES)},
}
KEYS = {key: Field.named(key) for key in ("price_level", "priceLevel", "price")}


def _level(value: JSON) -> int | None:
    # The types are named because True is a key of the table too: it is Python's 1.
    return LEVELS.get(value) if type(value) in {int, float, str} else None


def _read_levels(value: JSON) -> tuple[int, ...]:
    if type(value) is not list or not 1 <= len(value) <= MAX_ITEMS:
        raise ValueError
    levels = {_level(entry) for entry in value}
    if None in levels or len(levels) < len(value):
        raise ValueError
    return tuple(sorted(level for level in levels if level is not None))


Levels = Annotated[
    tuple[int, ...],
    Kind(
        says="array of 1 or more different price levels",
        read=_read_levels,
        schema={
            "type": "array",
            "items": {"enum": list(LEVELS)},
            "minItems": 1,
            "uniqueItems": True,
        },
    ),
]


@verifier
def price_level_in(*, allowed: Levels, field: FieldName | None = None, path: Pointer = "") -> Check:
    """
    Every item's price level is one of the allowed ones; one object or level is judged alone.

    A level is a whole number from 0 to 4, ``"$"`` to ``"$$$$"`` for 1 to 4, or
    ``FREE``, ``INEXPENSIVE``, ``MODERATE``, ``EXPENSIVE``, ``VERY_EXPENSIVE`` for 0 to
    4, with or without ``PRICE_LEVEL_`` before it.  An item without a level fails:
    unknown is not cheap.  An empty array is a warning.

    Args:
        allowed: Price levels in any of these notations.
        field: Key of the level in each item, or a pointer inside it; when absent, the one of
            ``price_level``, ``priceLevel`` and ``price`` that the item has.
        path: RFC 6901 pointer to the array, object or level; the whole output when empty.

    Source: OpenSpec, "Standard Library of Acceptance Checks".
    """
    lookup = Lookup(
        keys=KEYS,
        several="several price fields",
        absent="no price level.",
        field=None if field is None else Field.named(field),
    )
    accepted = frozenset(allowed)
    among = f"{{{', '.join(map(str, allowed))}}}"

    def found_in(item: JSON) -> tuple[tuple[str, ...], JSON] | Problem:
        if type(item) is not dict and field is None:
            return (), item
        found = lookup.find(item)
        return found if isinstance(found, Problem) else (found[0].tokens, found[1])

    def problem_of(item: JSON) -> Problem | None:
        found = found_in(item)
        if isinstance(found, Problem):
            return found
        tokens, value = found
        level = _level(value)
        if level in accepted:
            return None
        if level is None:
            return Problem(text=f"{_as_json(value)} is not a price level.", tokens=tokens)
        return Problem(text=f"price level {level} is not in {among}.", tokens=tokens)

    def check(subject: Subject) -> Finding:
        value = subject.value(path)
        found = first_problem(value, path, problem_of)
        if found is not None:
            return found
        if type(value) is list:
            return held(f"All {len(value)} items have a price level in {among}.", items=len(value))
        alone = found_in(value)
        assert not isinstance(alone, Problem)
        return passed(f"Price level {_level(alone[1])} is in {among}.")

    return reads(check, *of_value_or_items(path, *lookup.fields))


def _as_json(value: JSON) -> str:
    """A value as its JSON text begins, arrays and objects by their type alone."""
    if isinstance(value, str):
        return f'"{shown(value)}"'
    if is_number(value):
        return measured(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    return json_type(value)
