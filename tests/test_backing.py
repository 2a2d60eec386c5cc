"""A report says the weakest of what is known of the commands behind it."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest

from signoff.backing import Backing, backing
from signoff.model import ASSURANCES, Finding, Result
from signoff.status import Status


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
