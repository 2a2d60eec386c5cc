"""A contract with its checks bound: prepared once, good for any number of subjects."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from signoff._version import __version__
from signoff.contract import bind_criterion
from signoff.errors import NotInstalled, ParamsError
from signoff.guard import always, apart, broken, message_of, text_of
from signoff.jsonvalue import shown
from signoff.lockfile import check_lock
from signoff.model import Contract, Criterion, Isolation, LockedContract
from signoff.registry import Check, CommandRunner, Registry, Verifier
from signoff.status import Cause

__all__ = ["Bound", "Plan", "prepare"]


class Bound(Struct, frozen=True, kw_only=True):
    """A criterion and its check; ``own`` checks are not suspected of changing the output."""

    criterion: Criterion
    check: Check
    own: bool


class Plan(Struct, frozen=True, kw_only=True):
    """
    A contract with its checks bound.

    Args:
        locked: The contract that was prepared.
        contract_id: Its id.
        criteria: Its criteria, in contract order.
        bound: The same with their checks.
        own: True when all checks are signoff's own.
        engines: Names and versions of the programs that decide.
        warnings: Those of the contract, and what is not as it was when it was locked.
        runner: What starts the commands of the checks, at the level that the contract wants.
    """

    locked: LockedContract
    contract_id: str
    criteria: tuple[Criterion, ...]
    bound: tuple[Bound, ...]
    own: bool
    engines: dict[str, str]
    warnings: tuple[str, ...] = ()
    runner: CommandRunner | None = None


def prepare(locked: LockedContract, registry: Registry) -> Plan:
    """
    The plan of a locked contract.

    A criterion that the registry cannot bind gets a check that answers error.

    Raises:
        LockCorrupt: The locked contract does not have its digest.
    """
    check_lock(locked)
    contract = locked.contract
    registry = _isolating(registry, contract.min_isolation)
    engines = {"signoff": __version__}
    for verifier in _verifiers(contract, registry):
        engines |= _provider(verifier) | _engines(verifier)
    bound = tuple(_bound(criterion, registry) for criterion in contract.criteria)
    return Plan(
        locked=locked,
        contract_id=contract.id,
        criteria=contract.criteria,
        bound=bound,
        own=all(entry.own for entry in bound),
        engines=engines,
        warnings=(*locked.warnings, *_changes(locked, registry)),
        runner=registry.powers.sandbox,
    )


def _isolating(registry: Registry, level: Isolation | None) -> Registry:
    """The registry whose checks start no command below a level; nothing below L1 is started."""
    sandbox = registry.powers.sandbox
    if sandbox is None or level in {None, "L0"}:
        return registry
    return registry.with_powers(replace(registry.powers, sandbox=sandbox.requiring(level)))


def _verifiers(contract: Contract, registry: Registry) -> Iterator[Verifier]:
    """Those that the contract names, each once."""
    for id_ in dict.fromkeys(criterion.verifier for criterion in contract.criteria):
        verifier = registry.get(id_)
        if verifier is not None:
            yield verifier


def _provider(verifier: Verifier) -> dict[str, str]:
    """Name and version of what brings a verifier that is not signoff's own, where it has both."""
    name, _, version = verifier.source.rpartition(" ")
    return {name: version} if name and not verifier.own else {}


def _engines(verifier: Verifier) -> dict[str, str]:
    """The programs that a verifier says decide; what cannot be told is told as unknown."""
    if verifier.engines is None:
        return {}
    try:
        return msgspec.convert(verifier.engines(), dict[str, str])
    except Exception:  # noqa: BLE001  a verifier from anywhere may do anything there
        return {verifier.id: "unknown"}


def _changes(locked: LockedContract, registry: Registry) -> Iterator[str]:
    """Which verifiers come from elsewhere, or in another version, than when they were locked."""
    changed: dict[tuple[str, str], list[str]] = {}
    for id_, before in locked.verifiers.items():
        verifier = registry.get(id_)
        if verifier is not None and verifier.source != before:
            changed.setdefault((before, verifier.source), []).append(id_)
    for (before, now), ids in changed.items():
        yield f"{', '.join(ids)}: locked with {shown(before)}, judged with {shown(now)}"


def _bound(criterion: Criterion, registry: Registry) -> Bound:
    verifier = registry.get(criterion.verifier)
    own = verifier is None or verifier.own
    try:
        check = bind_criterion(criterion, registry)
    except ParamsError as exc:
        cause = Cause.NO_SUCH_VERIFIER if verifier is None else Cause.BAD_PARAMS
        check = always(broken(f"{exc}.", cause))
    except NotInstalled as exc:
        check = always(broken(f"{exc}.", Cause.NOT_INSTALLED))
    except Exception as exc:  # noqa: BLE001  a factory from anywhere may raise anything
        check = always(broken(message_of(exc, text_of(exc))))
    return Bound(criterion=criterion, check=check if own else apart(check), own=own)
