"""The original's own answers about outputs and files, criterion by criterion."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from signoff.contract import lock
from signoff.engine import Engine
from signoff.errors import ContractError
from signoff.model import Subject
from signoff.probes import PROBES
from signoff.status import Status
from signoff.strictjson import loads
from signoff.verifiers import STDLIB

REGISTRY = STDLIB | PROBES
FILE = Path(__file__).parent.parent / "conformance" / "openspec" / "verify.json"


class Answer(NamedTuple):
    """What the original gives for one criterion."""

    holds: bool
    details: str
    warns: bool = False
    evidence: list[Any] | None = None


def document() -> dict[str, Any]:
    found = loads(FILE.read_bytes())
    assert isinstance(found, dict)
    return found


def cases(op: str) -> list[Any]:
    return [pytest.param(case, id=case["name"]) for case in document()["cases"] if case["op"] == op]


def answer(output: str, criterion: dict[str, Any], workspace: Path | None = None) -> Answer:
    """Judges by one criterion alone: ids repeat, so they never were one contract."""
    given = dict(criterion)
    if "evidence" in given:
        given["params"] = given.get("params", {}) | {"evidence": given.pop("evidence")}
    try:
        locked = lock({"id": "vector", "criteria": [given]}, REGISTRY)
    except ContractError as exc:
        return Answer(holds=False, details=f"{exc.faults[0].message}.")
    subject = Subject.from_json(output, workspace=None if workspace is None else str(workspace))
    finding = Engine(REGISTRY).verify(locked, subject).results[0].finding
    listed = None if finding.data is None else finding.data["evidence"]
    return Answer(finding.status.holds, finding.detail, finding.status is Status.WARN, listed)


def placed(case: dict[str, Any], folder: Path) -> dict[str, Any]:
    """The case with its files made, and with the folder's path where it stands for it."""
    for name, text in case["input"].get("files", {}).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")
    found = loads(json.dumps(case).replace("<CWD>", str(folder)))
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize("case", cases("verifyOutput"))
def test_pass_and_details_are_those_of_the_original(case: dict[str, Any], tmp_path: Path) -> None:
    case = placed(case, tmp_path)
    expected = case["expected"]["results"]
    got = [answer(case["input"]["outputJson"], one, tmp_path) for one in case["input"]["criteria"]]

    assert [(one["pass"], one["details"]) for one in expected] == [
        (one.holds, one.details.removesuffix(" (0 items)") if one.warns else one.details)
        for one in got
    ]
    assert all(one.details.endswith(" (0 items)") for one in got if one.warns)
    assert [one.get("evidenceUsed") for one in expected] == [one.evidence for one in got]
    assert case["expected"]["overall"] is all(one.holds for one in got)


@pytest.mark.parametrize("case", cases("legacyVerifyOutput"))
def test_pass_is_that_of_the_first_program(case: dict[str, Any]) -> None:
    got = [answer(case["input"]["outputJson"], one) for one in case["input"]["criteria"]]

    assert [one["pass"] for one in case["expected"]] == [one.holds for one in got]


def test_every_case_is_judged() -> None:
    ops = [case["op"] for case in document()["cases"]]

    assert {"verifyOutput": 26, "legacyVerifyOutput": 15} == {op: ops.count(op) for op in set(ops)}
