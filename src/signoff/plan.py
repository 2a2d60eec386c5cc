"""A contract with its checks bound: prepared once, good for any number of subjects."""

from __future__ import annotations

from msgspec import Struct

from signoff._version import __version__
from signoff.contract import bind_criterion
from signoff.errors import NotInstalled, ParamsError
from signoff.guard import always, apart, broken
from signoff.lockfile import check_lock
from signoff.model import Criterion, LockedContract
from signoff.registry import Check, Registry
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
    """

    locked: LockedContract
    contract_id: str
    criteria: tuple[Criterion, ...]
    bound: tuple[Bound, ...]
    own: bool
    engines: dict[str, str]


def prepare(locked: LockedContract, registry: Registry) -> Plan:
    """
    The plan of a locked contract.

    A criterion that the registry cannot bind gets a check that answers error.

    Raises:
        LockCorrupt: The locked contract does not have its digest.
    """
    check_lock(locked)
    contract = locked.contract
    engines = {"signoff": __version__}
    for id_ in dict.fromkeys(criterion.verifier for criterion in contract.criteria):
        verifier = registry.get(id_)
        if verifier is not None and verifier.engines is not None:
            engines |= verifier.engines()
    bound = tuple(_bound(criterion, registry) for criterion in contract.criteria)
    return Plan(
        locked=locked,
        contract_id=contract.id,
        criteria=contract.criteria,
        bound=bound,
        own=all(entry.own for entry in bound),
        engines=engines,
    )


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
    return Bound(criterion=criterion, check=check if own else apart(check), own=own)
