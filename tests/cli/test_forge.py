"""``signoff forge verify``: exit codes, and what it prints."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from signoff.forge import ContractSpec, verification_results_to_jsonable, verify_task_result
from tests.cli.calling import Called, call, wrote

CONTRACT: dict[str, Any] = {
    "contract_spec_format": 2,
    "task_id": "t",
    "version": "v1",
    "input_schema": {"type": "object"},
    "output_schema": {"type": "object", "required": ["a"]},
}


def verify(
    folder: Path,
    *options: str,
    contract: Any = None,
    given: str = "{}",
    made: str | None = '{"a": 1}',
) -> Called:
    document = CONTRACT if contract is None else contract
    text = document if isinstance(document, str) else json.dumps(document)
    argv: list[str | Path] = [
        "--contract",
        wrote(folder, "contract.json", text),
        "--input",
        wrote(folder, "in.json", given),
    ]
    if made is not None:
        argv += ["--output", wrote(folder, "out.json", made)]
    return call("forge", "verify", *argv, *options)


def timeless(result: Any) -> dict[str, Any]:
    assert result["elapsed_seconds"] >= 0
    return {name: value for name, value in result.items() if name != "elapsed_seconds"}


def test_row_41_a_pass_is_0(tmp_path: Path) -> None:
    called = verify(tmp_path)

    assert (0, "") == (called.code, called.err)
    assert (
        "pass     json.object      input and output are objects\n"
        "pass     contract.schema  input and output conform\n"
    ) == called.out
    assert 0 == verify(tmp_path, "--strict").code


def test_row_41_a_warning_is_0_and_strictly_1(tmp_path: Path) -> None:
    contract = {**CONTRACT, "output_schema": {}}

    assert 0 == verify(tmp_path, contract=contract).code
    assert 1 == verify(tmp_path, "--strict", contract=contract).code


def test_row_41_a_failure_is_1(tmp_path: Path) -> None:
    called = verify(tmp_path, made="{}")

    assert 1 == called.code
    assert "fail     contract.schema  output: /: must have required property 'a'" in called.out


def test_row_41_without_output_there_is_a_warning(tmp_path: Path) -> None:
    for contract in (
        CONTRACT,
        {**CONTRACT, "verification_policy": {"verifier_ids": ["json.object"]}},
    ):
        called = verify(tmp_path, contract=contract, made=None)

        assert 0 == called.code
        assert "note: output not checked\n" == called.err
        assert 1 == verify(tmp_path, "--strict", contract=contract, made=None).code


def test_row_41_json_is_the_python_list(tmp_path: Path) -> None:
    called = verify(tmp_path, "--json", made="{}")
    spec = ContractSpec.from_file(tmp_path / "contract.json")
    expected = verification_results_to_jsonable(verify_task_result(spec, {}, {}))

    assert 1 == called.code
    assert [*map(timeless, expected)] == [*map(timeless, called.json)]


def test_row_41_the_warning_stands_whatever_runs(tmp_path: Path) -> None:
    policy = {"verification_policy": {"verifier_ids": ["rag.citations"]}}
    called = verify(tmp_path, contract={**CONTRACT, **policy}, made=None)

    assert (1, "note: output not checked\n") == (called.code, called.err)


@pytest.mark.parametrize(
    "wrong",
    [
        {"made": "null"},
        {"made": "{"},
        {"made": '{"a": 1, "a": 2}'},
        {"made": "NaN"},
        {"given": "[" * 65 + "]" * 65},
        {"given": "\ufeff{}"},
        {"contract": "{"},
        {"contract": {**CONTRACT, "contract_spec_format": 3}},
        {"contract": {**CONTRACT, "input_schema": {"type": "objekt"}}},
    ],
    ids=lambda wrong: str(wrong)[:40],
)
def test_row_41_what_cannot_be_used_is_2(wrong: Any, tmp_path: Path) -> None:
    called = verify(tmp_path, **wrong)

    assert (2, "") == (called.code, called.out)
    assert called.err.count("signoff: ") == 1
    assert str(tmp_path) in called.err


@pytest.mark.parametrize("missing", ["contract.json", "in.json", "out.json"])
def test_row_41_a_file_that_is_not_there_is_2(missing: str, tmp_path: Path) -> None:
    verify(tmp_path)
    (tmp_path / missing).unlink()
    argv = [
        part
        for option, name in (("contract", "contract"), ("input", "in"), ("output", "out"))
        for part in (f"--{option}", tmp_path / f"{name}.json")
    ]
    called = call("forge", "verify", *argv)

    assert 2 == called.code
    assert "no such file" in called.err


@pytest.mark.parametrize("argv", [[], ["judge"], ["verify"], ["verify", "--contract", "x"]])
def test_row_41_bad_usage_is_2(argv: list[str]) -> None:
    assert 2 == call("forge", *argv).code


@pytest.mark.parametrize("id_", ["pytest.subprocess", "rag.citations"])
def test_row_42_a_contract_can_start_nothing(id_: str, tmp_path: Path) -> None:
    policy = {"verifier_ids": ["json.object", id_]}
    called = verify(tmp_path, "--json", contract={**CONTRACT, "verification_policy": policy})

    assert 1 == called.code
    assert ["pass", "fail"] == [one["status"] for one in called.json]
    assert "unknown_verifier" == called.json[1]["evidence"]["failure_class"]


def test_strict_fails_an_invalid_policy(tmp_path: Path) -> None:
    contract = {**CONTRACT, "verification_policy": {"verifier_ids": []}}
    loose = verify(tmp_path, contract=contract)
    strict = verify(tmp_path, "--strict", contract=contract)

    assert (0, 1) == (loose.code, strict.code)
    assert "verifier_ids is empty; the default verifiers run" in loose.err
    assert strict.out.startswith("fail     policy.verifier_ids")
