"""contains_terms beyond its vectors: time that grows with the text alone."""

from __future__ import annotations

from time import process_time
from typing import Any

import pytest

from signoff.contract import lock
from signoff.engine import Engine
from signoff.model import Contract, Criterion, Subject
from signoff.verifiers import STDLIB


@pytest.mark.parametrize(
    ("params", "text"),
    [
        ({}, "a" + "\u0301\u0316" * 200_000),
        ({"whole_word": True}, "a" * 200_000),
        ({"whole_word": True}, "éa" * 200_000),
        ({"min_count": 1_000_000}, "a" * 400_000),
        ({"case_sensitive": True}, "\ufdfa" * 100_000),
    ],
    ids=["marks", "no whole word", "letters", "counted", "one that is eighteen"],
)
def test_long_text_is_judged_in_time(params: dict[str, Any], text: str) -> None:
    criterion = Criterion(
        id="it", verifier="contains_terms", params={"terms": ["aa", "ba"], **params}
    )
    plan = Engine(STDLIB).prepare(lock(Contract(id="long", criteria=(criterion,)), STDLIB))
    start = process_time()
    (result,), _ = Engine(STDLIB).judge(plan, Subject(output=text))

    assert (
        process_time() - start < 6
    )  # also while coverage is measured; it takes a fraction of a second otherwise
    assert not result.finding.status.holds
