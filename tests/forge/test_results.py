"""Statuses and results: what vectors cannot say."""

from __future__ import annotations

import copy
import json
import pickle
from enum import Enum
from typing import Any

import pytest

from signoff.dialects.forge import verification_result_from_dict
from signoff.dialects.forge.errors import VerificationError
from signoff.forge import (
    VerificationResult,
    VerificationStatus,
    verification_result_to_dict,
    verification_results_to_jsonable,
)
from signoff.strictjson import loads
from tests.forge.world import Thing, nested

PASS, FAIL = VerificationStatus.PASS, VerificationStatus.FAIL


def test_row_03_members_have_no_order() -> None:
    for compare in (
        lambda: max(PASS, FAIL),
        lambda: sorted(VerificationStatus),
        lambda: PASS < FAIL,
        lambda: PASS >= "fail",
        lambda: "warn" > FAIL,
        lambda: max("warn", FAIL),
    ):
        with pytest.raises(TypeError, match="no order"):
            compare()


def test_row_03_a_member_is_its_word() -> None:
    assert "fail" == FAIL == f"{FAIL}" == str(FAIL)
    assert {"fail"} == {FAIL}
    assert '{"a": "fail"}' == json.dumps({"a": FAIL})
    assert "  fail" == f"{FAIL:>6}"


def test_row_04_fields_stand_in_their_order() -> None:
    found = VerificationResult(FAIL, "a", "s", {"b": 1}, ["e"], ["w"], 2)  # type: ignore[arg-type]  # any iterable

    assert ("fail", "a", "s", {"b": 1}, ("e",), ("w",), 2.0) == (
        found.status, found.verifier_id, found.summary, found.evidence,
        found.errors, found.warnings, found.elapsed_seconds,
    )  # fmt: skip


def test_row_05_evidence_changed_afterwards_changes_no_result() -> None:
    inner = [1]
    given: dict[str, Any] = {"inner": inner, "set": {1}}
    found = VerificationResult(PASS, "a", "s", given)
    inner.append(2)
    given["more"] = 1
    found.evidence["inner"].append(3)
    found.evidence["more"] = 1
    found.evidence["set"].add(2)

    assert {"inner": [1], "set": {1}} == found.evidence


def test_row_05_results_cannot_be_assigned_to() -> None:
    found = VerificationResult(PASS, "a", "s")
    for name in VerificationResult.__struct_fields__:
        with pytest.raises(AttributeError):
            setattr(found, name, getattr(found, name))


class Colour(Enum):
    RED = 1


@pytest.mark.parametrize(
    "evidence",
    [
        {"deep": nested(10_000)},
        {"deep": nested(62)},
        {True: 2, "true": 3, 1.5: 4, None: 5, (1, 2): 6, b"x": 7, Colour.RED: 8},
        {"big": 10**5_000, "small": -(10**5_000), "long": 2**64},
        {
            "things": [
                Thing(),
                Thing,
                len,
                iter([]),
                Colour.RED,
                memoryview(b"x"),
                bytearray(b"x"),
                1j,
            ]
        },
        {"set": {1, "1", None, (1, 2), frozenset({1})}},
        {"\ud800": "\udfff\ud83d\ude00"},
    ],
    ids=["10,000 deep", "62 deep", "keys", "integers", "things", "sets", "surrogates"],
)
def test_row_06_whatever_it_is_it_survives_strict_json(evidence: Any) -> None:
    result = VerificationResult(PASS, "a\ud800", "s\ud800", evidence)
    document = verification_results_to_jsonable([result])
    text = json.dumps(document, allow_nan=False)

    assert document == json.loads(text)
    if "long" not in evidence:
        assert document == loads(text)


def test_row_06_a_list_of_results_has_at_most_64_levels() -> None:
    deepest: Any = VerificationResult(PASS, "a", "s", {"deep": nested(100)}).evidence["deep"]
    levels = 1
    while isinstance(deepest, list):
        deepest, levels = deepest[0], levels + 1

    assert (62, "[nested too deep]") == (levels, deepest)


RESULTS = [
    VerificationResult(PASS, "a", "s"),
    VerificationResult(FAIL, "a", "s", {"b": [1, {"c": None}]}, ("e", "f"), ("w",), 0.25),
    VerificationResult(VerificationStatus.SKIPPED, "a.b", ""),
]


@pytest.mark.parametrize("result", RESULTS)
def test_row_07_dict_and_back_is_the_same_result(result: VerificationResult) -> None:
    document = verification_result_to_dict(result)

    assert result == verification_result_from_dict(document)
    assert result == verification_result_from_dict(json.loads(json.dumps(document)))
    assert ("elapsed_seconds" in document) is (result.elapsed_seconds is not None)


def test_row_07_elapsed_null_is_read() -> None:
    document = verification_result_to_dict(RESULTS[0])

    assert RESULTS[0] == verification_result_from_dict({**document, "elapsed_seconds": None})


@pytest.mark.parametrize(
    "change",
    [{"more": 1}, {"status": "error"}, {"errors": "x"}, {"evidence": []}, {"summary": 1}],
    ids=str,
)
def test_row_07_what_is_no_result_is_refused(change: Any) -> None:
    with pytest.raises(VerificationError):
        verification_result_from_dict(verification_result_to_dict(RESULTS[1]) | change)


@pytest.mark.parametrize("name", ["status", "verifier_id", "summary", "evidence", "errors"])
def test_row_07_a_missing_field_is_refused(name: str) -> None:
    document = verification_result_to_dict(RESULTS[0])
    del document[name]

    with pytest.raises(VerificationError, match=name):
        verification_result_from_dict(document)


def test_row_07_something_else_is_refused() -> None:
    with pytest.raises(VerificationError, match="object"):
        verification_result_from_dict([])  # type: ignore[arg-type]  # the point of the test


def test_results_give_a_list() -> None:
    assert [
        verification_result_to_dict(one) for one in RESULTS
    ] == verification_results_to_jsonable(iter(RESULTS))


@pytest.mark.parametrize(
    "again", [copy.copy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))]
)
def test_results_can_be_copied(again: Any) -> None:
    assert RESULTS[1] == again(RESULTS[1])
