"""A verdict is what it says only where everything about it is in order."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from signoff.dialects.scc.verdict import FailClass, utc_of
from signoff.errors import VerdictRefused
from signoff.scc import reader
from signoff.scc.reader import Expected, ReadVerdict, read_verdict
from tests.dialects.scc.vectors import cases, document
from tests.scc.world import made

NOW = utc_of(document("reading.json")["now"], "now")
GOOD: dict[str, Any] = document("reading.json")["cases"][0]


def is_missing(found: ReadVerdict) -> bool:
    return (
        ("FAIL", FailClass.VERDICT_MISSING, 1, (), "", None)
        == (
            found.verdict,
            found.fail_class,
            found.exit_code,
            found.evidence_paths,
            found.root,
            found.document,
        )
        and bool(found.problem)
        and not found.passed
    )


@pytest.mark.parametrize("case", cases("reading.json"))
def test_vector_holds(case: dict[str, Any], tmp_path: Path) -> None:
    root = made(tmp_path, case["files"], case.get("links", {}))
    found = read_verdict(
        root / case["read"],
        strict=case.get("strict", False),
        expected=Expected(**case.get("expected", {})),
        now=NOW,
    )
    expect = case["expect"]

    assert expect == {
        "verdict": found.verdict,
        "fail_class": None if found.fail_class is None else found.fail_class.value,
        "exit_code": found.exit_code,
    }, found.problem
    assert (expect["fail_class"] == "verdict_missing") is is_missing(found)


def test_evidence_is_found_where_it_lies(tmp_path: Path) -> None:
    root = made(tmp_path, GOOD["files"], {})
    run = read_verdict(root / GOOD["read"], now=NOW)
    pointer = read_verdict(root / "docs/REPORT/platform/artifacts/T-1/verdict.json", now=NOW)

    assert str(root / "artifacts/scc_runs/20260131-120000-0000abcd") == run.root
    assert str(root / "docs/REPORT/platform/artifacts/C-1") == pointer.root
    assert run.evidence_paths == pointer.evidence_paths


def test_a_named_pipe_is_no_verdict_and_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "verdict.json")

    assert is_missing(read_verdict(tmp_path / "verdict.json", now=NOW))


def test_a_huge_file_is_no_verdict(tmp_path: Path) -> None:
    with (tmp_path / "verdict.json").open("wb") as file:
        file.truncate(2**40)

    assert is_missing(read_verdict(tmp_path / "verdict.json", now=NOW))


@pytest.mark.parametrize("name", ["a\0b", "a\ud800b", "x" * 5000, ""])
def test_a_name_that_no_file_can_have_is_no_verdict(tmp_path: Path, name: str) -> None:
    assert is_missing(read_verdict(f"{tmp_path}/{name}", now=NOW))


def test_evidence_that_is_a_named_pipe_is_not_waited_for(tmp_path: Path) -> None:
    root = made(tmp_path, GOOD["files"], {})
    log = (root / GOOD["read"]).parent.parent / "logs" / "001_a.stdout.txt"
    log.unlink()
    os.mkfifo(log)

    assert is_missing(read_verdict(root / GOOD["read"], now=NOW))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(data=st.binary(max_size=400))
def test_random_bytes_are_no_verdict(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "verdict.json").write_bytes(data)

    assert is_missing(read_verdict(tmp_path / "verdict.json", now=NOW))


def test_no_single_byte_of_a_pointed_verdict_can_change(tmp_path: Path) -> None:
    root = made(tmp_path, GOOD["files"], {})
    pointer = root / "docs/REPORT/platform/artifacts/T-1/verdict.json"
    data = pointer.read_bytes()
    for at in range(0, len(data), 3):
        pointer.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])

        assert is_missing(read_verdict(pointer, now=NOW)), at


META = {
    **dict.fromkeys(("contract_sha256", "tree_digest", "task_id", "task_code", "run_id"), "x"),
    "started_utc": "2026-01-31T12:00:00.000000Z",
    "finished_utc": "2026-01-31T12:00:09.000000Z",
    "workspace_ref": {"commit": "f"},
}


@pytest.mark.parametrize(
    ("meta", "says"),
    [
        ("{", "is not strict JSON"),
        ("[]", "must be object"),
        (json.dumps({**META, "task_code": ""}), "task_code must be a non-empty string"),
        (json.dumps({**META, "run_id": 1}), "run_id must be a non-empty string"),
        (json.dumps({**META, "workspace_ref": "f"}), "workspace_ref.commit must be string"),
        (json.dumps({**META, "workspace_ref": {"commit": 1}}), "workspace_ref.commit must be"),
        (json.dumps({**META, "workspace_ref": {"commit": "e"}}), "another commit"),
        (json.dumps({**META, "finished_utc": "2026-01-31T11:59:59.000000Z"}), "before it started"),
    ],
)
def test_facts_of_a_run_that_are_none_are_refused(tmp_path: Path, meta: str, says: str) -> None:
    (tmp_path / "evidence").mkdir()
    (tmp_path / "evidence" / "run_meta.json").write_text(json.dumps(META))
    reader._require_meta(tmp_path, Expected(commit="f"))
    (tmp_path / "evidence" / "run_meta.json").write_text(meta)
    with pytest.raises(VerdictRefused, match=says):
        reader._require_meta(tmp_path, Expected(commit="f"))
