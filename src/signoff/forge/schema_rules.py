"""
The schemas of a forge contract: what they may hold, and how values are held against them.

The schema engine is the product's own, draft 2020-12, offline.  Values are seen to be
JSON before it gets them: alone it would let NaN pass a minimum and take a tuple for an array.
"""

from __future__ import annotations

from math import isfinite
from typing import Any, Final

from msgspec import Struct

from signoff.canonical import canonical_bytes, digest
from signoff.dialects.forge.errors import ContractFormatError
from signoff.errors import SchemaError
from signoff.jsonvalue import JSON, join_pointer, shown
from signoff.schema_engine import CONTRACT_RULES, CompiledSchema, SchemaRules, compile_schema

__all__ = ["NotJSON", "TaskSchema", "digest_or_none", "plain_json", "task_schema"]

MAX_SCHEMA_BYTES: Final = 2**18
MAX_DEPTH: Final = 64
MAX_DIGEST_DEPTH: Final = 128
_CLAIMS_NOTHING: Final = "accepts every value"
_VACUOUS_RULES: Final = SchemaRules(may_accept_everything=True)


class TaskSchema(Struct, frozen=True, kw_only=True):
    """
    A schema of a contract, fit for use.

    Args:
        compiled: What judges values; None where the schema engine is not installed.
        sha256: Digest of the schema.
        accepts_everything: It claims nothing.
    """

    compiled: CompiledSchema | None
    sha256: str
    accepts_everything: bool = False

    @property
    def warnings(self) -> tuple[str, ...]:
        """What is odd about the schema, such as keywords that no draft has."""
        return self.compiled.warnings if self.compiled is not None else ()


class NotJSON(ValueError):
    """
    A value is no JSON.

    Args:
        pointer: Where in the value.
        reason: What is there.
    """

    def __init__(self, pointer: str, reason: str) -> None:
        super().__init__(f"{pointer or '/'}: {reason}")
        self.pointer = pointer
        self.reason = reason


def task_schema(schema: Any, *, field: str) -> TaskSchema:
    """
    A schema of a contract, compiled; an equal one is not compiled again.

    Raises:
        ContractFormatError: It cannot be used; says where in the field, and why.
    """
    canonical = canonical_bytes(schema)
    sha256 = digest(schema).removeprefix("sha256:")
    if len(canonical) > MAX_SCHEMA_BYTES:
        raise ContractFormatError(f"is larger than {MAX_SCHEMA_BYTES} bytes", field=field)
    try:
        return _compiled(schema, sha256)
    except SchemaError as exc:
        faults = exc.faults
        more = f"; and {len(faults) - 1} more" if len(faults) > 1 else ""
        place = f"{field}{shown(faults[0].where)}"
        raise ContractFormatError(f"{faults[0].message}{more}", field=place) from exc


def plain_json(value: object, *, max_depth: int = MAX_DEPTH) -> JSON:
    """
    The value in JSON's own types: subclasses of dict, list, str and numbers are made plain.

    Raises:
        NotJSON: Something in it is not JSON, or nested too deep.
    """
    return _plain(value, "", max_depth)


def digest_or_none(value: object) -> str | None:
    """The SHA-256 of the value's canonical form; None where it has none."""
    try:
        return digest(plain_json(value, max_depth=MAX_DIGEST_DEPTH)).removeprefix("sha256:")
    except (ValueError, RecursionError):
        return None


def _compiled(schema: Any, sha256: str) -> TaskSchema:
    try:
        return TaskSchema(compiled=compile_schema(schema, CONTRACT_RULES), sha256=sha256)
    except ImportError:  # whatever is judged by it fails then, and nothing is skipped
        return TaskSchema(compiled=None, sha256=sha256)
    except SchemaError as exc:
        if [fault.message for fault in exc.faults] != [_CLAIMS_NOTHING]:
            raise
    compiled = compile_schema(schema, _VACUOUS_RULES)
    return TaskSchema(compiled=compiled, sha256=sha256, accepts_everything=True)


def _plain(value: object, where: str, levels: int) -> JSON:
    if isinstance(value, dict | list):
        if levels == 0:
            raise NotJSON(where, f"is nested deeper than {MAX_DEPTH} levels")
        if isinstance(value, list):
            return [_plain(item, f"{where}/{i}", levels - 1) for i, item in enumerate(value)]
        return {
            _key(key, where): _plain(item, join_pointer(where, str(key)), levels - 1)
            for key, item in dict.items(value)
        }
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return _text(str.__str__(value), where)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        if not isfinite(value):
            raise NotJSON(where, f"{float(value)} is not a JSON number")
        return float(value)
    raise NotJSON(where, f"{shown(type(value).__name__)} is not a JSON type")


def _key(key: object, where: str) -> str:
    if not isinstance(key, str):
        raise NotJSON(where, f"{shown(type(key).__name__)} is not a JSON key")
    return _text(str.__str__(key), where)


def _text(text: str, where: str) -> str:
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            raise NotJSON(where, "lone surrogate in a string") from None
    return text
