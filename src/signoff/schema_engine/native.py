"""
The validator library: the one module that compiles JSON Schema, besides the worker's own program.

It is imported when it is first used, since start-up would pay for it otherwise.
"""

from __future__ import annotations

from functools import lru_cache
from gc import get_referents
from typing import Any, Protocol

from signoff.jsonvalue import JSON
from signoff.schema_engine.rules import Formats
from signoff.schema_engine.worker import compiled

__all__ = [
    "PATTERN_COSTS",
    "Validator",
    "is_bundled",
    "knows_format",
    "meta_schema",
    "nested_within",
    "pattern_cost",
    "schema_engines",
    "validator",
]

PATTERN_COSTS = (2**16, 2**20, 2**23)
"""Classes of memory that a compiled pattern takes, in bytes; above the last it is refused."""
MAX_AT_ONCE = 10_000
"""Values of one level, above which there may be no end to what is looked at."""


class Validator(Protocol):
    """What is used of a compiled schema."""

    def is_valid(self, instance: Any) -> bool:
        """The value conforms."""
        ...


def schema_engines() -> dict[str, str]:
    """The validator and its engine for patterns, each with its version, for reports."""
    import jsonschema_rs

    native: Any = jsonschema_rs.jsonschema_rs  # type: ignore[attr-defined]  # its types omit the binary module
    parts: dict[str, str] = native.__build__["dependencies"]
    return {"jsonschema-rs": parts["jsonschema-py"], "rust-regex": parts["regex"]}


def validator(schema: JSON, formats: Formats) -> Validator:
    """
    The compiled schema: offline, patterns in linear time.

    Raises:
        ValueError: The library refuses the schema.
    """
    made: Validator = compiled(schema, formats.value)
    return made


@lru_cache(maxsize=8)
def meta_schema(draft_uri: str) -> Validator:
    """What every schema of a draft must conform to, save that patterns have rules of their own."""
    return validator({"$schema": draft_uri, "allOf": [{"$ref": draft_uri}]}, Formats.LENIENT)


@lru_cache(maxsize=1024)
def pattern_cost(pattern: str) -> int | None:
    """The class of memory that a pattern takes; None where the engine refuses it."""
    for cost in PATTERN_COSTS:
        try:
            compiled({"pattern": pattern}, Formats.LENIENT.value, pattern_bytes=cost)
        except ValueError:
            continue
        return cost
    return None


def nested_within(value: JSON, levels: int) -> bool:
    """
    Arrays and objects stand in each other at most so many times.

    What the garbage collector sees below a value is looked at first, level by
    level: nothing left before the last level is a proof.  Otherwise the library
    itself looks, as deep as it is told and no deeper; both are safe on any stack.

    Raises:
        ValueError: The value is not JSON; not every one that is not is noticed.
    """
    below = [value]
    for _ in range(levels):
        below = get_referents(*below)
        if not below:
            return True
        if len(below) > MAX_AT_ONCE:
            break
    return _levels(levels).is_valid(value)


@lru_cache(maxsize=4)
def _levels(count: int) -> Validator:
    """A schema of as many levels as a value may have, with no array or object in the last."""
    below: list[JSON] = [{"$ref": f"#/$defs/{level}"} for level in range(count + 1)]
    levels: dict[str, JSON] = {
        str(level): {"items": below[level + 1], "additionalProperties": below[level + 1]}
        for level in range(count)
    }
    levels[str(count)] = {"type": ["null", "boolean", "number", "string"]}
    return validator({"$defs": levels, "$ref": "#/$defs/0"}, Formats.ANNOTATION)


@lru_cache(maxsize=256)
def knows_format(name: str, draft_uri: str) -> bool:
    """The library asserts this format in schemas of this draft."""
    return _compiles({"$schema": draft_uri, "format": name}, Formats.KNOWN)


@lru_cache(maxsize=256)
def is_bundled(uri: str) -> bool:
    """The URI is that of a standard meta-schema, or of a place in one."""
    return _compiles({"$ref": uri}, Formats.LENIENT)


def _compiles(schema: JSON, formats: Formats) -> bool:
    try:
        validator(schema, formats)
    except ValueError:
        return False
    return True
