"""Laws that the standard checks of lists keep, whatever the output."""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any, cast

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from signoff.contract import lock
from signoff.engine import Engine
from signoff.errors import NotJudged
from signoff.jsonvalue import MISSING, join_pointer, json_equal, parse_pointer, resolve, utf16_key
from signoff.model import Contract, Criterion, Finding, Subject
from signoff.plan import Plan
from signoff.registry import EACH, Check, FieldPath
from signoff.status import Status
from signoff.verifiers import STDLIB

CENTER = {"lat": 48.8584, "lon": 2.2945}

# Each check in all its shapes; "x" is the field that the shapes with a field look at.
CHECKS: list[tuple[str, dict[str, Any]]] = [
    ("count_between", {"min": 1, "max": 3}),
    ("sorted_by", {"field": "x"}),
    ("sorted_by", {"field": "/x/0", "order": "desc"}),
    ("unique_by", {"field": "x"}),
    ("unique_by", {"field": "/x/0", "allow_missing": True}),
    ("contains_fields", {"fields": ["x", "dietary"]}),
    ("contains_fields", {"fields": ["x", "/price/0"]}),
    ("contains_terms", {"terms": ["a"]}),
    ("contains_terms", {"terms": ["a", "vegan"], "mode": "any", "field": "x"}),
    ("contains_terms", {"terms": ["a"], "mode": "none", "field": "x", "whole_word": True}),
    ("within_radius", {"max": 2}),
    ("within_radius", {"min": 1, "field": "x"}),
    ("within_radius", {"max": 10_000_000, "center": CENTER}),
    ("within_radius", {"max": 10_000_000, "center": CENTER, "coordinates": "x"}),
    ("price_level_in", {"allowed": [1, 2]}),
    ("price_level_in", {"allowed": ["FREE", "$"], "field": "x"}),
    ("dietary_supported", {"required": ["vegan"]}),
    ("dietary_supported", {"required": ["a"], "field": "x"}),
]
WITH_FIELD = [check for check in CHECKS if "x" in str(check[1].get("field", ""))]

PATHS = ["", "/items", "/a~1b/0"]
KEYS = ["x", "minutes", "distance", "price", "price_level", "dietary", "lat", "lon", "other", "a/b"]
SCALARS = st.sampled_from(
    [None, True, False, 0, 1, 2, 1.0, -1, 2.5, 48.9, 2**60, "", "a", "A", "$", "vegan", "1", "a\n"]
)
SMALL = st.one_of(
    SCALARS,
    st.lists(SCALARS, max_size=2),
    st.dictionaries(st.sampled_from(["vegan", "lat", "lon", "a"]), SCALARS, max_size=3),
)
ITEMS = st.dictionaries(st.sampled_from(KEYS), SMALL, max_size=4)
HELD = st.sampled_from(
    [
        {"x": 1, "price": 1, "minutes": 1, "dietary": ["vegan"]},
        {"x": 2, "price_level": "$$", "minutes": 2.0, "dietary": {"vegan": True}},
        {"x": "a vegan", "price": 2, "distance": 2, "dietary": ["Vegan"], "lat": 48.9, "lon": 2.3},
        {"x": ["a"], "price": [1], "dietary": ["vegan", "gf"], "lat": 48.8, "lon": 2},
        {"x": [2, "b"], "lat": 0, "lon": 0},
        {"x": {"lat": 1, "lon": 1}, "dietary": []},
    ]
)
LISTS = st.one_of(
    st.lists(st.one_of(HELD, ITEMS), max_size=5),
    st.lists(HELD, max_size=4),
    st.lists(SCALARS, max_size=4),
)
OUTPUTS = st.one_of(LISTS, HELD, ITEMS, SCALARS)

each_check = pytest.mark.parametrize(("id_", "params"), CHECKS, ids=str)


def plan(id_: str, params: dict[str, Any]) -> Plan:
    return _plan(id_, json.dumps(params))


@lru_cache(maxsize=512)
def _plan(id_: str, params: str) -> Plan:
    criterion = Criterion(id="it", verifier=id_, params=json.loads(params))
    return Engine(STDLIB).prepare(lock(Contract(id="law", criteria=(criterion,)), STDLIB))


def check_of(id_: str, params: dict[str, Any]) -> tuple[Check, tuple[FieldPath, ...]]:
    """The check, and what it says it reads."""
    check = plan(id_, params).bound[0].check
    return check, check.reads  # type: ignore[attr-defined]  # as reads() sets it


def judged(id_: str, params: dict[str, Any], output: Any) -> Finding:
    (result,), _ = Engine(STDLIB).judge(plan(id_, params), Subject(output=output))
    return result.finding


def at_path(path: str, value: Any) -> Any:
    """An output that has the value at the path, beside other things."""
    for token in reversed(parse_pointer(path)):
        value = [value, "other"] if token.isdigit() else {token: value, "other": 1}
    return value


class TestReads:
    """A check says what it reads: what it does not read never changes its finding."""

    @each_check
    @given(data=st.data())
    def test_what_is_not_read_does_not_count(
        self, id_: str, params: dict[str, Any], data: st.DataObject
    ) -> None:
        path = data.draw(st.sampled_from(PATHS))
        output = at_path(path, data.draw(OUTPUTS))
        check, paths = check_of(id_, params | {"path": path})
        other = scrambled(output, paths, data.draw)

        assert finding(check, output) == finding(check, other)

    @pytest.mark.parametrize(("id_", "params"), CHECKS, ids=str)
    def test_every_shape_says_what_it_reads(self, id_: str, params: dict[str, Any]) -> None:
        _, paths = check_of(id_, params | {"path": "/a~1b/0"})

        assert paths
        assert all(path[:2] == ("a/b", "0") for path in paths)


def finding(check: Check, output: Any) -> Finding:
    try:
        return check(Subject(output=output))
    except NotJudged as exc:
        return cast("Finding", exc.finding)


def scrambled(value: Any, paths: Iterable[FieldPath], draw: Callable[..., Any]) -> Any:
    """
    The value with everything replaced that lies on none of the paths and beneath none.

    What lies on a path is kept as far as it is what leads on: an object keeps the
    members that are on paths, an array its length, anything else all of it.
    """
    paths = list(paths)
    if () in paths:
        return value
    if isinstance(value, dict):
        kept = {
            key: scrambled(member, onward(paths, key), draw)
            for key, member in value.items()
            if onward(paths, key)
        }
        added = {key: member for key, member in draw(ITEMS).items() if not onward(paths, key)}
        return added | kept
    if isinstance(value, list):
        return [
            scrambled(item, onward(paths, str(i)), draw)
            if onward(paths, str(i), EACH)
            else draw(SMALL)
            for i, item in enumerate(value)
        ]
    return value


def onward(paths: Iterable[FieldPath], *tokens: Any) -> list[FieldPath]:
    """What follows one of the tokens, on the paths that begin with it."""
    return [path[1:] for path in paths if path and (path[0] in tokens or path[0] is EACH)]


class TestOrder:
    """Where the claim is not about order, the order of the items leaves the status as it is."""

    @pytest.mark.parametrize(
        ("id_", "params"), [check for check in CHECKS if check[0] != "sorted_by"], ids=str
    )
    @given(items=LISTS, data=st.data())
    def test_permuting_the_items_leaves_the_status(
        self, id_: str, params: dict[str, Any], items: list[Any], data: st.DataObject
    ) -> None:
        shuffled = data.draw(st.permutations(items))

        assert judged(id_, params, items).status is judged(id_, params, shuffled).status

    @given(
        values=st.lists(st.one_of(st.integers(), st.floats(allow_nan=False, allow_infinity=False)))
    )
    def test_sorting_makes_sorted(self, values: list[float]) -> None:
        up = [{"x": value} for value in sorted(values)]
        down = up[::-1]

        assert judged("sorted_by", {"field": "x"}, up).status.holds
        assert judged("sorted_by", {"field": "x", "order": "desc"}, down).status.holds


class TestLackingItem:
    """An item that lacks what is judged never makes a list better."""

    @pytest.mark.parametrize(
        ("id_", "params"), [check for check in CHECKS if check[0] != "count_between"], ids=str
    )
    @given(items=LISTS, data=st.data())
    def test_lacking_item_never_turns_fail_into_pass(
        self, id_: str, params: dict[str, Any], items: list[Any], data: st.DataObject
    ) -> None:
        before = judged(id_, params, items)
        place = data.draw(st.integers(0, len(items)))
        after = judged(id_, params, [*items[:place], {"other": 1}, *items[place:]])

        assert not after.status.holds or params.get("allow_missing")
        assert not after.status.holds or before.status.holds


class TestNotANumber:
    """NaN and infinities, which only parsed Python values can hold, are never a pass."""

    @pytest.mark.parametrize(
        ("id_", "params", "items"),
        [
            ("sorted_by", {"field": "x"}, [{"x": 1}, {"x": 2.5}, {"x": 3}]),
            ("sorted_by", {"field": "x", "order": "desc"}, [{"x": 1}]),
            ("unique_by", {"field": "x"}, [{"x": 1}, {"x": 2}]),
            ("unique_by", {"field": "x"}, [{"x": "a"}, {"x": [1, {"y": 2}]}]),
            ("unique_by", {"field": "x", "allow_missing": True}, [{}, {"x": 2}]),
            ("within_radius", {"min": 0}, [{"minutes": 1}, {"minutes": 2}]),
            ("within_radius", {"max": 15, "field": "x"}, [{"x": 1}, {"x": 2}]),
            ("within_radius", {"min": 0, "max": 15}, [1, 2]),
            ("within_radius", {"min": 0}, 1),
            ("within_radius", {"min": 0, "center": CENTER}, [{"lat": 1, "lng": 1}]),
            (
                "within_radius",
                {"min": 0, "center": CENTER, "coordinates": "x"},
                [{"x": {"type": "Point", "coordinates": [1, 1]}}],
            ),
            ("price_level_in", {"allowed": [0, 1, 2, 3, 4]}, [{"price": 1}, 2]),
            ("price_level_in", {"allowed": [0, 1, 2, 3, 4]}, 2),
            ("contains_terms", {"terms": ["nan", "inf"], "mode": "any"}, ["nan", 1]),
            ("contains_terms", {"terms": ["a"], "mode": "none", "field": "x"}, [{"x": 1}]),
            ("dietary_supported", {"required": ["nan"]}, [{"dietary": ["nan", 1]}]),
        ],
        ids=str,
    )
    @pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
    def test_planted_in_any_number_is_never_a_pass(
        self, id_: str, params: dict[str, Any], items: Any, value: float
    ) -> None:
        planted = list(with_number_replaced(items, value))

        assert planted
        for output in planted:
            assert not judged(id_, params, output).status.holds


def with_number_replaced(output: Any, value: float) -> Iterable[Any]:
    """The output with each of its numbers replaced in turn."""
    if type(output) in {int, float}:
        yield value
    elif isinstance(output, list | dict):
        for key in list(output) if isinstance(output, dict) else range(len(output)):
            for member in with_number_replaced(output[key], value):
                other = copy.copy(output)
                other[key] = member
                yield other


class TestFinding:
    """A finding is one line, points at what there is, and leaves the subject as it was."""

    @each_check
    @given(output=OUTPUTS, path=st.sampled_from([*PATHS, "/none"]))
    def test_subject_is_never_changed(
        self, id_: str, params: dict[str, Any], output: Any, path: str
    ) -> None:
        subject = Subject(output=at_path(path if path in PATHS else "", output))
        before = copy.deepcopy(subject.output)
        Engine(STDLIB).judge(plan(id_, params | {"path": path}), subject)

        assert msgspec.json.encode(before) == msgspec.json.encode(subject.output)

    @each_check
    @given(output=OUTPUTS, path=st.sampled_from([*PATHS, "/none"]))
    def test_place_is_there_exactly_when_it_fails(
        self, id_: str, params: dict[str, Any], output: Any, path: str
    ) -> None:
        whole = at_path(path if path in PATHS else "", output)
        found = judged(id_, params | {"path": path}, whole)

        assert found.status in {Status.PASS, Status.WARN, Status.FAIL}
        assert (found.status is Status.FAIL) is (found.at is not None)
        if found.at is not None:
            assert resolve(whole, parse_pointer(found.at))[0] is not MISSING

    @pytest.mark.parametrize(("id_", "params"), WITH_FIELD, ids=str)
    @given(name=st.text(min_size=1, max_size=300), items=LISTS)
    def test_detail_is_one_bounded_line(
        self, id_: str, params: dict[str, Any], name: str, items: list[Any]
    ) -> None:
        field = join_pointer("", name)
        renamed = [
            {name if key == "x" else key: value for key, value in item.items()}
            if isinstance(item, dict)
            else item
            for item in items
        ]
        found = judged(id_, params | {"field": field}, renamed)

        assert [found.detail] == (found.detail.splitlines() or [""])
        assert not any(ord(character) < 32 or ord(character) == 127 for character in found.detail)
        assert len(found.detail) < 1_500


class TestOracle:
    """The quick ways through the checks agree with the plain reading of the rules."""

    @given(
        values=st.lists(st.one_of(SMALL, st.sampled_from([2**53, 2.0**53, 2**53 + 1])), max_size=6)
    )
    def test_unique_by_is_pairwise_inequality(self, values: list[Any]) -> None:
        twice = any(json_equal(a, b) for i, a in enumerate(values) for b in values[:i])
        found = judged("unique_by", {"field": "x"}, [{"x": value} for value in values])

        assert found.status.holds is not twice

    @given(
        values=st.lists(st.text(alphabet="aé\ud7ff\ue000\uffff\U00010000\U0001f600"), max_size=6)
    )
    def test_texts_are_in_order_of_code_units(self, values: list[str]) -> None:
        in_order = values == sorted(values, key=utf16_key)
        found = judged("sorted_by", {"field": "x"}, [{"x": value} for value in values])

        assert found.status.holds is in_order
