"""JSON types, equality, pointers, and how numbers and texts print."""

from __future__ import annotations

import struct
import sys
from pathlib import Path
from typing import Any

import pytest

from signoff.jsonvalue import (
    JSON,
    MISSING,
    equality_key,
    find,
    first_difference,
    is_number,
    join_pointer,
    json_equal,
    json_type,
    number_text,
    parse_pointer,
    resolve,
    shown,
    utf16_key,
)
from signoff.strictjson import Limits, loads

VECTORS = Path(__file__).parent.parent / "conformance" / "json"
DEEP = Limits(max_depth=128)


def document(name: str) -> Any:
    return loads((VECTORS / name).read_bytes())


def cases(name: str) -> list[Any]:
    return list(document(name)["cases"])


@pytest.mark.parametrize("case", cases("equality.json"))
def test_equality_vector_holds(case: dict[str, Any]) -> None:
    a, b = loads(case["a"]), loads(case["b"])

    assert case["equal"] is json_equal(a, b) is json_equal(b, a)
    assert case["equal"] is (equality_key(a) == equality_key(b))
    assert case["first_difference"] == first_difference(a, b) == first_difference(b, a)


@pytest.mark.parametrize("case", cases("pointers.json"))
def test_pointer_vector_holds(case: dict[str, Any]) -> None:
    if case.get("malformed"):
        with pytest.raises(ValueError, match="JSON Pointer"):
            parse_pointer(case["pointer"])
        return
    tokens = parse_pointer(case["pointer"])
    found, where = resolve(document("pointers.json")["document"], tokens)
    assert found == find(document("pointers.json")["document"], tokens)

    assert case["pointer"] == join_pointer("", *tokens)
    if "value" in case:
        assert (case["value"], case["pointer"]) == (found, where)
    else:
        assert (MISSING, case["missing_after"]) == (found, where)


@pytest.mark.parametrize("case", cases("number_text.json"))
def test_number_text_vector_holds(case: dict[str, Any]) -> None:
    number: Any
    if "ieee" in case:
        (number,) = struct.unpack(">d", bytes.fromhex(case["ieee"]))
    else:
        number = loads(case["json"])
    if case.get("refused"):
        with pytest.raises(ValueError, match="is not a JSON number"):
            number_text(number)
    else:
        assert case["text"] == number_text(number)


def test_integers_print_beyond_the_interpreters_digit_limit() -> None:
    assert 4300 == sys.get_int_max_str_digits()
    assert "1" + "0" * 5000 == number_text(10**5000)
    assert "-" + "9" * 5000 == number_text(-(10**5000 - 1))
    assert "7" + "0" * 499 + "1" + "0" * 4500 == number_text(7 * 10**5000 + 10**4500)


@pytest.mark.parametrize("value", [True, "1", None, [1]])
def test_only_numbers_have_a_number_text(value: Any) -> None:
    assert not is_number(value)
    with pytest.raises(TypeError, match="is not a number"):
        number_text(value)


def test_types_have_the_names_of_json() -> None:
    values: list[JSON] = [None, True, 1, 1.5, "", [], {}]
    names = ["null", "boolean", "number", "number", "string", "array", "object"]

    assert names == [json_type(value) for value in values]
    with pytest.raises(TypeError, match="tuple is not a JSON type"):
        json_type(())  # type: ignore[arg-type]  # on purpose


def test_equality_survives_any_depth() -> None:
    a: JSON = []
    b: JSON = []
    for _ in range(20_000):
        a, b = [a], [b]

    assert json_equal(a, b)
    assert not json_equal(a, [b])
    assert first_difference(a, b) is None


def test_equality_key_survives_128_levels() -> None:
    value: JSON = 1.0
    for _ in range(64):
        value = {"a": [value]}

    assert hash(equality_key(value)) == hash(
        equality_key(loads('{"a":[' * 64 + "1" + "]}" * 64, limits=DEEP))
    )


def test_keys_of_different_kinds_never_meet() -> None:
    values: list[Any] = [None, True, False, 0, 1, -1, 0.5, 2**53, 2**53 + 1, 2**53 + 2, 1e300]
    values += ["", "null", "true", "0x1", "[]", "{}", "'0'", "0", "[0x1]"]
    values += [
        [],
        {},
        [None],
        [True],
        [1],
        ["1"],
        [[]],
        [{}],
        [1, 1],
        ["1,1"],
        ["'", ""],
        ["", "'"],
    ]
    values += [{"": 1}, {"a": 1, "b": 2}, {"a": {"b": 2}}, {"a:0x1": None}, {"a": "0x1"}]

    assert len(values) == len({equality_key(value) for value in values})


def test_numbers_chosen_to_collide_have_keys_that_do_not() -> None:
    modulus = sys.hash_info.modulus

    assert 1 == len({hash(i * modulus) for i in range(1, 500)})
    assert 499 == len({hash(equality_key(i * modulus)) for i in range(1, 500)})


def test_own_keys_alone_are_found() -> None:
    assert (MISSING, "") == resolve({}, ("__class__",))
    assert (MISSING, "") == resolve("text", ("0",))
    assert (None, "/a") == resolve({"a": None}, ("a",))


def test_pointers_are_continued_and_escaped() -> None:
    assert "/a/0/b~1c/~0" == join_pointer("/a", 0, "b/c", "~")
    assert "/a" == join_pointer("/a")
    assert "/" == join_pointer("", "")


def test_reasons_of_bad_pointers_are_bounded() -> None:
    with pytest.raises(ValueError, match="must be empty or begin with") as caught:
        parse_pointer("x" * 5000)

    assert len(str(caught.value)) < 300


def test_utf16_order_is_not_code_point_order() -> None:
    texts = ["\U0001f600", "\ue000", "\uffff", "a", "\ud83d", ""]

    assert ["", "a", "\ud83d", "\U0001f600", "\ue000", "\uffff"] == sorted(texts, key=utf16_key)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain é 😀", "plain é 😀"),
        ("a\nb\tc\x00\x7f\x85", "a\\u000ab\\u0009c\\u0000\\u007f\\u0085"),
        ("\u2028\u2029", "\\u2028\\u2029"),
        ("\u202eabc\u2066\u200f\u061c", "\\u202eabc\\u2066\\u200f\\u061c"),
        ("\ud800", "\\ud800"),
        ("no\u00a0break", "no\u00a0break"),
        ("x" * 200, "x" * 200),
        ("x" * 201, "x" * 200 + "..."),
        ("\n" * 201, "\\u000a" * 200 + "..."),
    ],
)
def test_shown_text_is_one_safe_line(text: str, expected: str) -> None:
    assert expected == shown(text)


def test_shown_limit_is_the_callers() -> None:
    assert "ab..." == shown("abc", limit=2)
    assert "abc" == shown("abc", limit=3)
