"""
``lock``: the only door to a locked contract.

Locking proves that a contract could fail, binds each criterion to its verifier,
and fixes the digest.  All faults are gathered before it is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from signoff.canonical import canonical_bytes, digest_bytes
from signoff.draft import read_draft
from signoff.errors import ContractError, Fault, LockCorrupt, NotInstalled, ParamsError
from signoff.jsonvalue import JSON, shown
from signoff.model import Contract, Criterion, LockedContract
from signoff.registry import Check, Registry

__all__ = ["bind_criterion", "check_lock", "lock", "seal"]


def lock(
    contract: Contract | Mapping[str, Any] | JSON,
    registry: Registry,
    *,
    folder: Path | None = None,
) -> LockedContract:
    """
    Make a contract binding.

    Args:
        contract: The contract, or the JSON value of its document.
        registry: The verifiers that its criteria may name.
        folder: Where files that it refers to lie, such as a ``schemaRef``; without
            it such references are faults.

    Raises:
        ContractError: With every fault, in document order, places as JSON Pointers.
    """
    document = _document(contract)
    draft = read_draft(document)
    faults, criteria = list(draft.faults), list[Criterion]()
    warnings, sources = list[str](), dict[str, str]()
    for index, written in draft.criteria:
        where = f"/criteria/{index}"
        try:
            criterion = _rewritten(written, registry, folder)
            check = bind_criterion(criterion, registry)
        except ParamsError as exc:
            place = where if registry.get(written.verifier) else f"{where}/verifier"
            faults += (_placed(fault, place) for fault in exc.faults)
        except NotInstalled as exc:
            faults.append(Fault(f"{where}/verifier", str(exc)))
        else:
            criteria.append(criterion)
            sources[criterion.verifier] = _source(criterion, registry)
            warnings += (f"{criterion.id}: {text}" for text in getattr(check, "warnings", ()))
    if faults:
        raise ContractError(tuple(sorted(faults, key=_position)))
    return seal(draft.contract(tuple(criteria)), sources, tuple(warnings))


def seal(
    contract: Contract, verifiers: dict[str, str], warnings: tuple[str, ...]
) -> LockedContract:
    """The contract with its digest; it checks nothing, ``lock`` and lock files do."""
    canonical = canonical_bytes(_document(contract))
    return LockedContract(
        canonical=canonical,
        digest=digest_bytes(canonical),
        verifiers=dict(sorted(verifiers.items())),
        warnings=warnings,
    )


def check_lock(locked: LockedContract) -> None:
    """
    Nothing, if the locked contract has its digest.

    Raises:
        LockCorrupt: It has another.
    """
    found = digest_bytes(locked.canonical)
    if found != locked.digest:
        message = f"digest must be {found}, got {shown(str(locked.digest))}"
        raise LockCorrupt((Fault("/digest", message),))


def bind_criterion(criterion: Criterion, registry: Registry) -> Check:
    """
    The check of a criterion.

    Raises:
        ParamsError: No such verifier, or parameters that it refuses.
        NotInstalled: The verifier needs an optional package.
    """
    verifier = registry.get(criterion.verifier)
    if verifier is None:
        name = criterion.verifier
        message = f'No verifier registered for "{shown(name)}"'
        raise ParamsError((Fault("", message, got=name, known=registry.ids()),))
    return verifier.bind(criterion.params, registry.powers)


def _document(contract: Contract | Mapping[str, Any] | JSON) -> Any:
    if not isinstance(contract, Contract):
        return contract
    document = msgspec.to_builtins(contract)
    return document | {"criteria": list(document["criteria"])}


def _rewritten(criterion: Criterion, registry: Registry, folder: Path | None) -> Criterion:
    verifier = registry.get(criterion.verifier)
    if verifier is None or verifier.rewrite is None:
        return criterion
    params = verifier.rewrite(dict(criterion.params), folder)
    return msgspec.structs.replace(criterion, params=params)


def _source(criterion: Criterion, registry: Registry) -> str:
    verifier = registry.get(criterion.verifier)
    return "" if verifier is None else verifier.source


def _placed(fault: Fault, where: str) -> Fault:
    base = where if where.endswith("/verifier") else f"{where}/params"
    return Fault(base + fault.where, fault.message, got=fault.got, known=fault.known)


def _position(fault: Fault) -> int:
    """The number of the criterion that a fault is in; faults of the contract itself come first."""
    tokens = fault.where.split("/")
    return int(tokens[2]) if len(tokens) > 2 and tokens[1] == "criteria" else -1
