"""What may be proposed, and what is said of how it came about."""

from __future__ import annotations

import json
from typing import Any

import pytest

from signoff.dialects.wattswarm.execution import (
    Proposal,
    ProposalRefused,
    execute_reply,
    execution_record,
    messages_of,
    proposal_of,
    request_digest,
)
from signoff.dialects.wattswarm.hashes import digest_of
from signoff.dialects.wattswarm.request import (
    ArtifactRef,
    ExecuteRequest,
    Inline,
    WrongShape,
    read_execute,
)
from signoff.jsonvalue import JSON

ANY: JSON = {}


def body(schema: JSON = ANY, **more: Any) -> dict[str, Any]:
    """A call as a kernel makes it, as far as it is read."""
    return {
        "task_id": "t",
        "execution_id": "e",
        "task_type": "swarm",
        "profile": "default",
        "stage": "EXPLORE",
        "attempt_id": "e",
        "inputs": {"prompt": "why"},
        "task_contract": {
            "output_schema": schema,
            "budget": {"time_ms": 1_000},
            "acceptance": {"verifier_policy": {"policy_id": "vp.schema_only.v1"}},
        },
        "seed_bundle": None,
        **more,
    }


def call(schema: JSON = ANY, **more: Any) -> ExecuteRequest:
    return read_execute(json.dumps(body(schema, **more)).encode())


def proposed(output: JSON, schema: JSON = ANY, inline: tuple[Inline, ...] = ()) -> Proposal:
    return proposal_of(call(schema), output, inline)


def refused(output: JSON, schema: JSON = ANY, inline: tuple[Inline, ...] = ()) -> str:
    with pytest.raises(ProposalRefused) as found:
        proposed(output, schema, inline)
    return str(found.value)


def test_output_stands_in_canonical_form_and_is_digested_so() -> None:
    found = proposed({"b": 1.0, "a": "é", "big": 1e16})

    assert '{"a":"é","b":1.0,"big":1e+16}'.encode() == found.output
    assert digest_of(found.output) == found.digest


@pytest.mark.parametrize(
    ("given", "proposed_as"),
    [
        (0.12345678901234568, b"0.123456789012346"),
        (1 / 3, b"0.333333333333333"),
        (0.1 + 0.2, b"0.3"),
        (12345678901234567, b"12345678901234567"),
        (-0.0, b"-0.0"),
        ([{"x": 2 / 3}], b'[{"x":0.666666666666667}]'),
    ],
)
def test_doubles_are_rounded_to_15_digits_and_integers_are_not(
    given: JSON, proposed_as: bytes
) -> None:
    """Acceptance row 20: doubles of 17 digits."""
    found = proposed(given)

    assert proposed_as == found.output
    assert not found.has_unsafe


@pytest.mark.parametrize("number", [1e-12, 1e300])
def test_doubles_that_are_unsafe_by_their_size_are_kept_and_marked(number: float) -> None:
    found = proposed({"x": number})

    assert number == json.loads(found.output)["x"]
    assert found.has_unsafe


def test_nothing_is_added_or_changed() -> None:
    output: JSON = {"answer": "  ", "confidence": None, "nested": [[], {}, False]}

    assert output == json.loads(proposed(output).output)


def test_null_is_refused() -> None:
    """Acceptance row 20: output null."""
    assert "output is null" in refused(None)


def test_output_of_65536_bytes_is_the_largest() -> None:
    """Acceptance row 20: too large."""
    assert 65_536 == len(proposed("x" * 65_534).output)
    assert "65537 bytes, expected at most 65536" in refused("x" * 65_535)
    assert "65537 bytes" in refused("é" * 32_767 + "x")


@pytest.mark.parametrize(
    ("schema", "told"),
    [
        (True, "output_schema must be object"),
        ({"type": "object"}, "output must be object"),
        ({"required": ["x"], "type": "string"}, "must be object"),
        ({"type": "string", "maxLength": 3}, "does not conform"),
        ({"pattern": "("}, "cannot be judged"),
        ({"$ref": "http://127.0.0.1:1/x"}, "cannot be judged"),
    ],
)
def test_output_that_breaks_the_schema_is_refused(schema: JSON, told: str) -> None:
    """Acceptance row 20: schema-breaking; by either reading of the schema."""
    assert told in refused("some text", schema)


@pytest.mark.parametrize(
    ("item", "told"),
    [
        (Inline(mime="image/png", content=""), "mime"),
        (Inline(mime="text/plain; charset=utf-8", content=""), "mime"),
        (Inline(mime="text/plain", content="x" * 65_537), "65537 bytes"),
        (Inline(mime="application/json", content="{"), "not JSON"),
        (Inline(mime="text/plain", content="see data:image/png;base64,"), "data:image/"),
    ],
)
def test_inline_evidence_that_a_kernel_refuses_is_refused(item: Inline, told: str) -> None:
    """Acceptance row 20: media in inline evidence."""
    fine = Inline(mime="text/csv", content="a,b")
    text = refused("x", ANY, (fine, item))

    assert text.startswith("inline/1: ")
    assert told in text


REF = ArtifactRef(
    uri="http://h/evidence/0",
    digest="sha256:0",
    size_bytes=1,
    mime="application/json",
    created_at=2,
    producer="f/m",
)


def test_reply_holds_output_inline_and_references() -> None:
    found = proposed({"a": 1.5}, ANY, (Inline(mime="text/plain", content='"'),))

    assert {
        "candidate_output": {"a": 1.5},
        "evidence_inline": [{"mime": "text/plain", "content": '"'}],
        "evidence_refs": [
            {
                "uri": "http://h/evidence/0",
                "digest": "sha256:0",
                "size_bytes": 1,
                "mime": "application/json",
                "created_at": 2,
                "producer": "f/m",
            }
        ],
    } == json.loads(execute_reply(found, [REF]))


def test_reply_of_120000_bytes_is_the_largest() -> None:
    def reply(size: int) -> bytes:
        texts = (Inline(mime="text/plain", content="x" * part) for part in (60_000, size))
        return execute_reply(proposed("x", ANY, tuple(texts)), [REF])

    spare = 120_000 - len(reply(0))

    assert 120_000 == len(reply(spare))
    with pytest.raises(ProposalRefused, match="120001 bytes, expected at most 120000"):
        reply(spare + 1)


def test_record_says_what_was_asked_and_what_came_of_it() -> None:
    asked, found = call(), proposed({"a": 1})
    record = execution_record(
        asked, found, executor="call:a.b:c", started_at=1_000, finished_at=2_000
    )

    assert {
        "record": "signoff/wattswarm/execution/v1",
        "task_id": "t",
        "execution_id": "e",
        "attempt_id": "e",
        "task_type": "swarm",
        "profile": "default",
        "stage": "EXPLORE",
        "executor": "call:a.b:c",
        "request_digest": request_digest(asked),
        "output_digest": found.digest,
        "started_at": 1_000,
        "finished_at": 2_000,
    } == json.loads(record)
    assert record == json.dumps(json.loads(record), sort_keys=True, separators=(",", ":")).encode()


def test_equal_requests_have_one_digest_and_others_another() -> None:
    spelt = json.dumps(dict(reversed(body().items())), indent=2).encode()

    assert request_digest(call()) == request_digest(read_execute(spelt))
    assert request_digest(call()) != request_digest(call(inputs={"prompt": "who"}))


def test_model_is_told_inputs_schema_and_policy() -> None:
    _, user = messages_of(call({"type": "object"}).value)

    assert {
        "inputs": {"prompt": "why"},
        "output_schema": {"type": "object"},
        "policy": {"policy_id": "vp.schema_only.v1"},
    } == json.loads(user["content"])


@pytest.mark.parametrize("value", [{}, [], {"task_contract": {"acceptance": 3}}])
def test_what_is_not_there_is_told_as_null(value: JSON) -> None:
    _, user = messages_of(value)

    assert {"inputs": None, "output_schema": None, "policy": None} == json.loads(user["content"])


@pytest.mark.parametrize(
    ("change", "pointer"),
    [
        ({"task_id": 3}, "/task_id"),
        ({"seed_bundle": []}, "/seed_bundle"),
        ({"task_contract": None}, "/task_contract"),
        ({"task_contract": {"budget": {"time_ms": 1}}}, "/task_contract/output_schema"),
        ({"task_contract": {"output_schema": 1}}, "/task_contract/budget"),
        (
            {"task_contract": {"output_schema": 1, "budget": {"time_ms": 1.0}}},
            "/task_contract/budget/time_ms",
        ),
        (
            {"task_contract": {"output_schema": 1, "budget": {"time_ms": -1}}},
            "/task_contract/budget/time_ms",
        ),
    ],
)
def test_first_fault_of_a_call_is_told_by_its_pointer(change: dict[str, Any], pointer: str) -> None:
    with pytest.raises(WrongShape) as found:
        call(**change)

    assert pointer == found.value.pointer


def test_everything_else_of_a_contract_is_the_business_of_the_kernel() -> None:
    contract = {"output_schema": {}, "budget": {"time_ms": 0, "mode": 7}, "task_mode": []}

    assert 0 == call(task_contract=contract, unknown={"a": 1}).time_ms
