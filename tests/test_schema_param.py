"""A schema named by file: read once at lock, below the contract's folder, as strict JSON."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from signoff.contract import lock
from signoff.engine import Engine
from signoff.errors import ContractError, Fault
from signoff.model import LockedContract, Subject
from signoff.record import subject_of
from signoff.strictjson import Limits
from signoff.verifiers import STDLIB

SCHEMA = b'{"type": "object", "required": ["html"]}'
BOTH = pytest.mark.parametrize("verifier", ["json_schema", "response_shape"])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    inside = tmp_path / "contract"
    (inside / "schemas").mkdir(parents=True)
    (inside / "schemas" / "html.json").write_bytes(SCHEMA)
    (tmp_path / "outside.json").write_bytes(b'{"type": "null", "title": "hidden"}')
    return inside


def locked(verifier: str, folder: Path | None, **params: Any) -> LockedContract:
    criterion = {"id": "it", "verifier": verifier, "params": params}
    return lock({"id": "shape", "criteria": [criterion]}, STDLIB, folder=folder)


def faults(verifier: str, folder: Path | None, **params: Any) -> tuple[Fault, ...]:
    with pytest.raises(ContractError) as caught:
        locked(verifier, folder, **params)
    return caught.value.faults


@BOTH
def test_locked_contract_carries_the_schema_itself(verifier: str, folder: Path) -> None:
    by_file = locked(verifier, folder, schemaRef="schemas/html.json")

    assert {"schema": {"type": "object", "required": ["html"]}} == (
        by_file.contract.criteria[0].params
    )
    assert by_file.digest == (
        locked(verifier, None, schema={"required": ["html"], "type": "object"}).digest
    )


@BOTH
def test_file_is_not_read_again(verifier: str, folder: Path) -> None:
    contract = locked(verifier, folder, schemaRef="./schemas/html.json")
    (folder / "schemas" / "html.json").write_bytes(b"false")
    report = Engine(STDLIB).verify(contract, Subject(output={"html": "<h1>"}))

    assert report.passed


@BOTH
@pytest.mark.parametrize(
    "ref", ["../outside.json", "schemas/../../outside.json", "link.json", "links/outside.json"]
)
def test_file_outside_of_the_folder_is_not_read(verifier: str, folder: Path, ref: str) -> None:
    (folder / "link.json").symlink_to("../outside.json")
    (folder / "links").symlink_to("..")
    found = faults(verifier, folder, schemaRef=ref)

    assert ["/criteria/0/params/schemaRef"] == [fault.where for fault in found]
    assert found[0].message.startswith(f"params.schemaRef cannot be used: {ref}: ")
    assert "hidden" not in found[0].message


def test_file_outside_is_refused_in_the_same_words_whether_it_exists_or_not(folder: Path) -> None:
    there, absent = (
        faults("json_schema", folder, schemaRef=ref)[0].message.replace(ref, "")
        for ref in ("../outside.json", "../absent.json")
    )

    assert there == absent


@BOTH
def test_absolute_path_is_refused(verifier: str, folder: Path) -> None:
    found = faults(verifier, folder, schemaRef=str(folder / "schemas" / "html.json"))

    assert ["params.schemaRef must be relative path"] == [fault.message for fault in found]


@BOTH
def test_url_is_refused_in_a_folder_too(verifier: str, folder: Path) -> None:
    found = faults(verifier, folder, schemaRef="https://example.org/s.json")

    assert ["Remote schemaRef URLs are not supported in core verifiers"] == [
        fault.message for fault in found
    ]


@BOTH
def test_without_a_folder_no_file_is_read(verifier: str) -> None:
    found = faults(verifier, None, schemaRef="schemas/html.json")

    assert ["params.schemaRef was not resolved at lock"] == [fault.message for fault in found]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "the text is empty"),
        (b'{"type": "object", "type": "array"}', 'duplicate key "type" at line 1, column 20'),
        (b'{"minimum": NaN}', "NaN"),
        (b"type: object\n", "line 1, column 1"),
        (b"\xef\xbb\xbf{}", "byte-order mark"),
        (b"[" * 200_000, "nested deeper than 64 levels"),
        (b" " * (2**20 + 1), "is larger than 1048576 bytes"),
    ],
)
def test_file_that_is_not_strict_json_is_refused(folder: Path, content: bytes, reason: str) -> None:
    (folder / "bad.json").write_bytes(content)
    found = faults("json_schema", folder, schemaRef="bad.json")

    assert found[0].message.startswith("params.schemaRef cannot be used: bad.json: ")
    assert reason in found[0].message


@pytest.mark.parametrize("ref", ["absent.json", "schemas", "pipe.json"])
def test_what_is_no_file_is_refused(folder: Path, ref: str) -> None:
    os.mkfifo(folder / "pipe.json")
    found = faults("json_schema", folder, schemaRef=ref)

    assert found[0].message.startswith(f"params.schemaRef cannot be used: {ref}: ")


def test_faults_of_the_file_are_faults_of_the_schema(folder: Path) -> None:
    (folder / "bad.json").write_bytes(b'{"properties": {"a": {"format": "emial"}}}')
    found = faults("json_schema", folder, schemaRef="bad.json")

    assert ('params.schema/properties/a/format is an unknown format: "emial"',) == tuple(
        fault.message for fault in found
    )


def test_schema_beside_a_file_is_refused_and_the_file_not_read(folder: Path) -> None:
    found = faults("json_schema", folder, schemaRef="absent.json", schema={"type": "object"})

    assert ["params.schemaRef excludes params.schema"] == [fault.message for fault in found]


def test_faults_of_a_schema_have_their_place() -> None:
    found = faults("json_schema", None, schema={"items": {"$ref": "x", "format": "nope"}})

    assert [
        "/criteria/0/params/schema/items/$ref",
        "/criteria/0/params/schema/items/format",
    ] == [fault.where for fault in found]


@BOTH
@pytest.mark.parametrize(("levels", "text"), [
    (64, "Output conforms to JSON Schema."),
    (65, "Output is nested deeper than 64 levels."),
    (128, "Output is nested deeper than 64 levels."),
])  # fmt: skip
def test_depth_counts_whether_it_is_known_or_not(verifier: str, levels: int, text: str) -> None:
    data = b"[" * levels + b"]" * levels
    known = Subject.from_json(data, limits=Limits(max_depth=128))
    least = Subject.from_json(data, limits=Limits(max_depth=levels))
    plan = Engine(STDLIB).prepare(locked(verifier, None, schema={"type": "array"}))
    for subject in (known, least, Subject(output=known.output)):
        results, _ = Engine(STDLIB).judge(plan, subject)

        assert text == results[0].finding.detail


def test_subjects_know_the_depth_they_were_read_with() -> None:
    assert 64 == Subject.from_json(b"[]").output_depth
    assert 7 == Subject.from_json(b"[]", limits=Limits(max_depth=7)).output_depth
    assert 0 == subject_of(b"[", text=True).output_depth
    for unknown in (Subject(output=[]), Subject.from_json(b"["), subject_of(None)):
        assert unknown.output_depth is None
