"""Strict JSON: what is accepted, what is refused, and that both loaders agree on it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Protocol

import pytest

from signoff import exactjson, strictjson
from signoff.canonical import write_exactly
from signoff.errors import JSONError
from signoff.exactjson import read_exactly
from signoff.jsonvalue import JSON, json_equal
from signoff.strictjson import Limits, loads, loads_canonical

VECTORS = Path(__file__).parent.parent / "conformance" / "json" / "loading.json"


class Door(Protocol):
    def __call__(self, data: bytes, /, *, limits: Limits) -> JSON: ...


def vectors() -> list[Any]:
    document: Any = loads(VECTORS.read_bytes())
    return [pytest.param(case, id=case["name"]) for case in document["cases"]]


def bytes_of(case: dict[str, Any]) -> bytes:
    if "hex" in case:
        return bytes.fromhex(case["hex"])
    if "repeat" in case:
        before, times, middle, after, times_after = case["repeat"]
        return str(before * times + middle + after * times_after).encode()
    return str(case["text"]).encode()


def by_every_door(data: bytes, limits: Limits) -> list[JSON | JSONError]:
    return [
        answer_of(loads, data, limits),
        answer_of(lambda text, *, limits: loads_canonical(text, limits=limits)[0], data, limits),
        answer_of(read_exactly, data, limits),
    ]


def answer_of(door: Door, data: bytes, limits: Limits) -> JSON | JSONError:
    try:
        return door(data, limits=limits)
    except JSONError as exc:
        return exc


@pytest.mark.parametrize("case", vectors())
def test_vector_holds(case: dict[str, Any]) -> None:
    for answer in by_every_door(bytes_of(case), Limits()):
        if case["name"].startswith("y_"):
            assert not isinstance(answer, JSONError), answer
            assert "value" not in case or json_equal(case["value"], answer)
        else:
            assert isinstance(answer, JSONError), answer
            assert case["reason"] == answer.reason
            if "line" in case:
                assert (case["line"], case["column"]) == (answer.line, answer.column)


@pytest.mark.parametrize("case", vectors())
def test_last_key_wins_changes_nothing_but_duplicates(case: dict[str, Any]) -> None:
    answers = by_every_door(bytes_of(case), Limits(last_key_wins=True))
    refused = case["name"].startswith("n_") and "duplicate" not in case["reason"]

    assert [refused] * 3 == [isinstance(answer, JSONError) for answer in answers]


def test_last_key_wins() -> None:
    assert {"a": 2} == loads('{"a":1,"\\u0061":2}', limits=Limits(last_key_wins=True))
    assert b'{"a":2}' == loads_canonical('{"a":[1],"a":2}', limits=Limits(last_key_wins=True))[1]


@pytest.mark.parametrize(
    "text",
    [
        '{"a":%s,"a":1}' % ("[" * 64 + "]" * 64),
        '{"a":%s,"a":1}' % ("9" * 1001),
        '{"a":1e999,"a":1}',
    ],
)
def test_overwritten_values_keep_to_the_limits_too(text: str) -> None:
    for answer in by_every_door(text.encode(), Limits(last_key_wins=True)):
        assert isinstance(answer, JSONError)


def test_place_is_counted_in_bytes_and_in_code_points() -> None:
    with pytest.raises(JSONError) as caught:
        loads('[\n "é😀", x]')

    assert (13, 2, 8) == (caught.value.offset, caught.value.line, caught.value.column)
    assert "expected a value, got x at line 2, column 8" == str(caught.value)


@pytest.mark.parametrize("text", ["[" * 65, "é" * 33, b"1" * 65])
def test_size_is_refused_before_anything_else(text: str | bytes) -> None:
    with pytest.raises(JSONError, match="larger than 64 bytes") as caught:
        loads(text, limits=Limits(max_bytes=64))

    assert caught.value.offset is caught.value.line is caught.value.column is None


def test_size_limit_is_inclusive() -> None:
    assert "é" * 31 == loads('"' + "é" * 31 + '"', limits=Limits(max_bytes=64))


@pytest.mark.parametrize("depth", [1, 2, 63, 100, 128])
def test_depth_limit_is_inclusive(depth: int) -> None:
    for left, right in (("[", "]"), ('{"a":', "}"), ('["[]{}\\"",', "]"), ('{"\\\\":', "}")):
        inner = "[]" if left == "[" else "1"
        levels = depth - (inner == "[]")
        text = (left * levels + inner + right * levels).encode()
        limits = Limits(max_depth=depth)
        assert not any(isinstance(answer, JSONError) for answer in by_every_door(text, limits))
        deeper = left.encode() + text + right.encode()
        assert all(isinstance(answer, JSONError) for answer in by_every_door(deeper, limits))


@pytest.mark.parametrize("digits", [1, 2, 3, 999, 1000])
def test_digit_limit_is_inclusive_wherever_the_number_stands(digits: int) -> None:
    limits = Limits(max_digits=digits)
    for offset in range(0, 40, 13):
        for number, fits in (("9" * digits, True), ("9" * (digits + 1), False)):
            text = (" " * offset + "[-" + number + "]" + " " * 7).encode()
            answers = by_every_door(text, limits)
            assert [not fits] * 3 == [isinstance(answer, JSONError) for answer in answers]


@pytest.mark.parametrize("text", ['"\ud800"', '{"\udfff":1}', "\ud83d\ude00"])
def test_lone_surrogate_in_a_python_text_is_refused(text: str) -> None:
    with pytest.raises(JSONError, match="lone surrogate in a string"):
        loads(text)


def test_text_and_bytes_are_read_alike() -> None:
    assert loads('{"é":[1.5]}') == loads('{"é":[1.5]}'.encode())
    with pytest.raises(JSONError, match="byte-order mark"):
        loads("\ufeff[]")


def test_integers_keep_every_digit() -> None:
    assert 2**53 + 1 == loads(str(2**53 + 1))
    assert 10**999 + 7 == loads(str(10**999 + 7))
    assert -(2**64) == loads(str(-(2**64)))


def test_200000_levels_are_refused_in_milliseconds() -> None:
    start = time.perf_counter()
    for text in (b"[" * 200_000, b'{"a":' * 200_000, b"[" * 200_000 + b"]" * 200_000):
        with pytest.raises(JSONError, match="nested deeper than 64 levels"):
            loads(text)

    assert time.perf_counter() - start < 0.5


def test_callers_near_the_recursion_limit_get_the_value_as_soon_as_there_is_room() -> None:
    text = b"[" * 60 + b"]" * 60

    def descend() -> JSON:
        try:
            return descend()
        except RecursionError:
            return loads(text)

    assert json_equal(loads(text), descend())


def test_long_texts_are_cut_in_reasons() -> None:
    with pytest.raises(JSONError) as caught:
        loads('{"' + "k" * 5000 + '":1,"' + "k" * 5000 + '":1}')

    assert 'duplicate key "' + "k" * 200 + '..."' == caught.value.reason


def test_canonical_bytes_come_with_the_value() -> None:
    for text in (
        '{"b":1.0,"a":"x"}',
        "[1e21,-0]",
        '{"a":"\\u003a"}',
        '{"\\ue000":1,"\\ud83d\\ude00":2}',
    ):
        value, data = loads_canonical(text)
        assert write_exactly(value) == data
        assert json_equal(loads(text), value)


def test_ordinary_texts_take_the_fast_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exactjson, "_Reader", None)
    item = '{"a":"x:\\"[{","b":[1,2.5],"c":{"d":"\\u003a","e":"\\\\u003a"}}'

    assert 200 == len(loads(f"[{','.join([item] * 200)}]"))  # type: ignore[arg-type]  # an array


def test_answers_do_not_depend_on_the_interpreters_digit_limit() -> None:
    script = (
        "from signoff.strictjson import loads, loads_canonical\n"
        "from signoff.canonical import canonical_bytes\n"
        "text = b'[1.0,-' + b'9' * 1000 + b']'\n"
        "value, data = loads_canonical(text)\n"
        "assert value == loads(text) == [1, -(10**1000 - 1)]\n"
        "assert data == canonical_bytes(value) == b'[1,-' + b'9' * 1000 + b']', data\n"
    )
    source = str(Path(strictjson.__file__).parent.parent)
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "PYTHONINTMAXSTRDIGITS": "640", "PYTHONPATH": source},
        capture_output=True,
        text=True,
        check=False,
    )

    assert (0, "") == (done.returncode, done.stderr)
