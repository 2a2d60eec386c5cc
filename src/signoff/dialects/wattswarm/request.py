"""
Requests of a kernel: read from their bytes, or refused at the first fault.

The usual request is compact JSON, which is decoded by its types and comes back as
it was when it is encoded again: then nothing of it was lost or read twice.  All
others are read member by member, and only there faults are told.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Annotated, Any, Final, TypeVar, TypeVarTuple

import msgspec
from msgspec import Meta, Raw, Struct

from signoff.dialects.wattswarm.hashes import quoted
from signoff.dialects.wattswarm.jsonform import MAX_DEPTH, MAX_INTEGER, loads, loads_canonical
from signoff.dialects.wattswarm.jsonform import canonical as canonical_bytes
from signoff.dialects.wattswarm.policies import PolicyBinding
from signoff.dialects.wattswarm.schema import OutputSchema
from signoff.dialects.wattswarm.shape import (
    AGENT_EVENT,
    EXECUTE,
    POLICY,
    VERIFY,
    WrongShape,
    require_shape,
)

__all__ = [
    "AgentEvent",
    "ArtifactRef",
    "ExecuteRequest",
    "Inline",
    "ReceivedPolicy",
    "VerifyRequest",
    "WrongShape",
    "kept_by_size",
    "read_agent_event",
    "read_execute",
    "read_verify",
]

# Policies and schemas are kept by their bytes: many small ones and few large ones, since
# compiled they take far more, and they are a stranger's.
KEPT: Final = 1_024
KEPT_LARGE: Final = 16
MAX_SMALL_BYTES: Final = 8 * 2**10
MAX_LARGE_BYTES: Final = 64 * 2**10

Asked = TypeVarTuple("Asked")
Made = TypeVar("Made")
Unsigned = Annotated[int, Meta(ge=0)]


class ArtifactRef(Struct, frozen=True, kw_only=True, gc=False):
    """
    What is said of bytes that are elsewhere.

    Args:
        uri: Where they are said to be.
        digest: What their digest is said to be.
        size_bytes: How many there are said to be.
        mime: Their media type.
        created_at: Milliseconds since 1970.
        producer: Who made them.
    """

    uri: str
    digest: str
    size_bytes: Unsigned
    mime: str
    created_at: Unsigned
    producer: str


class Inline(Struct, frozen=True, kw_only=True, gc=False):
    """Evidence that is sent along, as text."""

    mime: str
    content: str


class ReceivedPolicy(Struct, frozen=True, kw_only=True, eq=False):
    """
    A policy as received.

    Args:
        binding: Its four members.
        canonical: The canonical object of these.
        quoted_hash: The received hash as canonical JSON.
    """

    binding: PolicyBinding
    canonical: str
    quoted_hash: str


class VerifyRequest(Struct, frozen=True, kw_only=True, eq=False):
    """
    A question whether a candidate holds.

    Args:
        candidate_id: Of the candidate.
        execution_id: Of the execution that proposed it.
        output_ref: What is said of the output's bytes.
        output: The output; None where it is null or absent, so not resolved.
        canonical: Canonical bytes of the output.
        raw: Bytes of the output as they stood in the request.
        evidence_inline: Evidence sent along.
        evidence_refs: Evidence that is elsewhere.
        schema: What the output must conform to.
        policy: What it is to be judged by.
    """

    candidate_id: str
    execution_id: str
    output_ref: ArtifactRef
    output: Any
    canonical: bytes
    raw: bytes
    evidence_inline: tuple[Inline, ...]
    evidence_refs: tuple[ArtifactRef, ...]
    schema: OutputSchema
    policy: ReceivedPolicy


class ExecuteRequest(Struct, frozen=True, kw_only=True, eq=False):
    """
    A call to propose a candidate.

    Args:
        value: The whole request.
        time_ms: What the task's budget allows; 0 for no limit of its own.
        output_schema: What the output must conform to.
    """

    task_id: str
    execution_id: str
    task_type: str
    profile: str
    stage: str
    attempt_id: str
    value: dict[str, Any]
    time_ms: int
    output_schema: OutputSchema


class AgentEvent(Struct, frozen=True, kw_only=True, eq=False):
    """Something that happened elsewhere, of which an agent is told."""

    event_id: str
    event_type: str
    dedupe_key: str | None
    value: dict[str, Any]


class _Candidate(Struct, kw_only=True):
    # In the order in which a kernel writes them.
    candidate_id: str
    execution_id: str
    output_ref: ArtifactRef
    output: Raw
    evidence_inline: tuple[Inline, ...]
    evidence_refs: tuple[ArtifactRef, ...]


class _Body(Struct, kw_only=True):
    candidate: _Candidate
    output_schema: Raw
    policy: Raw


class _OutputOf(Struct, kw_only=True):
    output: Raw = Raw(b"null")


class _Output(Struct, kw_only=True):
    candidate: _OutputOf


_decode: Final = msgspec.json.Decoder(_Body).decode
_encode: Final = msgspec.json.Encoder().encode
_output_of: Final = msgspec.json.Decoder(_Output).decode


def read_verify(body: bytes) -> VerifyRequest:
    """
    The question in a body.

    Raises:
        JSONError: It is not JSON as the kernel reads it.
        WrongShape: A member is missing or is not what it must be.
    """
    return _quickly(body) or _closely(body)


def read_execute(body: bytes) -> ExecuteRequest:
    """
    The call in a body.

    Raises:
        JSONError: It is not JSON as the kernel reads it.
        WrongShape: A member is missing or is not what it must be.
    """
    value: Any = loads(body)
    require_shape(value, EXECUTE)
    contract = value["task_contract"]
    names = ("task_id", "execution_id", "task_type", "profile", "stage", "attempt_id")
    schema = contract["output_schema"]
    return ExecuteRequest(
        **{name: value[name] for name in names},
        value=value,
        time_ms=contract["budget"]["time_ms"],
        output_schema=OutputSchema(schema, canonical_bytes(schema)),
    )


def read_agent_event(body: bytes) -> AgentEvent:
    """
    The event in a body.

    Raises:
        JSONError: It is not JSON as the kernel reads it.
        WrongShape: A member is missing or is not what it must be.
    """
    value: Any = loads(body)
    require_shape(value, AGENT_EVENT)
    event = value["event"]
    return AgentEvent(
        event_id=event["event_id"],
        event_type=event["event_type"],
        dedupe_key=event.get("dedupe_key"),
        value=event,
    )


def _quickly(body: bytes) -> VerifyRequest | None:
    """The question, if the body is surely what it must be; None where that takes a closer look."""
    try:
        read = _decode(body)
        encoded = _encode(read)
        candidate = read.candidate
        if not _is_whole(body, encoded, candidate):
            return None
        raw = bytes(candidate.output)
        output, canonical = loads_canonical(raw, max_depth=MAX_DEPTH - 2)
        return VerifyRequest(
            candidate_id=candidate.candidate_id,
            execution_id=candidate.execution_id,
            output_ref=candidate.output_ref,
            output=output,
            canonical=canonical,
            raw=raw,
            evidence_inline=candidate.evidence_inline,
            evidence_refs=candidate.evidence_refs,
            schema=_kept_schema(bytes(read.output_schema)),
            policy=_kept_policy(bytes(read.policy)),
        )
    except (msgspec.MsgspecError, ValueError, RecursionError, WrongShape):
        return None


def _is_whole(body: bytes, encoded: bytes, candidate: _Candidate) -> bool:
    """
    What was decoded by type is all that the body says, and says it once.

    A member that is unknown or was overwritten takes its colon with it; what cannot be
    told from the count is left to a closer look.
    """
    if body != encoded and (
        b"\\u003" in body or b"-0" in body or body.count(b":") != encoded.count(b":")
    ):
        return False
    for ref in (candidate.output_ref, *candidate.evidence_refs):
        if ref.size_bytes > MAX_INTEGER or ref.created_at > MAX_INTEGER:
            return False
    return True


def _closely(body: bytes) -> VerifyRequest:
    value: Any = loads(body)
    require_shape(value, VERIFY)
    candidate, policy, schema = value["candidate"], value["policy"], value["output_schema"]
    output = candidate.get("output")
    refs = (candidate["output_ref"], *candidate["evidence_refs"])
    output_ref, *evidence_refs = (
        ArtifactRef(**{name: ref[name] for name in ArtifactRef.__struct_fields__}) for ref in refs
    )
    return VerifyRequest(
        candidate_id=candidate["candidate_id"],
        execution_id=candidate["execution_id"],
        output_ref=output_ref,
        output=output,
        canonical=canonical_bytes(output),
        raw=_raw_output(body),
        evidence_inline=tuple(
            Inline(mime=item["mime"], content=item["content"])
            for item in candidate["evidence_inline"]
        ),
        evidence_refs=tuple(evidence_refs),
        schema=_kept_schema(canonical_bytes(schema)),
        policy=_kept_policy(canonical_bytes(policy)),
    )


def _raw_output(body: bytes) -> bytes:
    try:
        return bytes(_output_of(body).candidate.output)
    except (msgspec.MsgspecError, RecursionError):
        return b""


def kept_by_size(
    make: Callable[[*Asked], Made], size: Callable[[*Asked], int]
) -> Callable[[*Asked], Made]:
    """The same function that makes once what was asked for lately: many small ones, few large."""
    small, large = lru_cache(maxsize=KEPT)(make), lru_cache(maxsize=KEPT_LARGE)(make)

    def made(*asked: *Asked) -> Made:
        weight = size(*asked)
        if weight <= MAX_SMALL_BYTES:
            return small(*asked)
        return (large if weight <= MAX_LARGE_BYTES else make)(*asked)

    return made


def _schema(text: bytes) -> OutputSchema:
    return OutputSchema(*loads_canonical(text, max_depth=MAX_DEPTH - 1))


def _policy(text: bytes) -> ReceivedPolicy:
    value: Any = loads_canonical(text, max_depth=MAX_DEPTH - 1)[0]
    require_shape(value, POLICY, "/policy")
    members = {name: value[name] for name in PolicyBinding.__struct_fields__}
    binding = PolicyBinding(**members)
    return ReceivedPolicy(
        binding=binding,
        canonical=binding.canonical().decode(),
        quoted_hash=quoted(binding.policy_hash),
    )


_kept_schema: Final = kept_by_size(_schema, len)
_kept_policy: Final = kept_by_size(_policy, len)
