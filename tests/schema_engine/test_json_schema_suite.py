"""The public test suite of JSON Schema, draft 2020-12, required part, save what needs the network."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from signoff.errors import SchemaError
from signoff.jsonvalue import JSON
from signoff.schema_engine import Formats, References, SchemaRules, compile_schema
from signoff.strictjson import loads

FOLDER = Path(__file__).parents[1] / "data" / "json-schema-test-suite" / "draft2020-12"

RULES = SchemaRules(
    references=References.BUNDLED, formats=Formats.ANNOTATION, may_accept_everything=True
)

# These fetch schemas from http://localhost:1234, or their meta-schema.
NETWORK = {
    "dynamicRef": {
        "strict-tree schema, guards against misspelled properties",
        "tests for implementation dynamic anchor and reference link",
        "$ref and $dynamicAnchor are independent of order - $defs first",
        "$ref and $dynamicAnchor are independent of order - $ref first",
        "$ref to $dynamicRef finds detached $dynamicAnchor",
    },
    "refRemote": {
        "remote ref",
        "fragment within remote ref",
        "anchor within remote ref",
        "ref within remote ref",
        "base URI change",
        "base URI change - change folder",
        "base URI change - change folder in subschema",
        "root ref in remote ref",
        "remote ref with ref to defs",
        "Location-independent identifier in remote ref",
        "retrieved nested refs resolve relative to their URI not $id",
        "remote HTTP ref with different $id",
        "remote HTTP ref with different URN $id",
        "remote HTTP ref with nested absolute ref",
        "$ref to $ref finds detached $anchor",
    },
    "vocabulary": {
        "schema that uses custom metaschema with with no validation vocabulary",
        "ignore unrecognized optional vocabulary",
    },
}


def groups(*, network: bool) -> list[Any]:
    found = []
    for path in sorted(FOLDER.glob("*.json")):
        listed = loads(path.read_bytes())
        assert isinstance(listed, list)
        for group in listed:
            assert isinstance(group, dict)
            if network is (group["description"] in NETWORK.get(path.stem, ())):
                found.append(pytest.param(group, id=f"{path.stem}: {group['description']}"))
    return found


def test_the_suite_is_whole() -> None:
    files = [*FOLDER.glob("*.json")]
    judged = groups(network=False)

    assert 46 == len(files)
    assert sum(map(len, NETWORK.values())) == len(groups(network=True))
    assert 346 == len(judged)
    assert 1_208 == sum(len(group.values[0]["tests"]) for group in judged)


@pytest.mark.parametrize("group", groups(network=False))
def test_suite(group: dict[str, Any]) -> None:
    schema = compile_schema(group["schema"], RULES)
    for test in group["tests"]:
        value: JSON = test["data"]

        assert test["valid"] is schema.is_valid(value), test["description"]
        assert test["valid"] is not bool(schema.violations(value).items), test["description"]


@pytest.mark.parametrize("group", groups(network=True))
def test_what_needs_the_network_is_refused(group: dict[str, Any]) -> None:
    with pytest.raises(SchemaError, match=r"leads nowhere|names no known draft"):
        compile_schema(group["schema"], RULES)
