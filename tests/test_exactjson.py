"""Any text of any size is decided in bounded work, and both ways of deciding agree."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from signoff import exactjson
from signoff.errors import JSONError
from signoff.exactjson import decide, read_exactly
from signoff.jsonlimits import Limits
from signoff.jsonvalue import JSON, json_equal
from signoff.strictjson import loads

VECTORS = Path(__file__).parent.parent / "conformance" / "json" / "loading.json"
SIZE = 2**20


def vectors() -> list[Any]:
    document: Any = loads(VECTORS.read_bytes())
    return [pytest.param(case, id=case["name"]) for case in document["cases"] if "text" in case]


def filled(item: bytes, last: bytes, size: int = SIZE) -> bytes:
    """An array of many equal items and a different last one."""
    return b"[%b%b]" % ((item + b",") * (size // (len(item) + 1)), last)


FAULTS: list[tuple[bytes, bytes, str]] = [
    (b'{"a":1}', b'{"a":1,"b":2,"a":3}', 'duplicate key "a"'),
    (b'{"a":1}', b'{"a":1,"\\u0061":3}', 'duplicate key "a"'),
    (b"[]", b"[" * 64 + b"]" * 64, "nested deeper than 64 levels"),
    (b'"[["', b"[" * 200_000, "nested deeper than 64 levels"),
    (b"1", b"9" * 1001, "integer of more than 1000 digits"),
    (b"0.5", b"1e999", "number out of range: 1e999"),
    (b"1", b"NaN", "NaN is not a JSON number"),
    (b"1", b"-Infinity", "-Infinity is not a JSON number"),
    (b"{}", b"", "malformed JSON: expecting value"),
    (b"{}", b'{"a" 1}', "malformed JSON: expecting ':' delimiter"),
    (b"1", b"1] 1", "malformed JSON: extra data"),
    (b'"\\ud83d\\ude00"', b'"\\ude00"', "lone surrogate in a string"),
    (b'"\\\\ud83d"', b'"\\ud83d\\ud83d\\ude00"', "lone surrogate in a string"),
    (b"1", b'"\xff"', "not UTF-8"),
]


@pytest.mark.parametrize(("item", "last", "reason"), FAULTS)
def test_late_faults_are_found_without_walking_the_text(
    item: bytes, last: bytes, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    walked = counted(monkeypatch)
    with pytest.raises(JSONError) as caught:
        loads(filled(item, last))

    assert reason == caught.value.reason
    assert walked() <= exactjson._CLOSELY


def counted(monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """How many values the reader has looked at, from now on."""
    count = 0
    value = exactjson._Reader.value

    def counting(self: exactjson._Reader, depth: int) -> tuple[JSON, bool]:
        nonlocal count
        count += 1
        return value(self, depth)

    monkeypatch.setattr(exactjson._Reader, "value", counting)
    return lambda: count


@pytest.mark.parametrize(
    "last",
    [
        b'"%b"' % (b"7" * 5000),
        b"0.%b" % (b"7" * 5000),
        b"1e1",
        b'"\\u003a"',
        b"[" * 63 + b"]" * 63,
        b"9" * 1000,
    ],
)
def test_large_texts_near_the_limits_are_accepted_without_walking(
    last: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    walked = counted(monkeypatch)

    loads(filled(b'{"a":":"}', last))
    loads(filled(b'{"a":":","a":1}', last), limits=Limits(last_key_wins=True))
    assert 0 == walked()


def test_place_of_a_late_fault_is_named_where_it_is_known() -> None:
    with pytest.raises(JSONError, match="malformed JSON: expecting value at line 3, column 4"):
        loads(b"[\n" + b"1," * SIZE + b"\n   x]")
    with pytest.raises(JSONError, match="integer of more than 1000 digits at line 2, column 2"):
        loads(b'["' + "é".encode() * SIZE + b'",\n ' + b"9" * 1001 + b"]")


def test_early_faults_of_large_texts_have_reason_and_place() -> None:
    with pytest.raises(JSONError, match='duplicate key "a" at line 1, column 9'):
        loads(b'[{"a":1,"a":1},' + b"1," * SIZE)


@pytest.mark.parametrize("last_key_wins", [False, True])
@pytest.mark.parametrize("case", vectors())
def test_coarse_decisions_are_the_exact_ones(
    case: dict[str, Any], last_key_wins: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exactjson, "_CLOSELY", -1)
    data, limits = case["text"].encode(), Limits(last_key_wins=last_key_wins)

    try:
        expected = read_exactly(data, limits=limits)
    except JSONError:
        with pytest.raises(JSONError):
            decide(data, limits=limits)
    else:
        assert json_equal(expected, decide(data, limits=limits))


LARGE = """
import resource, sys
from signoff.errors import JSONError
from signoff.strictjson import loads

resource.setrlimit(resource.RLIMIT_CPU, (120, 120))
item, last = (bytes.fromhex(text) for text in sys.stdin.read().split(","))
text = b"[" + (item + b",") * ((2**26 - len(last) - 2) // (len(item) + 1)) + last + b"]"
try:
    loads(text)
except JSONError as exc:
    print(exc.reason)
"""


@pytest.mark.long
@pytest.mark.parametrize(("item", "last", "reason"), FAULTS)
def test_largest_texts_are_refused_in_time(item: bytes, last: bytes, reason: str) -> None:
    source = str(Path(exactjson.__file__).parent.parent)
    done = subprocess.run(
        [sys.executable, "-c", LARGE],
        input=f"{item.hex()},{last.hex()}",
        env={**os.environ, "PYTHONPATH": source},
        capture_output=True,
        text=True,
        check=False,
    )

    assert (0, reason + "\n", "") == (done.returncode, done.stdout, done.stderr)
