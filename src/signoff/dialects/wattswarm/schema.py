"""
The schema of an output: the kernel's own reading of it and full JSON Schema; both must hold.

A schema of a stranger may be anything: it is looked at when it is first needed, and
what could take long is judged in a worker process that is stopped in time.
"""

from __future__ import annotations

from typing import Final

from signoff.dialects.wattswarm.hashes import digest_of
from signoff.dialects.wattswarm.jsonform import MAX_DEPTH
from signoff.dialects.wattswarm.minimal import compile_minimal
from signoff.errors import SchemaError, SchemaNotJudged
from signoff.jsonvalue import JSON, shown
from signoff.schema_engine import FOREIGN_RULES, CompiledSchema, compile_schema
from signoff.schema_engine.native import PATTERN_COSTS, pattern_cost

__all__ = ["OutputSchema", "SchemaUnusable"]

MAX_TOLD: Final = 500
MAX_NOTES: Final = 16

# How much may be looked at in the event loop, and how much in this process at all.  One
# subschema applied to one value counts as one, and so do sixteen bytes of an enumeration, and
# sixty-four of a compiled pattern, applied to two bytes.
AT_ONCE: Final = 100_000
HERE: Final = 1_000_000


class SchemaUnusable(Exception):
    """A schema by which nothing can be judged; whether an output conforms is not known."""


class OutputSchema:
    """
    A received schema.

    Args:
        value: The schema; any JSON value.
        canonical: Its canonical bytes.

    Attributes:
        digest: Of the canonical bytes.
        size: How many these are.
        notes: What is odd about the schema, such as private formats; empty until it is compiled.
    """

    __slots__ = (
        "_apart", "_compiled", "_fault", "_minimal", "_weight", "digest", "notes", "size", "value",
    )  # fmt: skip

    def __init__(self, value: JSON, canonical: bytes) -> None:
        self.value = value
        self.digest = digest_of(canonical)
        self._minimal = compile_minimal(value)
        self.size = len(canonical)
        self._compiled: CompiledSchema | None = None
        self._apart: CompiledSchema | None = None
        self._fault = ""
        self._weight = 0
        self.notes: tuple[str, ...] = ()

    @property
    def is_ready(self) -> bool:
        """It was compiled, or found unusable."""
        return self._compiled is not None or bool(self._fault)

    @property
    def isolated(self) -> bool:
        """Outputs are judged in a worker process, for which somebody has to wait."""
        return self._full().isolated if not self._fault else False

    def is_quick(self, size: int) -> bool:
        """An output of so many canonical bytes is judged at once, and nobody has to wait."""
        compiled = self._compiled
        if compiled is None or compiled.isolated:
            return bool(self._fault)
        return self._weight * (size // 2 + 1) <= AT_ONCE

    def minimal_refusal(self, output: JSON) -> str | None:
        """What the kernel's own reading has against an output; None where it accepts."""
        return self._minimal(output)

    def accepts(self, output: JSON, size: int) -> bool:
        """
        Both readings accept an output.

        Args:
            output: The output.
            size: Its canonical bytes.

        Raises:
            SchemaUnusable: The full one came to no answer.
        """
        if self._minimal(output) is not None:
            return False
        compiled = self._judge(size)
        try:
            return compiled.is_valid(output, depth=MAX_DEPTH)
        except SchemaNotJudged as exc:
            raise SchemaUnusable(str(exc)) from exc

    def full_refusal(self, output: JSON, size: int) -> str | None:
        """
        What full JSON Schema has against an output; None where it accepts.

        Args:
            output: The output.
            size: Its canonical bytes.

        Raises:
            SchemaUnusable: It came to no answer.
        """
        compiled = self._judge(size)
        try:
            if compiled.is_valid(output, depth=MAX_DEPTH):
                return None
            return shown(str(compiled.violations(output)), MAX_TOLD)
        except SchemaNotJudged as exc:
            raise SchemaUnusable(str(exc)) from exc

    def _judge(self, size: int) -> CompiledSchema:
        compiled = self._compiled or self._full()
        if compiled.isolated or self._weight * (size // 2 + 1) <= HERE:
            return compiled
        if self._apart is None:
            self._apart = compiled.apart()
        return self._apart

    def _full(self) -> CompiledSchema:
        if self._compiled is None and not self._fault:
            try:
                compiled = compile_schema(self.value, FOREIGN_RULES)
                self.notes = _notes(compiled.warnings)
                self._weight = compiled.weight + self.size // 16 + _pattern_weight(self.value)
                self._compiled = compiled
            except SchemaError as exc:
                self._fault = shown(f"output_schema cannot be used: {exc}", MAX_TOLD)
        if self._compiled is None:
            raise SchemaUnusable(self._fault)
        return self._compiled


def _notes(warnings: tuple[str, ...]) -> tuple[str, ...]:
    more = len(warnings) - MAX_NOTES
    told = [f"schema: {shown(text)}" for text in warnings[:MAX_NOTES]]
    return (*told, *([f"schema: {more} more notes"] if more > 0 else []))


def _pattern_weight(schema: JSON) -> int:
    """What the patterns of a schema weigh; whatever looks like one is taken for one."""
    weight, todo = 0, [schema]
    while todo:
        item = todo.pop()
        if isinstance(item, dict):
            pattern, by_name = item.get("pattern"), item.get("patternProperties")
            found = [pattern] if isinstance(pattern, str) else []
            found += by_name if isinstance(by_name, dict) else []
            weight += sum((pattern_cost(one) or PATTERN_COSTS[-1]) // 64 for one in found)
            todo += item.values()
        elif isinstance(item, list):
            todo += item
    return weight
