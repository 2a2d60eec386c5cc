"""Contracts in folders: what vectors cannot say."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from signoff.dialects.forge.errors import ContractFormatError, UnknownContractError
from signoff.forge import ContractSpec, load_contract_spec
from signoff.forge.contract_files import ROOT_VARIABLE


def contract(root: Path, task_id: str = "t", version: str = "v1", **files: str) -> Path:
    folder = root / task_id / version
    folder.mkdir(parents=True)
    for name, text in files.items():
        (folder / f"contract.{name}").write_text(text)
    return root


@pytest.mark.parametrize(
    ("prose", "title"),
    [
        ("# The gate #\n\nText.\n# Another", "The gate"),
        ("Text\n\n### Deep", "Deep"),
        ("```\n# no heading\n```\n## Real\n", "Real"),
        ("#hashtag\n", "t"),
        ("", "t"),
        ("\ufeffnothing", "t"),
    ],
)
def test_row_37_prose_alone_makes_a_contract_that_claims_nothing(
    prose: str, title: str, tmp_path: Path
) -> None:
    spec = load_contract_spec("t", root=contract(tmp_path, md=prose))

    assert (title, True, {}, {}) == (
        spec.title,
        spec.synthesized,
        spec.input_schema,
        spec.output_schema,
    )
    assert "t/v1/contract.md" == spec.contract_markdown_path


def test_row_37_a_broken_file_beside_good_prose_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ContractFormatError, match=r"contract\.json"):
        load_contract_spec("t", root=contract(tmp_path, md="# Good", json="{"))


def test_row_37_a_folder_in_place_of_the_file_is_an_error(tmp_path: Path) -> None:
    contract(tmp_path, md="# Good")
    (tmp_path / "t" / "v1" / "contract.json").mkdir()

    with pytest.raises(ContractFormatError, match="folder"):
        load_contract_spec("t", root=tmp_path)


def test_the_root_comes_from_the_argument_the_environment_or_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("argument", "variable", "here/contracts"):
        contract(tmp_path / name, json=json.dumps({"title": name}))
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.delenv(ROOT_VARIABLE, raising=False)

    assert "here/contracts" == load_contract_spec("t").title
    monkeypatch.setenv(ROOT_VARIABLE, str(tmp_path / "variable"))
    assert "variable" == load_contract_spec("t", "v1").title
    assert "argument" == load_contract_spec("t", root=tmp_path / "argument").title


BAD_NAMES = ["../x", "/etc", "", "a\0b", "a/b", "..", ".", "a..b", "a b", "\u00e4", "x" * 300]


@pytest.mark.parametrize("name", BAD_NAMES)
def test_row_38_a_name_that_can_be_none_is_unknown_and_opens_nothing(
    name: str, tmp_path: Path
) -> None:
    opened: list[str] = []
    watching = [True]

    def watch(event: str, args: tuple[Any, ...]) -> None:
        if watching and event == "open":
            opened.append(str(args[0]))

    sys.addaudithook(watch)
    for asked in ((name, "v1"), ("t", name)):
        with pytest.raises(UnknownContractError):
            load_contract_spec(*asked, root=tmp_path)
    watching.clear()

    assert [] == opened


@pytest.mark.parametrize("name", [None, 1, ["t"]])
def test_row_38_a_name_that_is_no_text_is_unknown(name: Any, tmp_path: Path) -> None:
    with pytest.raises(UnknownContractError):
        load_contract_spec(name, root=tmp_path)


@pytest.mark.parametrize("link", ["t", "t/v1", "t/v1/contract.json", "t/v1/contract.md"])
def test_row_38_a_link_out_of_the_root_is_not_followed(link: str, tmp_path: Path) -> None:
    outside = contract(tmp_path / "outside", json="{}", md="# Secret")
    place = tmp_path / "root" / link
    place.parent.mkdir(parents=True)
    place.symlink_to(outside / link)

    with pytest.raises(UnknownContractError) as caught:
        load_contract_spec("t", root=tmp_path / "root")

    assert "Secret" not in str(caught.value)


def test_row_38_an_unknown_name_names_the_nearest(tmp_path: Path) -> None:
    contract(tmp_path, "llm_boolean_gate", md="# Gate")

    with pytest.raises(UnknownContractError, match="nearest: llm_boolean_gate"):
        load_contract_spec("llm_bolean_gate", root=tmp_path)
    with pytest.raises(UnknownContractError, match="nearest: llm_boolean_gate/v1"):
        load_contract_spec("llm_boolean_gate", "v2", root=tmp_path)
    with pytest.raises(UnknownContractError):
        load_contract_spec("t", root=tmp_path / "gone")


def test_row_39_more_than_a_mebibyte_is_refused(tmp_path: Path) -> None:
    text = json.dumps({"title": "x" * 2**21})

    with pytest.raises(ContractFormatError, match=r"contract\.json.*larger"):
        load_contract_spec("t", root=contract(tmp_path, json=text, md="# Good"))


def test_row_39_a_fault_names_file_field_and_expectation(tmp_path: Path) -> None:
    with pytest.raises(ContractFormatError) as caught:
        load_contract_spec("t", root=contract(tmp_path, json='{"input_schema": []}'))

    place = tmp_path / "t" / "v1" / "contract.json"
    assert f"{place}: input_schema: expected a JSON Schema, an object or boolean, got array" == str(
        caught.value
    )


def test_row_39_unknown_fields_are_kept_and_warned_of() -> None:
    spec = ContractSpec.from_dict({"task_id": "t", "verifcation_policy": {"a": 1}})

    assert {"verifcation_policy": {"a": 1}} == spec.extensions
    assert ("unknown field verifcation_policy has no effect",) == spec.warnings


def test_misspelt_list_of_verifiers_is_warned_of() -> None:
    policy = {"level": "task_internal", "verifiers": ["pytest.subprocess"]}
    spec = ContractSpec.from_dict({"task_id": "t", "verification_policy": policy})

    assert ("unknown field verification_policy.verifiers has no effect",) == spec.warnings


FULL: dict[str, Any] = {
    "contract_spec_format": 2,
    "task_id": "t",
    "version": "v2",
    "title": "T",
    "input_schema": {"type": "object"},
    "output_schema": {"type": "object", "required": ["a"]},
    "success_criteria": ["a"],
    "failure_modes": ["b"],
    "verification_policy": {"level": "task_internal", "verifier_ids": ["json.object"]},
    "retry_policy": {"max": 1},
    "fallback_policy": {"to": "b"},
    "contract_markdown_path": "t/v2/contract.md",
    "capabilities": {"c": []},
    "execution_policy": {"d": None},
    "inference_policy": {"e": 1.5},
    "rag_policy": {"f": True},
    "prompt_cache_policy": {"g": "h"},
    "mine": [1],
}


def test_dict_and_back_is_the_same() -> None:
    spec = ContractSpec.from_dict(FULL)

    assert FULL == spec.to_dict()
    assert spec == ContractSpec.from_dict(spec.to_dict())
    assert ContractSpec("t", synthesized=True) == ContractSpec.from_dict(
        ContractSpec("t", synthesized=True).to_dict()
    )


def test_nobody_changes_a_contract() -> None:
    schema: dict[str, Any] = {"type": "object", "required": ["a"]}
    spec = ContractSpec("t", input_schema=schema, success_criteria=["a"])
    schema["required"].append("b")
    spec.success_criteria.append("b")
    spec.to_dict()["input_schema"].clear()  # type: ignore[union-attr]  # it is a dict

    assert ({"type": "object", "required": ["a"]}, ["a"]) == (
        spec.input_schema,
        spec.success_criteria,
    )
    with pytest.raises(AttributeError):
        spec.title = "x"  # type: ignore[misc]  # the point of the test


def test_what_is_no_json_is_refused() -> None:
    with pytest.raises(ContractFormatError, match="retry_policy"):
        ContractSpec("t", retry_policy={"a": {1}})


def test_a_value_of_no_json_type_is_named() -> None:
    with pytest.raises(ContractFormatError, match="title: expected a string, got bytes"):
        ContractSpec("t", title=b"x")  # type: ignore[arg-type]  # the point of the test


def test_extensions_cannot_hide_a_field() -> None:
    with pytest.raises(ContractFormatError, match="extensions"):
        ContractSpec("t", extensions={"title": "x"})
    with pytest.raises(ContractFormatError, match="extensions"):
        ContractSpec.from_dict({"extensions": {}})
