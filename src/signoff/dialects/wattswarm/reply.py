"""
The reply to a question, and the two hashes in it.

Most of a reply is the same for every candidate of one task that passes, so it is
worded once, and only what is the candidate's own is filled in.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from hashlib import sha256
from typing import Final

from msgspec import Struct

from signoff.dialects.wattswarm.codes import (
    Judged,
    codes_of,
    reason_codes,
    score_of,
    status_of,
)
from signoff.dialects.wattswarm.facts import Facts
from signoff.dialects.wattswarm.hashes import (
    PREFIX,
    SignedResult,
    audit_preimage,
    codes_text,
    quoted,
    result_preimage,
)
from signoff.dialects.wattswarm.request import VerifyRequest
from signoff.dialects.wattswarm.translation import EvidenceMode
from signoff.jsonvalue import shown
from signoff.model import Criterion, Finding
from signoff.status import Outcome, Status

__all__ = ["Identity", "Replying", "Wording", "checks_text"]

MAX_DETAIL: Final = 500

# A kernel admits results of 65,536 bytes: whatever is sent, the whole reply stays below.
MAX_CHECKS: Final = 36_000
MAX_GIST: Final = 24
MAX_NOTE: Final = 200
_GAP: Final = "\0"
"""Stands for what is filled in: no JSON text holds it."""


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


class Replying:
    """
    Words replies.

    Args:
        identity: Who answers.
    """

    __slots__ = ("_engine", "_family", "_model")

    def __init__(self, identity: Identity) -> None:
        self._family = quoted(identity.provider_family)
        self._model = quoted(identity.model_id)
        self._engine = (
            f'"engine":{quoted(identity.engine)},"schema_engine":{quoted(identity.schema_engine)},'
            f'"evidence":"{identity.evidence.value}"'
        )

    def wording(self, facts: Facts, judged: Judged) -> Wording:
        """What is said of a request that was judged, with gaps for what is its candidate's own."""
        request = facts.request
        codes = reason_codes(judged)
        outcome = status_of(judged.outcome, codes)
        passed = outcome is Outcome.PASSED
        signed = SignedResult(
            candidate_id=_GAP,
            execution_id=_GAP,
            model_id=self._model,
            passed="true" if passed else "false",
            provider_family=self._family,
            reason_codes=codes_text(codes),
            # Four decimals at most, which Python writes as the kernel does.
            score=repr(score_of(facts, judged.form, codes, passed=passed)),
        )
        word = outcome.value
        body = (
            f'{{"passed":{signed.passed},"score":{signed.score},'
            f'"reason_codes":{signed.reason_codes},"verification_status":"{word}",'
            f'"verifier_result_hash":"{_GAP}","provider_family":{self._family},'
            f'"model_id":{self._model},"signoff":{{{self._engine},"form":"{judged.form.value}",'
            f'"output_digest":{_GAP},"audit_hash":"{_GAP}","checks":[{_GAP}],'
            f'"notes":[{",".join(quoted(shown(note, MAX_NOTE)) for note in judged.notes)}]}}}}'
        )
        return Wording(
            result=result_preimage(signed, request.policy.quoted_hash).split(_GAP),
            audit=_audit(signed, request, word).split(_GAP),
            body=body.split(_GAP),
            prefix=PREFIX if request.policy.binding.policy_hash.startswith(PREFIX) else "",
            told={"form": judged.form.value, "outcome": word, "codes": codes},
        )


def _audit(signed: SignedResult, request: VerifyRequest, status: str) -> str:
    return audit_preimage(
        signed,
        policy=request.policy.canonical,
        schema_digest=request.schema.digest,
        output_digest=_GAP,
        refs=[ref.digest for ref in request.evidence_refs],
        status=status,
    )


class Wording(Struct, frozen=True, kw_only=True):
    """
    A reply with gaps, and what is hashed for it with the same gaps.

    Args:
        result: What the result hash is of, around candidate and execution.
        audit: What the audit hash is of, around candidate, execution and output.
        body: The reply, around the result hash, the output, the audit hash and the checks.
        prefix: Of the result hash.
        told: Form, outcome and codes, for the log; the same for every reply of this wording.
    """

    result: list[str]
    audit: list[str]
    body: list[str]
    prefix: str
    told: Mapping[str, object]

    def filled(self, facts: Facts, checks: str) -> bytes:
        """
        The reply to a request.

        Args:
            facts: The request, which differs from that of the wording by its candidate alone.
            checks: What was checked, as ``checks_text`` gives it.
        """
        request = facts.request
        candidate, execution = quoted(request.candidate_id), quoted(request.execution_id)
        output = "null" if request.output is None else f'"{facts.digest}"'
        start, middle, end = self.result
        result = sha256(f"{start}{candidate}{middle}{execution}{end}".encode()).hexdigest()
        start, middle, after, end = self.audit
        text = f"{start}{candidate}{middle}{execution}{after}{output}{end}"
        audit = sha256(text.encode()).hexdigest()
        head, before_output, before_audit, before_checks, end = self.body
        return (
            f"{head}{self.prefix}{result}{before_output}{output}{before_audit}{audit}"
            f"{before_checks}{checks}{end}"
        ).encode()


def checks_text(criteria: Sequence[Criterion], findings: Sequence[Finding]) -> str:
    """Each criterion with its finding and, where it does not hold, its code; of many, the gist."""
    text = _checks_text(criteria, findings, MAX_DETAIL)
    # Characters have four bytes at most, so a short text needs no counting.
    if 4 * len(text) > MAX_CHECKS and len(text.encode()) > MAX_CHECKS:
        return _checks_text(criteria, findings, MAX_GIST)
    return text


def _checks_text(criteria: Iterable[Criterion], findings: Sequence[Finding], limit: int) -> str:
    told = []
    for criterion, finding in zip(criteria, findings, strict=True):
        if finding.status is Status.PASS:
            told.append(_held(criterion.id, finding.detail, limit))
        else:
            codes = codes_of(criterion.id, finding)
            code = f',"code":{codes[0]}' if codes else ""
            told.append(_told(criterion.id, finding.status.value, finding.detail, limit, code))
    return ",".join(told)


@lru_cache(maxsize=1024)
def _held(criterion_id: str, detail: str, limit: int) -> str:
    return _told(criterion_id, Status.PASS.value, detail, limit)


def _told(criterion_id: str, status: str, detail: str, limit: int, code: str = "") -> str:
    text = quoted(shown(detail, limit))
    return f'{{"id":{quoted(criterion_id)},"status":"{status}","detail":{text}{code}}}'
