"""YAML 1.2 into JSON values, and the place of whatever is refused."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from signoff.document import parse_document, parse_yaml
from signoff.document.text import MAX_YAML_BYTES
from signoff.errors import TextError
from signoff.jsonvalue import json_equal
from signoff.strictjson import Limits

SCALARS = Path(__file__).parents[2] / "conformance" / "documents" / "yaml_scalars.json"


def cases() -> list[Any]:
    found: list[Any] = json.loads(SCALARS.read_text())["cases"]
    return [pytest.param(case, id=ascii(case["text"])[:40]) for case in found]


def refusal(text: str | bytes, *, limits: Limits | None = None) -> str:
    data = text if isinstance(text, bytes) else text.encode()
    with pytest.raises(TextError) as caught:
        parse_yaml(data, limits=limits or Limits())
    return str(caught.value)


@pytest.mark.parametrize("case", cases())
def test_a_text_has_the_value_of_the_core_schema_or_none(case: dict[str, Any]) -> None:
    if case.get("refused"):
        assert refusal(case["text"])
    else:
        value = parse_yaml(case["text"].encode())
        assert json_equal(value, case["value"]), value


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 1\nb: &x 2", '2:4: anchor "&x"; remove it'),
        ("a: [1, *x]", '1:8: alias "*x"; write the value out'),
        ("a: !!str 1", '1:4: tag "tag:yaml.org,2002:str"; tags are not read'),
        ("- !point {x: 1}", '1:3: tag "!point"; tags are not read'),
        ("é: 1\nb:\n  c: 1\n  'c': 2", '4:3: duplicate key "c"'),
        ('{"a": 1, "\\u0061": 2}', '1:10: duplicate key "a"'),
        ("a: 1\n1: b", '2:1: a key that is not a text: write "1" in quotes'),
        ("a: 1\n~: b", '2:1: a key that is not a text: write "~" in quotes'),
        ("a: {[b]: c}", "1:5: a key that is not a text"),
        ("a: 1\n---\nb: 2", "2:1: a second document; one file holds one"),
        ("a:\n\tb: 1", "2:1: a tab where only spaces may stand"),
        ("a: 'x\x01'", "1:6: unescaped \\u0001; write it as an escape in double quotes"),
        ("a: 'x\u2028'", "1:6: unescaped \\u2028; write it as an escape in double quotes"),
        ("\ufeffa: 1", "1:1: byte-order mark before the text"),
        (b"a: 1\nb: \xff", "2:4: not UTF-8"),
        (b"a: \xed\xa0\x80", "1:4: not UTF-8"),
        ("", "1:1: the text is empty"),
        ("# nothing\n", "1:1: the text is empty"),
        ("a: .NaN", "1:4: .NaN is not a JSON number"),
        ("a: -.inf", "1:4: -.inf is not a JSON number"),
        ("a: 1e999", "1:4: number out of range: 1e999"),
        ("a: " + "9" * 1001, "1:4: integer of more than 1000 digits"),
        ("a: 0x" + "f" * 999, "1:4: integer of more than 1000 digits"),
        ('a: "\\udead"', "1:4: lone surrogate in a string"),
        ('a: "x\\U00110000"', "1:6: no such character"),
        ('a: "x\\UFFFFFFFF"', "1:6: no such character"),
        ("%YAML 1.1\n---\na", "1:1: a %YAML line for another version than 1.2"),
        ("%YAML 1.20\n---\na", "1:1: a %YAML line for another version than 1.2"),
        ("%TAG !e! tag:e,2026:\n---\na", "1:1: a %TAG line; tags are not read"),
        ("a: b: c", "1:5: not YAML: mapping values are not allowed here"),
        ("a: [1", "1:6: not YAML: expected ',' or ']', but got '<stream end>' while parsing a flow sequence"),
    ],
)  # fmt: skip
def test_what_is_refused_is_told_with_its_place(text: str | bytes, message: str) -> None:
    assert refusal(text) == message


def test_messages_hold_no_more_than_two_hundred_characters_of_the_text() -> None:
    assert len(refusal(f"a: &{'x' * 900} 1")) < 250
    assert len(refusal(f"{'k' * 900}: 1\n{'k' * 900}: 2")) < 250
    assert "\n" not in refusal('a: "\n\\\nq\\q"')


@pytest.mark.parametrize("opening", ["[", "- ", "{a: ", "[{a: ", "? ", "? - "])
def test_two_hundred_thousand_levels_are_refused_at_once(opening: str) -> None:
    text = (opening * 200_000)[: MAX_YAML_BYTES - 1]
    start = time.monotonic()
    assert refusal(text).endswith(
        "not a text" if "?" in opening else "nested deeper than 64 levels"
    )
    assert time.monotonic() - start < 30


def test_the_depth_that_is_allowed_is_allowed() -> None:
    assert parse_yaml(b"[" * 64 + b"]" * 64) is not None
    assert refusal("[" * 65 + "]" * 65) == "1:65: nested deeper than 64 levels"
    assert parse_yaml(b"[" * 128 + b"]" * 128, limits=Limits(max_depth=128)) is not None
    assert refusal("[[]]", limits=Limits(max_depth=1)) == "1:2: nested deeper than 1 levels"


def test_a_text_beyond_the_cap_is_refused_whatever_the_limits_say() -> None:
    text = b"#" * MAX_YAML_BYTES + b"\n"
    assert refusal(text) == f"larger than {MAX_YAML_BYTES} bytes ({len(text)})"
    assert refusal(b"a: 1", limits=Limits(max_bytes=3)) == "larger than 3 bytes (4)"


def test_a_bomb_of_aliases_is_refused_at_its_first_anchor() -> None:
    bomb = "a: &a [x, x]\n" + "".join(
        f"{b}: &{b} [*{a}, *{a}]\n" for a, b in zip("abcdef", "bcdefg", strict=False)
    )
    assert refusal(bomb) == '1:4: anchor "&a"; remove it'


@pytest.mark.long
@pytest.mark.parametrize("piece", ["a,", '"a": [],\n'])
def test_the_time_grows_with_the_text_and_no_faster(piece: str) -> None:
    def seconds(size: int) -> float:
        text = "[" + piece * ((size - 2) // len(piece)) + "]"
        start = time.process_time()
        assert parse_yaml(text.encode())
        return time.process_time() - start

    assert seconds(MAX_YAML_BYTES) < 12 * seconds(MAX_YAML_BYTES // 4)


def test_places_are_those_of_keys_and_values() -> None:
    text = """\
# a contract
id: é
criteria:
  - id: one
    "params": {min: 1, max: [2,
      3]}
  -   |
    text
empty:
"""
    document = parse_document(text.encode(), "c.yaml")
    assert document.place("") == (2, 1)
    assert document.place("/id") == (2, 5)
    assert document.place("/id", key=True) == (2, 1)
    assert document.place("/criteria") == (4, 3)
    assert document.place("/criteria", key=True) == (3, 1)
    assert document.place("/criteria/0") == (4, 5)
    assert document.place("/criteria/0", key=True) == (4, 5)
    assert document.place("/criteria/0/params") == (5, 15)
    assert document.place("/criteria/0/params", key=True) == (5, 5)
    assert document.place("/criteria/0/params/max/1") == (6, 7)
    assert document.place("/criteria/0/params/none", key=True) == (5, 15)
    assert document.place("/criteria/1") == (7, 7)
    assert document.place("/empty", key=True) == (9, 1)
    assert document.place("/empty") == (9, 1)
