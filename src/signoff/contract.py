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

from signoff.draft import document_of, read_draft
from signoff.errors import ContractError, Fault, NotInstalled, ParamsError
from signoff.jsonvalue import JSON, shown
from signoff.lockfile import seal
from signoff.model import Contract, Criterion, LockedContract
from signoff.registry import Check, Registry

__all__ = ["bind_criterion", "lock"]


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
    document = document_of(contract)
    draft = read_draft(document)
    faults, criteria, warnings = list(draft.faults), list[Criterion](), list[str]()
    for index, written in draft.criteria:
        where = f"/criteria/{index}"
        try:
            criterion, check = _bound(written, registry, folder)
        except ParamsError as exc:
            known = registry.get(written.verifier) is not None
            faults += (_placed(fault, where, known=known) for fault in exc.faults)
        except NotInstalled as exc:
            faults.append(Fault(f"{where}/verifier", str(exc)))
        except Exception as exc:  # noqa: BLE001  a factory from anywhere may raise anything
            said = shown(f"{type(exc).__name__}: {exc}")
            message = f'verifier "{shown(written.verifier)}" cannot be bound: {said}'
            faults.append(Fault(f"{where}/verifier", message))
        else:
            criteria.append(criterion)
            warnings += (f"{criterion.id}: {text}" for text in getattr(check, "warnings", ()))
    if faults:
        raise ContractError(tuple(sorted(faults, key=_position)))
    named = map(registry.get, sorted({one.verifier for one in criteria}))
    sources = {verifier.id: verifier.source for verifier in named if verifier is not None}
    return seal(draft.contract(tuple(criteria)), sources, tuple(warnings))


def bind_criterion(criterion: Criterion, registry: Registry) -> Check:
    """
    The check of a criterion.

    Raises:
        ParamsError: No such verifier, or parameters that it refuses.
        NotInstalled: The verifier needs an optional package.
    """
    return registry.bind(criterion.verifier, criterion.params, criterion=criterion.id)


def _bound(written: Criterion, registry: Registry, folder: Path | None) -> tuple[Criterion, Check]:
    """The criterion as it is locked, and its check."""
    verifier = registry.get(written.verifier)
    if verifier is None or verifier.rewrite is None:
        return written, bind_criterion(written, registry)
    try:
        params = verifier.rewrite(dict(written.params), folder)
    except ParamsError as exc:
        raise ParamsError(exc.faults + _others(written, registry, exc.faults)) from exc
    criterion = msgspec.structs.replace(written, params=params)
    return criterion, bind_criterion(criterion, registry)


def _others(written: Criterion, registry: Registry, faults: tuple[Fault, ...]) -> tuple[Fault, ...]:
    """The faults of other parameters than those that were found already."""
    known = {fault.where for fault in faults}
    try:
        bind_criterion(written, registry)
    except ParamsError as exc:
        return tuple(fault for fault in exc.faults if fault.where not in known)
    return ()


def _placed(fault: Fault, where: str, *, known: bool) -> Fault:
    place = f"{where}/params{fault.where}" if known else f"{where}/verifier"
    return msgspec.structs.replace(fault, where=place)


def _position(fault: Fault) -> int:
    """The number of the criterion that a fault is in; faults of the contract itself come first."""
    tokens = fault.where.split("/")
    return int(tokens[2]) if len(tokens) > 2 and tokens[1] == "criteria" else -1
