"""Findings in the kernel's words: for every status, outcome and cause there is."""

from __future__ import annotations

from itertools import product

import pytest

from signoff.dialects.wattswarm.codes import codes_of, status_of
from signoff.dialects.wattswarm.policies import POLICIES
from signoff.model import Finding
from signoff.status import Cause, Outcome, Status

CRITERIA = {
    "output": 999,
    "schema": 101,
    "min:x": 102,
    "max:x": 102,
    "max_len": 103,
    "param:x": 999,
    "check_summary": 104,
    "majority": 105,
    "min_score": 105,
    "output_ref": 999,
    "inline:0": 999,
    "ref:0": 999,
    "refs": 999,
}
OPEN = {
    Cause.EVIDENCE_UNREACHABLE: 200,
    Cause.EVIDENCE_TIMED_OUT: 201,
    Cause.EVIDENCE_DENIED: 202,
}
DEFINITE = {Cause.EVIDENCE_MISSING: 200, Cause.EVIDENCE_CORRUPT: 203}
CODES = {code for policy in POLICIES.values() for code in policy.reason_codes} | {999}


def expected(criterion: str, status: Status, cause: Cause | None) -> set[int]:
    """The table, written out once more."""
    own = {101} if criterion == "schema" else set[int]()
    if status in {Status.PASS, Status.WARN}:
        return set()
    if status is Status.INCONCLUSIVE:
        return own | {999 if cause is None else OPEN.get(cause, 999)}
    if status is Status.FAIL and cause is None:
        row = CRITERIA[criterion]
        return own | {200 if criterion == "output" else row}
    if status is Status.FAIL and cause is not None:
        return own | {DEFINITE.get(cause, 999)}
    return own | {999}


@pytest.mark.parametrize("status", list(Status))
def test_every_finding_has_its_codes(status: Status) -> None:
    """A new member of Status or Cause has to be thought of here."""
    names = ["PASS", "WARN", "INCONCLUSIVE", "SKIPPED", "ERROR", "FAIL"]
    assert [one.name for one in Status] == names
    assert len(Cause) == 19
    for criterion, cause in product(CRITERIA, [None, *Cause]):
        found = codes_of(criterion, Finding(status=status, detail="", cause=cause))
        assert set(found) == expected(criterion, status, cause), (criterion, cause)
        assert len(set(found)) == len(found)
        assert set(found) <= CODES
        assert bool(found) is not status.holds


def test_what_does_not_hold_is_never_answered_as_passed() -> None:
    assert {one.name for one in Outcome} == {"PASSED", "INCONCLUSIVE", "FAILED"}
    for outcome, status, cause in product(Outcome, Status, [None, *Cause]):
        codes = codes_of("schema", Finding(status=status, detail="", cause=cause))
        told = status_of(outcome, codes)
        if not status.holds or outcome is not Outcome.PASSED:
            assert told is not Outcome.PASSED


@pytest.mark.parametrize(
    ("outcome", "codes", "told"),
    [
        (Outcome.PASSED, (), Outcome.PASSED),
        (Outcome.PASSED, (100,), Outcome.PASSED),
        (Outcome.PASSED, (200,), Outcome.FAILED),
        (Outcome.INCONCLUSIVE, (100, 200, 201, 202), Outcome.INCONCLUSIVE),
        (Outcome.INCONCLUSIVE, (100,), Outcome.FAILED),
        (Outcome.INCONCLUSIVE, (), Outcome.FAILED),
        (Outcome.INCONCLUSIVE, (200, 999), Outcome.FAILED),
        (Outcome.INCONCLUSIVE, (102, 200), Outcome.FAILED),
        (Outcome.FAILED, (100, 200), Outcome.FAILED),
        (Outcome.FAILED, (), Outcome.FAILED),
    ],
)
def test_a_failure_outweighs_a_question(
    outcome: Outcome, codes: tuple[int, ...], told: Outcome
) -> None:
    assert status_of(outcome, codes) is told
