from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from signoff import schema_engine
from signoff.errors import SchemaError, SchemaNotJudged, SchemaTimeout
from signoff.jsonvalue import JSON
from signoff.schema_engine import (
    CONTRACT_RULES,
    FOREIGN_RULES,
    CompiledSchema,
    Formats,
    compile_canonical,
    compile_schema,
    schema_engines,
)
from signoff.schema_engine.effort import effort_of
from signoff.schema_engine.messages import violations
from signoff.schema_engine.native import nested_within, validator
from signoff.schema_engine.survey import survey
from signoff.strictjson import Limits, loads

FOLDER = Path(__file__).resolve().parents[2] / "conformance" / "schema"


def cases(*names: str) -> list[Any]:
    """Each case of the vectors in these files."""
    found = []
    for name in names:
        document = loads((FOLDER / f"{name}.json").read_bytes(), limits=Limits(max_depth=128))
        assert isinstance(document, dict)
        listed = document["cases"]
        assert isinstance(listed, list)
        for case in listed:
            assert isinstance(case, dict)
            found.append(pytest.param(case, id=f"{name}: {case['description']}"))
    return found


def nested(levels: int) -> Any:
    value: Any = []
    for _ in range(levels - 1):
        value = [value]
    return value


# -- vectors --


def test_every_file_of_vectors_is_run() -> None:
    ran = {"messages", "order", "values", "patterns", "faults"}

    assert ran == {path.stem for path in FOLDER.glob("*.json")}


@pytest.mark.parametrize("case", cases("messages", "order", "values", "patterns"))
def test_judgement(case: dict[str, Any]) -> None:
    schema = compile_schema(case["schema"])
    expect = case["expect"]
    told = schema.violations(case["instance"])

    assert expect["valid"] is schema.is_valid(case["instance"])
    assert expect.get("detail", "") == str(told)
    assert expect.get("at") == (told.at if told.items else None)


@pytest.mark.parametrize("case", [c for c in cases("faults") if "faults" in c.values[0]])
def test_fault(case: dict[str, Any]) -> None:
    with pytest.raises(SchemaError) as caught:
        compile_schema(case["schema"])

    assert case["faults"] == [{"where": f.where, "message": f.message} for f in caught.value.faults]


@pytest.mark.parametrize("case", [c for c in cases("faults") if "warnings" in c.values[0]])
def test_warnings(case: dict[str, Any]) -> None:
    assert case["warnings"] == [*compile_schema(case["schema"]).warnings]


# -- what vectors cannot say --


def test_pointers_begin_with_the_path() -> None:
    told = compile_schema({"items": {"type": "string"}}).violations([1], path="/a~1b")

    assert "/a~1b/0: must be string" == str(told)
    assert "/a~1b/0" == told.at


def test_root_below_a_path_prints_as_the_path() -> None:
    assert "/x: must be string" == str(compile_schema({"type": "string"}).violations(1, path="/x"))


def test_too_deep_is_at_the_path() -> None:
    told = compile_schema({"type": "array"}).violations(nested(65), path="/x")

    assert ("Output is nested deeper than 64 levels.", "/x") == (str(told), told.at)


def test_limit_is_of_the_caller() -> None:
    told = compile_schema({"items": {"type": "string"}}).violations([1, 2, 3], limit=2)

    assert "/0: must be string; /1: must be string; and 1 more" == str(told)


def test_facts_of_a_violation() -> None:
    (item,) = compile_schema({"required": ["a"]}).violations({}).items

    assert ("", "required", "a") == (item.pointer, item.keyword, item.name)


@pytest.mark.parametrize("levels", [66, 10_000, 200_000])
def test_depth_is_no_danger(levels: int) -> None:
    value = nested(levels)

    assert not compile_schema({"type": "array"}).is_valid(value)
    assert not compile_schema({"type": "array", "items": {"$ref": "#"}}).is_valid(value)


@pytest.mark.parametrize("levels", [0, 1, 2, 64])
@pytest.mark.parametrize("inmost", [[], {}, [1], {"a": "b"}, [[]] * 20_000, [0] * 20_000])
def test_levels_are_counted_exactly(levels: int, inmost: Any) -> None:
    own = 2 if type(inmost) is list and inmost[:1] == [[]] else 1
    value = inmost
    for turn in range(levels):
        value = [0, value] if turn % 2 else {"a": value, "b": ""}

    assert nested_within(value, levels + own)
    assert not nested_within(value, levels + own - 1)


def test_values_that_share_parts_without_end_are_no_danger() -> None:
    value: Any = []
    for _ in range(14):
        value = [value] * 3

    assert nested_within(value, 15)
    assert not nested_within(value, 14)


def test_known_depth_is_taken_at_its_word_up_to_the_limit() -> None:
    schema = compile_schema({"type": "array"})

    assert [True, True, False, False] == [
        schema.is_valid(nested(65), depth=depth) for depth in (0, 64, 65, None)
    ]


def test_depth_of_a_schema_is_no_danger() -> None:
    with pytest.raises(SchemaError, match="nested deeper than 64 levels"):
        compile_schema({"const": nested(200_000)})


def test_cyclic_schema_is_a_fault() -> None:
    schema: dict[str, Any] = {"type": "object"}
    schema["not"] = schema

    with pytest.raises(SchemaError, match="nested deeper than 64 levels"):
        compile_schema(schema)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), (1,), b"", {1: 2}, "\ud800"])
def test_schema_that_is_no_json_is_a_fault(value: Any) -> None:
    with pytest.raises(SchemaError, match="is not JSON"):
        compile_schema({"const": value})


def test_canonical_bytes_that_are_no_json_are_a_fault() -> None:
    with pytest.raises(SchemaError, match="is not JSON"):
        compile_canonical(b'{"type": "string"')


def test_few_large_schemas_are_kept_and_many_small_ones() -> None:
    def sized(name: str, size: int) -> CompiledSchema:
        return compile_schema({"const": name, "description": "x" * size})

    small, large = sized("first", 100), sized("first", 20_000)
    assert sized("first", 20_000) is large
    for n in range(40):
        sized(f"other {n}", 100)
        sized(f"other {n}", 20_000)
    assert sized("first", 100) is small
    assert sized("first", 20_000) is not large


def test_equal_schemas_are_compiled_once() -> None:
    first = compile_schema({"minimum": 1, "type": "number"})

    assert compile_schema({"type": "number", "minimum": 1.0}) is first
    assert compile_schema({"minimum": 1, "type": "number"}, FOREIGN_RULES) is not first


def test_changing_a_schema_afterwards_changes_nothing() -> None:
    schema: dict[str, Any] = {"enum": [1]}
    compiled = compile_schema(schema)
    schema["enum"].append(2)

    assert not compiled.is_valid(2)


def test_string_with_lone_surrogate_is_no_pass() -> None:
    with pytest.raises(ValueError, match="surrogates"):
        compile_schema({"type": "string"}).is_valid("\ud800")


def test_what_only_the_engine_refuses_is_a_fault() -> None:
    with pytest.raises(SchemaError, match="is refused by the engine: Invalid percent encoding"):
        compile_schema({"$ref": "#/%FF", "\ufffd": {"type": "string"}})


def test_refusal_without_a_complaint_is_no_pass() -> None:
    class Silent:
        def accepts(self, value: JSON) -> bool:
            return False

        def complaints(self, value: JSON) -> list[Any]:
            return []

        first = complaints

    seen = survey(False, CONTRACT_RULES)
    schema = CompiledSchema(Silent(), Silent(), seen, CONTRACT_RULES, effort_of(False, 1))

    assert "/x: must conform to the schema" == str(schema.violations(1, path="/x"))


@pytest.mark.parametrize("kind", ["Referencing", "RegexEngineFailure", "BacktrackLimitExceeded"])
def test_engine_that_gave_up_has_not_judged(kind: str) -> None:
    with pytest.raises(SchemaNotJudged, match=kind):
        violations([[[], ["pattern"], kind, None]], "")


def test_engine_opens_no_file(tmp_path: Path) -> None:
    file = tmp_path / "schema.json"
    file.write_text('{"type": "string"}')

    with pytest.raises(ValueError, match="Retrieval is disabled"):
        validator({"$ref": file.as_uri()}, Formats.KNOWN)


def test_patterns_have_a_budget_together() -> None:
    greedy: list[Any] = [{"pattern": rf"\p{{L}}{{1,{count}}}"} for count in range(40, 90)]

    with pytest.raises(SchemaError, match="has patterns that need more than 256 MiB"):
        compile_schema({"anyOf": greedy})


def test_catastrophic_pattern_answers() -> None:
    schema = compile_schema({"pattern": "^(a+)+$"})

    assert not schema.is_valid("a" * 100_000 + "b")


def test_engines_are_named() -> None:
    engines = schema_engines()

    assert {"jsonschema-rs", "rust-regex"} == engines.keys()
    assert all(version.count(".") == 2 for version in engines.values())


def test_crowd_of_complaints_is_told_from_a_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema_engine, "MAX_COMPLAINTS", 10)
    told = compile_schema({"items": {"type": "string"}}).violations([1] * 30)

    assert str(told).endswith("/19: must be string; and 10 more")


def test_more_complaints_than_anybody_can_gather() -> None:
    fan: dict[str, Any] = {
        f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(25)
    }
    schema = compile_schema({"$ref": "#/$defs/d0", "$defs": fan | {"d25": {"type": "integer"}}})
    told = schema.violations("text")

    assert ("/: must be integer; and more", "") == (str(told), told.at)


# -- schemas of strangers --


def test_strangers_may_have_private_formats_and_keywords() -> None:
    schema = compile_schema({"format": "phone", "tyep": 1}, FOREIGN_RULES)

    assert ("unknown format /format", "unknown keyword /tyep") == schema.warnings
    assert schema.is_valid("anything")


def test_strangers_formats_are_asserted_where_known() -> None:
    assert not compile_schema({"format": "email"}, FOREIGN_RULES).is_valid("abc")


def test_strangers_may_accept_everything() -> None:
    assert compile_schema({}, FOREIGN_RULES).accepts_everything
    assert compile_schema(True, FOREIGN_RULES).accepts_everything
    assert not compile_schema(False, FOREIGN_RULES).accepts_everything


@pytest.mark.parametrize(
    "schema",
    [
        {"$id": "http://example.org/a/", "$ref": "b", "$defs": {"b": {"$id": "b", "type": "null"}}},
        {"$id": "urn:example:a", "$ref": "urn:example:a#x", "$defs": {"b": {"$anchor": "x", "type": "null"}}},
        {"$ref": "urn:example:b", "$defs": {"b": {"$id": "urn:example:b", "type": "null"}}},
    ],
)  # fmt: skip
def test_strangers_may_refer_by_uri_inside_the_document(schema: dict[str, Any]) -> None:
    compiled = compile_schema(schema, FOREIGN_RULES)

    assert compiled.is_valid(None)
    assert not compiled.is_valid(1)


@pytest.mark.parametrize(
    "uri",
    ["https://json-schema.org/draft/2020-12/schema", "https://json-schema.org/draft/2020-12/meta/core"],
)  # fmt: skip
def test_strangers_may_refer_to_a_meta_schema(uri: str) -> None:
    schema = compile_schema({"$ref": uri}, FOREIGN_RULES)

    assert schema.isolated
    assert schema.is_valid({"$id": "a"})
    assert not schema.is_valid({"$id": 1})


@pytest.mark.parametrize(
    "reference", ["http://example.org/a", "file:///etc/passwd", "a.json", "#/nowhere", "http://[", "//", "http://[#a"]
)  # fmt: skip
def test_strangers_references_fetch_nothing(reference: str) -> None:
    with pytest.raises(SchemaError, match="leads nowhere"):
        compile_schema({"not": {"$ref": reference}}, FOREIGN_RULES)


def test_strangers_may_nest_deeper() -> None:
    assert compile_schema({"type": "array"}, FOREIGN_RULES).is_valid(nested(127))


# -- where it is judged --


def fan(width: int, depth: int) -> CompiledSchema:
    parts: dict[str, Any] = {
        f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * width} for n in range(depth)
    }
    return compile_schema({"$ref": "#/$defs/d0", "$defs": parts | {f"d{depth}": {"type": "null"}}})


@pytest.mark.parametrize(
    ("schema", "isolated"),
    [
        ({"type": "string"}, False),
        ({"$defs": {"a": {"$ref": "#"}}, "type": "string"}, False),
        ({"items": {"$ref": "#"}}, True),
        ({"$dynamicAnchor": "a", "items": {"$dynamicRef": "#a"}}, True),
        ({"$ref": "#/$defs/a", "$defs": {"a": {"items": {"$ref": "#/$defs/b"}}, "b": {"items": {"$ref": "#/$defs/a"}}}}, True),
        ({"$schema": "https://json-schema.org/draft/2019-09/schema", "items": {"$recursiveRef": "#"}}, True),
        ({"$ref": "#/$defs/a", "$defs": {"a": {"properties": {"x": {"$ref": "#/$defs/b"}}}, "b": {"type": "null"}}}, False),
    ],
)  # fmt: skip
def test_recursive_schemas_are_judged_elsewhere(schema: Any, isolated: bool) -> None:
    assert isolated is compile_schema(schema).isolated


def test_schema_that_goes_round_is_a_fault_in_every_hand() -> None:
    with pytest.raises(SchemaError, match=r"^/anyOf/0/\$ref: refers back to itself"):
        compile_schema({"anyOf": [{"$ref": "#"}, {"type": "null"}]}, FOREIGN_RULES)


def test_every_circle_is_told_of_however_long() -> None:
    links: dict[str, Any] = {str(n): {"$ref": f"#/$defs/{(n + 1) % 5_000}"} for n in range(5_000)}
    links["x"] = {"not": {"$ref": "#/$defs/x"}}
    links["y"] = {"allOf": [{"$ref": "#/$defs/0"}]}

    with pytest.raises(SchemaError) as caught:
        compile_schema({"type": "string", "$defs": links})

    assert ["/$defs/4999/$ref", "/$defs/x/not/$ref"] == [f.where for f in caught.value.faults]


def test_schemas_of_strangers_may_accept_every_value() -> None:
    schemas: list[Any] = [{}, True, {"$ref": "#/$defs/a", "$defs": {"a": {}}}]
    for schema in schemas:
        assert compile_schema(schema, FOREIGN_RULES).accepts_everything
    assert not compile_schema({"required": []}, FOREIGN_RULES).warnings


def test_much_expanded_schemas_are_judged_elsewhere() -> None:
    assert not fan(2, 10).isolated
    assert fan(2, 25).isolated
    assert fan(1, 3_000).isolated is False
    assert fan(100, 100).isolated
    assert fan(2, 12).is_valid(None)
    assert not fan(2, 12).is_valid(1)


@pytest.mark.parametrize("keyword", ["allOf", "anyOf", "oneOf"])
def test_what_is_looked_at_again_and_again_is_judged_elsewhere(keyword: str) -> None:
    schema: Any = {"properties": {"a": {"type": "integer"}}}
    for _ in range(30):
        schema = {keyword: [schema], "unevaluatedProperties": False}
    compiled = compile_schema(schema)

    assert compiled.isolated
    with pytest.raises(SchemaTimeout):
        compiled.is_valid({"a": 1})


def test_leftovers_alone_are_judged_here() -> None:
    schema: Any = {"type": "integer"}
    for _ in range(30):
        schema = {"properties": {"a": schema}, "unevaluatedProperties": False}

    assert not compile_schema(schema).isolated
