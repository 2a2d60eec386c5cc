"""Documents from files, in three formats with one set of rules."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from signoff.document import (
    LIMITS,
    Format,
    parse_document,
    parse_json,
    parse_toml,
    parse_yaml,
    read_document,
)
from signoff.errors import DocumentError, TextError
from signoff.jsonvalue import json_equal
from signoff.strictjson import Limits

JSON_CONTRACT = """\
{
  "id": "three-best",
  "title": "Three é",
  "criteria": [
    {"id": "count", "verifier": "count_between", "params": {"min": 1, "max": 3}},
    {"id": "sorted", "verifier": "sorted_by", "params": {"field": "rating", "order": "desc"},
     "required": false},
    {"id": "near", "verifier": "number_between", "params": {"min": -0.5, "max": 1e3, "path": "/a~1b"}}
  ]
}
"""
YAML_CONTRACT = """\
# the same
id: three-best
title: "Three \\u00e9"
criteria:
- id: count
  verifier: count_between
  params: {min: 1, max: 0x3}
- id: sorted
  verifier: sorted_by
  params:
    field: 'rating'
    order: >-
      desc
  required: false
- {id: near, verifier: number_between, params: {min: -.5, max: 1000, path: /a~1b}}
"""
TOML_CONTRACT = """\
# the same
id = "three-best"
title = 'Three é'

[[criteria]]
id = "count"
verifier = "count_between"
params = { min = 1, max = 3 }

[[criteria]]
id = "sorted"
verifier = "sorted_by"
required = false
[criteria.params]
field = "rating"
order = '''desc'''

[[criteria]]
id = "near"
verifier = "number_between"
params.min = -0.5
params.max = 1_000.0
params.path = "/a~1b"
"""
CONTRACTS: dict[str, str] = {
    "c.json": JSON_CONTRACT,
    "c.yaml": YAML_CONTRACT,
    "c.yml": YAML_CONTRACT,
    "c.toml": TOML_CONTRACT,
}


def refusal(
    path: Path | str, *, limits: Limits = LIMITS, folder: Path | None = None
) -> DocumentError:
    with pytest.raises(DocumentError) as caught:
        read_document(path, limits=limits, folder=folder)
    return caught.value


@pytest.mark.parametrize("name", CONTRACTS)
def test_one_contract_in_three_formats_is_one_value(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_text(CONTRACTS[name], encoding="utf-8")
    document = read_document(path)
    assert json_equal(document.value, parse_json(JSON_CONTRACT.encode()))
    assert document.source == str(path)
    assert document.data == CONTRACTS[name].encode()
    assert document.format == ("yaml" if name == "c.yml" else name[2:])


@pytest.mark.parametrize(
    ("name", "place", "key_place", "around"),
    [
        ("c.json", (6, 86), (6, 77), (5, 60)),
        ("c.yaml", (12, 12), (12, 5), (7, 11)),
        ("c.toml", (16, 9), (16, 1), (8, 10)),
    ],
)
def test_a_place_is_that_of_the_value_or_key_or_of_what_is_around(
    name: str, place: tuple[int, int], key_place: tuple[int, int], around: tuple[int, int]
) -> None:
    document = parse_document(CONTRACTS[name].encode(), name)
    assert document.place("/criteria/1/params/order") == place
    assert document.place("/criteria/1/params/order", key=True) == key_place
    assert document.place("/criteria/0/params/path") == around
    assert document.place("/criteria/0/params/path", key=True) == around
    assert document.place("/criteria/0/params/path/deeper/0") == around
    assert document.place("/none") == document.place("") == document.place("", key=True)
    with pytest.raises(ValueError, match="JSON Pointer"):
        document.place("criteria")


def test_places_are_known_whatever_the_limits_were() -> None:
    limits = Limits(max_depth=100, max_digits=2000)
    deep, long = "[" * 100 + "]" * 100, "9" * 2000
    for name, text in (("a.yaml", f"a: [{long}]"), ("a.json", f'{{"a": [{long}]}}')):
        assert parse_document(text.encode(), name, limits=limits).place("/a/0")[0] == 1
    for name, text in (("a.yaml", deep), ("a.json", deep), ("a.toml", f"a = {deep[1:-1]}")):
        prefix = "/a" if name == "a.toml" else "/0"
        document = parse_document(text.encode(), name, limits=limits)
        assert document.place(prefix + "/0" * 98) == (1, 103 if name == "a.toml" else 100)


@pytest.mark.parametrize("name", ["c.json", "c.yaml", "c.toml"])
@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "1:1: the text is empty"),
        (b"\xef\xbb\xbf{}", "1:1: byte-order mark before the text"),
        (b"\n \xc3\x28", "2:2: not UTF-8"),
    ],
)
def test_what_no_format_allows_is_told_alike(
    tmp_path: Path, name: str, data: bytes, reason: str
) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    assert str(refusal(path)) == f"{path}:{reason}"


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b'{"a": 1', "1:8: the text ends too early"),
        (b"{'a': 1}", "1:2: expected a key in double quotes"),
        (b'{"a": 1,\n "a": 2}', '2:2: duplicate key "a"'),
        (b'{"a": 1,\n "\\u0061": 2}', '2:2: duplicate key "a"'),
        (b"[NaN]", "1:2: NaN is not a JSON number"),
        (b"[1e999]", "1:2: number out of range: 1e999"),
        (b'["\\ud800"]', "1:2: lone surrogate in a string"),
        (b"{} {}", "1:4: text after the value"),
        (b"[" * 200_000, "1:65: nested deeper than 64 levels"),
    ],
    ids=lambda case: ascii(case)[:24],
)
def test_json_that_is_not_strict_is_told_with_its_place(
    tmp_path: Path, data: bytes, reason: str
) -> None:
    path = tmp_path / "c.json"
    path.write_bytes(data)
    error = refusal(path)
    assert isinstance(error, TextError)
    assert str(error) == f"{path}:{reason}"
    line, column, text = reason.split(":", 2)
    assert (error.source, error.line, error.column) == (str(path), int(line), int(column))
    assert error.reason == text.strip()


@pytest.mark.parametrize("name", ["c", "c.txt", "c.json5", "json", ".json", "c.yaml.bak"])
def test_a_name_that_tells_no_format_is_refused_before_the_file_is_opened(name: str) -> None:
    assert str(refusal(name)) == (
        f"{name}: unknown kind of document; the name must end in .json, .yaml or .toml"
    )


def test_the_ending_counts_in_either_case() -> None:
    assert parse_document(b"a: 1", "C.YML").value == {"a": 1}


def test_a_text_without_a_name_that_tells_is_read_as_it_is_called() -> None:
    formats: dict[Format, bytes] = {"json": b'{"a": 1}', "yaml": b"a: 1", "toml": b"a = 1"}
    for name, data in formats.items():
        document = parse_document(data, "standard input", format=name)
        assert (document.value, document.source) == ({"a": 1}, "standard input")
    with pytest.raises(TextError, match=r"^standard input:1:1: "):
        parse_document(b"a: 1", "standard input", format="json")


def test_files_are_capped_by_format_and_by_limit(tmp_path: Path) -> None:
    sizes = {"c.json": 8 * 2**20, "c.yaml": 256 * 2**10, "c.toml": 2**20}
    for name, most in sizes.items():
        path = tmp_path / name
        path.touch()
        os.truncate(path, 2**30)
        assert str(refusal(path)) == f"{path}: is larger than {most} bytes (1073741824)"
        small = Limits(max_bytes=10)
        assert str(refusal(path, limits=small)) == f"{path}: is larger than 10 bytes (1073741824)"


def test_a_text_at_hand_is_capped_too() -> None:
    for parse in (parse_json, parse_yaml, parse_toml):
        with pytest.raises(TextError, match="larger than 3 bytes"):
            parse(b"a = 1", limits=Limits(max_bytes=3))


def test_a_file_that_must_be_below_a_folder_is(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "a.json").write_text("[1]")
    (tmp_path / "b.json").write_text("secret")
    assert read_document("a.json", folder=folder).value == [1]
    assert str(refusal("../b.json", folder=folder)) == "../b.json: leaves the folder"


def test_a_name_is_shown_without_anything_that_acts_on_a_terminal(tmp_path: Path) -> None:
    (tmp_path / "\x1b[31m.json").write_text("{")
    assert "\\u001b[31m.json:1:2: " in str(refusal(tmp_path / "\x1b[31m.json"))


def test_no_format_pays_for_another() -> None:
    code = (
        "import sys; from signoff.document import parse_document as read;"
        "heavy = {'ruamel.yaml', 'tomllib', 'ctypes', 'signoff.document.jsonplaces'};"
        "read(b'{}', 'a.json'); print(*sorted(heavy & {*sys.modules}));"
        "read(b'a = 1', 'a.toml'); print(*sorted(heavy & {*sys.modules}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.split("\n") == ["", "tomllib", ""]
