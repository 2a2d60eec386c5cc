"""What takes the library long, or much memory, is left to a process that can be stopped."""

from __future__ import annotations

from contextlib import suppress
from time import process_time
from typing import Any

import pytest

from signoff.errors import SchemaNotJudged
from signoff.schema_engine import compile_schema
from signoff.schema_engine.effort import amount, effort_of

MANY = 3_000
WORDS = [f"word-{number}" for number in range(MANY)]
DEAR: dict[str, tuple[Any, Any]] = {
    "decimals": ([number + 0.5 for number in range(MANY)], MANY - 0.5),
    "long integers": ([10**30 + number for number in range(MANY)], 10**30 + MANY - 1),
    "objects": ([{"a": number} for number in range(MANY)], {"a": MANY - 1}),
    "arrays": ([[number] for number in range(MANY)], [MANY - 1]),
    "numbers among others": ([None, *range(MANY)], MANY - 1),
}


def seconds_here(schema: Any, value: Any) -> float:
    """What this process itself takes to say what is wrong, or that it cannot be said."""
    compiled = compile_schema(schema)
    began = process_time()
    with suppress(SchemaNotJudged):
        compiled.violations(value)
    return process_time() - began


@pytest.mark.parametrize("kind", DEAR)
def test_comparing_much_with_many_holds_up_nobody(kind: str) -> None:
    listed, last = DEAR[kind]

    assert seconds_here({"items": {"enum": listed}}, [last] * MANY) < 1


def test_dividing_exactly_again_and_again_holds_up_nobody() -> None:
    assert seconds_here({"items": {"multipleOf": 1e-300}}, [1e300] * 50_000) < 1


def test_many_subschemas_for_many_values_hold_up_nobody() -> None:
    schema = {"items": {"oneOf": [{"const": number} for number in range(5_000)]}}

    assert seconds_here(schema, [1] * 20_000) < 1


def test_looking_for_many_patterns_holds_up_nobody() -> None:
    patterns = {f"^name-{number}.*b": True for number in range(300)}

    assert seconds_here({"patternProperties": patterns}, dict.fromkeys(WORDS * 2, 1)) < 1


@pytest.mark.parametrize(
    "schema",
    [
        {"dependentRequired": dict.fromkeys(WORDS[:100], WORDS[:50])},
        {"required": [f"other-{number}" for number in range(MANY)]},
        {"additionalProperties": {"enum": [{"a": number} for number in range(MANY)]}},
        {"additionalProperties": {"not": {"enum": [0, *range(2, MANY)]}}},
        {
            "$defs": {"a": {"required": WORDS[:500]}},
            "allOf": [{"additionalProperties": {"$ref": "#/$defs/a"}}] * 50,
        },
    ],
)
def test_complaints_without_number_are_gathered_elsewhere(schema: Any) -> None:
    value: Any = {word: {} for word in WORDS[50:]} | {WORDS[0]: 0}

    assert seconds_here(schema, value) < 1


@pytest.mark.parametrize(
    "schema",
    [
        {"items": {"enum": WORDS}},
        {"items": {"enum": [*range(MANY)]}},
        {"items": {"type": "string", "maxLength": 3}},
    ],
)
def test_what_the_library_looks_up_is_not_dear(schema: Any) -> None:
    assert 0 == effort_of(schema, 2).nanoseconds


def test_what_is_led_to_again_counts_each_time() -> None:
    once: Any = {"required": ["a", "b"], "properties": {"a": {"multipleOf": 0.1}}}
    again: Any = {**once, "allOf": [{"$ref": "#/$defs/b"}]}

    assert (2 + 3, 60_000) == (effort_of(once, 2).entries, effort_of(once, 2).nanoseconds)
    assert (9 + 9 * 3, 9 * 60_000) == (effort_of(again, 9).entries, effort_of(again, 9).nanoseconds)


def test_texts_count_by_their_length() -> None:
    assert [1, 3, 4, 3] == [
        amount(0),
        amount("x" * 40),
        amount([1, {"a": 2}]),
        amount({"k" * 20: 0}),
    ]
    assert amount([[0] * 1000] * 1000, 50) < 3_000


@pytest.mark.parametrize(("value", "conforms"), [(0.25, True), (0.3, False)])
def test_what_is_dear_is_judged_alike_here_and_elsewhere(value: float, conforms: bool) -> None:
    compiled = compile_schema({"items": {"multipleOf": 0.25}})

    assert conforms is compiled.is_valid([value])
    assert conforms is compiled.is_valid([*[0.5] * 10_000, value])
    assert bool(compiled.violations([*[0.5] * 10_000, value]).items) is not conforms
