"""
Which contracts may be judged for somebody on the network, and how one is locked.

Checks that start commands or read files of this machine look at a workspace, and
a request has none.  They are not merely left without means: a contract that names
one is refused, so that nobody waits for a verdict that it could never give.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from signoff.contract import lock
from signoff.document import Document
from signoff.errors import ContractError, Fault
from signoff.jsonvalue import JSON, shown
from signoff.lockfile import is_lock, read_lock
from signoff.model import LockedContract
from signoff.probes import PROBES
from signoff.registry import Registry
from signoff.service.message import Problem

__all__ = ["Admitted", "admit", "may_be_served", "refused", "served"]

# The probes that judge what they are sent, with means that the operator configured.  Any other,
# also one that is added later, looks at this machine until somebody has found that it does not.
_FIT: Final = frozenset({"dominant_color", "remote", "similarity_above"})
MAX_ERRORS: Final = 100


class Admitted(Struct, frozen=True, kw_only=True):
    """
    A contract that may be judged.

    Args:
        locked: The contract, locked.
        was_locked: It came as a lock file, and was not locked just now.
    """

    locked: LockedContract
    was_locked: bool


def may_be_served(id_: str) -> bool:
    """The verifier of this id judges what it is sent, and nothing else."""
    return id_ in _FIT or id_ not in PROBES.entries


def served(registry: Registry) -> Registry:
    """The verifiers that contracts from the network may name."""
    entries = {id_: one for id_, one in registry.entries.items() if may_be_served(id_)}
    made = Registry(powers=registry.powers)
    made.entries = entries
    return made


def refused() -> tuple[str, ...]:
    """Ids of the verifiers that they may not name, sorted."""
    return tuple(id_ for id_ in PROBES.ids() if not may_be_served(id_))


def admit(document: JSON, registry: Registry, *, source: Document | None = None) -> Admitted:
    """
    The locked contract of a document, which is a contract or a lock file.

    Args:
        document: The value of the document.
        registry: The verifiers that it may name; see ``served``.
        source: The text that it was read from, for lines and columns.

    Raises:
        Problem: It cannot be locked: with every fault.
    """
    prefix, contract = "", document
    locked, faults = None, list[Fault]()
    try:
        if is_lock(document):
            contract = msgspec.json.decode(read_lock(document).canonical)
            prefix = "/contract"
        faults += _not_served(contract)
        locked = lock(contract, registry)
    except ContractError as exc:
        named = {fault.where for fault in faults}
        faults += (fault for fault in exc.faults if fault.where not in named)
    if locked is None or faults:
        raise _problem(sorted(faults, key=_position), prefix, source)
    return Admitted(locked=locked, was_locked=bool(prefix))


def _not_served(contract: Any) -> Iterator[Fault]:
    criteria = contract.get("criteria") if type(contract) is dict else None
    for index, criterion in enumerate(criteria if type(criteria) is list else ()):
        id_ = criterion.get("verifier") if type(criterion) is dict else None
        if type(id_) is str and not may_be_served(id_):
            message = (
                f'"{shown(id_)}" starts commands or reads files of the machine that judges, '
                "which no contract from the network may"
            )
            yield Fault(f"/criteria/{index}/verifier", message)


def _position(fault: Fault) -> int:
    """The number of the criterion that a fault is in; faults of the contract itself come first."""
    tokens = fault.where.split("/")
    return int(tokens[2]) if len(tokens) > 2 and tokens[2].isdigit() else -1


def _problem(faults: list[Fault], prefix: str, source: Document | None) -> Problem:
    """All faults counted, the first of them told with their places: to find one takes its time."""
    count = "1 fault" if len(faults) == 1 else f"{len(faults)} faults"
    told = [replace(fault, where=prefix + fault.where) for fault in faults[:MAX_ERRORS]]
    if source is not None:
        told = [*map(source.placed, told)]
    return Problem(
        422,
        "contract_refused",
        f"the contract cannot be locked: {count}",
        pointer=shown(told[0].where),
        errors=[*map(_told, told)],
    )


def _told(fault: Fault) -> dict[str, object]:
    told: dict[str, object] = {"pointer": fault.where, "detail": fault.message}
    if fault.line:
        told |= {"line": fault.line, "column": fault.column}
    return told
