"""Batches: a line for a line, in order, whatever the pieces; the same verdicts as one by one."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from signoff import STDLIB, Engine, Subject, lock
from signoff.jsonlines import proven_lines
from signoff.ledger import open_ledger
from signoff.model import Finding, failed, passed
from signoff.service.message import Problem
from signoff.service.native.batch import SLICE_LINES
from signoff.service.native.lines import LineSource
from signoff.strictjson import Limits, loads
from tests.service.native import BAD, CONTRACT, GOOD, Native, Pieces
from tests.service.test_native_verdicts import corpus, foreign, text_of


@pytest.fixture
def native(tmp_path: Path) -> Iterator[Native]:
    with Native(tmp_path) as made:
        yield made


def line(**members: Any) -> bytes:
    return json.dumps(members).encode()


def judged(
    native: Native, lines: Iterable[bytes], *, query: str = "", contract: Any = CONTRACT
) -> list[dict[str, Any]]:
    """The answers to lines that come in one piece."""
    digest = native.locked(contract)
    written = native.batch(f"contract={digest}{query}", [b"".join(one + b"\n" for one in lines)])
    return [json.loads(one) for one in b"".join(written.pieces).splitlines()]


# -- answers --


def test_line_is_answered_by_a_line_and_the_last_is_the_sum(native: Native) -> None:
    lines = [line(output=GOOD), line(output=BAD, id="b"), b"{", line(output=None, id=3)]
    digest = native.locked()
    found = judged(native, lines)

    assert {"line": 1, "outcome": "passed"} == found[0]
    assert {"line": 2, "id": "b", "outcome": "failed", "blockers": ["scored"]} == found[1]
    assert {"line": 3, "error": found[2]["error"]} == found[2]
    assert "bad_json" == found[2]["error"]["code"]
    assert (4, 3, "failed") == (found[3]["line"], found[3]["id"], found[3]["outcome"])
    assert {
        "contract": digest,
        "lines": 4,
        "passed": 1,
        "inconclusive": 0,
        "failed": 2,
        "errors": 1,
    } == found[4]
    assert {"contract": digest, "lines": 4} == native.notes


def test_no_lines_are_a_sum_of_nothing(native: Native) -> None:
    [summary] = judged(native, [])

    assert (0, 0, 0) == (summary["lines"], summary["passed"], summary["errors"])


def test_empty_line_is_an_error_and_never_skipped(native: Native) -> None:
    found = judged(native, [b"", line(output=GOOD), b" \r", line(output=GOOD) + b"\r"])

    assert ["bad_json", None, "bad_json", None] == [
        one.get("error", {}).get("code") for one in found[:-1]
    ]
    assert 2 == found[-1]["passed"]


def test_last_line_needs_no_end(native: Native) -> None:
    digest = native.locked()
    written = native.batch(f"contract={digest}", [line(output=GOOD)])

    assert b'{"line":1,"outcome":"passed"}' == b"".join(written.pieces).splitlines()[0]
    assert (200, "application/x-ndjson") == (written.status, written.media_type)


def test_cause_of_what_is_open_is_told(native: Native) -> None:
    contract = {
        "id": "c",
        "criteria": [{"id": "a", "verifier": "latency_under", "params": {"max": 1}}],
    }
    [answer, summary] = judged(native, [line(output=1)], contract=contract)

    assert ("inconclusive", "not_recorded", ["a"]) == (
        answer["outcome"],
        answer["cause"],
        answer["blockers"],
    )
    assert 1 == summary["inconclusive"]


def test_facts_of_a_line_are_judged(native: Native) -> None:
    contract = {
        "id": "c",
        "criteria": [{"id": "a", "verifier": "latency_under", "params": {"max": 100}}],
    }
    found = judged(
        native,
        [line(output=1, elapsed_s=0.05), line(output=1, elapsed_s=1, id="slow")],
        contract=contract,
    )

    assert ["passed", "failed"] == [one["outcome"] for one in found[:-1]]


def test_whole_reports_are_those_of_single_verdicts(native: Native) -> None:
    found = judged(native, [line(output=GOOD, id="g"), line(output=BAD)], query="&detail=report")
    digest = native.locked()
    for answer, output in zip(found, (GOOD, BAD), strict=False):
        alone = native.call("POST", "/v1/verify", {"contract": digest, "output": output}).json
        for report in (alone, answer["report"]):
            report |= {"started": "", "elapsed_s": 0}
            for result in report["results"]:
                result["elapsed_s"] = 0

        assert alone == answer["report"]
        assert alone["verdict"]["outcome"] == answer["outcome"]


@pytest.mark.parametrize(
    ("bad", "code", "pointer"),
    [
        (b"[]", "wrong_shape", ""),
        (b"{}", "wrong_shape", ""),
        (b'{"output": 1, "colour": 2}', "wrong_shape", "/colour"),
        (b'{"output": 1, "contract": {}}', "wrong_shape", "/contract"),
        (b'{"output": 1, "id": ""}', "wrong_shape", "/id"),
        (b'{"output": 1, "id": [1]}', "wrong_shape", "/id"),
        (b'{"output": 1, "elapsed_s": "x"}', "wrong_shape", "/elapsed_s"),
        (b'{"output": 1, "output": 1}', "bad_json", None),
        (b'{"output": 1}{"output": 1}', "bad_json", None),
        (b'{"output": NaN}', "bad_json", None),
        (b'{"output": "\xff"}', "bad_json", None),
        (b'{"output": [' * 70, "bad_json", None),
    ],
)
def test_bad_line_is_told_and_the_next_is_judged(
    native: Native, bad: bytes, code: str, pointer: str | None
) -> None:
    found = judged(native, [line(output=GOOD), bad, line(output=GOOD)])
    error = found[1]["error"]

    assert ["passed", "passed"] == [found[0]["outcome"], found[2]["outcome"]]
    assert (code, pointer) == (error["code"], error.get("pointer"))
    assert error["detail"]


def test_id_of_a_bad_line_comes_back(native: Native) -> None:
    found = judged(native, [b'{"id": "mine", "colour": 1}', b'{"id": 7, "colour": 1}'])

    assert ["mine", 7] == [one["id"] for one in found[:-1]]


def test_line_that_is_too_long_is_told_and_skipped(tmp_path: Path) -> None:
    good = line(output=GOOD)
    with Native(tmp_path, max_body=1000) as native:
        digest = native.locked()
        for long in (b"x" * 1001, b"x" * 100_000):
            body = b"\n".join([good, long, good, long])
            for size in (1, 7, 999, 10**6):
                pieces = [body[at : at + size] for at in range(0, len(body), size)]
                written = native.batch(f"contract={digest}", pieces)
                found = [json.loads(one) for one in b"".join(written.pieces).splitlines()]

                assert ["too_large"] * 2 == [found[at]["error"]["code"] for at in (1, 3)]
                assert ["passed"] * 2 == [found[at]["outcome"] for at in (0, 2)]


def test_line_may_be_no_larger_than_outputs_may_be(tmp_path: Path) -> None:
    with Native(tmp_path, limits=Limits(max_bytes=100)) as native:
        found = judged(native, [line(output=GOOD), line(output=GOOD, id="x" * 100)])
        body = {"contract": native.locked(), "output": GOOD, "id": "x" * 100}
        alone = native.call("POST", "/v1/verify", body)

    assert ("passed", "too_large") == (found[0]["outcome"], found[1]["error"]["code"])
    assert (413, "too_large") == (alone.status, alone.json["code"])


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("", 422),
        ("contract=", 404),
        ("contract=sha256:" + "0" * 64, 404),
        ("contract=../../etc/passwd", 404),
        ("contract", 422),
        ("contract=a&contract=b", 422),
        ("contract=a&colour=b", 422),
        ("contract=a&detail=all", 422),
    ],
)
def test_batch_that_cannot_begin_is_refused(native: Native, query: str, status: int) -> None:
    with pytest.raises(Problem) as caught:
        native.batch(query, [line(output=1)])

    assert status == caught.value.status


@pytest.mark.parametrize("case", corpus())
def test_line_is_strict_json_or_an_error(native: Native, case: dict[str, Any]) -> None:
    """Beside good lines a bad one is an error, and a good one is judged."""
    data = text_of(case)
    if b"\n" in data or len(data) > 2 * 2**20:
        pytest.skip("it is several lines, or too long for one")
    whole = case["name"].startswith("y_")
    found = judged(native, [line(output=GOOD), b'{"output": %b}' % data, line(output=GOOD)])

    assert ["passed", "passed"] == [found[0]["outcome"], found[2]["outcome"]]
    if whole:
        assert "outcome" in found[1]
    elif not data.rstrip().endswith(b"}"):
        assert "bad_json" == found[1]["error"]["code"]


# -- checks that wait --


def test_document_that_was_sent_along_is_no_kept_contract(native: Native) -> None:
    body = {"contract": CONTRACT, "output": GOOD}
    report = native.call("POST", "/v1/verify", body).json
    for digest in (report["contract_digest"], f"document {report['contract_digest']}"):
        with pytest.raises(Problem) as caught:
            native.batch(f"contract={digest.replace(' ', '%20')}", [line(output=GOOD)])

        assert 404 == caught.value.status


def test_lines_that_wait_keep_their_order(tmp_path: Path) -> None:
    def check(subject: Subject) -> Finding:
        return passed("even") if subject.output % 2 == 0 else failed("odd")

    contract = {"id": "c", "criteria": [{"id": "a", "verifier": "theirs"}]}
    with Native(tmp_path, foreign(check)) as native:
        found = judged(native, [line(output=n, id=n) for n in range(50)], contract=contract)

    assert [(n, "failed" if n % 2 else "passed") for n in range(50)] == [
        (one["id"], one["outcome"]) for one in found[:-1]
    ]


def test_schema_that_is_judged_elsewhere_holds_up_nobody(native: Native) -> None:
    schema = {
        "$defs": {"n": {"properties": {"n": {"$ref": "#/$defs/n"}}, "type": "object"}},
        "$ref": "#/$defs/n",
    }
    contract = {
        "id": "c",
        "criteria": [{"id": "a", "verifier": "json_schema", "params": {"schema": schema}}],
    }
    found = judged(native, [line(output={"n": {}}), line(output={"n": 1})], contract=contract)

    assert ["passed", "failed"] == [one["outcome"] for one in found[:-1]]


def test_verdicts_are_in_the_ledger(tmp_path: Path) -> None:
    place = tmp_path / "ledger.sqlite3"
    with Native(tmp_path, ledger=lambda: open_ledger(place)) as native:
        found = judged(native, [line(output=GOOD, id="g"), line(output=BAD, id=2), b"{"])
    with open_ledger(place, may_write=False) as ledger:
        kept = {one.subject: one.outcome.value for one in ledger.verdicts()}

    assert {"g": "passed", "2": "failed"} == kept
    assert (1, 1, 1) == (found[-1]["passed"], found[-1]["failed"], found[-1]["errors"])


def test_line_whose_verdict_cannot_be_kept_is_an_error(tmp_path: Path) -> None:
    with Native(tmp_path, ledger=lambda: open_ledger(tmp_path / "ledger.sqlite3")) as native:
        digest = native.locked()
        native.part._keeper.close()
        written = native.batch(f"contract={digest}", [line(output=GOOD)])
    [answer, summary] = [json.loads(one) for one in b"".join(written.pieces).splitlines()]

    assert "ledger_unusable" == answer["error"]["code"]
    assert (0, 1) == (summary["passed"], summary["errors"])


# -- laws --

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=3),
    lambda below: (
        st.lists(below, max_size=3) | st.dictionaries(st.sampled_from(["score", "a"]), below)
    ),
    max_leaves=8,
)
FRAGMENTS = st.lists(
    st.sampled_from(
        [b"[", b"]", b"{", b"}", b",", b":", b'"', b'"a"', b"1", b" ", b"\\", b"null", b"\r"]
    ),
    max_size=6,
).map(b"".join)


class TestBatchLaws:
    """A batch says of each line what the engine says of it."""

    @settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(st.lists(VALUES, max_size=10), st.integers(1, 50))
    def test_outcomes_are_those_of_the_engine(
        self, native: Native, outputs: list[Any], size: int
    ) -> None:
        engine, locked = Engine(STDLIB), lock(CONTRACT, STDLIB)
        body = b"".join(line(output=one) + b"\n" for one in outputs)
        pieces = [body[at : at + size] for at in range(0, len(body), size)]
        written = native.batch(f"contract={native.locked()}", pieces)
        found = [json.loads(one) for one in b"".join(written.pieces).splitlines()]
        expected = [engine.verify(locked, Subject(output=one)).verdict for one in outputs]

        assert [(one.outcome.value, [*one.blockers]) for one in expected] == [
            (one["outcome"], one.get("blockers", [])) for one in found[:-1]
        ]

    @settings(max_examples=300)
    @given(st.lists(FRAGMENTS, min_size=1, max_size=5))
    def test_lines_are_proven_only_if_each_is_strict_json(self, lines: list[bytes]) -> None:
        """What is proven together is what each line says alone."""
        limits = Limits()
        found = proven_lines(lines, limits=limits)

        assert found is None or [[loads(one, limits=limits)] for one in lines] == found

    @given(
        st.lists(st.binary(max_size=5).map(lambda data: data.replace(b"\n", b""))),
        st.integers(1, 9),
    )
    def test_lines_do_not_depend_on_the_pieces(self, lines: list[bytes], size: int) -> None:
        """A line of up to four bytes is whole, a longer one is none."""
        body = b"".join(one + b"\n" for one in lines)
        found = drained([body[at : at + size] for at in range(0, len(body), size)])

        assert [None if len(one) > 4 else one for one in lines] == found


def drained(pieces: list[bytes]) -> list[Any]:
    """All lines of a body, none longer than four bytes."""
    source, found = LineSource(Pieces(pieces), max_line=4), []

    async def drain() -> None:
        while lines := await source.next():
            found.extend(lines)

    coroutine = drain()
    try:
        coroutine.send(None)
    except StopIteration:
        return found
    raise AssertionError("it waited for something")


@pytest.mark.parametrize(
    "lines",
    [
        [b"1][2"],
        [b"1][2", b"[3", b"4]"],
        [b"1,2"],
        [b""],
        [b'"a', b'b"'],
        [b"1] 2 [3"],
        [b"1] {} [2", b"[", b"]"],
        [b'{"a":1,"a":2}'],
        [b"[" * 66 + b"]" * 66],
        [b"9" * 1001],
    ],
)
def test_lines_that_are_only_good_together_are_not_proven(lines: list[bytes]) -> None:
    assert proven_lines(lines, limits=Limits()) is None


def test_lines_of_many_slices_are_numbered_through(native: Native) -> None:
    count = 3 * SLICE_LINES + 1
    found = judged(native, [line(output=GOOD)] * count)

    assert [*range(1, count + 1)] == [one["line"] for one in found[:-1]]
    assert (count, count) == (found[-1]["lines"], found[-1]["passed"])
