"""json_schema beyond its vectors: depth, recursion, time, and agreement with the engine's own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from time import perf_counter
from typing import Any

import pytest

from signoff.contract import lock
from signoff.engine import Engine
from signoff.errors import ContractError
from signoff.model import Finding, LockedContract, Report, Subject
from signoff.status import Cause, Status
from signoff.strictjson import Limits, loads
from signoff.verifiers import STDLIB

FOLDER = Path(__file__).parent.parent.parent / "conformance" / "schema"
RECURSIVE = {"type": "array", "items": {"$ref": "#"}}


def locked(schema: Any, **params: Any) -> LockedContract:
    criterion = {"id": "it", "verifier": "json_schema", "params": {"schema": schema} | params}
    return lock({"id": "shape", "criteria": [criterion]}, STDLIB)


def report_on(output: Any, schema: Any, **params: Any) -> Report:
    return Engine(STDLIB).verify(locked(schema, **params), Subject(output=output))


def finding(output: Any, schema: Any, **params: Any) -> Finding:
    return report_on(output, schema, **params).results[0].finding


def nested(levels: int) -> Any:
    value: Any = []
    for _ in range(levels - 1):
        value = [value]
    return value


def vectors() -> list[Any]:
    found = []
    for name in ("messages", "order", "patterns", "values"):
        document: Any = loads((FOLDER / f"{name}.json").read_bytes(), limits=Limits(max_depth=128))
        found += [
            pytest.param(case, id=f"{name}: {case['description']}") for case in document["cases"]
        ]
    return found


@pytest.mark.parametrize("case", vectors())
def test_verifier_judges_as_its_engine(case: dict[str, Any]) -> None:
    found = finding(case["instance"], case["schema"])
    expected = case["expect"]

    assert expected["valid"] is found.status.holds
    if not expected["valid"]:
        assert (expected["detail"], expected["at"]) == (found.detail, found.at)


def test_64_levels_are_judged() -> None:
    assert Status.PASS is finding(nested(64), {"type": "array"}).status


@pytest.mark.parametrize("schema", [{"type": "array"}, RECURSIVE])
@pytest.mark.parametrize("levels", [65, 100])
def test_deeper_values_fail(schema: Any, levels: int) -> None:
    found = finding({"a": nested(levels)}, schema, path="/a")

    assert Status.FAIL is found.status
    assert ("Output is nested deeper than 64 levels.", "/a") == (found.detail, found.at)


def test_deeper_schema_is_refused() -> None:
    schema: Any = {"type": "string"}
    for _ in range(70):
        schema = {"items": schema}
    with pytest.raises(ContractError) as caught:
        locked(schema)

    assert ["params.schema is nested deeper than 64 levels"] == [
        fault.message for fault in caught.value.faults
    ]


def test_recursive_schema_judges() -> None:
    assert Status.PASS is finding([[], [[]]], RECURSIVE).status
    assert "/1/0: must be array" == finding([[], [1]], RECURSIVE).detail


def doubled(times: int) -> dict[str, Any]:
    definitions: dict[str, Any] = {"d0": {"type": "string"}}
    for i in range(times):
        reference = {"$ref": f"#/$defs/d{i}"}
        definitions[f"d{i + 1}"] = {"allOf": [reference, reference]}
    return {"$ref": f"#/$defs/d{times}", "$defs": definitions}


def test_25_fold_doubling_ends_in_bounded_time() -> None:
    begin = perf_counter()
    report = report_on(1, doubled(25))
    elapsed_s = perf_counter() - begin

    assert not report.passed
    assert elapsed_s < 30


def test_schema_that_takes_too_long_is_an_error_and_the_next_is_judged() -> None:
    found = finding("a", doubled(50))

    assert Status.ERROR is found.status
    assert Cause.VERIFIER_BROKE is found.cause
    assert found.detail.startswith("Verifier threw: ")
    assert Status.PASS is finding([[]], RECURSIVE).status


def test_failure_is_told_even_where_telling_all_of_it_takes_too_long() -> None:
    found = finding(1, doubled(50))

    assert (Status.FAIL, "/: must be string; and more") == (found.status, found.detail)


def test_report_names_both_engines() -> None:
    engines = report_on(1, {"type": "string"}).engines

    assert {"jsonschema-rs", "rust-regex"} <= engines.keys()


@pytest.mark.parametrize("heavy", ["jsonschema_rs", "signoff.schema_engine", "threading"])
def test_engine_is_not_imported_before_a_schema_is_bound(heavy: str) -> None:
    code = f"import sys, signoff.verifiers; sys.exit({heavy!r} in sys.modules)"

    assert 0 == subprocess.run([sys.executable, "-c", code], check=False).returncode
