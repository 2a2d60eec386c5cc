"""
The reply to a question: what results come to in codes, a score and a status.

The translation is total: every status, outcome and cause has its codes, and what
is not foreseen is a failure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec
from msgspec import Struct

from signoff.dialects.wattswarm.facts import Facts
from signoff.dialects.wattswarm.hashes import (
    Audited,
    SignedResult,
    audit_preimage,
    hex_of,
    result_hash,
    result_preimage,
)
from signoff.dialects.wattswarm.policies import CROSSCHECK, SCHEMA_ONLY, Form
from signoff.dialects.wattswarm.translation import EvidenceMode
from signoff.jsonvalue import shown
from signoff.model import Criterion, Finding, Result
from signoff.status import Cause, Outcome, Status

__all__ = [
    "Identity",
    "Judged",
    "Reply",
    "codes_of",
    "encode_reply",
    "reason_codes",
    "reply_of",
    "score_of",
    "status_of",
]

SCHEMA_OK: Final = 100
SCHEMA_INVALID: Final = 101
UNREACHABLE: Final = 200
TIMEOUT: Final = 201
DENIED: Final = 202
MISMATCH: Final = 203
CUSTOM: Final = 999

MAX_DETAIL: Final = 500

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


class Identity(Struct, frozen=True, kw_only=True):
    """
    Who answers, as ``/capabilities`` says it.

    Args:
        provider_family: Of this runtime.
        model_id: Of this runtime.
        engine: Name and version of signoff.
        schema_engine: Name and version of what judges by JSON Schema.
        evidence: What becomes of evidence.
    """

    provider_family: str
    model_id: str
    engine: str
    schema_engine: str
    evidence: EvidenceMode


class Judged(Struct, frozen=True, kw_only=True):
    """
    What the engine found out.

    Args:
        form: The reading of the wire.
        criteria: What was judged, in order.
        results: One for each.
        outcome: What the required ones come to.
        notes: What else is to be known.
    """

    form: Form
    criteria: tuple[Criterion, ...]
    results: tuple[Result, ...]
    outcome: Outcome
    notes: tuple[str, ...] = ()


class Reply(Struct, frozen=True, kw_only=True):
    """
    A verdict in the kernel's words.

    Args:
        passed: True only with the status ``passed``.
        score: 0 to 1.
        reason_codes: Ascending, each once.
        verification_status: ``passed``, ``failed`` or ``inconclusive``.
        verifier_result_hash: Over the result.
        audit_hash: Over the result and what it was reached from.
        output_digest: Of the canonical output; None without one.
        checks: Each criterion with its finding and, where it does not hold, its code.
        notes: What else is to be known.
        form: The reading of the wire.
    """

    passed: bool
    score: float
    reason_codes: tuple[int, ...]
    verification_status: str
    verifier_result_hash: str
    audit_hash: str
    output_digest: str | None
    checks: tuple[dict[str, object], ...]
    notes: tuple[str, ...]
    form: Form


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


def reason_codes(
    criteria: Iterable[Criterion], results: Iterable[Result], form: Form
) -> tuple[int, ...]:
    """The codes of all that was required: ascending, each once."""
    codes: set[int] = set()
    for criterion, result in zip(criteria, results, strict=True):
        if not criterion.required:
            continue
        if not result.finding.status.holds:
            codes.update(codes_of(criterion.id, result.finding))
        elif criterion.id == "schema" and form is Form.KERNEL:
            codes.add(SCHEMA_OK)
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


def reply_of(
    facts: Facts,
    judged: Judged,
    identity: Identity,
) -> Reply:
    """The verdict on a request."""
    request = facts.request
    form = judged.form
    codes = reason_codes(judged.criteria, judged.results, form)
    status = status_of(judged.outcome, codes)
    passed = status is Outcome.PASSED
    output_digest = facts.digest if request.output is not None else None
    policy_hash = request.policy.binding.policy_hash
    signed = SignedResult(
        candidate_id=request.candidate_id,
        execution_id=request.execution_id,
        passed=passed,
        score=score_of(facts, form, codes, passed=passed),
        reason_codes=codes,
        provider_family=identity.provider_family,
        model_id=identity.model_id,
    )
    audited = Audited(
        policy=request.policy.canonical,
        schema_digest=request.schema.digest,
        output_digest=output_digest,
        refs=[ref.digest for ref in request.evidence_refs],
        verification_status=status.value,
    )
    return Reply(
        passed=passed,
        score=signed.score,
        reason_codes=codes,
        verification_status=status.value,
        verifier_result_hash=result_hash(result_preimage(signed, policy_hash), policy_hash),
        audit_hash=hex_of(audit_preimage(signed, audited)),
        output_digest=output_digest,
        checks=tuple(map(_check, judged.results)),
        notes=judged.notes,
        form=form,
    )


def encode_reply(reply: Reply, identity: Identity) -> bytes:
    """The body of the reply."""
    return _encode(
        {
            "passed": reply.passed,
            "score": reply.score,
            "reason_codes": reply.reason_codes,
            "verification_status": reply.verification_status,
            "verifier_result_hash": reply.verifier_result_hash,
            "provider_family": identity.provider_family,
            "model_id": identity.model_id,
            "signoff": {
                "engine": identity.engine,
                "schema_engine": identity.schema_engine,
                "form": reply.form.value,
                "evidence": identity.evidence.value,
                "output_digest": reply.output_digest,
                "audit_hash": reply.audit_hash,
                "checks": reply.checks,
                "notes": reply.notes,
            },
        }
    )


_encode: Final = msgspec.json.Encoder().encode


def _check(result: Result) -> dict[str, object]:
    finding = result.finding
    told: dict[str, object] = {
        "id": result.criterion,
        "status": finding.status.value,
        "detail": shown(finding.detail, MAX_DETAIL),
    }
    if not finding.status.holds:
        told["code"] = codes_of(result.criterion, finding)[0]
    return told
