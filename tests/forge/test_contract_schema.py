"""``contract.schema`` and the functions below it: what vectors cannot say."""

from __future__ import annotations

import sys
import time
from typing import Any

import pytest
from msgspec.structs import force_setattr

from signoff.forge import (
    ContractSchemaVerifier,
    ContractSpec,
    VerificationResult,
    default_registry,
    validate_contract_input,
    validate_contract_output,
    verify_task_result,
)
from tests.forge.world import nested

OBJ = {"type": "object", "required": ["a"]}


def checked(schema: Any, value: Any) -> VerificationResult:
    spec = ContractSpec("t", input_schema={"type": "object"}, output_schema=schema)
    return ContractSchemaVerifier().verify({}, value, context={"contract": spec})


def came_to(found: VerificationResult) -> tuple[str, str | None]:
    return found.status.value, found.evidence.get("failure_class")


@pytest.mark.parametrize("context", [None, {}, {"contract": None}, {"contract": {}}, 1])
def test_row_09_without_a_contract_it_fails(context: Any) -> None:
    found = ContractSchemaVerifier().verify({}, {}, context=context)

    assert ("fail", "contract_missing") == came_to(found)


def test_row_09_without_output_its_schema_is_not_checked_and_that_is_said() -> None:
    found = checked(OBJ, None)

    assert ("pass", None) == came_to(found)
    assert found.evidence["output_checked"] is False
    assert ("output not checked",) == found.warnings


def test_row_09_the_functions_give_the_same_errors() -> None:
    spec = ContractSpec("t", input_schema=OBJ, output_schema=OBJ)

    assert ("input: /: must have required property 'a'",) == validate_contract_input(spec, {})
    assert ("output: /: must have required property 'a'",) == validate_contract_output(spec, {})
    assert () == validate_contract_input(spec, {"a": 1}) == validate_contract_output(spec, {"a": 1})
    with pytest.raises(TypeError, match="ContractSpec"):
        validate_contract_input({}, {})  # type: ignore[arg-type]  # the point of the test


def test_row_09_evidence_says_what_decided() -> None:
    evidence = checked(OBJ, {}).evidence

    assert [
        {"path": "", "keyword": "required", "message": "must have required property 'a'"}
    ] == evidence["output_errors"]
    assert evidence["schema_engine"].startswith("jsonschema-rs ")
    assert {"input", "output"} == evidence["schema_sha256"].keys()
    assert (False, []) == (evidence["truncated"], evidence["input_errors"])


def test_row_10_a_schema_that_broke_after_it_was_checked_fails() -> None:
    spec = ContractSpec("t")
    force_setattr(spec, "input_schema", {"type": "objekt"})
    found = ContractSchemaVerifier().verify({}, {}, context={"contract": spec})

    assert ("fail", "contract_invalid") == came_to(found)


def test_row_10_strict_policy_makes_unknown_keywords_fail() -> None:
    spec = ContractSpec("t", input_schema={"type": "object"}, output_schema={**OBJ, "requird": []})
    _, loose = verify_task_result(spec, {}, {"a": 1})
    _, strict = verify_task_result(spec, {}, {"a": 1}, strict_policy=True)

    assert ("warn", None) == came_to(loose)
    assert ("fail", "contract_invalid") == came_to(strict)


def test_row_11_a_lone_surrogate_is_not_json() -> None:
    assert ("fail", "not_json") == came_to(checked({"type": "string"}, "\ud800"))
    assert ("fail", "not_json") == came_to(checked({"type": "object"}, {"\ud800": 1}))


def test_row_11_without_the_engine_every_check_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jsonschema_rs", None)
    schema = {"type": "object", "description": "seen by nobody before"}
    spec = ContractSpec("t", input_schema=schema, output_schema=schema)
    found = ContractSchemaVerifier().verify({}, {}, context={"contract": spec})

    assert ("fail", "verifier_error") == came_to(found)


DOUBLING: dict[str, Any] = {
    "$ref": "#/$defs/0",
    "$defs": {
        **{str(i): {"allOf": [{"$ref": f"#/$defs/{i + 1}"}] * 2} for i in range(40)},
        "40": {"type": "string"},
    },
}
RECURSIVE = {"type": "array", "items": {"$ref": "#"}}


@pytest.mark.parametrize(
    ("schema", "value", "statuses"),
    [
        (RECURSIVE, nested(60), {"pass"}),
        (RECURSIVE, [nested(60), 1], {"fail"}),
        (DOUBLING, 1, {"fail"}),
        ({"pattern": "(a+)+$"}, "a" * 100_000 + "!", {"fail"}),
        ({"items": {"type": "string"}}, [1] * 50_000, {"fail"}),
        ({"items": {"type": "object"}}, [[]] * 5_000, {"fail"}),
        ({"type": "object", "additionalProperties": False}, {str(i): i for i in range(5_000)}, {"fail"}),
    ],
    ids=["recursive", "recursive, wrong", "exponential", "pattern", "50,000", "5,000", "names"],
)  # fmt: skip
def test_row_12_costly_schemas_end_in_bounded_time_and_size(
    schema: Any, value: Any, statuses: set[str]
) -> None:
    begin = time.monotonic()
    found = checked(schema, value)

    assert time.monotonic() - begin < 15
    assert found.status.value in statuses
    assert len(found.errors) <= 100
    assert len(str(found)) < 100_000


def test_row_12_circles_are_refused_when_the_contract_is_made() -> None:
    with pytest.raises(ValueError, match="refers back to itself"):
        ContractSpec("t", input_schema={"$ref": "#"})


def test_row_12_a_hundred_errors_are_told_of_both_sides_together() -> None:
    many = {"items": {"type": "string"}}
    spec = ContractSpec("t", input_schema=many, output_schema=many)
    verifier = ContractSchemaVerifier()
    for given, made in ((200, 200), (99, 200), (100, 1), (1, 200)):
        found = verifier.verify([1] * given, [1] * made, context={"contract": spec})

        assert 100 == len(found.errors)
        assert found.evidence["truncated"]
        assert "input_invalid" == found.evidence["failure_class"]


def test_row_13_texts_of_the_subject_are_cut() -> None:
    long = "x" * 10_000
    found = checked({"additionalProperties": False, "type": "object"}, {long: 1})

    assert "fail" == found.status
    assert "x" * 201 not in str(found)
    assert "x" * 200 in str(found)
    assert "x" * 201 not in str(checked({"type": "object"}, {long: (1,)}))


def test_row_13_a_schema_larger_than_256_kib_is_refused() -> None:
    with pytest.raises(ValueError, match="larger than 262144 bytes"):
        ContractSpec("t", input_schema={"enum": ["x" * 2**18]})


def test_row_13_a_schema_deeper_than_64_levels_is_refused() -> None:
    with pytest.raises(ValueError, match="deeper than 64"):
        ContractSpec("t", input_schema={"enum": nested(64)})


def test_the_default_pair_looks_at_the_whole() -> None:
    spec = ContractSpec("t", input_schema={"type": "object"}, output_schema=OBJ)
    found = verify_task_result(spec, {}, {"a": 1}, registry=default_registry())

    assert ["pass", "pass"] == [one.status.value for one in found]
