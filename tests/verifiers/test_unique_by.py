"""unique_by beyond its vectors: many items."""

from __future__ import annotations

from time import process_time
from typing import Any

import pytest

from signoff.contract import lock
from signoff.engine import Engine
from signoff.model import Contract, Criterion, Subject
from signoff.plan import Plan
from signoff.verifiers import STDLIB

MANY = 100_000


def plan() -> Plan:
    criterion = Criterion(id="it", verifier="unique_by", params={"field": "id"})
    return Engine(STDLIB).prepare(lock(Contract(id="many", criteria=(criterion,)), STDLIB))


@pytest.mark.parametrize(
    "values",
    [
        list(range(MANY)),
        [f"id-{i}" for i in range(MANY)],
        [i / 2 for i in range(MANY)],
        [2**60 + i for i in range(MANY)],
        [str(i) if i % 2 else i for i in range(MANY)],
        [i * (2**61 - 1) for i in range(MANY)],
    ],
    ids=["integers", "texts", "decimals", "large integers", "mixed", "integers of one hash"],
)
def test_a_hundred_thousand_items_are_not_compared_pair_by_pair(values: list[Any]) -> None:
    bound = plan()
    all_different = Subject(output=[{"id": value} for value in values])
    last_twice = Subject(output=[*all_different.output, {"id": values[-1]}])
    start = process_time()
    (unique,), _ = Engine(STDLIB).judge(bound, all_different)
    (repeated,), _ = Engine(STDLIB).judge(bound, last_twice)
    took = process_time() - start

    assert took < 5  # both take a fraction of a second; comparing pair by pair would take minutes
    assert unique.finding.status.holds
    assert f"/{MANY}/id" == repeated.finding.at
