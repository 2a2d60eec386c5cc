"""``lock`` is the only door: what could not fail does not come through, and every fault is told."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from signoff.contract import lock
from signoff.draft import MAX_CRITERIA, MAX_ID
from signoff.errors import ContractError, NotInstalled
from signoff.model import Contract, Criterion, LockedContract
from signoff.registry import Registry, Verifier
from signoff.verifiers import STDLIB

ONE = {"id": "it", "verifier": "not_empty"}


def document(*criteria: Any, **fields: Any) -> dict[str, Any]:
    return {"id": "c", "criteria": list(criteria or (ONE,)), **fields}


def faults(contract: Any, *, registry: Registry = STDLIB, folder: Path | None = None) -> list[str]:
    with pytest.raises(ContractError) as caught:
        lock(contract, registry, folder=folder)
    return [str(fault) for fault in caught.value.faults]


# -- a contract must be able to fail --


def test_contract_without_criteria_is_refused() -> None:
    assert ["/: criteria is required"] == faults({"id": "c"})
    assert ["/criteria: criteria is empty: a contract must be able to fail"] == (
        faults({"id": "c", "criteria": []})
    )


def test_contract_that_requires_nothing_is_refused() -> None:
    advisory = {**ONE, "required": False}

    assert ["/criteria: no criterion is required: a contract must be able to fail"] == (
        faults(document(advisory, {**advisory, "id": "other"}))
    )
    assert 2 == len(lock(document(advisory, {**ONE, "id": "other"}), STDLIB).contract.criteria)


def test_required_is_a_boolean_and_not_what_is_truthy() -> None:
    assert ["/criteria/0/required: required must be boolean, got number"] == (
        faults(document({**ONE, "required": 0}))
    )


def test_id_that_is_used_twice_is_refused() -> None:
    assert ["/criteria/2/id: id 'it' is used 2 times"] == (
        faults(document(ONE, {**ONE, "id": "other"}, ONE))
    )


# -- every fault, in document order --


@pytest.mark.parametrize(
    ("contract", "expected"),
    [
        ([], "/: contract must be object, got array"),
        (None, "/: contract must be object, got null"),
        ({1}, "/: contract must be object, got set"),
        ({"id": "c", "criteria": (ONE,)}, "/: contract is not JSON: /criteria: tuple is not"),
        ({"id": "c", "criteria": {}}, "/criteria: criteria must be array, got object"),
        (document(5), "/criteria/0: criterion must be object, got number"),
        (document(odd=1), "/odd: odd is not a field of a contract"),
        (document({**ONE, "odd": 1}), "/criteria/0/odd: odd is not a field of a criterion"),
        (document({"verifier": "not_empty"}), "/criteria/0: id is required"),
        (document({"id": "it"}), "/criteria/0: verifier is required"),
        (document({**ONE, "params": []}), "/criteria/0/params: params must be object, got array"),
        (document({**ONE, "description": 1}), "/criteria/0/description: description must be str"),
        (document(title=None), "/title: title must be string, got null"),
        (document(min_isolation="L4"), '/min_isolation: min_isolation must be "L0", "L1", "L2"'),
    ],
)
def test_fault_says_where_and_what(contract: Any, expected: str) -> None:
    (found,) = faults(contract)

    assert found.startswith(expected)


@pytest.mark.parametrize("id_", ["", "x" * (MAX_ID + 1), "a\nb", 5, None])
def test_id_is_a_short_text_of_one_line(id_: Any) -> None:
    (found,) = faults(document({**ONE, "id": id_}))

    assert found.startswith("/criteria/0/id: id must be string of 1 to 200 characters")


def test_number_of_criteria_has_an_end() -> None:
    many = [{**ONE, "id": str(number)} for number in range(MAX_CRITERIA + 1)]

    assert ["/criteria: criteria has 10001 entries, expected at most 10000"] == (
        faults(document(*many))
    )


def test_faults_of_shape_and_of_parameters_stand_in_document_order() -> None:
    found = faults(
        document(
            {"id": "a", "verifier": "count_between", "params": {"min": -1, "max": "x"}},
            5,
            {"id": "b", "verifier": "no_such"},
            {"id": "d", "verifier": "equals", "odd": 1},
            title=1,
        )
    )

    assert [
        "/title",
        "/criteria/0/params/min",
        "/criteria/0/params/max",
        "/criteria/1",
        "/criteria/2/verifier",
        "/criteria/3/odd",
        "/criteria/3/params",
    ] == [text.partition(":")[0] for text in found]


def test_fault_of_a_name_knows_the_names_that_would_have_been_right() -> None:
    with pytest.raises(ContractError) as caught:
        lock(document({"id": "it", "verifier": "sorted"}), STDLIB)
    (fault,) = caught.value.faults

    assert "sorted" == fault.got
    assert "sorted_by" in fault.known


def test_verifier_whose_package_is_absent_is_a_fault() -> None:
    def factory(params: dict[str, Any]) -> Any:
        raise NotInstalled("far", "maps", "geo")

    far = Verifier(id="far", factory=factory, description="", free_params=True)

    assert ["/criteria/0/verifier: far needs maps (install signoff[geo])"] == (
        faults(document({"id": "it", "verifier": "far"}), registry=Registry([far]))
    )


def test_faults_beside_a_file_that_cannot_be_read_are_told_too(tmp_path: Path) -> None:
    params = {"schemaRef": "absent.json", "path": "nonsense"}

    found = faults(
        document({"id": "it", "verifier": "json_schema", "params": params}), folder=tmp_path
    )

    assert ["/criteria/0/params/schemaRef", "/criteria/0/params/path"] == (
        [text.partition(":")[0] for text in found]
    )


# -- what is locked --


def same(contract: Any) -> LockedContract:
    return lock(contract, STDLIB)


@pytest.mark.parametrize(
    "other",
    [
        Contract(id="c", criteria=(Criterion(id="it", verifier="not_empty"),)),
        document({**ONE, "required": True, "params": {}, "description": ""}, title=""),
        document({"verifier": "not_empty", "id": "it"}, **{"$schema": "contract.schema.json"}),
    ],
)
def test_contracts_that_say_the_same_have_one_digest(other: Any) -> None:
    assert same(document()).digest == same(other).digest


@pytest.mark.parametrize(
    "other",
    [
        document({**ONE, "id": "other"}),
        document({**ONE, "description": "more"}),
        document(title="more"),
        document(min_isolation="L1"),
        document(ONE, {**ONE, "id": "other", "required": False}),
        document({**ONE, "params": {"path": "/a"}}),
    ],
)
def test_contracts_that_say_something_else_have_another_digest(other: Any) -> None:
    assert same(document()).digest != same(other).digest


@pytest.mark.parametrize(
    "change",
    [
        lambda contract: contract.criteria[0].params.update(path="/a"),
        lambda contract: contract.criteria[0].params.clear(),
    ],
)
def test_what_was_locked_cannot_be_changed_through_what_is_handed_out(
    change: Callable[[Contract], None],
) -> None:
    locked = same(document({**ONE, "params": {"path": "/b"}}))
    change(locked.contract)

    assert {"path": "/b"} == locked.contract.criteria[0].params


def test_what_was_locked_does_not_follow_the_document() -> None:
    params = {"path": "/b"}
    locked = same(document({**ONE, "params": params}))
    params["path"] = "/a"

    assert {"path": "/b"} == locked.contract.criteria[0].params


def test_lock_names_who_provides_each_verifier() -> None:
    locked = same(document({**ONE, "id": "z"}, {"id": "o", "verifier": "json_object"}, ONE))

    assert ["json_object", "not_empty"] == [*locked.verifiers]
    assert all(source.startswith("signoff ") for source in locked.verifiers.values())
