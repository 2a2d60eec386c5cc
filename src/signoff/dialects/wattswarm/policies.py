"""
The three built-in policies, their hashes, and which form a received binding selects.

A kernel hashes the policy's specification; the protocol's documentation hashes its
id and parameters.  Either hash is accepted, and says how the reply is to be read.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import Enum
from typing import Final

import msgspec
from msgspec import Struct

from signoff.dialects.wattswarm.hashes import hex_of, quoted
from signoff.dialects.wattswarm.jsonform import canonical
from signoff.jsonvalue import JSON, shown

__all__ = [
    "CROSSCHECK",
    "POLICIES",
    "SCHEMA_ONLY",
    "SCHEMA_THRESHOLDS",
    "VERSION",
    "BindingInvalid",
    "Form",
    "Policy",
    "PolicyBinding",
    "bind",
    "doc_hash",
    "doc_preimage",
    "kernel_hash",
    "kernel_preimage",
]

SCHEMA_ONLY: Final = "vp.schema_only.v1"
SCHEMA_THRESHOLDS: Final = "vp.schema_thresholds.v1"
CROSSCHECK: Final = "vp.crosscheck.v1"
VERSION: Final = "1"

_HASH: Final = re.compile(r"(?:sha256:)?([0-9A-Fa-f]{64})")


class Form(Enum):
    """The reading of the wire that a request follows."""

    KERNEL = "kernel"
    DOC = "doc"


class Policy(Struct, frozen=True, kw_only=True):
    """
    The specification of a policy, as its hash covers it.

    Args:
        id: Its id.
        params_schema: JSON Schema of its parameters, canonical.
        reason_codes: Codes that its results may have.
        io_contract: What it does, in words.
    """

    id: str
    params_schema: str
    reason_codes: tuple[int, ...]
    io_contract: str


class PolicyBinding(Struct, frozen=True, kw_only=True):
    """What a request says of its policy, as received."""

    policy_id: str
    policy_version: str
    policy_hash: str
    policy_params: dict[str, JSON] | None

    @property
    def params(self) -> dict[str, JSON]:
        """The parameters; none where null was received."""
        return self.policy_params or {}

    def canonical(self) -> bytes:
        """The canonical object of the four members."""
        members = msgspec.structs.asdict(self)
        return canonical(members)


class BindingInvalid(Exception):
    """
    A policy that this verifier cannot be bound to.

    Args:
        code: ``policy_unknown``, ``policy_version_mismatch`` or ``policy_hash_mismatch``.
        text: What a kernel says of it.
        member: The member of the policy that is wrong.
    """

    def __init__(self, code: str, text: str, *, member: str) -> None:
        super().__init__(f"policy binding invalid: {text}")
        self.code = code
        self.pointer = f"/policy/{member}"


POLICIES: Final[Mapping[str, Policy]] = {
    policy.id: policy
    for policy in (
        Policy(
            id=SCHEMA_ONLY,
            params_schema='{"properties":{},"type":"object"}',
            reason_codes=(100, 101, 200, 201, 202, 203),
            io_contract="validate candidate output against output_schema",
        ),
        Policy(
            id=SCHEMA_THRESHOLDS,
            params_schema='{"properties":{"max_len":{"type":"integer"},'
            '"min_confidence":{"type":"number"}},"type":"object"}',
            reason_codes=(100, 101, 102, 103, 200, 201, 202, 203),
            io_contract="schema + generic thresholds",
        ),
        Policy(
            id=CROSSCHECK,
            params_schema='{"properties":{"min_score":{"type":"number"}},"type":"object"}',
            reason_codes=(100, 101, 104, 105, 200, 201, 202, 203),
            io_contract="cross-check output and enforce check_summary",
        ),
    )
}
"""The policies by id."""


def kernel_preimage(policy_id: str) -> bytes:
    """The specification of a policy; ``KeyError`` for an unknown one."""
    policy = POLICIES[policy_id]
    return (
        f'{{"policy_id":{quoted(policy.id)},"policy_version":{quoted(VERSION)},'
        f'"params_schema":{policy.params_schema},'
        f'"reason_codes":[{",".join(map(str, policy.reason_codes))}],'
        f'"io_contract":{quoted(policy.io_contract)}}}'
    ).encode()


def kernel_hash(policy_id: str) -> str:
    """The hash of the specification, whatever the parameters."""
    return hex_of(kernel_preimage(policy_id))


def doc_preimage(policy_id: str, params: JSON) -> bytes:
    """The id, directly followed by the canonical parameters."""
    return policy_id.encode() + canonical(params)


def doc_hash(policy_id: str, params: JSON) -> str:
    """The hash of id and parameters."""
    return hex_of(doc_preimage(policy_id, params))


def bind(policy: PolicyBinding, extra_hashes: Mapping[str, frozenset[str]]) -> Form:
    """
    The form that a received policy selects.

    Args:
        policy: As received.
        extra_hashes: Further hashes that the operator's network admits, by policy id.

    Raises:
        BindingInvalid: Unknown id, else another version, else no hash of this policy.
    """
    id_, received = policy.policy_id, policy.policy_hash
    if id_ not in POLICIES:
        text = f"policy {shown(id_)} missing in registry"
        raise BindingInvalid("policy_unknown", text, member="policy_id")
    if policy.policy_version != VERSION:
        text = "policy version mismatch"
        raise BindingInvalid("policy_version_mismatch", text, member="policy_version")
    spelt = _HASH.fullmatch(received)
    digest = spelt[1].lower() if spelt else ""
    if digest == kernel_hash(id_) or received in extra_hashes.get(id_, ()):
        return Form.KERNEL
    # Null is how no parameters are written, so it may have been hashed either way.
    params = policy.policy_params
    if digest and digest in {doc_hash(id_, params), doc_hash(id_, params or {})}:
        return Form.DOC
    raise BindingInvalid("policy_hash_mismatch", "policy hash mismatch", member="policy_hash")
