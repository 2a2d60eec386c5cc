"""
What a schema claims: whether its keywords can refuse a value at all.

A schema that refuses nothing is nearly always a slip, and a pass that means
nothing.  What is decided here is decided by keywords alone, so it is cheap, and
"claims nothing" is always true; "claims something" may be too much.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from signoff.jsonvalue import JSON, json_equal
from signoff.schema_engine.keywords import Draft, Holds, Keyword

__all__ = ["REFERENCES", "asserts", "claiming", "ignored", "reaches", "reliant"]

REFERENCES = frozenset({"$ref", "$dynamicRef", "$recursiveRef"})

_ALL_TYPES = {"array", "boolean", "null", "number", "object", "string"}
_IDLE_VALUES: Mapping[str, JSON] = {
    "dependentRequired": {},
    "minItems": 0,
    "minLength": 0,
    "minProperties": 0,
    "pattern": "",
    "required": [],
    "uniqueItems": False,
}
_NEEDED = {
    "additionalItems": "items",
    "else": "if",
    "maxContains": "contains",
    "minContains": "contains",
    "then": "if",
}
"""What does nothing unless another keyword stands beside it."""
_INVERTING = {"contains", "not", "oneOf"}
"""What may refuse a value although its subschemas accept every value."""


def claiming(schema: Mapping[str, JSON], draft: Draft) -> Mapping[str, Keyword]:
    """The assertions, applicators and references among the keywords of a subschema that count."""
    known = ((name, draft.keywords.get(name)) for name in schema)
    return {
        name: keyword
        for name, keyword in known
        if keyword is not None and keyword.claims and not ignored(name, schema, draft)
    }


def ignored(name: str, schema: Mapping[str, JSON], draft: Draft) -> bool:
    """The keyword makes a claim beside a ``$ref``, in a draft where that does not count."""
    if not draft.references_stand_alone or "$ref" not in schema or name == "$ref":
        return False
    keyword = draft.keywords.get(name)
    return keyword is not None and keyword.claims


def asserts(schema: JSON, draft: Draft) -> bool:
    """A subschema may refuse a value by itself, whatever those that it applies accept."""
    if not isinstance(schema, dict):
        return schema is False
    return any(
        name in _INVERTING
        or (keyword.holds is Holds.DATA and name not in REFERENCES)
        or (keyword.holds is Holds.DEPENDENCIES and _names_something(schema[name]))
        for name, keyword in _active(schema, draft)
    )


def reliant(schema: Mapping[str, JSON], draft: Draft) -> Collection[str]:
    """The keywords by which a subschema refuses what a subschema that it applies refuses."""
    return {name for name, _ in _active(schema, draft)}


def reaches(start: str, edges: Mapping[str, Sequence[str]], goal: Collection[str]) -> bool:
    """Following the edges from the start, one comes to a goal."""
    seen, todo = {start}, [start]
    while todo:
        pointer = todo.pop()
        if pointer in goal:
            return True
        onward = [other for other in edges.get(pointer, ()) if other not in seen]
        seen.update(onward)
        todo += onward
    return False


def _active(schema: Mapping[str, JSON], draft: Draft) -> Iterator[tuple[str, Keyword]]:
    """The claiming keywords of a subschema that do not obviously accept every value."""
    for name, keyword in claiming(schema, draft).items():
        idle = (
            name == "if"
            or (name in _NEEDED and _NEEDED[name] not in schema)
            or _is_idle(name, schema[name], draft)
        )
        if not idle:
            yield name, keyword


def _is_idle(name: str, value: JSON, draft: Draft) -> bool:
    if name in _IDLE_VALUES:
        return json_equal(value, _IDLE_VALUES[name])
    if name == "type":
        return isinstance(value, list) and {one for one in value if type(one) is str} >= _ALL_TYPES
    if name == "anyOf":
        return isinstance(value, list) and any(_claims_nothing(one, draft) for one in value)
    return False


def _claims_nothing(schema: JSON, draft: Draft) -> bool:
    return not claiming(schema, draft) if isinstance(schema, dict) else schema is True


def _names_something(dependencies: JSON) -> bool:
    listed = dependencies.values() if isinstance(dependencies, dict) else ()
    return any(isinstance(names, list) and names for names in listed)
