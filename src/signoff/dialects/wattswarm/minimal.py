"""
The kernel's own reading of a schema: three keywords, one level deep.

It stands beside full JSON Schema, because a verdict that the kernel would not
repeat on its own copy is rejected.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
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
    type_, required, properties = map(schema.get, ("type", "required", "properties"))
    types = TYPES.get(type_, _NONE) if isinstance(type_, str) else None
    needed = [key for key in required if isinstance(key, str)] if _is_list(required) else None
    members = [
        (name, TYPES.get(below["type"], _NONE), below["type"])
        for name, below in (properties.items() if isinstance(properties, dict) else ())
        if isinstance(below, dict) and isinstance(below.get("type"), str)
    ]

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


def _is_list(value: JSON) -> bool:
    return isinstance(value, list)
