"""
Laws of documents in three formats: one value, and places that point at the right text.

The writers here note where they put each key and value; ``place`` must say the same.
"""

from __future__ import annotations

import json
import random
import re
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from signoff.document import Format, parse_document, parse_json, parse_yaml
from signoff.document.text import position
from signoff.errors import TextError
from signoff.jsonvalue import join_pointer, json_equal

# Without what YAML or TOML want escaped, so that texts may be written as they are.
TEXTS = st.text(
    st.one_of(
        st.sampled_from("ab01 -:?,[]{}#&*!|>'\"%@`~.=/\\\n\té😀"),
        st.characters(
            codec="utf-8",
            exclude_categories=("Cc", "Cs"),
            exclude_characters="\u2028\u2029\ufeff\ufffe\uffff",
        ),
    ),
    max_size=12,
)
NUMBERS = st.one_of(
    st.integers(-(10**20), 10**20), st.floats(allow_nan=False, allow_infinity=False)
)
SCALARS = st.one_of(st.booleans(), NUMBERS, TEXTS)
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.one_of(SCALARS, st.none()),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(TEXTS, inner, max_size=4)),
    max_leaves=20,
)
WITHOUT_NULL: st.SearchStrategy[Any] = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(TEXTS, inner, max_size=4)),
    max_leaves=20,
)
TABLES = st.dictionaries(TEXTS, WITHOUT_NULL, min_size=1, max_size=5)
SEEDS = st.randoms(use_true_random=False)


class Writer:
    """A text under way, and the offsets of the keys and values in it."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.text = ""
        self.keys: dict[str, int] = {}
        self.values: dict[str, int] = {}

    def add(self, *choices: str) -> None:
        self.text += self.chance.choice(choices)

    def key_here(self, pointer: str) -> None:
        self.keys[pointer] = len(self.text)

    def value_here(self, pointer: str) -> None:
        self.values[pointer] = len(self.text)
        self.keys.setdefault(pointer, len(self.text))


class JSONWriter(Writer):
    def blank(self) -> None:
        self.add("", "", " ", "\n", "\t", "\r\n  ")

    def literal(self, value: Any) -> None:
        self.text += json.dumps(value, ensure_ascii=self.chance.random() < 0.5)

    def write(self, value: Any, pointer: str = "") -> None:
        self.blank()
        self.value_here(pointer)
        if isinstance(value, dict):
            self.text += "{"
            for index, (key, member) in enumerate(value.items()):
                self.text += "," if index else ""
                self.blank()
                self.key_here(join_pointer(pointer, key))
                self.literal(key)
                self.blank()
                self.text += ":"
                self.write(member, join_pointer(pointer, key))
            self.blank()
            self.text += "}"
        elif isinstance(value, list):
            self.text += "["
            for index, item in enumerate(value):
                self.text += "," if index else ""
                self.write(item, join_pointer(pointer, index))
            self.blank()
            self.text += "]"
        else:
            self.literal(value)
        self.blank()


class YAMLWriter(Writer):
    """Block style down to a depth that chance decides, then flow style."""

    def quoted(self, text: str) -> None:
        if re.fullmatch(r"[a-z]{1,9}", text) and text not in ("null", "true", "false"):
            self.text += text
        elif "\n" not in text and "\t" not in text and self.chance.random() < 0.3:
            self.text += "'" + text.replace("'", "''") + "'"
        else:
            self.text += json.dumps(text, ensure_ascii=self.chance.random() < 0.5)

    def scalar(self, value: Any) -> None:
        if isinstance(value, str):
            self.quoted(value)
        elif value is None:
            self.add("null", "~", "Null")
        else:
            self.text += json.dumps(value)

    def newline(self, indent: int) -> None:
        self.add("", "", "", " # [note]: 'x", "\n", "\r\n   # - a: b")
        self.text += "\n" + " " * indent

    def write(self, value: Any, pointer: str = "", indent: int = 0) -> None:
        if not isinstance(value, (dict, list)) or not value or self.chance.random() < 0.3:
            self.flow(value, pointer)
            return
        if pointer:
            self.newline(indent)
        self.value_here(pointer)
        members = value.items() if isinstance(value, dict) else enumerate(value)
        for count, (key, member) in enumerate(members):
            if count:
                self.newline(indent)
            inside = join_pointer(pointer, key)
            if isinstance(key, str):
                self.key_here(inside)
                self.quoted(key)
                self.add(": ", " : ", ":  ")
            else:
                self.text += "- "
            self.write(member, inside, indent + self.chance.choice((1, 2, 4)))
        if not pointer:
            self.text += "\n"

    def flow(self, value: Any, pointer: str) -> None:
        self.value_here(pointer)
        if isinstance(value, dict):
            self.text += "{"
            for index, (key, member) in enumerate(value.items()):
                self.text += ", " if index else ""
                self.key_here(join_pointer(pointer, key))
                self.quoted(key)
                self.text += ": "
                self.flow(member, join_pointer(pointer, key))
            self.text += "}"
        elif isinstance(value, list):
            self.text += "["
            for index, item in enumerate(value):
                self.text += ", " if index else ""
                self.flow(item, join_pointer(pointer, index))
            self.text += "]"
        else:
            self.scalar(value)


class TOMLWriter(Writer):
    """Inline values first, then tables and arrays of tables, as chance decides."""

    def newline(self) -> None:
        self.add("\n", "\n", "\r\n", " # [note] = 'x\n", "\n\n  ")

    def quoted(self, text: str, *, key: bool) -> None:
        kinds = [json.dumps(text, ensure_ascii=False)]
        if "'" not in text and "\n" not in text:
            kinds.append(f"'{text}'")
        if key and re.fullmatch(r"[A-Za-z0-9_-]+", text):
            kinds.append(text)
        if not key:
            kinds.append('"""' + json.dumps(text, ensure_ascii=False)[1:-1] + '"""')
            if "'" not in text:
                # The first line end of such a string is not part of it.
                kinds.append(f"'''\n{text}'''")
                kinds += [] if text.startswith("\n") else [f"'''{text}'''"]
        self.add(*kinds)

    def scalar(self, value: Any) -> None:
        if isinstance(value, str):
            self.quoted(value, key=False)
        else:
            self.text += json.dumps(value)

    def table(self, table: dict[str, Any], pointer: str, path: list[str]) -> None:
        later = []
        for key, value in table.items():
            tables = isinstance(value, list) and value and all(isinstance(x, dict) for x in value)
            if (isinstance(value, dict) or tables) and self.chance.random() < 0.7:
                later.append((key, value))
            else:
                self.member(key, value, pointer)
                self.newline()
        for key, value in later:
            inside = join_pointer(pointer, key)
            if isinstance(value, dict):
                self.header("[", "]", [*path, key], inside)
                self.table(value, inside, [*path, key])
            for index, item in enumerate(value if isinstance(value, list) else ()):
                item_pointer = join_pointer(inside, index)
                start = len(self.text)
                self.header("[[", "]]", [*path, key], inside)
                self.values[item_pointer] = self.keys[item_pointer] = start
                self.table(item, item_pointer, [*path, key])

    def header(self, opening: str, closing: str, path: list[str], pointer: str) -> None:
        self.values.setdefault(pointer, len(self.text))
        self.text += opening
        for index, part in enumerate(path):
            self.add(*([".", " . "] if index else ["", " "]))
            if index == len(path) - 1:
                self.keys.setdefault(pointer, len(self.text))
            self.quoted(part, key=True)
        self.text += closing
        self.newline()

    def member(self, key: str, value: Any, pointer: str) -> None:
        inside = join_pointer(pointer, key)
        self.key_here(inside)
        parts = 0
        while isinstance(value, dict) and len(value) == 1 and self.chance.random() < 0.5:
            self.values[inside] = self.keys[inside]
            self.quoted(key, key=True)
            self.add(".", " . ")
            ((key, value),) = value.items()
            inside = join_pointer(inside, key)
            self.key_here(inside)
            parts += 1
        self.quoted(key, key=True)
        self.add(" = ", "=")
        self.inline(value, inside)

    def inline(self, value: Any, pointer: str) -> None:
        self.value_here(pointer)
        if isinstance(value, dict):
            self.text += "{"
            for index, (key, member) in enumerate(value.items()):
                self.text += ", " if index else " "
                self.member(key, member, pointer)
            self.text += " }"
        elif isinstance(value, list):
            self.text += "["
            for index, item in enumerate(value):
                self.add("", " ", "\n", "# ]\n")
                self.inline(item, join_pointer(pointer, index))
                self.add(",", " ,", ",\n")
            self.add("", " ", "\n# [\n")
            self.text += "]"
        else:
            self.scalar(value)


def check(writer: Writer, value: Any, format: Format) -> None:
    document = parse_document(writer.text.encode(), "text", format=format)
    assert json_equal(document.value, value)
    for pointer, offset in writer.values.items():
        assert document.place(pointer) == position(writer.text, offset), pointer
        assert document.place(join_pointer(pointer, "no such key")) == document.place(pointer)
    for pointer, offset in writer.keys.items():
        assert document.place(pointer, key=True) == position(writer.text, offset), pointer


@given(VALUES, SEEDS)
def test_places_in_json_are_right(value: Any, chance: random.Random) -> None:
    writer = JSONWriter(chance)
    writer.write(value)
    check(writer, value, "json")


@given(VALUES, SEEDS)
def test_places_in_yaml_are_right(value: Any, chance: random.Random) -> None:
    writer = YAMLWriter(chance)
    writer.write(value)
    check(writer, value, "yaml")


@given(TABLES, SEEDS)
def test_places_in_toml_are_right(value: dict[str, Any], chance: random.Random) -> None:
    writer = TOMLWriter(chance)
    writer.table(value, "", [])
    writer.values[""] = len(writer.text) - len(writer.text.lstrip())
    check(writer, value, "toml")


@given(VALUES, st.sampled_from([None, 0, 2]), st.sampled_from([(", ", ": "), (",", ":")]))
def test_json_is_yaml(value: Any, indent: int | None, separators: tuple[str, str]) -> None:
    text = json.dumps(value, indent=indent, separators=separators).encode()
    assert json_equal(parse_yaml(text), parse_json(text))


PIECES = [*'{}[]:,"', '"a"', '"b":', '"\\u00', "\\n", "1", "-0.5", "1e5", "null", "true", " ", "\n"]
PIECES += ["\t", "\x7f", "\u2028", "é", "#", "&", "'", '"\\ud83d\\ude00"', '{"a": ', "0", "-", "."]


@given(st.one_of(st.lists(st.sampled_from(PIECES), max_size=10).map("".join), VALUES.map(str)))
def test_a_text_that_is_json_and_yaml_has_one_value(text: str) -> None:
    data = text.encode()
    try:
        value = parse_json(data)
        other = parse_yaml(data)
    except TextError:
        return
    assert json_equal(value, other)


@given(st.binary(max_size=40), st.sampled_from(["a.json", "a.yaml", "a.toml"]))
def test_bytes_are_a_document_or_are_refused_with_a_place(data: bytes, name: str) -> None:
    try:
        parse_document(data, name)
    except TextError as error:
        fault = error
    else:
        return
    assert fault.line > 0
    assert str(fault).startswith(f"{name}:{fault.line}:{fault.column}: ")
