"""Runs the vectors of conformance/forge, and holds tests and vectors to the acceptance list."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from signoff.dialects.forge.errors import ContractFormatError
from signoff.forge import (
    ContractSchemaVerifier,
    ContractSpec,
    JsonObjectVerifier,
    VerificationResult,
    VerificationStatus,
    VerifierRegistry,
    load_contract_spec,
    truncate_utf8_bytes,
    verification_result_to_dict,
    verify_task_result,
)
from tests.forge.world import FOLDER, Does, value, vectors

ROWS = range(1, 46)


def cases(name: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize(
        "case", [pytest.param(case, id=case["description"][:60]) for case in vectors(name)]
    )


def test_every_row_of_the_acceptance_list_has_a_test_or_a_vector() -> None:
    here = Path(__file__).parent
    sources = [*here.glob("test_*.py"), *here.parent.glob("*/test_forge*.py")]
    named = {
        int(n) for path in sources for n in re.findall(r"def test_row_(\d\d)_", path.read_text())
    }
    told = {case["row"] for path in FOLDER.glob("*.json") for case in vectors(path.stem)}

    assert set() == {*ROWS} - named - told
    assert {*ROWS} >= named | told


def test_row_45_vectors_cover_their_sections() -> None:
    expected = {
        "statuses", "results", "serialisation", "slots", "json_object", "contract_schema",
        "policy", "contracts", "truncation",
    }  # fmt: skip

    assert expected == {path.stem for path in FOLDER.glob("*.json")}
    assert all(vectors(name) for name in expected)


@cases("statuses")
def test_status(case: dict[str, Any]) -> None:
    if case["expect"] == "refused":
        with pytest.raises(ValueError, match="not a valid"):
            VerificationStatus(case["word"])
        return
    status = VerificationStatus(case["word"])

    assert case["word"] == str(status) == f"{status}" == status
    assert json.dumps(case["word"]) == json.dumps(status)


@cases("results")
def test_result(case: dict[str, Any]) -> None:
    fields = value(case["fields"])
    if case.get("refused"):
        with pytest.raises((TypeError, ValueError)):
            VerificationResult(**fields)
        return

    assert case["expect"] == verification_result_to_dict(VerificationResult(**fields))


@cases("serialisation")
def test_serialisation(case: dict[str, Any]) -> None:
    result = VerificationResult(VerificationStatus.WARN, "a", "s", value(case["evidence"]))

    assert case["expect"] == verification_result_to_dict(result)["evidence"]


@cases("json_object")
def test_json_object(case: dict[str, Any]) -> None:
    found = JsonObjectVerifier().verify(value(case["input"]), value(case.get("output")))
    evidence = found.evidence
    got = {
        "status": found.status.value,
        "output_checked": evidence["output_checked"],
        "warnings": [*found.warnings],
        "errors": len(found.errors),
    }
    if "failure_class" in evidence:
        got["failure_class"] = evidence["failure_class"]

    assert case["expect"] == got


@cases("contract_schema")
def test_contract_schema(case: dict[str, Any]) -> None:
    spec = ContractSpec.from_dict(case["contract"])
    verifier = ContractSchemaVerifier(strict=case.get("strict", False))
    found = verifier.verify(
        value(case["input"]), value(case.get("output")), context={"contract": spec}
    )
    told = found.evidence | {
        "status": found.status.value,
        "errors": [*found.errors],
        "warnings": [*found.warnings],
    }

    assert case["expect"] == {name: told[name] for name in case["expect"]}
    assert ("failure_class" in told) is (told["status"] == "fail")


@cases("policy")
def test_policy(case: dict[str, Any]) -> None:
    spec = ContractSpec("t", verification_policy=case["policy"])
    results = verify_task_result(spec, {}, {})
    unknown = [one for one in results if one.evidence.get("failure_class") == "unknown_verifier"]

    assert case["expect"]["ids"] == [one.verifier_id for one in results]
    assert {case["expect"]["policy_source"]} == {one.evidence["policy_source"] for one in results}
    assert case["expect"].get("unknown", []) == [one.verifier_id for one in unknown]
    is_invalid = case["expect"]["policy_source"] == "default_invalid"
    assert is_invalid is any("default verifiers" in text for text in results[0].warnings)


@cases("slots")
def test_slot(case: dict[str, Any]) -> None:
    registry = VerifierRegistry()
    last = Does("passes")
    registry.register("first", Does(case["verifier"]))
    registry.register("last", last)
    spec = ContractSpec("t", verification_policy={"verifier_ids": ["first", "last"]})
    given, made = {"a": 1}, {"inner": [1]}
    first, second = verify_task_result(spec, given, made, registry=registry)
    told = first.evidence | {"status": first.status.value}

    assert case["expect"] == {name: told[name] for name in case["expect"]}
    assert "first" == first.verifier_id
    assert ("failure_class" in told) is (told["status"] == "fail")
    assert VerificationStatus.PASS is second.status
    assert [({"a": 1}, {"inner": [1]})] == [(a, b) for a, b, _ in last.saw]
    assert ({"a": 1}, {"inner": [1]}) == (given, made)


@cases("contracts")
def test_contract(case: dict[str, Any], tmp_path: Path) -> None:
    folder = tmp_path / "t" / "v1"
    folder.mkdir(parents=True)
    text = case["text"] if "text" in case else json.dumps(case["document"])
    (folder / "contract.json").write_text(text, "utf-8")
    (folder / "contract.md").write_text("# Good\n")
    if case["expect"] == "refused":
        with pytest.raises(ContractFormatError) as caught:
            load_contract_spec("t", "v1", root=tmp_path)

        assert case["field"] == caught.value.field
        assert "contract.json" in str(caught.value)
        return
    spec = load_contract_spec("t", "v1", root=tmp_path)

    assert case.get("extensions", {}) == spec.extensions
    assert case.get("warnings", 0) == len(spec.warnings)
    assert ("t", "v1", False) == (spec.task_id, spec.version, spec.synthesized)


@cases("truncation")
def test_truncation(case: dict[str, Any]) -> None:
    text = value(case["text"])
    if case.get("refused"):
        with pytest.raises(ValueError, match="negative"):
            truncate_utf8_bytes(text, case["max_bytes"])
        return

    assert case["expect"] == truncate_utf8_bytes(text, case["max_bytes"])
