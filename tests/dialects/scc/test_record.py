"""The executor's record, pins, map and pointer: closed, typed, every fault with its place."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from signoff.canonical import digest_bytes
from signoff.dialects.scc.context import Pins, pins_violation, read_map, read_pins
from signoff.dialects.scc.pointer import PointerDocument, encode_pointer, read_pointer
from signoff.dialects.scc.record import ExecutorRecord, encode_record, read_record
from signoff.errors import ContractError, TextError
from tests.dialects.scc.vectors import cases

RECORD: dict[str, Any] = {
    "schema_version": "v0.1.0",
    "task_id": "T-1",
    "executor_run_id": "run-1",
    "contract_ref": "c.json",
    "contract_sha256": "a" * 64,
    "workspace_ref": {"repo": ".", "commit": "b" * 40},
    "patch_path": "work.diff",
    "stdout_path": "logs/out.txt",
    "stderr_path": "logs/err.txt",
    "exit_code": 0,
    "evidence_oids": [],
    "touched_oids": ["01KGCV31W0C42YQHMVAT6FSR1H"],
}
POINTER: dict[str, Any] = {
    "schema_version": "v0.1.0",
    "run_id": "20260131-120000-0000abcd",
    "task_id": "T-1",
    "task_code": "C-1",
    "area": "platform",
    "run_dir": "artifacts/scc_runs/20260131-120000-0000abcd",
    "artifacts_dir": "docs/REPORT/platform/artifacts/C-1",
    "contract_sha256": "a" * 64,
    "commit": "",
    "verdict_sha256": "b" * 64,
}


def faults(read: Callable[[bytes, str], object], document: object) -> list[str]:
    with pytest.raises(ContractError) as caught:
        read(json.dumps(document).encode(), "x.json")
    return sorted(fault.where for fault in caught.value.faults)


def without(document: dict[str, Any], *names: str, **over: Any) -> dict[str, Any]:
    return {name: value for name, value in document.items() if name not in names} | over


def test_record_is_read_and_written_back() -> None:
    found = read_record(json.dumps(RECORD).encode(), "record.json")

    assert ("b" * 40, "work.diff", "", False) == (
        found.base, found.patch_path, found.commit_ref, found.no_changes,
    )  # fmt: skip
    assert RECORD == json.loads(encode_record(found))
    assert list(RECORD) == list(json.loads(encode_record(found)))


@pytest.mark.parametrize("way", [{"commit_ref": "c" * 40}, {"no_changes": True}])
def test_the_other_ways_to_say_what_changed(way: dict[str, Any]) -> None:
    document = without(RECORD, "patch_path", **way)

    assert document == json.loads(encode_record(read_record(json.dumps(document).encode(), "r")))


@pytest.mark.parametrize(
    ("document", "where"),
    [
        *((without(RECORD, name), "") for name in RECORD if name != "patch_path"),
        (without(RECORD, "patch_path"), ""),
        (RECORD | {"commit_ref": "c" * 40}, ""),
        (RECORD | {"no_changes": True}, ""),
        (without(RECORD, "patch_path", no_changes=False), "/no_changes"),
        (without(RECORD, "patch_path", commit_ref="abc"), "/commit_ref"),
        (RECORD | {"more": 1}, "/more"),
        (RECORD | {"schema_version": "v1"}, "/schema_version"),
        (RECORD | {"task_id": "../x"}, "/task_id"),
        (RECORD | {"executor_run_id": ""}, "/executor_run_id"),
        (RECORD | {"contract_sha256": "A" * 64}, "/contract_sha256"),
        (RECORD | {"workspace_ref": {"repo": ".", "commit": "HEAD"}}, "/workspace_ref/commit"),
        (RECORD | {"workspace_ref": {"repo": "."}}, "/workspace_ref"),
        (RECORD | {"stdout_path": "../out"}, "/stdout_path"),
        (RECORD | {"stderr_path": "/err"}, "/stderr_path"),
        (RECORD | {"exit_code": True}, "/exit_code"),
        (RECORD | {"evidence_oids": "x"}, "/evidence_oids"),
        ([], ""),
    ],
)
def test_each_fault_of_a_record(document: object, where: str) -> None:
    assert where in faults(read_record, document)


@pytest.mark.parametrize("case", cases("not_json.json"))
@pytest.mark.parametrize("read", [read_record, read_pins, read_pointer])
def test_what_is_not_strict_json_is_refused(
    read: Callable[[bytes, str], object], case: dict[str, Any]
) -> None:
    with pytest.raises(TextError):
        read(case["text"].encode("utf-8", "surrogatepass"), "x.json")


PINS: dict[str, Any] = {
    "allowed_paths": ["src/**", "a.md"], "forbidden_paths": ["src/secret/**"], "max_files": 2,
    "max_loc": 10, "line_windows": {"src/a.py": [[1, 20], [30, 30]]}, "symbols": ["f"],
    "snippets": [], "intent": "x", "forbidden": [], "ssot_hash": "x", "ssot_assumptions": [],
}  # fmt: skip


def test_pins_are_read() -> None:
    found = read_pins(json.dumps(PINS).encode(), "pins.json")

    assert (("src/**", "a.md"), 2, 10) == (found.allowed, found.max_files, found.max_loc)
    assert ((1, 20), (30, 30)) == found.windows["src/a.py"]


@pytest.mark.parametrize(
    ("document", "where"),
    [
        (without(PINS, "allowed_paths"), ""),
        (PINS | {"allowed_paths": "src"}, "/allowed_paths"),
        (PINS | {"forbidden_paths": ["../x"]}, "/forbidden_paths/0"),
        (PINS | {"max_files": -1}, "/max_files"),
        (PINS | {"max_loc": True}, "/max_loc"),
        (PINS | {"line_windows": {"a": [[0, 1]]}}, "/line_windows/a/0"),
        (PINS | {"line_windows": {"a": [[2, 1]]}}, "/line_windows/a/0"),
        (PINS | {"line_windows": {"a": [[1]]}}, "/line_windows/a/0"),
        (PINS | {"intent": 1}, "/intent"),
    ],
)
def test_each_fault_of_pins(document: object, where: str) -> None:
    assert [where] == faults(read_pins, document)


@pytest.mark.parametrize(
    ("pins", "paths", "lines", "says"),
    [
        (Pins(allowed=("src/**",)), ["src/a"], None, None),
        (Pins(allowed=()), ["src/a"], None, "not allowed"),
        (Pins(allowed=()), [], None, None),
        (Pins(allowed=("src/**",)), ["src/a", "b"], None, "not allowed"),
        (Pins(allowed=("**",), forbidden=("src/**",)), ["SRC/a"], None, "forbidden"),
        (Pins(allowed=("**",), max_files=1), ["a", "b"], None, "2 files"),
        (Pins(allowed=("**",), max_files=2), ["a", "b", "b"], None, None),
        (Pins(allowed=("**",), max_loc=5), ["a"], 5, None),
        (Pins(allowed=("**",), max_loc=5), ["a"], 6, "6 lines"),
        (Pins(allowed=("**",), max_loc=5), ["a"], None, "cannot be counted"),
    ],
)
def test_what_breaks_the_pins(
    pins: Pins, paths: list[str], lines: int | None, says: str | None
) -> None:
    violation = pins_violation(pins, paths, lines=lines)

    assert (says is None) is (violation is None)
    assert (says or "") in (violation or "")


def test_a_map_is_held_to_its_digest() -> None:
    data = json.dumps(
        {"version": "1", "generated_at": "x", "modules": [{"id": "a", "paths": ["src/a"]}]}
    ).encode()
    digest = digest_bytes(data)
    found = read_map(data, "map.json", digest=digest)

    assert "a" == found.modules[0].id

    off_by_one = digest[:-1] + ("0" if digest[-1] != "0" else "1")
    with pytest.raises(ContractError, match="digest"):
        read_map(data, "map.json", digest=off_by_one)
    bad = b'{"version": "1", "generated_at": "x", "modules": [1]}'
    with pytest.raises(ContractError, match="/modules/0"):
        read_map(bad, "map.json", digest=digest_bytes(bad))


def test_a_pointer_is_read_and_written_back() -> None:
    found = read_pointer(json.dumps(POINTER).encode())

    assert isinstance(found, PointerDocument)
    assert POINTER == json.loads(encode_pointer(found))


@pytest.mark.parametrize(
    ("document", "where"),
    [
        *((without(POINTER, name), "") for name in POINTER),
        (POINTER | {"more": 1}, "/more"),
        (POINTER | {"run_id": "x"}, "/run_id"),
        (POINTER | {"run_dir": "elsewhere"}, "/run_dir"),
        (POINTER | {"artifacts_dir": "docs/REPORT/other/artifacts/C-1"}, "/artifacts_dir"),
        (POINTER | {"artifacts_dir": "/etc"}, "/artifacts_dir"),
        (POINTER | {"task_code": "../x"}, "/task_code"),
        (POINTER | {"verdict_sha256": "x"}, "/verdict_sha256"),
    ],
)
def test_each_fault_of_a_pointer(document: object, where: str) -> None:
    assert where in faults(read_pointer, document)


def test_a_record_made_by_hand_can_be_written() -> None:
    fields = {
        name: value for name, value in RECORD.items() if name in ExecutorRecord.__struct_fields__
    }
    made = ExecutorRecord(**fields, repo=".", base="b" * 40)

    assert "schema_version" in json.loads(encode_record(made))
