"""The hashes of the dialect, each with the bytes that it is of."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import Final

import msgspec
from msgspec import Struct

__all__ = [
    "Audited",
    "SignedResult",
    "audit_preimage",
    "digest_of",
    "hex_of",
    "quoted",
    "result_hash",
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


class SignedResult(Struct, frozen=True, kw_only=True):
    """What a verifier says and who it is: the members that both hashes cover."""

    candidate_id: str
    execution_id: str
    passed: bool
    score: float
    reason_codes: Sequence[int]
    provider_family: str
    model_id: str


def result_preimage(result: SignedResult, policy_hash: str) -> bytes:
    """The canonical object that is hashed between the commit of a vote and its reveal."""
    return (
        f'{{"candidate_id":{quoted(result.candidate_id)},'
        f'"execution_id":{quoted(result.execution_id)},"model_id":{quoted(result.model_id)},'
        f'"passed":{"true" if result.passed else "false"},"policy_hash":{quoted(policy_hash)},'
        f'"provider_family":{quoted(result.provider_family)},'
        f'"reason_codes":{_codes(result.reason_codes)},"score":{_score(result.score)}}}'
    ).encode()


def result_hash(preimage: bytes, policy_hash: str) -> str:
    """The hash of a result: with a prefix exactly when the received policy hash has one."""
    found = sha256(preimage).hexdigest()
    return PREFIX + found if policy_hash.startswith(PREFIX) else found


class Audited(Struct, frozen=True, kw_only=True):
    """
    What the audit hash binds besides the result.

    Args:
        policy: Canonical object of the four received members.
        schema_digest: Of the canonical schema.
        output_digest: Of the canonical output; None without output.
        refs: Digests of the evidence, as received.
        verification_status: The status that is answered.
    """

    policy: bytes
    schema_digest: str
    output_digest: str | None
    refs: Iterable[str]
    verification_status: str


def audit_preimage(result: SignedResult, audited: Audited) -> bytes:
    """The text whose hash binds output, schema, parameters and status to the result."""
    output = "null" if audited.output_digest is None else f'"{audited.output_digest}"'
    refs = ",".join(map(quoted, sorted(set(audited.refs))))
    return (
        f'{AUDIT}{{"candidate_id":{quoted(result.candidate_id)},'
        f'"execution_id":{quoted(result.execution_id)},"model_id":{quoted(result.model_id)},'
        f'"output_digest":{output},"passed":{"true" if result.passed else "false"},'
        f'"policy":{audited.policy.decode()},'
        f'"provider_family":{quoted(result.provider_family)},'
        f'"reason_codes":{_codes(result.reason_codes)},"refs":[{refs}],'
        f'"schema_digest":"{audited.schema_digest}","score":{_score(result.score)},'
        f'"verification_status":"{audited.verification_status}"}}'
    ).encode()


def _codes(codes: Sequence[int]) -> str:
    return f"[{','.join(map(str, codes))}]"


def _score(score: float) -> str:
    # Four decimals at most, so that Python writes it as the kernel does.
    return repr(float(score))
