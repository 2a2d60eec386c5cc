"""A report says the weakest of what is known of the commands behind it."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import permutations
from typing import Any

import pytest

from signoff.backing import Backing, backing, backing_faults
from signoff.model import ASSURANCES, Finding, Report, Result, Verdict
from signoff.status import Outcome, Status


def result(**fields: Any) -> Result:
    return Result(criterion="it", finding=Finding(status=Status.PASS, detail="", **fields))


def test_no_command_is_backed_by_nothing() -> None:
    assert Backing() == backing([])
    assert Backing() == backing([result(), result(assurance="report", missing=("x",))])


@pytest.mark.parametrize("order", [*permutations(range(3))])
def test_the_weakest_is_told_whatever_the_order(order: tuple[int, ...]) -> None:
    results = [
        result(isolation="L3", assurance="report+canaries"),
        result(isolation="L1", assurance="report", missing=("no network namespace",)),
        result(),
    ]
    found = backing([results[index] for index in order])

    expected = Backing(isolation="L1", assurance="report", missing=("no network namespace",))
    assert expected == found


def test_assurance_that_is_not_told_is_an_exit_code() -> None:
    assert "exit_code" == backing([result(isolation="L3")]).assurance


def test_each_sentence_is_told_once() -> None:
    results = [result(isolation="L2", missing=("a", "b")), result(isolation="L2", missing=("b",))]

    assert ("a", "b") == backing(results).missing


def test_assurances_stand_weakest_first() -> None:
    assert ("exit_code", "report", "report+canaries") == ASSURANCES


def faults(found: Result, wanted: Any) -> Any:
    rest = backing([found])
    report = Report(
        contract_id="c",
        contract_digest="",
        output_digest=None,
        results=(found,),
        verdict=Verdict(outcome=Outcome.PASSED),
        started=datetime(2026, 1, 1, tzinfo=UTC),
        elapsed_s=0.0,
        engines={},
        isolation=rest.isolation,
        assurance=rest.assurance,
    )
    return backing_faults(report, wanted)


@pytest.mark.parametrize(
    ("ran", "wanted", "is_below"),
    [
        ("L1", None, False),
        ("L1", "L0", False),
        ("L0", None, True),
        ("L0", "L0", True),
        ("L2", "L3", True),
        ("L3", "L3", False),
        (None, "L3", False),
    ],
)
def test_what_holds_below_the_level_that_is_wanted_is_named(
    ran: Any, wanted: Any, is_below: bool
) -> None:
    fault = 'result "it" holds below the isolation that is wanted'

    assert ([fault] if is_below else []) == [*faults(result(isolation=ran), wanted)]


def test_what_does_not_hold_needs_no_level() -> None:
    failing = Finding(status=Status.FAIL, detail="", isolation="L1")

    assert [] == [*faults(Result(criterion="it", finding=failing), "L3")]
