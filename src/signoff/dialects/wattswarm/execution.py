"""What a proposer answers: its output, held to the rules of a kernel, and the record of the run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from msgspec import Struct

from signoff.dialects.wattswarm.evidence import inline_fault
from signoff.dialects.wattswarm.hashes import digest_of
from signoff.dialects.wattswarm.jsonform import canonical, has_unsafe, rounded
from signoff.dialects.wattswarm.media import media_fault
from signoff.dialects.wattswarm.request import ArtifactRef, ExecuteRequest, Inline
from signoff.dialects.wattswarm.schema import SchemaUnusable
from signoff.jsonvalue import JSON

__all__ = [
    "MAX_OUTPUT_BYTES",
    "MAX_REPLY_BYTES",
    "Proposal",
    "ProposalRefused",
    "execute_reply",
    "execution_record",
    "messages_of",
    "proposal_of",
    "request_digest",
]

MAX_OUTPUT_BYTES: Final = 65_536
MAX_REPLY_BYTES: Final = 120_000
RECORD: Final = "signoff/wattswarm/execution/v1"

INSTRUCTIONS: Final = (
    "You do one task. The user's message is a JSON object: `inputs` is the task, `output_schema` "
    "is the JSON Schema that your answer must conform to, and `policy` says how your answer will "
    "be judged. Answer with exactly one JSON object that conforms to `output_schema`, without any "
    "text around it."
)


class ProposalRefused(Exception):
    """What an executor gave is nothing that may be proposed; the message says why."""


class Proposal(Struct, frozen=True, kw_only=True):
    """
    An output that may be proposed.

    Args:
        output: Its canonical bytes.
        digest: Of these bytes.
        inline: What is sent along.
        has_unsafe: A kernel may read one of its numbers otherwise.
    """

    output: bytes
    digest: str
    inline: tuple[Inline, ...]
    has_unsafe: bool


def proposal_of(request: ExecuteRequest, output: JSON, inline: Iterable[Inline]) -> Proposal:
    """
    The output as it is proposed: doubles of 15 digits, everything else as it was given.

    Raises:
        ProposalRefused: It is null, too large, or does not conform to the schema; or
            something is wrong with what is sent along.
    """
    if output is None:
        raise ProposalRefused("output is null, expected any other JSON value")
    found = rounded(output)
    try:
        data = canonical(found)
    except ValueError as exc:
        raise ProposalRefused(f"output is no JSON: {exc}") from exc
    if len(data) > MAX_OUTPUT_BYTES:
        raise ProposalRefused(
            f"output has {len(data)} bytes, expected at most {MAX_OUTPUT_BYTES} of canonical JSON"
        )
    _require_conforming(request, found, len(data))
    items = tuple(inline)
    for index, item in enumerate(items):
        fault = inline_fault(item) or media_fault(item.content)
        if fault is not None:
            raise ProposalRefused(f"inline/{index}: {fault}")
    return Proposal(output=data, digest=digest_of(data), inline=items, has_unsafe=has_unsafe(found))


def request_digest(request: ExecuteRequest) -> str:
    """The digest of a request, which is that of every equal one however it is written."""
    return digest_of(canonical(request.value))


def execution_record(
    request: ExecuteRequest,
    proposal: Proposal,
    *,
    executor: str,
    started_at: int,
    finished_at: int,
) -> bytes:
    """
    The canonical record of a run.

    Args:
        request: What was asked.
        proposal: What is proposed.
        executor: Name of the executor.
        started_at: Milliseconds since 1970.
        finished_at: Likewise.
    """
    return canonical(
        {
            "record": RECORD,
            "task_id": request.task_id,
            "execution_id": request.execution_id,
            "attempt_id": request.attempt_id,
            "task_type": request.task_type,
            "profile": request.profile,
            "stage": request.stage,
            "executor": executor,
            "request_digest": request_digest(request),
            "output_digest": proposal.digest,
            "started_at": started_at,
            "finished_at": finished_at,
        }
    )


def execute_reply(proposal: Proposal, refs: Iterable[ArtifactRef]) -> bytes:
    """
    The body of the answer; the output stands in it in its canonical form.

    Raises:
        ProposalRefused: It is larger than an event of a kernel may be.
    """
    inline: list[JSON] = [{"mime": one.mime, "content": one.content} for one in proposal.inline]
    listed: list[JSON] = [
        {name: getattr(ref, name) for name in ArtifactRef.__struct_fields__} for ref in refs
    ]
    body = b'{"candidate_output":%b,"evidence_inline":%b,"evidence_refs":%b}' % (
        proposal.output,
        canonical(inline),
        canonical(listed),
    )
    if len(body) > MAX_REPLY_BYTES:
        raise ProposalRefused(
            f"output and evidence make a reply of {len(body)} bytes,"
            f" expected at most {MAX_REPLY_BYTES}"
        )
    return body


def messages_of(value: JSON) -> Sequence[Mapping[str, str]]:
    """What a model is told of a request: inputs, schema of the output, and policy."""
    request = value if isinstance(value, dict) else {}
    contract = _member(request, "task_contract")
    asked: JSON = {
        "inputs": request.get("inputs"),
        "output_schema": contract.get("output_schema"),
        "policy": _member(contract, "acceptance").get("verifier_policy"),
    }
    return (
        {"role": "system", "content": INSTRUCTIONS},
        {"role": "user", "content": canonical(asked).decode()},
    )


def _member(value: dict[str, JSON], name: str) -> dict[str, JSON]:
    found = value.get(name)
    return found if isinstance(found, dict) else {}


def _require_conforming(request: ExecuteRequest, output: JSON, size: int) -> None:
    schema = request.output_schema
    try:
        refusal = schema.minimal_refusal(output) or schema.full_refusal(output, size)
    except SchemaUnusable as exc:
        raise ProposalRefused(f"output cannot be judged: {exc}") from exc
    if refusal is not None:
        raise ProposalRefused(f"output does not conform to the schema of the task: {refusal}")
