"""Contracts v0.1.0: what is one, every fault of what is none, and what the core makes of it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from signoff.dialects.scc.contract import core_contract, examine, read_contract
from signoff.errors import CommandDenied, ContractError, TextError
from signoff.model import Criterion
from tests.dialects.scc.vectors import cases, document

BASE: dict[str, Any] = document("contracts.json")["cases"][0]["contract"]
VALUES = {"TASK_CODE": "C-1", "TASK_ID": "T-1", "AREA": "control_plane"}


def text(**over: Any) -> bytes:
    return json.dumps({**BASE, **over}).encode()


@pytest.mark.parametrize("case", cases("contracts.json"))
def test_vector_holds(case: dict[str, Any]) -> None:
    found = examine(
        case["contract"],
        strict=case.get("strict", False),
        draft=case.get("draft", False),
        variables=case.get("variables", ()),
    )
    expect = case["expect"]

    assert expect["valid"] is (found.contract is not None), found.faults
    assert sorted(expect.get("faults", ())) == sorted(fault.where for fault in found.faults)
    if "warnings" in expect:
        assert sorted(expect["warnings"]) == sorted(note.where for note in found.warnings)


@pytest.mark.parametrize("case", cases("not_json.json"))
def test_what_is_not_strict_json_is_no_contract(case: dict[str, Any]) -> None:
    with pytest.raises(TextError):
        read_contract(case["text"].encode("utf-8", "surrogatepass"), "c.json")


def test_size_and_depth_are_bounded() -> None:
    with pytest.raises(TextError, match="larger than 1048576 bytes"):
        read_contract(text(goal="x" * 2**21), "c.json")
    with pytest.raises(TextError, match="64"):
        read_contract(text(epic=json.loads("[" * 100 + "]" * 100)), "c.json")


def test_all_faults_are_told_at_once_with_line_and_column() -> None:
    data = b'{\n "schema_version": "v9",\n "goal": "",\n "acceptance": {"checks": []}\n}'

    with pytest.raises(ContractError) as caught:
        read_contract(data, "c.json")
    places = {fault.where: (fault.line, fault.column) for fault in caught.value.faults}

    assert (2, 20) == places["/schema_version"]
    assert (3, 10) == places["/goal"]
    assert (4, 27) == places["/acceptance/checks"]
    assert "c.json" == caught.value.source
    assert {"", "/schema_version", "/goal", "/acceptance/checks"} == {*places}


def test_a_task_id_that_can_be_used_is_known_of_a_contract_that_cannot() -> None:
    assert "T-1" == examine({**BASE, "goal": ""}).task_id
    assert not examine({**BASE, "task_id": "../x", "goal": ""}).task_id


def test_warnings_are_kept_with_the_contract() -> None:
    found = read_contract(text(extra=1, scope_allow=["src/**", "docs/REPORT/x"]), "c.json")

    assert ("src/**",) == found.scope.allow
    assert ("docs/REPORT/x",) == found.scope.dropped
    assert ["/scope_allow", "/scope_allow", "/extra"] == [one.where for one in found.warnings]


def test_each_check_becomes_one_required_criterion_between_the_conditions() -> None:
    checks = [
        {"name": "a", "command": "x '%TASK_CODE%' y", "cwd": "./sub/"},
        {"name": "b", "command": "z", "timeout_s": 5,
         "expects": {"exit_code": 3, "evidence_paths": ["%TASK_ID%/*.json"]}},
    ]  # fmt: skip
    contract = read_contract(text(acceptance={"checks": checks}), "c.json")
    first, last = (Criterion(id=f"scc.{name}", verifier="x") for name in ("before", "after"))
    made = core_contract(contract, VALUES, conditions=(first,), closing=(last,), min_isolation="L2")

    assert ["scc.before", "a", "b", "scc.after"] == [one.id for one in made.criteria]
    assert all(one.required for one in made.criteria)
    assert ("T-1", "L2") == (made.id, made.min_isolation)
    assert made.criteria[1].params == {
        "argv": ["x", "C-1", "y"], "cwd": "sub", "timeout_s": 600, "exit_code": 0,
    }  # fmt: skip
    assert made.criteria[2].params == {
        "argv": ["z"], "timeout_s": 5, "exit_code": 3, "expect_files": ["T-1/*.json"],
    }  # fmt: skip


def test_a_denied_command_has_no_translation() -> None:
    contract = read_contract(
        text(acceptance={"checks": [{"name": "a", "command": "x; y"}]}), "c.json"
    )

    with pytest.raises(CommandDenied):
        core_contract(contract, VALUES)


def test_a_name_of_the_verifier_s_own_conditions_is_refused() -> None:
    found = examine({**BASE, "acceptance": {"checks": [{"name": "scc.scope", "command": "x"}]}})

    assert ["/acceptance/checks/0/name"] == [fault.where for fault in found.faults]
