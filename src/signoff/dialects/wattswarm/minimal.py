"""
The kernel's own reading of a schema: three keywords, one level deep.

It stands beside full JSON Schema, because a verdict that the kernel would not
repeat on its own copy is rejected.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from signoff.jsonvalue import JSON, json_type, shown

__all__ = ["Minimal", "compile_minimal"]

Minimal = Callable[[JSON], "str | None"]
"""None where a value is accepted, else what is wrong with it."""

# By the types of Python exactly: a bool is an int there, and none here.  An integer token
# outside of 64 bits was read as a double, and so was -0.
TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    "object": (dict,),
    "string": (str,),
    "number": (int, float),
    "integer": (int,),
    "boolean": (bool,),
    "array": (list,),
    "null": (type(None),),
}
_NONE: Final[tuple[type, ...]] = ()


def compile_minimal(schema: JSON) -> Minimal:
    """The schema as the kernel reads it."""
    if not isinstance(schema, dict):
        told = f"output_schema must be object, got {json_type(schema)}"
        return lambda _: told
    type_ = schema.get("type")
    types = TYPES.get(type_, _NONE) if isinstance(type_, str) else None
    needed = _texts(schema.get("required"))
    members = [*_members(schema.get("properties"))]

    def check(value: JSON) -> str | None:
        if types is not None and type(value) not in types:
            return f"output must be {shown(str(type_))}, got {json_type(value)}"
        if type(value) is not dict:
            return None if needed is None else f"output must be object, got {json_type(value)}"
        for key in needed or ():
            if key not in value:
                return f'output must have "{shown(key)}"'
        for name, wanted, word in members:
            if name in value and type(value[name]) not in wanted:
                got = json_type(value[name])
                return f'output member "{shown(name)}" must be {shown(word)}, got {got}'
        return None

    return check


def _texts(required: JSON) -> list[str] | None:
    """The keys that must be there; None where nothing is required, not even an object."""
    if not isinstance(required, list):
        return None
    return [key for key in required if isinstance(key, str)]


def _members(properties: JSON) -> Iterator[tuple[str, tuple[type, ...], str]]:
    """Each member whose schema names one type: its name, what it may be, and that in words."""
    for name, below in properties.items() if isinstance(properties, dict) else ():
        word = below.get("type") if isinstance(below, dict) else None
        if isinstance(word, str):
            yield name, TYPES.get(word, _NONE), word
