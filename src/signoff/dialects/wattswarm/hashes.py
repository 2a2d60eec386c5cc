"""The hashes of the dialect, each with the bytes that it is of."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256
from typing import Final

import msgspec
from msgspec import Struct

__all__ = [
    "PREFIX",
    "SignedResult",
    "audit_preimage",
    "codes_text",
    "digest_of",
    "hex_of",
    "quoted",
    "result_preimage",
]

PREFIX: Final = "sha256:"
AUDIT: Final = "signoff/wattswarm/audit/v1\n"

_encode: Final = msgspec.json.Encoder().encode


def hex_of(data: bytes) -> str:
    """The SHA-256 of the bytes, 64 lower-case hexadecimal digits."""
    return sha256(data).hexdigest()


def digest_of(data: bytes) -> str:
    """The same with ``sha256:`` in front, as references have it."""
    return f"{PREFIX}{sha256(data).hexdigest()}"


def quoted(text: str) -> str:
    """A text as canonical JSON."""
    return _encode(text).decode()


def codes_text(codes: Iterable[int]) -> str:
    """Codes as canonical JSON."""
    return f"[{','.join(map(str, codes))}]"


class SignedResult(Struct, frozen=True, kw_only=True):
    """
    What a verifier says and who it is, which both hashes cover; each member as canonical JSON.

    Args:
        candidate_id: Of the candidate.
        execution_id: Of the candidate.
        model_id: Of the verifier.
        passed: Whether it passed.
        provider_family: Of the verifier.
        reason_codes: In the order in which they are answered.
        score: Always with a point.
    """

    candidate_id: str
    execution_id: str
    model_id: str
    passed: str
    provider_family: str
    reason_codes: str
    score: str


def result_preimage(result: SignedResult, policy_hash: str) -> str:
    """
    The canonical object that is hashed between the commit of a vote and its reveal.

    Args:
        result: The result.
        policy_hash: As received, as canonical JSON.
    """
    return (
        f'{{"candidate_id":{result.candidate_id},"execution_id":{result.execution_id},'
        f'"model_id":{result.model_id},"passed":{result.passed},"policy_hash":{policy_hash},'
        f'"provider_family":{result.provider_family},"reason_codes":{result.reason_codes},'
        f'"score":{result.score}}}'
    )


def audit_preimage(
    result: SignedResult,
    *,
    policy: str,
    schema_digest: str,
    output_digest: str,
    refs: Iterable[str],
    status: str,
) -> str:
    """
    The text whose hash binds output, schema, parameters and status to the result.

    Args:
        result: The result.
        policy: Canonical object of the four received members.
        schema_digest: Of the canonical schema.
        output_digest: Of the canonical output, as canonical JSON.
        refs: Digests of the evidence, as received.
        status: The status that is answered.
    """
    digests = ",".join(map(quoted, sorted({*refs}))) if refs else ""
    return (
        f'{AUDIT}{{"candidate_id":{result.candidate_id},"execution_id":{result.execution_id},'
        f'"model_id":{result.model_id},"output_digest":{output_digest},"passed":{result.passed},'
        f'"policy":{policy},"provider_family":{result.provider_family},'
        f'"reason_codes":{result.reason_codes},"refs":[{digests}],'
        f'"schema_digest":"{schema_digest}","score":{result.score},'
        f'"verification_status":"{status}"}}'
    )
