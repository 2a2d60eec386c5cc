from __future__ import annotations

import random
from typing import Any

import jsonschema
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from signoff.errors import Fault, SchemaError
from signoff.schema_engine import CONTRACT_RULES, FOREIGN_RULES, compile_schema
from signoff.schema_engine.references import expansion
from signoff.schema_engine.survey import survey

NAMES = st.sampled_from(["a", "b", "/", "~", "", "type", "😀"])
SCALARS = st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["", "a", "ab", "😀"])
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=8,
)
TYPES = st.sampled_from(["null", "boolean", "integer", "number", "string", "array", "object"])
COUNTS = st.integers(0, 3)
ASSERTIONS = {
    "type": TYPES | st.lists(TYPES, min_size=1, max_size=3, unique=True),
    "enum": st.lists(VALUES, min_size=1, max_size=3),
    "const": VALUES,
    "required": st.lists(NAMES, max_size=2, unique=True),
    "minimum": st.integers(-3, 3),
    "exclusiveMaximum": st.integers(-3, 3),
    "multipleOf": st.integers(1, 3),
    "pattern": st.sampled_from(["^a", "b$", "^$"]),
    "uniqueItems": st.booleans(),
    "dependentRequired": st.dictionaries(NAMES, st.lists(NAMES, max_size=2, unique=True), max_size=2),
    **{f"{end}{of}": COUNTS for end in ("min", "max") for of in ("Length", "Items", "Properties")},
}  # fmt: skip


def with_subschemas(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    single = (
        "not items additionalProperties propertyNames contains if then else unevaluatedProperties"
    )
    listed = st.lists(inner, min_size=1, max_size=2)
    by_name = st.dictionaries(NAMES, inner, max_size=2)
    return st.fixed_dictionaries(
        {},
        optional={
            **ASSERTIONS,
            **dict.fromkeys(single.split(), inner),
            **dict.fromkeys(["allOf", "anyOf", "oneOf", "prefixItems"], listed),
            **dict.fromkeys(["properties", "dependentSchemas"], by_name),
        },
    )


SCHEMAS = st.recursive(
    st.booleans() | st.fixed_dictionaries({}, optional=ASSERTIONS), with_subschemas, max_leaves=6
)
NEEDED = {"if", "then", "else", "contains"}
IDLE = [
    {"required": []},
    {"minLength": 0},
    {"minItems": 0.0},
    {"minProperties": 0},
    {"uniqueItems": False},
    {"pattern": ""},
    {"dependentRequired": {}},
    {"then": False},
    {"if": {"type": "string"}},
    {"minContains": 2},
    {"anyOf": [{"type": "string"}, {}]},
    {"type": ["array", "boolean", "null", "number", "object", "string"]},
]
RELAXED = settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


def shuffled(value: Any, chance: random.Random) -> Any:
    """The same JSON value, the members of its objects in another order."""
    if isinstance(value, list):
        return [shuffled(item, chance) for item in value]
    if not isinstance(value, dict):
        return value
    members = [(key, shuffled(item, chance)) for key, item in value.items()]
    chance.shuffle(members)
    return dict(members)


class TestAgreement:
    """The engine answers as another implementation does."""

    @given(schema=SCHEMAS, value=VALUES)
    @RELAXED
    def test_with_the_reference(self, schema: Any, value: Any) -> None:
        ours = compile_schema(schema, FOREIGN_RULES).is_valid(value)

        assert jsonschema.Draft202012Validator(schema).is_valid(value) is ours


class TestReasons:
    """A value is refused exactly when there is a complaint, and the same complaints always."""

    @given(schema=SCHEMAS, value=VALUES)
    @RELAXED
    def test_refused_with_a_reason(self, schema: Any, value: Any) -> None:
        compiled = compile_schema(schema, FOREIGN_RULES)

        assert compiled.is_valid(value) is not bool(compiled.violations(value).items)

    @given(schema=SCHEMAS, value=VALUES, chance=st.randoms(use_true_random=False))
    @RELAXED
    def test_order_of_members_does_not_matter(
        self, schema: Any, value: Any, chance: random.Random
    ) -> None:
        told = compile_schema(schema, FOREIGN_RULES).violations(value)
        other = compile_schema(shuffled(schema, chance), FOREIGN_RULES)

        assert told == other.violations(shuffled(value, chance))

    @given(schema=SCHEMAS, value=VALUES)
    @RELAXED
    def test_recursion_changes_nothing(self, schema: Any, value: Any) -> None:
        assume(isinstance(schema, dict))
        there = compile_schema({"$defs": {"s": schema, "r": {"items": {"$ref": "#"}}}, "anyOf": [
            {"$ref": "#/$defs/s"}, {"allOf": [False, {"$ref": "#/$defs/r"}]}]}, FOREIGN_RULES)  # fmt: skip
        here = compile_schema(schema, FOREIGN_RULES)

        assert there.isolated
        assert here.is_valid(value) is there.is_valid(value)


class TestClaims:
    """A schema that is said to accept every value does."""

    @given(schema=SCHEMAS, value=VALUES)
    @RELAXED
    def test_accepts_every_value(self, schema: Any, value: Any) -> None:
        seen = survey(schema, CONTRACT_RULES)
        assume(seen.accepts_everything or "schema accepts every value" in seen.warnings)

        assert compile_schema(schema, FOREIGN_RULES).is_valid(value)

    @given(idle=st.sampled_from(IDLE), beside=SCHEMAS, value=VALUES)
    @RELAXED
    def test_idle_keywords_change_nothing(self, idle: Any, beside: Any, value: Any) -> None:
        assume(isinstance(beside, dict) and not idle.keys() & beside.keys())
        assume("unevaluatedProperties" not in beside and not NEEDED & beside.keys())
        whole = compile_schema(beside | idle, FOREIGN_RULES)

        assert whole.is_valid(value) is compile_schema(beside, FOREIGN_RULES).is_valid(value)


class TestRefusal:
    """Whatever is offered as a schema is taken or refused, in words."""

    @given(schema=VALUES | SCHEMAS | st.dictionaries(
        st.sampled_from(["$ref", "$id", "$anchor", "$schema", "$defs", "$dynamicRef", "format", "not"]),
        st.sampled_from(["#", "#a", "a", "#/$defs", "#/%zz", "http://[", "urn:a", ""]) | VALUES))  # fmt: skip
    @RELAXED
    def test_taken_or_refused(self, schema: Any) -> None:
        for rules in (CONTRACT_RULES, FOREIGN_RULES):
            faults: tuple[Fault, ...] | None = None
            try:
                compile_schema(schema, rules).violations(1)
            except SchemaError as exc:
                faults = exc.faults

            assert () != faults
            assert all(fault.message for fault in faults or ())


class TestExpansion:
    """What is counted is what would be written out."""

    @given(st.lists(st.lists(st.integers(1, 7), max_size=3), min_size=1, max_size=8))
    def test_is_the_number_of_paths(self, steps: list[list[int]]) -> None:
        names = ["", *map(str, range(1, 8))]
        edges = {
            names[here]: [names[here + step] for step in ahead if here + step < 8]
            for here, ahead in enumerate(steps)
        }

        def written_out(name: str) -> int:
            return 1 + sum(map(written_out, edges.get(name, ())))

        assert written_out("") == expansion(edges, limit=10_000)
        assert min(written_out(""), 4) == expansion(edges, limit=3)

    @given(st.integers(1, 5))
    def test_of_a_circle_never_ends(self, length: int) -> None:
        ring = {str(n): [str((n + 1) % length)] for n in range(length)}

        assert expansion({"": ["0"], **ring}, limit=10) is None
