"""What changed between two contracts, criterion by criterion."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from signoff.jsonvalue import json_equal
from signoff.model import Contract, Criterion

__all__ = ["Change", "ContractDiff", "CriterionDiff", "diff"]


class Change(Struct, frozen=True, kw_only=True):
    """
    One key with another value.

    Args:
        key: Name of the field; ``params.NAME`` for a parameter.
        before: Its value in the first contract; None where it is absent.
        after: Its value in the second, likewise.
        added: True where the first contract does not have the key.
        removed: True where the second does not.
    """

    key: str
    before: Any = None
    after: Any = None
    added: bool = False
    removed: bool = False


class CriterionDiff(Struct, frozen=True, kw_only=True):
    """A criterion that both contracts have, and what is different in it."""

    id: str
    changes: tuple[Change, ...]


class ContractDiff(Struct, frozen=True, kw_only=True):
    """
    What is different in the second contract.

    Args:
        changes: Its own fields: id, title, min_isolation.
        added: Criteria that only the second has, in its order.
        removed: Criteria that only the first has, in its order.
        changed: Criteria of one id that say something else, in the order of the second.
        reordered: True when the criteria of both stand in another order.
    """

    changes: tuple[Change, ...] = ()
    added: tuple[Criterion, ...] = ()
    removed: tuple[Criterion, ...] = ()
    changed: tuple[CriterionDiff, ...] = ()
    reordered: bool = False

    @property
    def is_empty(self) -> bool:
        """True when the contracts say the same, so that their digests are equal."""
        return not (self.changes or self.added or self.removed or self.changed or self.reordered)


def diff(before: Contract, after: Contract) -> ContractDiff:
    """What changed from one contract to another; criteria are the same when their ids are."""
    old = {criterion.id: criterion for criterion in before.criteria}
    new = {criterion.id: criterion for criterion in after.criteria}
    both = [id_ for id_ in new if id_ in old]
    pairs = ((id_, tuple(_criterion_changes(old[id_], new[id_]))) for id_ in both)
    return ContractDiff(
        changes=tuple(_field_changes(before, after, ("id", "title", "min_isolation"))),
        added=tuple(new[id_] for id_ in new if id_ not in old),
        removed=tuple(old[id_] for id_ in old if id_ not in new),
        changed=tuple(CriterionDiff(id=id_, changes=found) for id_, found in pairs if found),
        reordered=both != [id_ for id_ in old if id_ in new],
    )


def _criterion_changes(before: Criterion, after: Criterion) -> Iterator[Change]:
    yield from _field_changes(before, after, ("verifier", "description", "required"))
    names = dict.fromkeys((*before.params, *after.params))
    for name in names:
        old, new = before.params.get(name), after.params.get(name)
        added, removed = name not in before.params, name not in after.params
        if added or removed or not json_equal(old, new):
            yield Change(key=f"params.{name}", before=old, after=new, added=added, removed=removed)


def _field_changes(before: Any, after: Any, names: tuple[str, ...]) -> Iterator[Change]:
    for name in names:
        old, new = getattr(before, name), getattr(after, name)
        if old != new:
            yield Change(key=name, before=old, after=new)
