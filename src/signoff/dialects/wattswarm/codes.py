"""
What findings come to in the kernel's words: codes, a status and a score.

The translation is total: every status, outcome and cause has its codes, and what
is not foreseen is a failure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct

from signoff.dialects.wattswarm.facts import Facts
from signoff.dialects.wattswarm.policies import CROSSCHECK, SCHEMA_ONLY, Form
from signoff.model import Criterion, Finding
from signoff.status import Cause, Outcome, Status

__all__ = ["Judged", "codes_of", "reason_codes", "score_of", "status_of"]

SCHEMA_OK: Final = 100
SCHEMA_INVALID: Final = 101
UNREACHABLE: Final = 200
TIMEOUT: Final = 201
DENIED: Final = 202
MISMATCH: Final = 203
CUSTOM: Final = 999

# Codes of a criterion that fails, by the first word of its id.
ROWS: Final[Mapping[str, int]] = {
    "output": UNREACHABLE,
    "schema": SCHEMA_INVALID,
    "min": 102,
    "max": 102,
    "max_len": 103,
    "check_summary": 104,
    "majority": 105,
    "min_score": 105,
}
OPEN: Final[Mapping[Cause, int]] = {
    Cause.EVIDENCE_UNREACHABLE: UNREACHABLE,
    Cause.EVIDENCE_TIMED_OUT: TIMEOUT,
    Cause.EVIDENCE_DENIED: DENIED,
}
DEFINITE: Final[Mapping[Cause, int]] = {
    Cause.EVIDENCE_MISSING: UNREACHABLE,
    Cause.EVIDENCE_CORRUPT: MISMATCH,
}
QUESTIONS: Final = frozenset(OPEN.values())


class Judged(Struct, frozen=True, kw_only=True):
    """
    What the engine found out.

    Args:
        form: The reading of the wire.
        criteria: What was judged, in order.
        findings: One for each.
        outcome: What the required ones come to.
        notes: What else is to be known.
    """

    form: Form
    criteria: tuple[Criterion, ...]
    findings: tuple[Finding, ...]
    outcome: Outcome
    notes: tuple[str, ...] = ()


def codes_of(criterion_id: str, finding: Finding) -> tuple[int, ...]:
    """The codes of a criterion, none where it holds; the first is the one that is shown."""
    if finding.status.holds:
        return ()
    kind = criterion_id.partition(":")[0]
    codes = _codes(kind, finding)
    return codes if kind != "schema" or SCHEMA_INVALID in codes else (SCHEMA_INVALID, *codes)


def _codes(kind: str, finding: Finding) -> tuple[int, ...]:
    cause = finding.cause
    if finding.status is Status.INCONCLUSIVE and cause is not None:
        return (OPEN.get(cause, CUSTOM),)
    if finding.status is Status.FAIL:
        return (ROWS.get(kind, CUSTOM) if cause is None else DEFINITE.get(cause, CUSTOM),)
    return (CUSTOM,)


def reason_codes(judged: Judged) -> tuple[int, ...]:
    """The codes of all that was required: ascending, each once."""
    codes: set[int] = set()
    for criterion, finding in zip(judged.criteria, judged.findings, strict=True):
        if finding.status.holds:
            if criterion.id == "schema" and judged.form is Form.KERNEL:
                codes.add(SCHEMA_OK)
        elif criterion.required:
            codes.update(codes_of(criterion.id, finding))
    return tuple(sorted(codes))


def status_of(outcome: Outcome, codes: Sequence[int]) -> Outcome:
    """
    What is answered.

    A code that stands for a failure makes it one, and only what passed without any other
    is a pass: a status and codes that do not agree are a failure.
    """
    told = {*codes} - {SCHEMA_OK}
    if outcome is Outcome.PASSED and not told:
        return Outcome.PASSED
    if outcome is Outcome.INCONCLUSIVE and told and told <= QUESTIONS:
        return Outcome.INCONCLUSIVE
    return Outcome.FAILED


def score_of(facts: Facts, form: Form, codes: Sequence[int], *, passed: bool) -> float:
    """The score of a verdict, by the first row of the table that applies."""
    policy_id = facts.request.policy.binding.policy_id
    if codes and codes[-1] >= UNREACHABLE:
        return 0.0
    if policy_id == CROSSCHECK:
        return facts.crosscheck_score(by_peers=form is Form.DOC)
    if passed:
        return 1.0
    return 0.0 if policy_id == SCHEMA_ONLY else 0.2
