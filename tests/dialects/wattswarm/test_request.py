"""Requests: read from their bytes, or refused at the first fault."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any

import pytest

from signoff.dialects.wattswarm.request import (
    VerifyRequest,
    WrongShape,
    read_agent_event,
    read_execute,
    read_verify,
)
from signoff.errors import JSONError
from signoff.jsonvalue import parse_pointer
from tests.dialects.wattswarm.world import cases, compact, document, question, reference


def told(request: VerifyRequest) -> tuple[Any, ...]:
    """Everything that a request says."""
    return (
        request.candidate_id,
        request.execution_id,
        request.output_ref,
        request.output,
        request.canonical,
        request.evidence_inline,
        request.evidence_refs,
        request.schema.value,
        request.schema.digest,
        request.policy.binding,
        request.policy.canonical,
    )


def changed(base: Any, at: str, case: dict[str, Any]) -> Any:
    value = deepcopy(base)
    *above, name = parse_pointer(at)
    inside = value
    for token in above:
        inside = inside[int(token) if isinstance(inside, list) else token]
    if case.get("remove"):
        del inside[name]
    else:
        inside[name] = case["value"]
    return value


@cases("shape")
def test_the_first_wrong_member_is_named(case: dict[str, Any]) -> None:
    """Acceptance row 16."""
    base, at = document("shape")["base"], case["at"]
    read_verify(compact(base))
    wrong = changed(base, at, case) if at else case["value"]
    for body in (compact(wrong), json.dumps(wrong, indent=1).encode()):
        with pytest.raises(WrongShape) as raised:
            read_verify(body)
        assert raised.value.pointer == case["pointer"]


def test_of_two_faults_the_first_in_the_order_of_the_tables_is_named() -> None:
    """Acceptance row 16."""
    wrong = {"policy": 1, "candidate": {"execution_id": 1, "candidate_id": "c"}}
    with pytest.raises(WrongShape, match="must be string, got number") as raised:
        read_verify(compact(wrong))
    assert raised.value.pointer == "/candidate/execution_id"


@pytest.mark.parametrize("token", ["-0", "0.0", "1e2", "18446744073709551616", "73.0", "-1"])
@pytest.mark.parametrize("space", ["", " "])
def test_an_unsigned_integer_is_an_integer_token(token: str, space: str) -> None:
    """Acceptance row 16."""
    body = compact(question()).replace(b'"created_at":', f'"created_at":{space}'.encode())
    assert read_verify(body).output_ref.created_at == 1_718_000_000_000
    wrong = body.replace(b"1718000000000", token.encode())
    with pytest.raises(WrongShape) as raised:
        read_verify(wrong)
    assert raised.value.pointer == "/candidate/output_ref/created_at"
    right = body.replace(b"1718000000000", b"18446744073709551615")
    assert read_verify(right).output_ref.created_at == 2**64 - 1


SPELLINGS = [
    pytest.param(compact, id="compact"),
    pytest.param(lambda v: json.dumps(v, indent=2).encode(), id="indented"),
    pytest.param(lambda v: json.dumps(v, sort_keys=True).encode(), id="sorted"),
    pytest.param(lambda v: json.dumps(v, ensure_ascii=True).encode(), id="escaped"),
    pytest.param(lambda v: compact(v | {"x": [1, {"y": 2}]}), id="more"),
    pytest.param(lambda v: compact(v).replace(b'"policy"', b'"\\u0070olicy"'), id="escaped key"),
]


@pytest.mark.parametrize("spelt", SPELLINGS)
def test_a_request_says_the_same_however_it_is_spelt(spelt: Any) -> None:
    """Acceptance row 1."""
    asked = question(
        output={"answer": "\u00e9: x", "n": [1.5, 1e20, 2**63]},
        inline=[{"mime": "text/plain", "content": "a:b"}],
        refs=[reference(b"x")],
        params={"min_x": 0.5},
    )
    assert told(read_verify(spelt(asked))) == told(read_verify(compact(asked)))


@pytest.mark.parametrize("member", ["candidate", "policy", "output_schema", "x"])
@pytest.mark.parametrize("space", ["", " "])
def test_a_duplicate_key_is_refused_at_every_level(member: str, space: str) -> None:
    """Acceptance row 15."""
    whole = compact(question() | {"x": {"a": 1}}).replace(b":", f":{space}".encode())
    start = f'"{member}":{space}{{'.encode()
    assert start in whole
    for twice in (
        whole.replace(start, b'"%s":1,%s' % (member.encode(), start)),
        whole.replace(start, start + b'"twice":1,"twice":"\\u003a:",'),
        whole.replace(start, start + b'"in":[{"b":1,"b":2}],'),
    ):
        with pytest.raises(JSONError, match="duplicate key"):
            read_verify(twice)


@pytest.mark.parametrize("place", [b'"answer":', b'"required":', b'"policy_params":', b'"mime":'])
@pytest.mark.parametrize("bad", [b"NaN", b"1e400", b'"\\ud800"', b'"\xff"', b"[" * 200, b"01"])
def test_bad_json_is_bad_json_wherever_it_stands(place: bytes, bad: bytes) -> None:
    """Acceptance row 15: 400 comes before 422."""
    body = compact(question())
    assert place in body
    with pytest.raises(JSONError):
        read_verify(body.replace(place, place + bad + b","))
    with pytest.raises(JSONError):
        read_verify(body.replace(b'"candidate":', place + bad + b',"candidate":'))


@pytest.mark.parametrize(("levels", "fits"), [(125, True), (126, False)])
@pytest.mark.parametrize("spelt", [compact, lambda v: json.dumps(v, sort_keys=True).encode()])
def test_levels_are_counted_from_the_request(levels: int, fits: bool, spelt: Any) -> None:
    """Acceptance row 15: an output stands two levels deep."""
    deep: Any = 1
    for _ in range(levels):
        deep = [deep]
    body = spelt(question(output=None)).replace(b'"output":null', b'"output":' + compact(deep))
    body = body.replace(b'"output": null', b'"output": ' + compact(deep))
    if fits:
        assert read_verify(body).output == deep
    else:
        with pytest.raises(JSONError, match="127 levels"):
            read_verify(body)


def test_an_absent_output_is_null() -> None:
    asked = question()
    del asked["candidate"]["output"]
    assert read_verify(compact(asked)).output is None


def execute_call(**more: Any) -> dict[str, Any]:
    names = ("task_id", "execution_id", "task_type", "profile", "stage", "attempt_id")
    contract = {"output_schema": {}, "budget": {"time_ms": 5}}
    return {name: name for name in names} | {"inputs": 1, "task_contract": contract} | more


def test_a_call_to_propose_is_read() -> None:
    call = read_execute(compact(execute_call(seed_bundle=None)))
    assert (call.task_id, call.stage, call.time_ms) == ("task_id", "stage", 5)
    for pointer, wrong in (
        ("/inputs", {"inputs": 1}),
        ("/task_contract/output_schema", {"task_contract": {}}),
        ("/task_contract/budget/time_ms", {"task_contract": {"output_schema": 1, "budget": {}}}),
        ("/seed_bundle", {"seed_bundle": []}),
    ):
        body = execute_call(**wrong)
        if pointer == "/inputs":
            del body["inputs"]
        with pytest.raises(WrongShape) as raised:
            read_execute(compact(body))
        assert raised.value.pointer == pointer


def test_an_event_is_read() -> None:
    event: dict[str, Any] = {
        "event_id": "1",
        "event_type": "dm_received",
        "source_kind": "topic_message",
        "payload": None,
        "requires_commit": False,
        "created_at": 1,
        "allowed_actions": [],
    }
    assert read_agent_event(compact({"event": event})).dedupe_key is None
    for name, value in (("event_type", "other"), ("requires_commit", 1), ("dedupe_key", 5)):
        with pytest.raises(WrongShape) as raised:
            read_agent_event(compact({"event": event | {name: value}}))
        assert raised.value.pointer == f"/event/{name}"


@pytest.mark.parametrize("spelt", [compact, lambda body: json.dumps(body, indent=1).encode()])
def test_many_small_schemas_and_policies_are_kept_and_few_large_ones(spelt: Any) -> None:
    def read(size: int, name: str = "") -> VerifyRequest:
        schema, params = {"description": "s" * size + name}, {"note": "p" * size + name}
        return read_verify(spelt(question(schema=schema, params=params)))

    sizes = (100, 7_000, 9_000, 60_000, 70_000)
    before = [read(size) for size in sizes]

    def kept(members: str) -> list[bool]:
        pairs = zip(map(read, sizes), before, strict=True)
        return [getattr(now, members) is getattr(then, members) for now, then in pairs]

    assert kept("schema") == kept("policy") == [True, True, True, True, False]
    for n in range(40):
        read(100, f" other {n}")
        read(9_000, f" other {n}")
    assert kept("schema") == kept("policy") == [True, True, False, False, False]
