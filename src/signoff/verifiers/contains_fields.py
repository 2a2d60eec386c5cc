"""Required fields are present in each item."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from operator import itemgetter
from typing import Annotated, Any

from signoff.items import DICT_ALONE, Field, Problem, first_problem, listed, of_value_or_items
from signoff.jsonvalue import JSON, MISSING
from signoff.model import Finding, Subject, held, passed
from signoff.params import Pointer, array_of, field_name
from signoff.registry import Check, reads, verifier

REQUIRED = "params.{name} (string[]) is required"
FieldNames = Annotated[
    tuple[str, ...],
    array_of(
        field_name(), "array of 1 or more field names, none empty", fault=REQUIRED, absent=REQUIRED
    ),
]


@verifier
def contains_fields(*, fields: FieldNames, path: Pointer = "") -> Check:
    """
    Every item has every one of the fields; a single object is judged as one item.

    Presence is all: a field whose value is null is present.  An empty array is a
    warning; pair with ``count_between`` to forbid it.

    Args:
        fields: Keys of each item, dots being ordinary, or pointers inside it.
        path: RFC 6901 pointer to the array or object; the whole output when empty.

    Source: OpenSpec, "Standard Library of Acceptance Checks".
    """
    wanted = tuple(map(Field.named, fields))
    names = listed(fields)
    some, none = (held(f"All items contain: {names}", items=count) for count in (1, 0))
    whole = passed(f"Output contains: {names}")
    all_there = _all_there(wanted)

    def problem_of(item: JSON) -> Problem | None:
        if type(item) is not dict:
            return Problem(text="Item is not an object.")
        for field in wanted:
            if field.of(item) is MISSING:
                return Problem(text=f"Missing field {field.quoted}.")
        return None

    def check(subject: Subject) -> Finding:
        value = subject.value(path)
        if type(value) is list:
            found = None if all_there(value) else first_problem(value, path, problem_of)
            return found or (some if value else none)
        return first_problem(value, path, problem_of) or whole

    return reads(check, *of_value_or_items(path, *wanted))


def _all_there(wanted: tuple[Field, ...]) -> Callable[[list[Any]], bool]:
    """A quick test: False also for what needs a closer look."""
    take = itemgetter(*(field.tokens[0] for field in wanted))
    by_key = all(len(field.tokens) == 1 for field in wanted)

    def all_there(items: list[Any]) -> bool:
        if not by_key or {*map(type, items)} != DICT_ALONE:
            return False
        try:
            deque(map(take, items), maxlen=0)
        except KeyError:
            return False
        return True

    return all_there
