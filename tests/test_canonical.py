"""Canonical bytes are those of RFC 8785, and what is not JSON has none."""

from __future__ import annotations

import datetime as dt
import decimal
import enum
import uuid
from collections import OrderedDict
from pathlib import Path
from typing import Any

import msgspec
import pytest

from signoff import canonical
from signoff.canonical import (
    canonical_bytes,
    canonical_bytes_unchecked,
    digest,
    digest_bytes,
    is_digest,
    require_json,
    write_exactly,
)
from signoff.strictjson import loads, loads_canonical

VECTORS = Path(__file__).parent.parent / "conformance" / "json" / "canonical.json"
EMPTY_SHA256 = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


class Text(str):
    __slots__ = ()


class Colour(enum.IntEnum):
    RED = 1


class Pair(msgspec.Struct):
    a: int


def vectors() -> list[Any]:
    document: Any = loads(VECTORS.read_bytes())
    return [pytest.param(case, id=case["description"]) for case in document["cases"]]


def holding_itself() -> list[Any]:
    items: list[Any] = []
    items += [items, items]
    return items


def nested(levels: int) -> Any:
    value: Any = []
    for _ in range(levels - 1):
        value = [value]
    return value


@pytest.mark.parametrize("case", vectors())
def test_vector_holds(case: dict[str, Any]) -> None:
    value = loads(case["text"])
    expected = case["canonical"].encode()

    assert expected == canonical_bytes(value)
    assert expected == canonical_bytes_unchecked(value)
    assert expected == write_exactly(value)
    assert expected == loads_canonical(case["text"])[1]


@pytest.mark.parametrize(
    ("value", "what"),
    [
        (float("nan"), "nan is not a JSON number"),
        (float("inf"), "inf is not a JSON number"),
        (float("-inf"), "-inf is not a JSON number"),
        ("\ud800", "lone surrogate in a string"),
        ((1, 2), "tuple is not a JSON type"),
        ({1}, "set is not a JSON type"),
        (b"a", "bytes is not a JSON type"),
        (1j, "complex is not a JSON type"),
        (decimal.Decimal("1.5"), "Decimal is not a JSON type"),
        (dt.date(2000, 1, 1), "date is not a JSON type"),
        (uuid.UUID(int=0), "UUID is not a JSON type"),
        (Pair(a=1), "Pair is not a JSON type"),
        (Text("a"), "Text is not a JSON type"),
        (Colour.RED, "Colour is not a JSON type"),
        (OrderedDict(a=1), "OrderedDict is not a JSON type"),
        (msgspec.Raw(b"1 "), "Raw is not a JSON type"),
        ({1: 2}, "int is not a JSON key"),
        ({None: 2}, "NoneType is not a JSON key"),
        ({True: 2}, "bool is not a JSON key"),
        ({Text("a"): 2}, "Text is not a JSON key"),
        ({"\udfff": 2}, "lone surrogate in a string"),
        (object(), "object is not a JSON type"),
    ],
)
def test_what_is_not_json_is_refused_where_it_stands(value: Any, what: str) -> None:
    documents: list[tuple[Any, str]] = [(value, "/"), ({"a/b": [None, value, 1.5]}, "/a~1b/1")]
    for document, place in documents:
        for refuse in (canonical_bytes, require_json, digest):
            with pytest.raises(ValueError, match=r"is not|surrogate") as caught:
                refuse(document)

            assert f"{place}: {what}" == str(caught.value)


def test_faults_are_found_in_every_branch() -> None:
    branches: list[Any] = [[[[1]]], [[[(1,)]]], [[[1]]]]
    for turn in range(3):
        with pytest.raises(ValueError, match="tuple is not a JSON type"):
            canonical_bytes(branches[turn:] + branches[:turn])


def test_first_fault_in_document_order_is_named() -> None:
    with pytest.raises(ValueError, match=r"^/a/0: set is not a JSON type$"):
        canonical_bytes({"a": [{1}, {2}], "b": (1,)})  # type: ignore[dict-item,list-item]  # on purpose


@pytest.mark.parametrize("value", [nested(129), nested(5000), holding_itself()])
def test_deeper_than_128_levels_is_refused(value: Any) -> None:
    with pytest.raises(ValueError, match="nested deeper than 128 levels"):
        canonical_bytes(value)


def test_128_levels_have_canonical_bytes() -> None:
    assert b"[" * 128 + b"]" * 128 == canonical_bytes(nested(128))
    assert b"[" * 128 + b"]" * 128 == write_exactly(nested(128))


def test_digest_is_that_of_the_canonical_bytes() -> None:
    assert digest_bytes(b'{"a":1,"b":2}') == digest({"b": 2, "a": 1.0})
    assert EMPTY_SHA256 == digest_bytes(b"")


def test_digest_tells_values_apart_that_python_does_not() -> None:
    assert digest([True]) != digest([1])
    assert digest([2**53]) != digest([2**53 + 1])


def test_form_of_digests() -> None:
    assert is_digest(EMPTY_SHA256)
    for text in (
        "",
        EMPTY_SHA256[:-1],
        EMPTY_SHA256 + "\n",
        EMPTY_SHA256.upper(),
        EMPTY_SHA256[7:],
        None,
        1,
    ):
        assert not is_digest(text)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ([{"c": "😀", "b": -2.5, "a": 1.0}], '[{"a":1,"b":-2.5,"c":"😀"}]'),
        ({"a": "❤\ufe0f 😀", "b": [4.0, 4.5, -0.0]}, '{"a":"❤\ufe0f 😀","b":[4,4.5,0]}'),
        (['say "1.0,"\n', 1.0, "\\", 2.0], '["say \\"1.0,\\"\\n",1,"\\\\",2]'),
        ([":4.0,", 4.0, "a", 10.05, "2.0.0]"], '[":4.0,",4,"a",10.05,"2.0.0]"]'),
        ({"we,e,": ["e", ":e,", True, False]}, '{"we,e,":["e",":e,",true,false]}'),
        ({"😀": 1, "é": "\ue000"}, '{"é":"\ue000","😀":1}'),
    ],
)
def test_ordinary_values_take_the_fast_path(
    value: Any, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(canonical, "write_exactly", None)
    monkeypatch.setattr(canonical, "require_json", None)

    assert expected == canonical_bytes(value).decode()
    assert expected == loads_canonical(msgspec.json.encode(value))[1].decode()


class Lying(list[Any]):
    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = None


@pytest.mark.parametrize(
    ("value", "what"),
    [
        (Lying([1]), "Lying is not a JSON type"),
        (bytearray(b"a"), "bytearray is not a JSON type"),
        (memoryview(b"a"), "memoryview is not a JSON type"),
        (frozenset({1}), "frozenset is not a JSON type"),
        ((), "tuple is not a JSON type"),
        (dt.timedelta(1), "timedelta is not a JSON type"),
        ({1.5: 1}, "float is not a JSON key"),
        ({b"a": 1}, "bytes is not a JSON key"),
        (..., "ellipsis is not a JSON type"),
    ],
)
def test_what_equals_json_is_not_yet_json(value: Any, what: str) -> None:
    with pytest.raises(ValueError, match=what):
        canonical_bytes([None, value])


def test_many_shallow_containers_are_not_deep() -> None:
    assert b"[" + b"[[]]," * 999 + b"[[]]]" == canonical_bytes([[[]] for _ in range(1000)])
    with pytest.raises(ValueError, match="nested deeper than 128 levels"):
        canonical_bytes([[]] * 1000 + [nested(128)])
