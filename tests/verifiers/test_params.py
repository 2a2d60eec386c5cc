"""What holds for the parameters of every check: faults have places, and paths lead to values."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from signoff.contract import lock
from signoff.engine import Engine
from signoff.errors import ContractError
from signoff.lockfile import seal
from signoff.model import Contract, Criterion, Subject
from signoff.status import Cause, Outcome, Status
from signoff.strictjson import loads
from signoff.verifiers import STDLIB

FOLDER = Path(__file__).parent.parent.parent / "conformance" / "verifiers"
EVERY = pytest.mark.parametrize("id_", STDLIB.ids())
MAY_BE_NULL = {("equals", "value")}


def holding(id_: str) -> dict[str, Any]:
    """Parameters of a vector that holds of the output alone, as it is."""
    document: Any = loads((FOLDER / f"{id_}.json").read_bytes())
    for case in document["cases"]:
        plain = set(case.get("subject", {})) == {"output"} and "default" not in case["params"]
        if plain and case.get("expect", {}).get("status") in {"pass", "warn"}:
            found: dict[str, Any] = case["params"]
            return found
    raise AssertionError(id_)


def criterion(id_: str, params: dict[str, Any], name: str = "it") -> dict[str, Any]:
    return {"id": name, "verifier": id_, "params": params}


def faults(*criteria: dict[str, Any]) -> list[tuple[str, str]]:
    with pytest.raises(ContractError) as caught:
        lock({"id": "c", "criteria": list(criteria)}, STDLIB)
    return [(fault.where, fault.message) for fault in caught.value.faults]


@EVERY
def test_unknown_parameter_and_bad_path_have_their_places(id_: str) -> None:
    found = faults(criterion(id_, holding(id_) | {"no/ne": 1, "path": "x"}))

    assert [
        ("/criteria/0/params/no~1ne", f"params.no/ne is not a parameter of {id_}"),
        ("/criteria/0/params/path", "params.path must be a JSON Pointer"),
    ] == found


@pytest.mark.parametrize(
    ("id_", "name"),
    [
        (entry.id, param.name)
        for entry in STDLIB
        for param in entry.params
        if (entry.id, param.name) not in MAY_BE_NULL
    ],
)
def test_null_is_of_the_wrong_type_everywhere(id_: str, name: str) -> None:
    wrong = f"/criteria/0/params/{name}"

    assert wrong in [where for where, _ in faults(criterion(id_, holding(id_) | {name: None}))]


@pytest.mark.parametrize(
    ("id_", "names"),
    [
        (entry.id, names)
        for entry in STDLIB
        if (names := [param.name for param in entry.params if param.required])
    ],
)
def test_every_required_parameter_is_missed(id_: str, names: list[str]) -> None:
    assert len(names) == len(faults(criterion(id_, {})))


@EVERY
def test_path_that_is_not_there_fails_at_the_longest_prefix(id_: str) -> None:
    params = holding(id_) | {"path": "/a~1b/0/~0c"}
    contract = lock({"id": "c", "criteria": [criterion(id_, params)]}, STDLIB)
    subject = Subject(output={"a/b": [{"c": 1}]})
    finding = Engine(STDLIB).verify(contract, subject).results[0].finding

    assert Status.FAIL is finding.status
    assert 'Path "/a~1b/0/~0c" not found.' == finding.detail
    assert "/a~1b/0" == finding.at


def test_faults_of_all_criteria_are_listed_in_their_order() -> None:
    criteria = [criterion(id_, {"no": 1}, name=id_) for id_ in STDLIB.ids()]
    found = [int(where.split("/")[2]) for where, _ in faults(*criteria)]

    assert set(range(len(criteria))) == set(found)
    assert sorted(found) == found


@EVERY
def test_fault_of_a_contract_locked_elsewhere_leaves_the_others_to_be_judged(id_: str) -> None:
    good = Criterion(id="good", verifier="equals", params={"value": [1]})
    last = Criterion(id="last", verifier="equals", params={"value": [1]})
    bad = Criterion(id="bad", verifier=id_, params=holding(id_) | {"path": "x"})
    contract = seal(Contract(id="c", criteria=(good, bad, last)), {}, ())
    report = Engine(STDLIB).verify(contract, Subject(output=[1]))

    assert ["good", "bad", "last"] == [result.criterion for result in report.results]
    assert [Status.PASS, Status.ERROR, Status.PASS] == [
        result.finding.status for result in report.results
    ]
    assert Cause.BAD_PARAMS is report.results[1].finding.cause
    assert "params.path must be a JSON Pointer." == report.results[1].finding.detail
    assert Outcome.FAILED is report.verdict.outcome
