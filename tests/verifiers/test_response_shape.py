"""response_shape by a predicate: true is a pass, false a failure, anything else an error."""

from __future__ import annotations

from collections.abc import Callable
from math import nan
from typing import Any

import pytest

from signoff.contract import lock
from signoff.engine import Engine
from signoff.errors import ContractError
from signoff.model import Finding, LockedContract, Report, Subject, failed, passed, warned
from signoff.registry import Powers, Registry
from signoff.status import Cause, Status
from signoff.verifiers import STDLIB


def registry(function: Callable[..., Any]) -> Registry:
    return STDLIB.with_powers(Powers(predicates={"tidy": function}))


def locked(function: Callable[..., Any], **params: Any) -> LockedContract:
    criterion = {"id": "it", "verifier": "response_shape", "params": {"predicate": "tidy"} | params}
    after = {"id": "then", "verifier": "equals", "params": {"value": {"a": [1, 2]}}}
    return lock({"id": "shape", "criteria": [criterion, after]}, registry(function))


def report_on(function: Callable[..., Any], **params: Any) -> Report:
    contract = locked(function, **params)
    return Engine(registry(function)).verify(contract, Subject(output={"a": [1, 2]}))


def finding(function: Callable[..., Any], **params: Any) -> Finding:
    return report_on(function, **params).results[0].finding


def test_true_passes() -> None:
    assert passed('Predicate "tidy" passed.') == finding(lambda value, args: True)


def test_false_fails_at_the_path() -> None:
    assert failed('Predicate "tidy" failed.', at="/a") == (
        finding(lambda value, args: False, path="/a")
    )


def test_predicate_gets_the_value_at_the_path_and_the_args() -> None:
    def predicate(value: Any, args: Any) -> bool:
        return bool(value == 2 and args == {"most": 3})

    assert Status.PASS is finding(predicate, path="/a/1", args={"most": 3}).status


def test_args_are_empty_when_absent() -> None:
    assert Status.PASS is finding(lambda value, args: args == {}).status


@pytest.mark.parametrize(
    "expected", [passed("fine"), warned("look", at="/a"), failed("no", at="/a/1")]
)
def test_finding_is_taken_as_it_is(expected: Finding) -> None:
    assert expected == finding(lambda value, args: expected)


def test_detail_of_a_finding_is_one_line() -> None:
    assert "a\\u000ab" == finding(lambda value, args: passed("a\nb")).detail


@pytest.mark.parametrize("answer", [None, 1, 0, "pass", [], {"pass": True}, Status.PASS, nan])
def test_anything_else_is_an_error(answer: Any) -> None:
    found = finding(lambda value, args: answer)

    assert Status.ERROR is found.status
    assert Cause.VERIFIER_BROKE is found.cause
    assert (
        "Verifier threw: a predicate must return true, false or a finding, "
        f"got {type(answer).__name__}"
    ) == found.detail


@pytest.mark.parametrize(
    "wrong",
    [
        Finding(status="pass", detail="no member of Status"),  # type: ignore[arg-type]  # on purpose
        Finding(status=Status.PASS, detail=5),  # type: ignore[arg-type]  # on purpose
        Finding(status=Status.PASS, detail="", data=nan),
        Finding(status=Status.PASS, detail="", data={1, 2}),
        Finding(status=Status.PASS, detail="", score=nan),
        Finding(status=Status.PASS, detail="", at=5),  # type: ignore[arg-type]  # on purpose
        Finding(status=Status.PASS, detail="", evidence=("a",)),  # type: ignore[arg-type]  # on purpose
        Finding(status=Status.PASS, detail="", cause=Cause.TIMED_OUT),
        Finding(status=Status.PASS, detail="", at="nonsense"),
        Finding(status=Status.SKIPPED, detail="not looked at"),
    ],
)
def test_finding_with_wrong_fields_is_an_error(wrong: Finding) -> None:
    report = report_on(lambda value, args: wrong)

    assert Status.ERROR is report.results[0].finding.status
    assert not report.passed


def test_predicate_that_raises_is_an_error() -> None:
    def predicate(value: Any, args: Any) -> bool:
        raise KeyError("x")

    assert "Verifier threw: 'x'" == finding(predicate).detail


def test_predicate_that_changes_the_output_is_an_error_and_nobody_sees_the_change() -> None:
    def predicate(value: Any, args: Any) -> bool:
        value["a"].append(3)
        return True

    report = report_on(predicate)

    assert "Verifier changed the output." == report.results[0].finding.detail
    assert Status.ERROR is report.results[0].finding.status
    assert Status.PASS is report.results[1].finding.status


def test_predicate_that_changes_its_args_changes_them_for_itself_alone() -> None:
    def predicate(value: Any, args: Any) -> bool:
        args["seen"] = args.get("seen", 0) + 1
        return bool(args["seen"] == 1)

    engine = Engine(registry(predicate))
    plan = engine.prepare(locked(predicate, args={"a": 1}))
    subject = Subject(output={"a": [1, 2]})

    assert [True, True] == [
        engine.judge(plan, subject)[0][0].finding.status.holds for _ in range(2)
    ]


def test_predicate_that_this_program_does_not_know_is_an_error() -> None:
    contract = locked(lambda value, args: True)
    found = Engine(STDLIB).verify(contract, Subject(output=1)).results[0].finding

    assert Status.ERROR is found.status
    assert Cause.BAD_PARAMS is found.cause
    assert 'no predicate named "tidy".' == found.detail


def test_unknown_predicate_is_a_fault_with_its_place() -> None:
    criterion = {"id": "it", "verifier": "response_shape", "params": {"predicate": "tidy"}}
    with pytest.raises(ContractError) as caught:
        lock({"id": "shape", "criteria": [criterion]}, STDLIB)

    assert [("/criteria/0/params/predicate", 'no predicate named "tidy"')] == [
        (fault.where, fault.message) for fault in caught.value.faults
    ]
