"""Runs the vectors of conformance/verifiers against STDLIB and PROBES."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from signoff.contract import lock
from signoff.engine import Engine
from signoff.errors import ContractError
from signoff.lockfile import seal
from signoff.model import Contract, Criterion, LockedContract, Subject
from signoff.probes import PROBES
from signoff.registry import Registry
from signoff.strictjson import loads
from signoff.verifiers import STDLIB
from tests.world import FIELDS, world

FOLDER = Path(__file__).parent.parent / "conformance" / "verifiers"
REGISTRY = STDLIB | PROBES
FILES = sorted(FOLDER.glob("*.json"))
KNOWN = ("description", "params", "subject", "expect", "faults", "warnings")


def vectors(file: Path) -> dict[str, Any]:
    document: Any = loads(file.read_bytes())
    assert isinstance(document, dict)
    return document


def cases() -> list[Any]:
    found = []
    for file in FILES:
        document = vectors(file)
        for case in document["cases"]:
            assert isinstance(case, dict)
            assert {"expect", "faults"} & set(case), (file.name, case)
            assert set(case) <= {*KNOWN, *FIELDS}, (file.name, case)
            found.append(
                pytest.param(document["verifier"], case, id=f"{file.stem}: {case['description']}")
            )
    return found


def contract_of(verifier: str, params: dict[str, Any]) -> Contract:
    return Contract(id="vector", criteria=(Criterion(id="it", verifier=verifier, params=params),))


def locked_elsewhere(contract: Contract) -> LockedContract:
    return seal(contract, {}, ())


@pytest.mark.parametrize(("verifier", "case"), cases())
def test_vector_holds(verifier: str, case: dict[str, Any], tmp_path: Path) -> None:
    with world(case, tmp_path) as made:
        holds(verifier, made.case, REGISTRY.with_powers(made.powers))

        assert case.get("asked", []) == made.asked()


def holds(verifier: str, case: Mapping[str, Any], registry: Registry) -> None:
    contract = contract_of(verifier, case["params"])
    if "faults" in case:
        with pytest.raises(ContractError) as caught:
            lock(contract, registry)

        assert case["faults"] == [fault.message for fault in caught.value.faults]
        return
    locked = lock(contract, registry)
    if "warnings" in case:
        assert tuple(case["warnings"]) == locked.warnings
    subject = msgspec.convert(case["subject"], Subject)
    before = msgspec.json.encode(subject)
    finding = Engine(registry).verify(locked, subject).results[0].finding
    got = {
        "status": finding.status.value,
        "detail": finding.detail,
        "at": finding.at,
        "cause": finding.cause.value if finding.cause else None,
    }
    further = {name: getattr(finding, name) for name in ("score", "data") if name in case["expect"]}

    assert {"at": None, "cause": None} | case["expect"] == got | further
    assert before == msgspec.json.encode(subject)


@pytest.mark.parametrize(
    ("verifier", "case"), [case for case in cases() if "faults" in case.values[1]]
)
def test_fault_of_a_contract_locked_elsewhere_is_an_error(
    verifier: str, case: dict[str, Any]
) -> None:
    try:
        locked = locked_elsewhere(contract_of(verifier, case["params"]))
    except ValueError:
        pytest.skip("such a contract has no canonical form, so it cannot have been locked anywhere")
    finding = Engine(REGISTRY).verify(locked, Subject(output=[])).results[0].finding

    assert finding.status.value == "error"
    assert finding.detail == "; ".join(case["faults"]) + "."


@pytest.mark.parametrize("id_", REGISTRY.ids())
def test_every_verifier_has_vectors_of_each_kind(id_: str) -> None:
    document = vectors(FOLDER / f"{id_}.json")
    statuses = {case["expect"]["status"] for case in document["cases"] if "expect" in case}

    assert {"pass", "fail"} <= statuses
    assert any("faults" in case for case in document["cases"])
