"""The pieces that list checks share."""

from __future__ import annotations

import pytest

from signoff.items import (
    Field,
    Lookup,
    Problem,
    column,
    first_problem,
    listed,
    measured,
    of_items,
    of_value_or_items,
)
from signoff.jsonvalue import JSON, MISSING
from signoff.model import failed
from signoff.registry import EACH

LOOKUP = Lookup(
    keys={key: Field.named(key) for key in ("b", "a")}, several="several", absent="none."
)


def even(item: JSON) -> Problem | None:
    return None if item == 2 else Problem(text="odd.", tokens=("a/b",))


@pytest.mark.parametrize(
    ("name", "item", "value"),
    [
        ("a", {"a": None}, None),
        ("a.b", {"a": {"b": 1}}, MISSING),
        ("/a/b", {"a": {"b": 1}}, 1),
        ("/a/0", {"a": [1]}, 1),
        ("/a~1b", {"a/b": 1}, 1),
        ("a/b", {"a/b": 1}, 1),
        ("0", [1], MISSING),
        ("/0", [1], MISSING),
        ("length", "abc", MISSING),
        ("keys", {}, MISSING),
    ],
)
def test_field_is_found_among_own_keys_alone(name: str, item: JSON, value: JSON) -> None:
    assert value == Field.named(name).of(item)


def test_column_is_every_value_or_nothing() -> None:
    assert [1, None] == column([{"x": 1}, {"x": None}], Field.named("x"))
    assert [1, 2] == column([{"x": [1]}, {"x": [2]}], Field.named("/x/0"))
    assert [] == column([], Field.named("x"))
    assert column([{"x": 1}, {}], Field.named("x")) is None
    assert column([{"x": [1]}, {"x": []}], Field.named("/x/0")) is None
    assert column([{"x": 1}, "x"], Field.named("x")) is None


def test_column_leaves_dicts_that_make_values_up_alone() -> None:
    class Inventive(dict[str, JSON]):
        def __missing__(self, key: str) -> JSON:
            return key

    assert column([Inventive()], Field.named("x")) is None


def test_first_problem_has_an_index_in_arrays_alone() -> None:
    assert failed("Index 1: odd.", at="/p/1/a~1b") == first_problem([2, 1, 3], "/p", even)
    assert failed("odd.", at="/p/a~1b") == first_problem(1, "/p", even)
    assert first_problem([2], "/p", even) is None
    assert first_problem(2, "/p", even) is None
    assert first_problem([], "/p", even) is None


def test_lookup_finds_one_key_and_names_several_in_order() -> None:
    assert (Field.named("a"), None) == LOOKUP.find({"a": None, "c": 1})
    assert Problem(text="several: a, b.") == LOOKUP.find({"b": 1, "a": 1})
    assert Problem(text="none.") == LOOKUP.find({"c": 1})
    assert Problem(text="none.") == LOOKUP.find(["a"])
    assert Problem(text="none.") == LOOKUP.find("a")


def test_listed_shows_two_hundred_characters() -> None:
    assert "a, b" == listed(["a", "b"])
    assert '"a" 1/2, "b"' == listed([("a", " 1/2"), ("b", "")])
    assert "x" * 200 == listed(["x" * 200])
    assert "x" * 200 + "..." == listed(["x" * 201])
    assert "x" * 200 + ", ..." == listed(["x" * 200, "y"])
    assert "x" * 199 + ", y..." == listed(["x" * 199, "yz"])


def test_measured_is_bounded() -> None:
    assert "4.5" == measured(4.5)
    assert "1" + "0" * 199 + "..." == measured(10**999)
    with pytest.raises(ValueError, match="not a JSON number"):
        measured(float("nan"))


def test_what_is_read_is_spelt_in_tokens() -> None:
    fields = (Field.named("a/b"), Field.named("/c/0"))

    assert (("p/q", EACH, "a/b"), ("p/q", EACH, "c", "0")) == of_items("/p~1q", *fields)
    assert ((EACH, "a/b"), (EACH, "c", "0"), ("a/b",), ("c", "0")) == of_value_or_items("", *fields)
