"""The hashes of a reply, computed again from the request and what the reply says."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from signoff.dialects.wattswarm.hashes import (
    PREFIX,
    SignedResult,
    audit_preimage,
    codes_text,
    digest_of,
    hex_of,
    quoted,
    result_preimage,
)
from signoff.dialects.wattswarm.jsonform import canonical
from signoff.dialects.wattswarm.request import VerifyRequest
from signoff.dialects.wattswarm.shape import RESPONSE, require_shape
from signoff.jsonvalue import JSON

__all__ = ["Hashes", "recomputed", "stated"]


class Hashes(Struct, frozen=True, kw_only=True):
    """
    The two hashes of a reply.

    Args:
        verifier_result_hash: Of the result.
        audit_hash: Of the result and what it was reached from; None where none is stated.
    """

    verifier_result_hash: str
    audit_hash: str | None


def stated(response: JSON) -> Hashes:
    """
    The hashes that a reply states.

    Raises:
        WrongShape: It is no reply.
    """
    require_shape(response, RESPONSE)
    members: Any = response
    audit = members.get("signoff", {}).get("audit_hash")
    return Hashes(verifier_result_hash=members["verifier_result_hash"], audit_hash=audit)


def recomputed(request: VerifyRequest, response: JSON) -> Hashes:
    """
    The hashes that a reply must have.

    Args:
        request: What was asked.
        response: The reply.

    Raises:
        WrongShape: It is no reply.
    """
    require_shape(response, RESPONSE)
    members: Any = response
    signed = SignedResult(
        candidate_id=quoted(request.candidate_id),
        execution_id=quoted(request.execution_id),
        model_id=quoted(members["model_id"]),
        passed="true" if members["passed"] else "false",
        provider_family=quoted(members["provider_family"]),
        reason_codes=codes_text(members["reason_codes"]),
        score=canonical(float(members["score"])).decode(),
    )
    policy = request.policy
    prefix = PREFIX if policy.binding.policy_hash.startswith(PREFIX) else ""
    result = hex_of(result_preimage(signed, policy.quoted_hash).encode())
    audit = audit_preimage(
        signed,
        policy=policy.canonical,
        schema_digest=request.schema.digest,
        output_digest="null" if request.output is None else quoted(digest_of(request.canonical)),
        refs=[ref.digest for ref in request.evidence_refs],
        status=members["verification_status"],
    )
    return Hashes(verifier_result_hash=prefix + result, audit_hash=hex_of(audit.encode()))
