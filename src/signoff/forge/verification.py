"""
``verify_task_result``: every verifier that a contract asks for, one result each.

Source: forge-lcdl, "Verification registry", Helper and Policy.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from msgspec.structs import replace

from signoff.dialects.forge import (
    Chosen,
    FailureClass,
    PolicySource,
    VerificationResult,
    VerificationStatus,
    chosen,
    contract_of,
    to_result,
)
from signoff.engine import Engine
from signoff.forge.contract_files import nearest
from signoff.forge.contract_schema import ContractSchemaVerifier
from signoff.forge.contract_spec import ContractSpec
from signoff.forge.registry import Entry, VerifierRegistry, default_registry
from signoff.forge.schema_rules import digest_or_none
from signoff.forge.slots import Noted, Task, core_registry, refusing
from signoff.jsonvalue import JSON
from signoff.lockfile import seal
from signoff.model import Result
from signoff.status import Cause

__all__ = ["POLICY_SLOT", "verify_task_result"]

POLICY_SLOT: Final = "policy.verifier_ids"


def verify_task_result(
    spec: ContractSpec,
    input_obj: Any,
    output_obj: Any = None,
    *,
    context: Mapping[str, Any] | None = None,
    registry: VerifierRegistry | None = None,
    strict_policy: bool = False,
    fail_fast: bool = False,
) -> tuple[VerificationResult, ...]:
    """
    One result for each verifier that the contract asks for, in its order.

    Args:
        spec: The contract; its ``verification_policy`` names the verifiers.
        input_obj: What the task was given.
        output_obj: What it made; None when there is nothing to check.
        context: What verifiers get besides; ``contract`` in it is always ``spec``.
        registry: Where ids are looked up; ``default_registry()`` by default.
        strict_policy: A policy that is invalid adds a failure in front, and unknown
            keywords of a schema are a failure.
        fail_fast: Skip what follows the first result that does not hold.

    Raises:
        TypeError: ``spec`` is no ContractSpec, or ``context`` no mapping.
        ValueError: The context has another contract.
        KeyboardInterrupt: A verifier was interrupted; that is no verdict.
    """
    task = _task(spec, input_obj, output_obj, context)
    policy = chosen(spec.verification_policy)
    known = default_registry() if registry is None else registry
    ids = policy.ids
    entries = _entries(known, ids, strict=strict_policy)
    refused = strict_policy and policy.source is PolicySource.DEFAULT_INVALID
    if refused:
        ids = (POLICY_SLOT, *ids)
    contract = contract_of(spec.task_id, ids)
    noted = {criterion.id: Noted() for criterion in contract.criteria}
    core = core_registry(entries, policy.ids, task, noted)
    if refused:
        core |= [refusing(POLICY_SLOT, _policy_invalid(policy))]
    report = Engine(core).verify(
        seal(contract, {}, ()),  # ids that nobody knows are results here, not a refusal to lock
        task.subject(),
        fail_fast=fail_fast,
        on_result=_passing_on(noted),
    )
    facts: dict[str, JSON] = {"policy_source": policy.source.value, "checked": _digests(task)}
    results = tuple(
        _result(id_, result, noted[result.criterion], known, facts)
        for id_, result in zip(ids, report.results, strict=True)
    )
    return _warned(results, spec.warnings)


def _task(spec: object, input_obj: Any, output_obj: Any, context: Mapping[str, Any] | None) -> Task:
    if not isinstance(spec, ContractSpec):
        raise TypeError(f"spec must be ContractSpec, got {type(spec).__name__}")
    if context is not None and not isinstance(context, Mapping):
        raise TypeError(f"context must be a mapping, got {type(context).__name__}")
    given = dict(context or {})
    other = given.pop("contract", spec)
    if not isinstance(other, ContractSpec) or other != spec:
        raise ValueError("context has another contract than spec")
    return Task(spec=spec, input_obj=input_obj, output_obj=output_obj, context=given)


def _entries(known: VerifierRegistry, ids: tuple[str, ...], *, strict: bool) -> dict[str, Entry]:
    found = {id_: entry for id_ in ids if (entry := known.entry(id_)) is not None}
    if not strict:
        return found
    return {
        id_: replace(entry, verifier=replace(entry.verifier, strict=True))
        if type(entry.verifier) is ContractSchemaVerifier
        else entry
        for id_, entry in found.items()
    }


def _passing_on(noted: Mapping[str, Noted]) -> Callable[[Result], None]:
    """Passes an interrupt on that the engine took for the verifier's own fault."""

    def pass_on(result: Result) -> None:
        interrupt = noted[result.criterion].interrupt
        if interrupt is not None:
            raise interrupt

    return pass_on


def _digests(task: Task) -> dict[str, JSON]:
    output = task.output_obj
    return {
        "contract_sha256": digest_or_none(task.spec.to_dict()),
        "input_sha256": digest_or_none(task.input_obj),
        "output_sha256": None if output is None else digest_or_none(output),
    }


def _result(
    id_: str, result: Result, noted: Noted, known: VerifierRegistry, facts: Mapping[str, JSON]
) -> VerificationResult:
    found = to_result(id_, result.finding, elapsed_seconds=result.elapsed_s)
    more: dict[str, Any] = {}
    if noted.raised and result.finding.cause is Cause.VERIFIER_BROKE:
        more["exception_type"] = noted.raised
    if found.evidence.get("failure_class") == FailureClass.UNKNOWN_VERIFIER.value:
        ids = known.list_ids()
        more["known_ids"] = ids
        more["nearest"] = next(iter(nearest(id_, ids, count=1)), None)
    return replace(found, evidence={**found.evidence, **more, **facts})


def _policy_invalid(policy: Chosen) -> VerificationResult:
    return VerificationResult(
        VerificationStatus.FAIL,
        POLICY_SLOT,
        policy.problem,
        {"failure_class": FailureClass.POLICY_INVALID.value},
        (policy.problem,),
    )


def _warned(
    results: tuple[VerificationResult, ...], warnings: tuple[str, ...]
) -> tuple[VerificationResult, ...]:
    """The results, the first of them with the warnings about the contract itself."""
    first, *others = results
    return (replace(first, warnings=(*first.warnings, *warnings)), *others)
