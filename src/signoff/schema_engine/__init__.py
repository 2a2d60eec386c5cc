"""
JSON Schema: the one place that compiles it, and what a compiled schema says of values.

Drafts 2020-12 (unless ``$schema`` names another), 2019-09, 7, 6 and 4; nothing is
fetched, formats are asserted, patterns run in linear time.  A schema that is
recursive, or expands to many subschemas, is judged in a worker process.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Protocol

from msgspec.structs import replace

from signoff.canonical import canonical_bytes, canonical_bytes_unchecked
from signoff.errors import Fault, JSONError, SchemaError, SchemaNotJudged
from signoff.jsonvalue import JSON, shown
from signoff.schema_engine.effort import Effort, amount, effort_of
from signoff.schema_engine.messages import LIMIT, Violation, Violations, too_deep, violations
from signoff.schema_engine.native import Validator, nested_within, schema_engines, validator
from signoff.schema_engine.process import ask
from signoff.schema_engine.rules import (
    CONTRACT_RULES,
    FOREIGN_RULES,
    Formats,
    References,
    SchemaRules,
)
from signoff.schema_engine.survey import Survey, survey
from signoff.schema_engine.worker import complaints, first_complaint
from signoff.strictjson import Limits, loads

__all__ = [
    "CONTRACT_RULES",
    "FOREIGN_RULES",
    "CompiledSchema",
    "Formats",
    "References",
    "SchemaRules",
    "Violation",
    "Violations",
    "compile_canonical",
    "compile_schema",
    "schema_engines",
]

MAX_SMALL = 16 * 2**10
"""Canonical bytes of a schema that is one of many that are kept; of larger ones few are."""

MAX_COMPLAINTS = 100_000
"""Entries of subschemas times values, above which complaints are gathered where memory is limited.
"""

EVALUATION_NS = 1_000
"""So long a dear keyword may take to weigh as much as a subschema, of which few take as long."""
HERE_NS = 250_000_000
"""Nobody else in this process has a turn while the library judges: so long it may take at most."""


def compile_schema(schema: JSON, rules: SchemaRules = CONTRACT_RULES) -> CompiledSchema:
    """
    The schema, ready to judge values.

    Schemas are kept by their canonical form: an equal one is not compiled again.

    Raises:
        SchemaError: It cannot be used: every fault.
    """
    try:
        shallow = nested_within(schema, rules.max_depth)
        canonical = canonical_bytes(schema) if shallow else b""
    except ValueError as exc:
        raise SchemaError((Fault("", f"is not JSON: {exc}"),)) from exc
    if not shallow:
        raise SchemaError((Fault("", f"is nested deeper than {rules.max_depth} levels"),))
    return compile_canonical(canonical, rules)


def compile_canonical(canonical: bytes, rules: SchemaRules = CONTRACT_RULES) -> CompiledSchema:
    """
    The schema whose canonical bytes these are: the quick way, for whoever has them.

    Raises:
        SchemaError: It cannot be used: every fault.
    """
    return (_kept if len(canonical) <= MAX_SMALL else _kept_large)(canonical, rules)


def _compile(canonical: bytes, rules: SchemaRules) -> CompiledSchema:
    try:
        schema = loads(canonical, limits=Limits(max_depth=rules.max_depth))
    except JSONError as exc:
        raise SchemaError((Fault("", f"is not JSON: {exc}"),)) from exc
    seen = survey(schema, rules)
    if seen.faults:
        raise SchemaError(seen.faults)
    elsewhere = _Elsewhere(canonical, rules.formats)
    if seen.subschemas is None:
        return CompiledSchema(elsewhere, elsewhere, seen, rules, effort_of(schema, 0))
    try:
        here = _Here(validator(schema, rules.formats))
    except ValueError as exc:
        reason = shown(str(exc).partition("\n")[0])
        raise SchemaError((Fault("", f"is refused by the engine: {reason}"),)) from exc
    return CompiledSchema(here, elsewhere, seen, rules, effort_of(schema, seen.subschemas or 0))


# A compiled schema takes many times its bytes, and whose schemas come may be anybody.
_kept = lru_cache(maxsize=1024)(_compile)
_kept_large = lru_cache(maxsize=8)(_compile)


class CompiledSchema:
    """
    A schema that was found fit for use.

    Attributes:
        warnings: What is odd about the schema, each with its pointer.
        accepts_everything: The schema claims nothing.
        isolated: Values are judged in a worker process.
        subschemas: How many are evaluated for a value; None where values are judged elsewhere.
        weight: The same with what they list and how dear they are, in evaluations.
    """

    __slots__ = ("_accepts", "_as_endless", "_effort", "_elsewhere", "_judge", "_max_amount",
                 "_max_depth", "_rules", "accepts_everything", "isolated", "subschemas",
                 "warnings", "weight")  # fmt: skip

    def __init__(
        self, judge: _Judge, elsewhere: _Judge, seen: Survey, rules: SchemaRules, effort: Effort
    ) -> None:
        self._judge = judge
        self._effort = effort
        self._accepts = judge.accepts
        self._elsewhere = elsewhere
        self._max_amount = HERE_NS // effort.nanoseconds if effort.nanoseconds else None
        # A value has two bytes at least, and what is told of it stays below ``MAX_COMPLAINTS``.
        entries = max(seen.subschemas or 0, effort.entries // 2)
        self.weight = entries + effort.nanoseconds // EVALUATION_NS
        self._max_depth = rules.max_depth
        self.warnings = seen.warnings
        self.accepts_everything = seen.accepts_everything
        self.isolated = seen.subschemas is None
        self.subschemas = seen.subschemas
        self._as_endless = replace(seen, subschemas=None)
        self._rules = rules

    def apart(self) -> CompiledSchema:
        """The same schema, whose values are judged in a worker process however small it is."""
        return CompiledSchema(
            self._elsewhere, self._elsewhere, self._as_endless, self._rules, self._effort
        )

    def is_valid(self, value: JSON, *, depth: int | None = None) -> bool:
        """
        The value conforms.

        Args:
            value: The value; it must be JSON.
            depth: Levels that it has at most, where that is known: then nobody has to look.

        Raises:
            SchemaTimeout: A worker took too long.
            SchemaNotJudged: A worker died.
        """
        limit = self._max_depth
        if (depth is not None and depth <= limit) or nested_within(value, limit):
            accepts = self._accepts if self._max_amount is None else self._fit(value).accepts
            return accepts(value)
        return False

    def violations(self, value: JSON, *, path: str = "", limit: int = LIMIT) -> Violations:
        """
        What is wrong with a value; no items when it conforms.

        Args:
            value: The value; it must be JSON.
            path: Pointer to the value in the whole, with which every pointer begins.
            limit: At most so many complaints are told, the others counted.

        Raises:
            SchemaTimeout: A worker took too long.
            SchemaNotJudged: A worker died.
        """
        if not nested_within(value, self._max_depth):
            return too_deep(path, self._max_depth)
        judge = self._fit(value)
        if judge.accepts(value):
            return Violations()
        crowded = self._effort.entries * _count(value, MAX_COMPLAINTS) > MAX_COMPLAINTS
        try:
            raw = (self._elsewhere if crowded else judge).complaints(value)
            told = violations(raw, value, prefix=path, limit=limit)
        except SchemaNotJudged:  # it does not conform, but there is too much to tell
            told = violations(judge.first(value), value, prefix=path, limit=limit)
            return Violations(items=told.items, more=None)
        return told if told.items else _unexplained(path)

    def _fit(self, value: JSON) -> _Judge:
        """Who judges a value: somebody who can be stopped, where it could take long."""
        most = self._max_amount
        return self._judge if most is None or amount(value, most) <= most else self._elsewhere


class _Judge(Protocol):
    """Who answers about values."""

    def accepts(self, value: JSON) -> bool: ...
    def complaints(self, value: JSON) -> Sequence[Any]: ...
    def first(self, value: JSON) -> Sequence[Any]: ...


class _Here:
    """The library in this process."""

    def __init__(self, compiled: Validator) -> None:
        self._compiled = compiled
        self.accepts = compiled.is_valid

    def complaints(self, value: JSON) -> Sequence[Any]:
        return complaints(self._compiled, value)

    def first(self, value: JSON) -> Sequence[Any]:
        return first_complaint(self._compiled, value)


class _Elsewhere:
    """The library in a worker process that can be stopped."""

    def __init__(self, schema: bytes, formats: Formats) -> None:
        self._schema = schema
        self._formats = formats.value

    def accepts(self, value: JSON) -> bool:
        return self._ask("valid", value) is True

    def complaints(self, value: JSON) -> Sequence[Any]:
        found: Sequence[Any] = self._ask("all", value)
        return found

    def first(self, value: JSON) -> Sequence[Any]:
        found: Sequence[Any] = self._ask("first", value)
        return found

    def _ask(self, want: str, value: JSON) -> Any:
        return ask(want, self._formats, self._schema, canonical_bytes_unchecked(value))


def _unexplained(path: str) -> Violations:
    message = "must conform to the schema"
    return Violations(items=(Violation(pointer=path, keyword="schema", message=message),))


def _count(value: JSON, limit: int) -> int:
    """How many values there are in a value; counting stops above the limit."""
    total, todo = 1, [value]
    while todo and total <= limit:
        item = todo.pop()
        if isinstance(item, dict | list):
            below = item.values() if isinstance(item, dict) else item
            total += len(item)
            todo += [one for one in below if isinstance(one, dict | list)]
    return total
