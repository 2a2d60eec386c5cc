"""What the nouns say of themselves."""

from __future__ import annotations

import pytest

from signoff.contract import lock
from signoff.errors import NotJudged, VerdictError
from signoff.model import Report, Subject
from signoff.quick import LOCKED_AT_VERIFY, verify
from signoff.status import Cause, Status
from signoff.verifiers import STDLIB

CONTRACT = {
    "id": "menu",
    "criteria": [
        {"id": "some", "verifier": "not_empty"},
        {"id": "few", "verifier": "count_between", "params": {"max": 2}},
    ],
}


def report_on(output: object) -> Report:
    return verify(CONTRACT, output)


def test_pass_is_handed_on() -> None:
    report = report_on([1])

    assert report is report.raise_for_verdict()


def test_anything_else_is_raised_with_its_blockers() -> None:
    report = report_on([1, 2, 3])

    with pytest.raises(VerdictError, match=r"^menu: failed: few \(length=3, .*\)$") as caught:
        report.raise_for_verdict()

    assert report is caught.value.report


def test_result_is_found_by_its_criterion() -> None:
    report = report_on([1])

    assert "few" == report.result("few").criterion
    with pytest.raises(KeyError):
        report.result("none")


def test_contract_that_was_locked_on_the_spot_is_told() -> None:
    assert (LOCKED_AT_VERIFY,) == report_on([1]).weakened


def test_contract_that_was_locked_before_is_not() -> None:
    assert () == verify(lock(CONTRACT, STDLIB), [1]).weakened


@pytest.mark.parametrize("output", [{1, 2}, float("nan"), {"a": (1,)}, b"text", {1: 2}])
def test_output_that_is_no_json_fails_every_criterion(output: object) -> None:
    report = report_on(output)

    assert not report.passed
    assert Cause.BAD_OUTPUT is report.verdict.cause
    assert [Status.FAIL] * 2 == [result.finding.status for result in report.results]


@pytest.mark.parametrize("text", ["[1", '{"a":1,"a":2}', "\ud800", b"\xff"])
def test_text_that_is_no_json_is_the_fault_of_the_work(text: str | bytes) -> None:
    subject = Subject.from_json(text)

    assert subject.output_fault
    assert subject.digest()


def test_output_that_was_not_recorded_is_not_judged() -> None:
    with pytest.raises(NotJudged) as caught:
        Subject().value()

    assert Status.INCONCLUSIVE is caught.value.finding.status
    assert Cause.NOT_RECORDED is caught.value.finding.cause
    assert Subject().digest() is None


def test_place_that_is_not_there_fails_at_the_last_that_is() -> None:
    with pytest.raises(NotJudged) as caught:
        Subject(output={"a": [1]}).value("/a/1/b")

    assert (Status.FAIL, "/a") == (caught.value.finding.status, caught.value.finding.at)
