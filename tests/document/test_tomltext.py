"""TOML into JSON values, and the place of whatever is refused."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from signoff.document import parse_document, parse_toml
from signoff.document.text import MAX_TOML_BYTES
from signoff.errors import TextError
from signoff.strictjson import Limits

PLACES = Path(__file__).parents[2] / "conformance" / "documents" / "toml_places.json"


def place_cases() -> list[Any]:
    found: list[Any] = json.loads(PLACES.read_text())["cases"]
    return [pytest.param(case, id=case["name"]) for case in found]


def refusal(text: str | bytes, *, limits: Limits | None = None) -> str:
    data = text if isinstance(text, bytes) else text.encode()
    with pytest.raises(TextError) as caught:
        parse_toml(data, limits=limits or Limits())
    return str(caught.value)


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize("case", place_cases())
def test_keys_and_values_stand_where_the_vectors_say(case: dict[str, Any], ending: str) -> None:
    document = parse_document(ending.join(case["text"]).encode(), "c.toml")
    for pointer, place in case["places"].items():
        assert [*document.place(pointer)] == place["value"], pointer
        assert [*document.place(pointer, key=True)] == place["key"], pointer


def test_values_are_those_of_json() -> None:
    text = b"""
        text = "x"
        whole = 1_000
        hex = 0x1F
        real = 1.5
        yes = true
        list = [1, [], {}]
        table.inner = {}
    """
    assert parse_toml(text) == {
        "text": "x",
        "whole": 1000,
        "hex": 31,
        "real": 1.5,
        "yes": True,
        "list": [1, [], {}],
        "table": {"inner": {}},
    }
    assert parse_toml(b"# nothing but a comment") == {}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a = 1\nb = 2026-02-09", "2:5: a date has no JSON form; write it as a string"),
        ("a = 07:30:00", "1:5: a time has no JSON form; write it as a string"),
        ("a = [1, 2026-02-09 07:30:00]", "1:9: a date and time has no JSON form; write it as a string"),
        ("[[a]]\n[[a]]\nb.c = 2026-02-09T07:30:00Z", "3:7: a date and time has no JSON form; write it as a string"),
        ("a = { b = [inf] }", "1:12: number out of range: inf"),
        ("a = -nan", "1:5: number out of range: -nan"),
        ("a = 1e999 # large", "1:5: number out of range: 1e999"),
        ("a = " + "9" * 1001, "1:5: integer of more than 1000 digits"),
        ("b = 1\na = [\n" + "9_" * 5000 + "9]", "3:1: integer of more than 1000 digits"),
        ("a = 0x" + "f" * 999, "1:5: integer of more than 1000 digits"),
        ("a = 1\n  a = 2", "2:3: this has a value already"),
        ("a = 1\nb = [\n]\na.b = '''\n[\n'''", "4:1: this has a value already"),
        ('a = 1\n"\\u0061" = 2', "2:1: this has a value already"),
        ("a = {b = 1, b = 2}", '1:18: duplicate key "b"'),
        ("[a]\n[b]\n[a]", '3:1: "a" is defined already'),
        ("[a.'b']\n[a]\nb.c = 1", '3:1: "a.b" is defined already'),
        ("a = []\n[[a]]", '2:1: "a" is defined already'),
        ("a = [1", "1:7: not TOML: unclosed array"),
        ("a = 1 b", "1:7: not TOML: expected newline or end of document after a statement"),
        ("= 1", "1:1: neither a key, a table nor a comment"),
        ("a = '\x00'", "1:6: not TOML: found invalid character '\\x00'"),
        ('a = "\\udead"', "1:12: not TOML: escaped character is not a Unicode scalar value"),
        ("\ufeffa = 1", "1:1: byte-order mark before the text"),
        (b"a = 1\nb = '\xff'", "2:6: not UTF-8"),
        ("", "1:1: the text is empty"),
        (" \n\n", "1:1: the text is empty"),
    ],
)  # fmt: skip
def test_what_is_refused_is_told_with_its_place(text: str | bytes, message: str) -> None:
    assert refusal(text) == message


def test_the_first_of_several_faults_is_told() -> None:
    assert refusal("[z]\na = [nan, 2026-02-09]\n[b]\nc = inf").startswith("2:6: ")


@pytest.mark.parametrize(
    "text",
    [
        "a = " + "[" * 200_000,
        "a = [\n" + "[ # ]\n" * 150_000,
        "a = " + "{a = " * 200_000,
        "a = " + "[{a = " * 150_000,
        "a." * 200_000 + "a = 1",
        "'a' . \"b\" . " * 80_000 + "a = 1",
        "[" + "a." * 200_000 + "a]",
        "[[" + "a." * 200_000 + "a]]",
        "a = ['''\n]]'''," * 40_000 + "[" * 200_000,
    ],
    ids=lambda text: text[:16],
)
def test_two_hundred_thousand_levels_are_refused_at_once(text: str) -> None:
    start = time.monotonic()
    assert refusal(text).endswith("nested deeper than 64 levels")
    assert time.monotonic() - start < 10


def test_the_depth_that_is_allowed_is_allowed() -> None:
    assert parse_toml(b"a = " + b"[" * 63 + b"]" * 63)
    assert refusal("a = " + "[" * 64 + "]" * 64) == "1:68: nested deeper than 64 levels"
    assert parse_toml(b"[" + b".".join([b"a"] * 63) + b"]")
    assert refusal("[" + ".".join("a" * 64) + "]").endswith("nested deeper than 64 levels")
    assert refusal("[" + ".".join("a" * 60) + "]\n" + ".".join("b" * 9) + " = 1").endswith(
        "64 levels"
    )
    assert parse_toml(b"[[a]]\nb.c = 1", limits=Limits(max_depth=4))
    assert (
        refusal("[[a]]\nb.c = 1", limits=Limits(max_depth=3)) == "2:1: nested deeper than 3 levels"
    )


def test_brackets_and_dots_in_texts_and_comments_are_no_levels() -> None:
    many = "[{." * 100
    for text in (
        f"'{many}'",
        f'"{many}\\""',
        f"'''{many}'\n'''",
        f'"""{many}"\\"\n"""',
        f"1 # {many}",
    ):
        assert parse_toml(f"a = {text}\nb = [1.5]".encode())
    assert parse_toml("\n".join(f"a{i} = [1.5, {{b.c = 2.5}}]" for i in range(100)).encode())


def test_a_text_beyond_the_cap_is_refused_whatever_the_limits_say() -> None:
    text = b"#" * MAX_TOML_BYTES + b"\n"
    assert refusal(text) == f"larger than {MAX_TOML_BYTES} bytes ({len(text)})"
    assert refusal(b"a = 1", limits=Limits(max_bytes=4)) == "larger than 4 bytes (5)"


@pytest.mark.long
@pytest.mark.parametrize(
    "line",
    [
        "a{i} = [1_0, 1.5, {{b.c = []}}]",
        "[a.b.c{i}]",
        "[" + "a." * 31 + "b{i}]\n" + "c." * 31 + "d = 1",
        "[[a]]",
    ],
)
def test_the_time_grows_with_the_text_and_no_faster(line: str) -> None:
    def seconds(size: int) -> float:
        count = size // (len(line) + 6)
        text = "\n".join(line.format(i=i) for i in range(count)).encode()
        assert len(text) <= size
        start = time.process_time()
        assert parse_toml(text)
        return time.process_time() - start

    assert seconds(MAX_TOML_BYTES) < 12 * seconds(MAX_TOML_BYTES // 4)
