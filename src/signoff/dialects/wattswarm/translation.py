"""
A request as a contract and a subject: which criteria a policy comes to, and in which order.

The contract names the schema by its digest, so that a schema of any size and kind
fits; the subject brings the schema along.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import Enum
from typing import Final

from msgspec import UNSET, Struct

from signoff.dialects.wattswarm.evidence import MAX_REFERENCES, is_digest
from signoff.dialects.wattswarm.facts import Facts
from signoff.dialects.wattswarm.hashes import hex_of
from signoff.dialects.wattswarm.jsonform import MAX_DEPTH
from signoff.dialects.wattswarm.policies import (
    CROSSCHECK,
    SCHEMA_THRESHOLDS,
    Form,
    PolicyBinding,
)
from signoff.dialects.wattswarm.request import VerifyRequest
from signoff.jsonvalue import JSON, is_number, json_type, shown
from signoff.model import Contract, Criterion, Subject

__all__ = [
    "EvidenceMode",
    "Scope",
    "contract_of",
    "is_settled",
    "malformed_refs",
    "notes_of",
    "scope_of",
    "subject_of",
]

MAX_PARAMS: Final = 64
MAX_INLINE: Final = 64
MAX_NAME: Final = 1_000
MAX_NOTES: Final = 16
MAX_ID_BYTES: Final = 64


class EvidenceMode(Enum):
    """What becomes of evidence."""

    OFF = "off"
    ADVISORY = "advisory"
    REQUIRED = "required"


class Scope(Struct, frozen=True):
    """
    What a contract has to speak of besides the policy.

    Args:
        has_output: There is an output.
        inline: How many pieces of inline evidence there are.
        refs: Which references are judged, by their index.
        too_many: There are so many references that none is fetched.
    """

    has_output: bool
    inline: int
    refs: tuple[int, ...]
    too_many: bool = False


def malformed_refs(request: VerifyRequest) -> tuple[int, ...]:
    """The references that never match, whatever is fetched; at most so many as are told."""
    refs = enumerate(request.evidence_refs)
    return tuple(index for index, ref in refs if not is_digest(ref.digest))[:MAX_REFERENCES]


def scope_of(request: VerifyRequest, *, with_refs: bool) -> Scope:
    """
    The scope of a request.

    Args:
        request: The request.
        with_refs: All references are judged; otherwise those alone that never match.
    """
    refs = malformed_refs(request) if request.evidence_refs else ()
    too_many = len(request.evidence_refs) > MAX_REFERENCES
    if with_refs and not too_many:
        refs = tuple(range(len(request.evidence_refs)))
    return Scope(
        request.output is not None,
        len(request.evidence_inline),
        refs,
        with_refs and too_many,
    )


def is_settled(criterion_id: str, form: Form) -> bool:
    """What was found out for the criterion stands, whatever references hold."""
    if criterion_id == "check_summary":
        return form is Form.KERNEL
    return criterion_id not in {"majority", "min_score"}


def subject_of(facts: Facts) -> Subject:
    """What the criteria of a request are held against."""
    output = facts.request.output
    return Subject(
        output=UNSET if output is None else output,
        input=facts,
        output_digest=None if output is None else facts.digest,
        output_depth=MAX_DEPTH,
    )


def contract_of(
    policy: PolicyBinding, form: Form, schema_digest: str, mode: EvidenceMode, scope: Scope
) -> Contract:
    """The criteria that a policy comes to, in the order in which they are judged."""
    criteria = _criteria(policy, form, schema_digest, mode, scope)
    return Contract(
        id=policy.policy_id,
        title=f"WattSwarm {policy.policy_id}, {form.value} form, evidence {mode.value}",
        criteria=tuple(criteria),
    )


def notes_of(policy: PolicyBinding) -> tuple[str, ...]:
    """What is odd about the parameters: those that this policy does not have."""
    ignored = sorted(name for name in policy.params if not _is_known(policy.policy_id, name))
    more = len(ignored) - MAX_NOTES
    notes = [f"ignored parameter {shown(name, 100)}" for name in ignored[:MAX_NOTES]]
    return (*notes, *([f"ignored parameters: {more} more"] if more > 0 else []))


def _criteria(
    policy: PolicyBinding, form: Form, schema_digest: str, mode: EvidenceMode, scope: Scope
) -> Iterator[Criterion]:
    required = mode is EvidenceMode.REQUIRED
    if required and not scope.has_output:
        yield Criterion(id="output", verifier="wattswarm_output")
        return
    yield Criterion(id="schema", verifier="wattswarm_schema", params={"digest": schema_digest})
    yield from _thresholds(policy)
    if mode is not EvidenceMode.OFF:
        yield Criterion(id="output_ref", verifier="wattswarm_output_ref", required=required)
        yield from _inline(scope.inline, required=required)
    crosscheck = policy.policy_id == CROSSCHECK
    summary = Criterion(
        id="check_summary", verifier="wattswarm_check_summary", params={"form": form.value}
    )
    if crosscheck and form is Form.KERNEL:
        yield summary
    if mode is not EvidenceMode.OFF:
        yield from _references(scope, required=required)
    if crosscheck:
        yield Criterion(id="majority", verifier="wattswarm_majority")
        if form is Form.DOC:
            yield summary
        yield from _min_score(policy, form)


def _thresholds(policy: PolicyBinding) -> Iterator[Criterion]:
    """The thresholds on fields and length, then the parameters that cannot be read."""
    wanted = [
        (name, value)
        for name, value in sorted(policy.params.items())
        if value is not None and _is_known(policy.policy_id, name)
    ]
    unreadable = [*_unreadable(wanted[:MAX_PARAMS])]
    problems = dict(unreadable)
    for name, value in wanted[:MAX_PARAMS]:
        if policy.policy_id == SCHEMA_THRESHOLDS and name not in problems:
            yield _threshold(name, value)
    for name, problem in unreadable:
        id_ = f"param:{_named(name)}"
        yield Criterion(id=id_, verifier="wattswarm_param", params={"problem": problem})
    if len(wanted) > MAX_PARAMS:
        problem = f"more than {MAX_PARAMS} thresholds"
        yield Criterion(id="param", verifier="wattswarm_param", params={"problem": problem})


def _unreadable(params: Iterable[tuple[str, JSON]]) -> Iterator[tuple[str, str]]:
    """Each parameter that cannot be read, with the reason."""
    for name, value in params:
        if not is_number(value):
            yield name, f"policy_params/{shown(name, 100)} must be number, got {json_type(value)}"
        elif len(name) > MAX_NAME:
            yield name, f"policy_params/{shown(name, 100)} has a name of {len(name)} characters"


def _threshold(name: str, limit: JSON) -> Criterion:
    if name == "max_len":
        return Criterion(id=name, verifier="wattswarm_max_len", params={"limit": limit})
    kind, _, field = name.partition("_")
    return Criterion(
        id=f"{kind}:{_named(field)}",
        verifier=f"wattswarm_{kind}",
        params={"field": field, "limit": limit},
    )


def _min_score(policy: PolicyBinding, form: Form) -> Iterator[Criterion]:
    limit = policy.params.get("min_score")
    if is_number(limit):
        params = {"limit": limit, "form": form.value}
        yield Criterion(id="min_score", verifier="wattswarm_min_score", params=params)


def _inline(count: int, *, required: bool) -> Iterator[Criterion]:
    """One criterion for each piece, and one for all that are beyond so many."""
    pieces = [(f"inline:{index}", index, index + 1) for index in range(min(count, MAX_INLINE))]
    if count > MAX_INLINE:
        pieces.append((f"inline:{MAX_INLINE}+", MAX_INLINE, count))
    for id_, first, last in pieces:
        params = {"first": first, "last": last}
        yield Criterion(id=id_, verifier="wattswarm_inline", params=params, required=required)


def _references(scope: Scope, *, required: bool) -> Iterator[Criterion]:
    for index in scope.refs:
        yield Criterion(
            id=f"ref:{index}",
            verifier="wattswarm_ref",
            params={"first": index, "last": index + 1},
            required=required,
        )
    if scope.too_many:
        params = {"limit": MAX_REFERENCES}
        yield Criterion(id="refs", verifier="wattswarm_refs", params=params, required=required)


def _is_known(policy_id: str, name: str) -> bool:
    """The policy has a parameter of that name."""
    if policy_id == SCHEMA_THRESHOLDS:
        return name.startswith(("min_", "max_"))
    return policy_id == CROSSCHECK and name == "min_score"


def _named(name: str) -> str:
    """The name as it may stand in an id: itself where that is possible, and no other's."""
    if len(name.encode()) <= MAX_ID_BYTES and not name.startswith("~") and shown(name) == name:
        return name
    return f"~{hex_of(name.encode())[:32]}"
