"""
The original's own answers about outputs, for the checks that are pure functions.

Its cases of ``artifact_exists`` are not in the file: v_artifact_ok, v_artifact_missing,
v_artifact_no_evidence and v_artifact_checksum_mismatch need a workspace and a
criterion's ``evidence``, which the probe of that name brings.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import pytest

from signoff.contract import lock
from signoff.engine import Engine
from signoff.errors import ContractError
from signoff.model import Subject
from signoff.status import Status
from signoff.strictjson import loads
from signoff.verifiers import STDLIB

FILE = Path(__file__).parent.parent / "conformance" / "openspec" / "verify.json"


class Answer(NamedTuple):
    """What the original gives for one criterion."""

    holds: bool
    details: str
    warns: bool = False


def document() -> dict[str, Any]:
    found = loads(FILE.read_bytes())
    assert isinstance(found, dict)
    return found


def cases(op: str) -> list[Any]:
    return [pytest.param(case, id=case["name"]) for case in document()["cases"] if case["op"] == op]


def answer(output: str, criterion: dict[str, Any]) -> Answer:
    """Judges by one criterion alone: ids repeat, so they never were one contract."""
    try:
        locked = lock({"id": "vector", "criteria": [criterion]}, STDLIB)
    except ContractError as exc:
        return Answer(holds=False, details=f"{exc.faults[0].message}.")
    finding = Engine(STDLIB).verify(locked, Subject.from_json(output)).results[0].finding
    return Answer(finding.status.holds, finding.detail, finding.status is Status.WARN)


@pytest.mark.parametrize("case", cases("verifyOutput"))
def test_pass_and_details_are_those_of_the_original(case: dict[str, Any]) -> None:
    expected = case["expected"]["results"]
    got = [answer(case["input"]["outputJson"], one) for one in case["input"]["criteria"]]

    assert [(one["pass"], one["details"]) for one in expected] == [
        (one.holds, one.details.removesuffix(" (0 items)") if one.warns else one.details)
        for one in got
    ]
    assert all(one.details.endswith(" (0 items)") for one in got if one.warns)
    assert case["expected"]["overall"] is all(one.holds for one in got)


@pytest.mark.parametrize("case", cases("legacyVerifyOutput"))
def test_pass_is_that_of_the_first_program(case: dict[str, Any]) -> None:
    got = [answer(case["input"]["outputJson"], one) for one in case["input"]["criteria"]]

    assert [one["pass"] for one in case["expected"]] == [one.holds for one in got]


def test_every_case_is_judged() -> None:
    ops = [case["op"] for case in document()["cases"]]

    assert {"verifyOutput": 22, "legacyVerifyOutput": 15} == {op: ops.count(op) for op in set(ops)}
