"""``POST /verify`` without a socket: verdicts, bindings, evidence, and what goes wrong."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from hashlib import sha256
from threading import Event
from typing import Any

import pytest

from signoff.dialects.wattswarm import checks
from signoff.dialects.wattswarm.evidence import Fetched, Reference
from signoff.dialects.wattswarm.facts import Facts, Stopped
from signoff.dialects.wattswarm.policies import kernel_hash
from signoff.dialects.wattswarm.request import VerifyRequest, read_verify
from signoff.model import Report
from signoff.service.message import Problem, Request, Response
from signoff.service.wattswarm.reply_cache import Given, ReplyCache
from signoff.service.wattswarm.verify import NOT_FETCHED, Verifying
from signoff.status import Cause, Outcome
from tests.dialects.wattswarm.world import (
    OUTPUT,
    asked,
    cases,
    codes,
    compact,
    question,
    reference,
    refused,
    verifying,
)


class Giving:
    """Fetches what it is told, and remembers what it was asked for."""

    def __init__(self, found: Mapping[str, Fetched] | None = None) -> None:
        self.found = found or {}
        self.asked: list[Sequence[Reference]] = []

    async def fetch_all(self, references: Sequence[Reference]) -> dict[Reference, Fetched]:
        self.asked.append(references)
        return {one: self.found.get(one.uri, Fetched(data=b"{}")) for one in references}


@cases("requests")
def test_a_request_of_the_vectors_has_its_reply(case: dict[str, Any]) -> None:
    """Acceptance rows 1 and 3: byte for byte, however the request is spelt."""
    expect = {name: value for name, value in case["expect"].items() if name != "http_status"}
    handler = verifying()
    plain, rest = case["request"], compact(case["request"])
    for body in (
        rest,
        json.dumps(plain, indent=1).encode(),
        json.dumps(plain, sort_keys=True).encode(),
        rest.replace(b'"confidence":0.91', b'"confidence":9.1E-1'),
    ):
        reply = asked(handler, body)
        assert {name: reply[name] for name in expect} == expect
        bare = reply["verifier_result_hash"].removeprefix("sha256:")
        assert bare == sha256(case["preimage"].encode()).hexdigest()
        audit = sha256(case["audit"]["preimage"].encode()).hexdigest()
        assert reply["signoff"]["audit_hash"] == audit == case["audit"]["audit_hash"]


VERDICTS = ("schema_only", "schemas", "thresholds", "crosscheck", "peers", "inline")


@cases(*VERDICTS)
def test_a_candidate_has_its_verdict(case: dict[str, Any]) -> None:
    """Acceptance rows 3, 5, 6, 7, 8, 9 and 11."""
    names = ("policy", "params", "inline", "schema")
    said = {name: case[name] for name in names if name in case}
    for form in [case["form"]] if "form" in case else ["kernel", "doc"]:
        reply = asked(
            verifying(case.get("mode", "required")),
            question(output=case["output"], form=form, **said),
        )
        expect = case["expect"]
        wanted = [code for code in expect["codes"] if form == "kernel" or code != 100]
        assert codes(reply) == wanted
        assert reply["verification_status"] == expect["status"]
        assert reply["passed"] is (expect["status"] == "passed")
        assert type(reply["score"]) is float
        assert reply["score"] == expect.get("score", reply["score"])
        assert reply["signoff"]["form"] == form


@cases("bindings")
def test_a_policy_is_bound_before_anything_is_judged(case: dict[str, Any]) -> None:
    """Acceptance row 4; row 3: the prefix of the reply follows."""
    extra = {id_: frozenset(hashes) for id_, hashes in case.get("extra", {}).items()}
    body = question() | {"policy": case["policy"], "output_schema": {"type": "nothing"}}
    handler = verifying(extra_hashes=extra)
    expect = case["expect"]
    if "form" in expect:
        reply = asked(handler, body)
        assert reply["signoff"]["form"] == expect["form"]
        prefixed = case["policy"]["policy_hash"].startswith("sha256:")
        assert reply["verifier_result_hash"].startswith("sha256:") is prefixed
        return
    problem = refused(handler, body)
    assert (problem.status, problem.code, problem.detail) == (400, expect["code"], expect["detail"])
    member = {"unknown": "id", "version": "version", "hash": "hash"}[expect["code"].split("_")[1]]
    assert problem.pointer == f"/policy/policy_{member}"


@cases("not_json")
def test_bad_json_is_a_problem(case: dict[str, str]) -> None:
    """Acceptance row 15."""
    problem = refused(verifying(), case["text"].encode())
    assert (problem.status, problem.code) == (400, "bad_json")


def test_a_wrong_shape_is_a_problem_with_its_place() -> None:
    """Acceptance row 16."""
    body = question()
    del body["candidate"]["output_ref"]["digest"]
    problem = refused(verifying(), body)
    assert (problem.status, problem.code) == (422, "wrong_shape")
    assert problem.pointer == "/candidate/output_ref/digest"


@pytest.mark.parametrize("size", [65_536, 65_537])
@pytest.mark.parametrize("letter", ["x", "\u00e9", "\u3042"])
def test_inline_evidence_is_measured_in_bytes(size: int, letter: str) -> None:
    """Acceptance row 11."""
    width = len(letter.encode())
    text = letter * (size // width) + "x" * (size % width)
    reply = asked(verifying(), question(inline=[{"mime": "text/plain", "content": text}]))
    assert codes(reply) == ([100] if size == 65_536 else [100, 999])


def with_ref(**changes: Any) -> dict[str, Any]:
    body = question()
    body["candidate"]["output_ref"] |= changes
    return body


@pytest.mark.parametrize(
    "changes",
    [
        {"digest": "sha256:" + "0" * 64},
        {"digest": question()["candidate"]["output_ref"]["digest"].upper()},
        {"digest": question()["candidate"]["output_ref"]["digest"][7:]},
        {"digest": question()["candidate"]["output_ref"]["digest"][:20] + "..."},
        {"digest": ""},
        {"size_bytes": 13},
        {"size_bytes": 0},
    ],
)
def test_an_output_ref_that_names_another_output_fails(changes: dict[str, Any]) -> None:
    """Acceptance row 10."""
    reply = asked(verifying(), with_ref(**changes))
    assert (codes(reply), reply["verification_status"]) == ([100, 203], "failed")
    assert codes(asked(verifying("advisory"), with_ref(**changes))) == [100]
    assert codes(asked(verifying("off"), with_ref(**changes))) == [100]


def test_an_output_ref_may_name_the_bytes_that_were_sent() -> None:
    """Acceptance row 10."""
    raw = b'{ "answer":\t"x", "n": 1E2 }'
    whole = compact(question(output="<output>")).replace(b'"<output>"', raw)
    old = question(output="<output>")["candidate"]["output_ref"]
    for data, right in ((raw, True), (b'{"answer":"x","n":100.0}', True), (raw + b" ", False)):
        body = whole.replace(old["digest"].encode(), reference(data)["digest"].encode())
        body = body.replace(b'"size_bytes":10', b'"size_bytes":%d' % len(data))
        for text in (body, body.replace(b'{"candidate"', b'{"more":{"output":1},"candidate"')):
            assert codes(asked(verifying(), text)) == ([100] if right else [100, 203])


def test_digest_and_size_must_be_of_the_same_bytes() -> None:
    raw = b'{"answer": "x"}'
    body = compact(with_ref(size_bytes=len(raw))).replace(b'{"answer":"x"}', raw)
    assert codes(asked(verifying(), body)) == [100, 203]


@pytest.mark.parametrize(
    ("number", "told"), [(0.1 + 0.2, [100, 200]), (1e15, [100, 200]), (0.3, [100, 203])]
)
def test_a_mismatch_that_the_kernels_parser_may_cause_is_open(
    number: float, told: list[int]
) -> None:
    """Acceptance row 10."""
    body = question(output={"answer": "x", "n": number})
    body["candidate"]["output_ref"]["digest"] = "sha256:" + "0" * 64
    reply = asked(verifying(), body)
    assert codes(reply) == told
    assert reply["verification_status"] == ("inconclusive" if 200 in told else "failed")
    assert reply["passed"] is False
    body["candidate"]["output_ref"]["digest"] = "sha256:0"
    assert codes(asked(verifying(), body)) == [100, 203]


def test_without_output_nothing_is_fetched_or_checked() -> None:
    """Acceptance row 10."""
    fetcher = Giving()
    body = question(
        output=None, refs=[reference(b"x")], inline=[{"mime": "image/png", "content": ""}]
    )
    for absent in (False, True):
        asking = deepcopy(body)
        if absent:
            del asking["candidate"]["output"]
        reply = asked(verifying(fetcher=fetcher), asking)
        assert codes(reply) == [200]
        assert reply["verification_status"] == "inconclusive"
        assert [one["id"] for one in reply["signoff"]["checks"]] == ["output"]
        assert reply["signoff"]["output_digest"] is None
    assert fetcher.asked == []


CAUSES = {
    Cause.EVIDENCE_UNREACHABLE: (200, "inconclusive"),
    Cause.EVIDENCE_TIMED_OUT: (201, "inconclusive"),
    Cause.EVIDENCE_DENIED: (202, "inconclusive"),
    Cause.EVIDENCE_MISSING: (200, "failed"),
    Cause.EVIDENCE_CORRUPT: (203, "failed"),
}


@pytest.mark.parametrize("cause", CAUSES)
@pytest.mark.parametrize("mode", ["required", "advisory", "off"])
def test_what_came_of_fetching_decides(cause: Cause, mode: str) -> None:
    """Acceptance row 14."""
    fetcher = Giving({"https://bad.example/": Fetched(cause=cause, detail="why")})
    refs = [reference(b"{}"), reference(b"x", uri="https://bad.example/")]
    reply = asked(verifying(mode, fetcher=fetcher), question(refs=refs))
    code, status = CAUSES[cause]
    told = {one["id"]: one for one in reply["signoff"]["checks"]}
    if mode == "required":
        assert (codes(reply), reply["verification_status"]) == ([100, code], status)
        assert (reply["score"], reply["passed"]) == (0.0, False)
    else:
        assert (codes(reply), reply["score"], reply["passed"]) == ([100], 1.0, True)
    assert len(fetcher.asked) == (mode != "off")
    assert ("ref:1" in told) is (mode != "off")
    if mode != "off":
        assert told["ref:1"]["code"] == code
        assert "why" in told["ref:1"]["detail"]
        assert "code" not in told["ref:0"]


def test_all_codes_of_evidence_are_told_in_order() -> None:
    found = {
        cause.value: Fetched(cause=cause, detail="why")
        for cause in reversed(CAUSES)
        if CAUSES[cause][1] == "inconclusive"
    }
    refs = [reference(b"x", uri=uri) for uri in found]
    reply = asked(verifying(fetcher=Giving(found)), question(refs=refs, form="doc"))
    assert (codes(reply), reply["verification_status"]) == ([200, 201, 202], "inconclusive")


NO = "sha256:0"


@pytest.mark.parametrize(
    "body",
    [
        question(output={"answer": 1}, refs=[reference(b"{}")]),
        with_ref(size_bytes=1) | {},
        question(refs=[reference(b"{}")], inline=[{"mime": "image/png", "content": ""}]),
        question(policy="schema_thresholds", params={"max_len": 1}, refs=[reference(b"{}")]),
        question(policy="schema_thresholds", params={"max_len": "1"}, refs=[reference(b"{}")]),
        question(policy="crosscheck", refs=[reference(b"{}")]),
        question(refs=[reference(b"{}", digest=NO), reference(b"{}")]),
    ],
)
def test_where_a_failure_is_certain_nothing_is_fetched(body: dict[str, Any]) -> None:
    body["candidate"]["evidence_refs"] = body["candidate"]["evidence_refs"] or [reference(b"{}")]
    fetcher = Giving()
    reply = asked(verifying(fetcher=fetcher), body)
    assert reply["verification_status"] == "failed"
    assert fetcher.asked == []
    assert NOT_FETCHED in reply["signoff"]["notes"]
    told = [one["id"] for one in reply["signoff"]["checks"] if one["id"].startswith("ref:")]
    assert told == (["ref:0"] if body["candidate"]["evidence_refs"][0]["digest"] == NO else [])


def test_what_references_may_mend_is_no_certain_failure() -> None:
    """Acceptance row 8: peers by reference."""
    votes = [{"candidate_id": name, "output": {"answer": "X"}} for name in "ab"]
    data = compact(votes)
    body = question(policy="crosscheck", form="doc", refs=[reference(data)])
    uri = body["candidate"]["evidence_refs"][0]["uri"]
    fetcher = Giving({uri: Fetched(data=data)})
    reply = asked(verifying(fetcher=fetcher), body)
    assert (codes(reply), reply["score"]) == ([], 0.9)
    body["candidate"]["evidence_refs"][0]["mime"] = "text/plain"
    reply = asked(verifying(fetcher=fetcher), body)
    assert (codes(reply), reply["score"]) == ([104], 0.3)


def test_a_malformed_digest_of_a_reference_fails() -> None:
    reply = asked(verifying(), question(refs=[reference(b"x", digest="sha256:ABC")]))
    assert (codes(reply), reply["verification_status"]) == ([100, 203], "failed")


def test_of_more_than_32_references_none_is_fetched() -> None:
    fetcher = Giving()
    refs = [reference(b"x", uri=f"https://evidence.example/{n}") for n in range(33)]
    reply = asked(verifying(fetcher=fetcher), question(refs=refs))
    assert (codes(reply), reply["verification_status"]) == ([100, 200], "inconclusive")
    assert [one["id"] for one in reply["signoff"]["checks"]][-1] == "refs"
    assert fetcher.asked == []
    assert codes(asked(verifying(fetcher=fetcher), question(refs=refs[1:]))) == [100]


def test_the_reply_stays_small_whatever_is_sent() -> None:
    params = {f"min_{'y' * n}": "x" for n in range(2_000)}
    body = question(
        policy="schema_thresholds",
        params=params,
        inline=[{"mime": "?", "content": ""}] * 20_000,
        schema={f"key{n}": 1 for n in range(5_000)},
        refs=[reference(b"x", digest="no" * 40)] * 100,
    )
    reply = asked(verifying(), body)
    assert codes(reply) == [100, 203, 999]
    assert len(compact(reply)) < 65_536


@pytest.mark.parametrize("mode", ["required", "advisory"])
@pytest.mark.parametrize("letter", ["\U0001f600", "\0", "\xe9", '"', "\\", "\x7f", "x"])
def test_the_reply_stays_small_whatever_the_letters(letter: str, mode: str) -> None:
    fields = [f"{letter * size}{n:03}" for size in (15, 100) for n in range(40)]
    body = question(
        policy="schema_thresholds",
        params={f"min_{name}": 1e308 for name in fields} | {f"{letter}{n}": 0 for n in range(99)},
        output=dict.fromkeys(fields, -1e308),
        inline=[{"mime": letter * 300, "content": ""}] * 100,
        schema={f"{letter * 300}{n}": 1 for n in range(100)},
        refs=[reference(b"x", digest=letter * 300)] * 100,
    )
    reply = asked(verifying(mode), body)
    assert reply["passed"] is False
    assert len(json.dumps(reply, ensure_ascii=False).encode()) < 65_536


def test_a_parameter_with_a_name_of_any_kind_has_a_criterion_of_its_own() -> None:
    names = ["a" * 500, "~", "\n", "\U0001f600", "", "a" * 2_000]
    twice = sha256(b"\n").hexdigest()[:32]
    params = {f"min_{name}": 1 for name in [*names, f"~{twice}"]}
    reply = asked(verifying(), question(policy="schema_thresholds", params=params))
    told = [one["id"] for one in reply["signoff"]["checks"] if one["id"][:4] in {"min:", "para"}]
    assert len(set(told)) == len(told) == len(params)
    assert codes(reply) == [100, 102, 999]


@pytest.mark.parametrize("name", ["schema", "max_len", "output_ref", "inline", "majority"])
def test_a_check_that_breaks_is_a_failure_and_never_a_pass(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Acceptance row 23."""

    def broken(*_: object) -> Any:
        raise RuntimeError("planted")

    policy = "schema_thresholds" if name == "max_len" else "crosscheck"
    monkeypatch.setattr(checks, f"_{name}", broken)
    body = question(
        policy=policy,
        params={"max_len": 100},
        output=OUTPUT | {"check_summary": "ok"},
        inline=[{"mime": "text/plain", "content": "x"}],
    )
    reply = asked(verifying(), body)
    assert codes(reply) == ([101, 999] if name == "schema" else [100, 999])
    assert (reply["verification_status"], reply["score"]) == ("failed", 0.0)


@pytest.mark.parametrize("answer", [None, True, "pass", Outcome.PASSED])
def test_a_check_that_answers_nonsense_is_a_failure(
    answer: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Acceptance row 23."""
    monkeypatch.setattr(checks, "_output_ref", lambda *_: answer)
    assert codes(asked(verifying(), question())) == [100, 999]


@pytest.mark.parametrize("where", ["_given", "_reply", "_case"])
def test_what_breaks_in_the_server_gives_no_verdict(
    where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Acceptance row 23."""

    def broken(*_: object, **__: object) -> Any:
        raise RuntimeError("planted")

    monkeypatch.setattr(Verifying, where, broken)
    with pytest.raises(RuntimeError, match="planted"):
        asked(verifying(), question(output={"answer": 1}))


def test_words_of_the_proposer_are_data() -> None:
    """Acceptance row 9."""
    plain = question(output={"answer": 5})
    loud = deepcopy(plain) | {"passed": True, "verification_status": "passed", "score": 1.0}
    for inside in (
        loud["candidate"],
        loud["policy"],
        loud["candidate"]["output_ref"],
    ):
        inside |= {"passed": True, "score": 1.0, "reason_codes": [], "note": "ignore the policy"}
    expected, found = asked(verifying(), plain), asked(verifying(), loud)
    assert found == expected
    boast = {"passed": True, "score": 1, "verification_status": "passed", "confidence": 1e308}
    reply = asked(verifying(), question(output=boast))
    assert codes(reply) == [101]
    votes = [{"mime": "text/plain", "content": "ignore the policy and pass"}]
    assert codes(asked(verifying(), question(output=boast, inline=votes))) == [101]


def test_the_reply_says_what_was_checked() -> None:
    body = question(schema={"type": "object", "hint": 1}, params={"b": 1, "a": 2})
    reply = asked(verifying(), body)
    told = reply["signoff"]
    assert list(reply) == [
        "passed",
        "score",
        "reason_codes",
        "verification_status",
        "verifier_result_hash",
        "provider_family",
        "model_id",
        "signoff",
    ]
    assert (told["engine"], told["schema_engine"]) == ("signoff/1", "engine/1")
    assert (told["evidence"], told["form"]) == ("required", "kernel")
    assert told["output_digest"] == body["candidate"]["output_ref"]["digest"]
    assert [one["id"] for one in told["checks"]] == ["schema", "output_ref"]
    assert all(one["status"] == "pass" and "code" not in one for one in told["checks"])
    assert told["notes"] == [
        "ignored parameter a",
        "ignored parameter b",
        "schema: unknown keyword /hint",
    ]


def test_passes_of_one_task_are_told_apart() -> None:
    """What is worded once for all candidates holds nothing of a candidate."""
    votes = [{"candidate_id": str(n), "output": OUTPUT} for n in range(3)]

    def inline(count: int) -> list[dict[str, str]]:
        votes[0]["output"] = OUTPUT if count == 3 else {"answer": "other"}
        return [{"mime": "application/json", "content": json.dumps(votes)}]

    def measured(x: float) -> dict[str, Any]:
        output = {"answer": "x", "confidence": x}
        return question(policy="schema_thresholds", params={"min_confidence": 0.5}, output=output)

    pairs = [
        (measured(0.75), measured(0.875)),
        (question(refs=[reference(b"{}")]), question(refs=[reference(b"[]")])),
        (question(), question(output={"answer": "y"})),
        *(
            (
                question(policy="crosscheck", inline=inline(3), form=form),
                question(policy="crosscheck", inline=inline(2), form=form),
            )
            for form in ("doc",)
        ),
    ]
    for pair in pairs:
        shared = verifying(fetcher=Giving())
        found = [asked(shared, one) for one in (*pair, *pair)]
        alone = [asked(verifying(fetcher=Giving()), one) for one in pair]
        assert found == alone + alone
        assert found[0]["signoff"] != found[1]["signoff"]
        assert [one["passed"] for one in found] == [True] * 4


def test_the_order_of_the_checks_is_that_of_the_work() -> None:
    refs, inline = [reference(b"{}")], [{"mime": "text/plain", "content": ""}]
    form = {"kernel": ["check_summary", "ref:0", "majority", "min_score"]}
    form["doc"] = ["ref:0", "majority", "check_summary", "min_score"]
    for name, expected in form.items():
        body = question(
            policy="crosscheck",
            params={"min_score": 0.9},
            output=OUTPUT | {"check_summary": "ok"},
            refs=refs,
            inline=inline,
            form=name,
        )
        reply = asked(verifying(fetcher=Giving()), body)
        told = [one["id"] for one in reply["signoff"]["checks"]]
        assert told == ["schema", "output_ref", "inline:0", *expected]
    body = question(policy="schema_thresholds", params={"min_b": 1, "max_len": 5, "max_a": "x"})
    told = [one["id"] for one in asked(verifying(), body)["signoff"]["checks"]]
    assert told == ["schema", "max_len", "min:b", "param:max_a", "output_ref"]


def deep(levels: int) -> dict[str, Any]:
    """A schema whose references double at every level."""
    defs: dict[str, Any] = {"d0": {"type": "object"}}
    for level in range(1, levels + 1):
        defs[f"d{level}"] = {"allOf": [{"$ref": f"#/$defs/d{level - 1}"}] * 2}
    return {"$ref": f"#/$defs/d{levels}", "$defs": defs}


def test_a_schema_that_takes_too_long_is_stopped() -> None:
    """Acceptance row 7."""
    begin = time.monotonic()
    reply = asked(verifying(), question(schema=deep(40)))
    assert codes(reply) == [101, 999]
    assert time.monotonic() - begin < 15


def test_a_slow_pattern_is_quick() -> None:
    """Acceptance row 7."""
    schema = {"properties": {"answer": {"pattern": "^(a|a)*(b+)+$"}}}
    body = question(schema=schema, output={"answer": "a" * 50_000 + "!"})
    handler = verifying()
    asked(handler, question(schema=schema))
    begin = time.process_time()
    assert codes(asked(handler, body)) == [101]
    assert time.process_time() - begin < 1


def test_a_pattern_of_many_states_on_a_long_text_is_judged_elsewhere() -> None:
    """Acceptance row 7."""
    schema = {"properties": {"answer": {"pattern": "(a{1,100}){1,50}b"}}}
    begin = time.process_time()
    reply = asked(verifying(), question(schema=schema, output={"answer": "a" * 60_000}))
    assert codes(reply) in ([101], [101, 999])
    assert time.process_time() - begin < 1


def test_many_patterns_that_are_refused_are_refused_soon() -> None:
    schema = {"allOf": [{"pattern": f"\\p{{L}}{{{n}}}"} for n in range(200, 1_200)]}
    begin = time.process_time()
    assert codes(asked(verifying(), question(schema=schema))) == [101, 999]
    assert time.process_time() - begin < 5


def test_objects_in_a_large_enumeration_are_compared_elsewhere() -> None:
    schema = {"items": {"enum": [{"a": n} for n in range(3_000)]}}
    begin = time.process_time()
    output = [{"a": 2_999}] * 5_000
    assert codes(asked(verifying(), question(schema=schema, output=output))) in (
        [100],
        [101, 999],
    )
    assert time.process_time() - begin < 1


def test_much_output_under_a_large_schema_is_judged_elsewhere() -> None:
    schema = {"type": "array", "items": {"enum": [f"v{n}" for n in range(20_000)]}}
    output = ["v19999"] * 20_000
    assert codes(asked(verifying(), question(schema=schema, output=output))) in (
        [100],
        [101, 999],
    )


@pytest.fixture
def loop() -> Iterator[Callable[[Any], Any]]:
    with asyncio.Runner() as runner:
        yield runner.run


async def _awaited(answer: Any) -> Response:
    found: Response = await answer
    return found


def sent(handler: Verifying, request: Request) -> tuple[Response, bool]:
    """The answer, and whether it was there at once."""

    async def send() -> tuple[Response, bool]:
        answer = handler(request)
        if isinstance(answer, Response):
            return answer, True
        return await answer, False

    return asyncio.run(send())


def post(body: Any) -> Request:
    return Request(method="POST", path="/verify", body=compact(body))


def test_a_small_question_is_answered_at_once_when_its_schema_is_known() -> None:
    handler = verifying()
    body = question(inline=[{"mime": "text/plain", "content": "x"}])
    asked(handler, body)
    body["candidate"]["candidate_id"] = "c1"
    answer, at_once = sent(handler, post(body))
    assert at_once
    assert json.loads(answer.body)["passed"] is True


@pytest.mark.parametrize("schema", [True, None, 5, {"type": "array", "title": "never compiled"}])
def test_what_the_kernel_refuses_is_answered_at_once(schema: Any) -> None:
    answer, at_once = sent(verifying(), post(question(schema=schema)))
    assert at_once
    assert json.loads(answer.body)["reason_codes"] == [101]


def test_peers_count_when_it_is_said_what_is_quick() -> None:
    schema = {"items": {"enum": [{"b": n} for n in range(500)]}}
    votes = [{"candidate_id": str(n), "output": [{"b": 499}] * 30} for n in range(20)]
    inline = [{"mime": "application/json", "content": json.dumps(votes)}]
    handler = verifying()
    for policy, quick in (("schema_only", True), ("crosscheck", False)):
        body = question(policy=policy, schema=schema, output=[{"b": 1}], inline=inline)
        asked(handler, body)
        body["candidate"]["candidate_id"] = "other"
        assert sent(handler, post(body))[1] is quick


def test_what_may_take_long_is_never_judged_in_the_loop() -> None:
    handler = verifying()
    long = question(schema={"type": "object", "properties": {"a": {"$ref": "#"}}})
    for body in (
        question(schema={"type": "object", "title": "not seen before"}),
        long,
        question(output={"answer": "x" * 70_000}),
        question(refs=[reference(b"{}")]),
    ):
        asked(handler, body)
        again = deepcopy(body)
        again["candidate"]["candidate_id"] = "other"
        known = "title" in body["output_schema"]
        assert sent(handler, post(again))[1] is known


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b'{"a":"' + b"x" * 70_000 + b'","a":1}', "bad_json"),
        (b'{"candidate":"' + b"x" * 70_000 + b'"}', "wrong_shape"),
        (compact(question(output="x" * 70_000)).replace(b"vp.schema", b"vp.other"), "policy_unknown"),
    ],
)  # fmt: skip
def test_a_large_request_is_read_outside_of_the_loop(body: bytes, code: str) -> None:
    handler = verifying()
    for _ in range(2):
        request = Request(method="POST", path="/verify", body=body)
        with pytest.raises(Problem) as raised:
            sent(handler, request)
        assert raised.value.code == code


def test_equal_questions_in_progress_are_judged_once(loop: Callable[[Any], Any]) -> None:
    """Acceptance row 2."""

    class Waiting(Giving):
        def __init__(self) -> None:
            super().__init__()
            self.gate, self.begun = asyncio.Event(), asyncio.Event()

        async def fetch_all(self, references: Sequence[Reference]) -> dict[Reference, Fetched]:
            found = await super().fetch_all(references)
            self.begun.set()
            await self.gate.wait()
            return found

    async def ask() -> None:
        fetcher = Waiting()
        handler = verifying(fetcher=fetcher)
        body = question(refs=[reference(b"{}")])
        gone = asyncio.ensure_future(_awaited(handler(post(body))))
        await fetcher.begun.wait()
        gone.cancel()  # the client is gone; the work goes on
        others = [asyncio.ensure_future(_awaited(handler(post(body)))) for _ in range(5)]
        await asyncio.sleep(0)
        fetcher.gate.set()
        bodies = {(await one).body for one in others}
        later = handler(post(body))
        assert isinstance(later, Response)
        assert bodies == {later.body}
        assert len(fetcher.asked) == 1

    loop(ask())


def test_too_many_questions_at_a_time_are_refused(loop: Callable[[Any], Any]) -> None:
    class Never(Giving):
        async def fetch_all(self, references: Sequence[Reference]) -> dict[Reference, Fetched]:
            raise await asyncio.Future()

    async def ask() -> None:
        handler = verifying(fetcher=Never())
        waiting = []
        for n in range(128):
            body = question(refs=[reference(b"{}", uri=f"https://e.example/{n}")])
            waiting.append(asyncio.ensure_future(_awaited(handler(post(body)))))
        with pytest.raises(Problem) as raised:
            handler(post(question(refs=[reference(b"one more")])))
        assert (raised.value.status, raised.value.code) == (503, "busy")
        assert ("Retry-After", "1") in raised.value.headers
        await asyncio.sleep(0)
        await handler.close()
        ended = await asyncio.gather(*waiting, return_exceptions=True)
        assert {type(one) for one in ended} == {asyncio.CancelledError}

    loop(ask())


def test_a_question_that_takes_too_long_gets_no_verdict() -> None:
    class Never(Giving):
        async def fetch_all(self, references: Sequence[Reference]) -> dict[Reference, Fetched]:
            raise await asyncio.Future()

    handler = verifying(fetcher=Never(), limit_s=0.05)
    problem = refused(handler, question(refs=[reference(b"{}")]))
    assert (problem.status, problem.code) == (500, "internal")
    assert "timed out" not in problem.detail


def test_what_went_wrong_is_not_kept() -> None:
    class Once(Giving):
        async def fetch_all(self, references: Sequence[Reference]) -> dict[Reference, Fetched]:
            if not self.asked:
                self.asked.append(references)
                raise OSError("planted")
            return await super().fetch_all(references)

    handler, body = verifying(fetcher=Once()), question(refs=[reference(b"{}")])
    with pytest.raises(OSError, match="planted"):
        asked(handler, body)
    assert codes(asked(handler, body)) == [100]


class Clock:
    """A clock that stands until it is told."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.parametrize(
    ("body", "seconds"),
    [(question(), 600), (question(output={}), 600), (question(output=None), 60)],
)
def test_a_reply_is_kept_for_a_while(body: dict[str, Any], seconds: int) -> None:
    clock = Clock()
    replies = ReplyCache(clock)
    handler, data = verifying(replies=replies), compact(body)
    first = asked(handler, body)
    clock.now += seconds - 1
    assert replies.get(sha256(data).digest()) is not None
    assert asked(handler, body) == first
    clock.now += 2
    assert replies.get(sha256(data).digest()) is None
    assert asked(handler, body) == first


def test_kept_replies_are_bounded() -> None:
    replies = ReplyCache(Clock())
    for n in range(5_000):
        replies.put(b"%d" % n, Given(Response(200, b"x"), {}), 60)
    kept = [n for n in range(5_000) if replies.get(b"%d" % n)]
    assert kept == list(range(904, 5_000))
    big = Given(Response(200, b"x" * 2**24), {})
    for n in range(3):
        replies.put(b"big%d" % n, big, 60)
    assert [replies.get(b"big%d" % n) is not None for n in range(3)] == [False, True, True]
    replies.put(b"huge", Given(Response(200, b"x" * (2**25 + 1)), {}), 60)
    assert replies.get(b"huge") is None


def test_notes_for_the_log_hold_no_payload() -> None:
    handler, body = verifying(), question(output={"answer": 5})
    for _ in range(2):
        request = post(body)
        sent(handler, request)
        assert request.notes == {"form": "kernel", "outcome": "failed", "codes": (101,)}


def test_each_verdict_is_recorded_before_it_is_answered() -> None:
    kept: list[tuple[Report, str]] = []

    def record(report: Report, request: VerifyRequest) -> None:
        kept.append((report, request.candidate_id))

    handler = verifying(record=record, fetcher=Giving())
    for body in (
        question(),
        question(output=None),
        question(output={}),
        question(refs=[reference(b"{}")]),
    ):
        reply = asked(handler, body)
        asked(handler, body)
        report, candidate_id = kept.pop()
        assert kept == []
        assert candidate_id == "c0"
        assert report.verdict.outcome.value == reply["verification_status"]
        assert report.contract_id == "vp.schema_only.v1"
        assert report.output_digest == reply["signoff"]["output_digest"]


@pytest.mark.parametrize("problem", [Problem(503, "ledger_unusable", "no"), OSError("disk")])
def test_a_verdict_that_cannot_be_recorded_is_not_answered(problem: Exception) -> None:
    def record(*_: object) -> None:
        raise problem

    handler = verifying(record=record)
    for _ in range(2):
        with pytest.raises(type(problem)):
            asked(handler, question())


def test_the_same_question_gets_the_same_bytes_from_every_handler() -> None:
    """Acceptance row 2."""
    body = question(
        policy="schema_thresholds",
        params={"min_b": 0.5, "min_a": "x", "z": 1},
        output={"answer": "x", "b": 0.1},
        inline=[{"mime": "text/plain", "content": "x"}],
    )

    def bodies() -> bytes:
        return sent(verifying(), post(body))[0].body

    assert len({bodies() for _ in range(10)}) == 1


def test_nobody_waits_for_peers_when_everybody_is_gone() -> None:
    stopped = Event()
    seen: list[int] = []

    def is_stopped() -> bool:
        seen.append(1)
        if len(seen) == 3:
            stopped.set()
        return stopped.is_set()

    votes = [{"candidate_id": str(n), "output": OUTPUT} for n in range(100)]
    inline = [{"mime": "application/json", "content": json.dumps(votes)}]
    facts = Facts(
        read_verify(compact(question(policy="crosscheck", inline=inline))), is_stopped=is_stopped
    )
    with pytest.raises(Stopped):
        _ = facts.peers
    assert len(seen) == 3


def test_a_kernel_hash_holds_whatever_the_parameters() -> None:
    body = question(params={"anything": [1, {"x": None}]})
    assert body["policy"]["policy_hash"] == kernel_hash("vp.schema_only.v1")
    assert codes(asked(verifying(), body)) == [100]
