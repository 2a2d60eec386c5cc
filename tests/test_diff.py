"""What changed between two contracts is found, and nothing else."""

from __future__ import annotations

import msgspec

from signoff.diff import Change, diff
from signoff.model import Contract, Criterion

ONE = Criterion(id="one", verifier="equals", params={"value": 1})
TWO = Criterion(id="two", verifier="not_empty")
BOTH = Contract(id="c", criteria=(ONE, TWO))


def replaced(criterion: Criterion, **fields: object) -> Contract:
    """The contract with another first criterion."""
    return Contract(id="c", criteria=(msgspec.structs.replace(criterion, **fields), TWO))


def test_same_contract_has_no_difference() -> None:
    assert diff(BOTH, BOTH).is_empty


def test_numbers_are_compared_as_json() -> None:
    assert diff(BOTH, replaced(ONE, params={"value": 1.0})).is_empty
    assert not diff(BOTH, replaced(ONE, params={"value": True})).is_empty


def test_added_null_is_an_addition() -> None:
    found = diff(BOTH, replaced(ONE, params={"value": 1, "path": None}))

    assert (Change(key="params.path", added=True),) == found.changed[0].changes
    assert (Change(key="params.path", removed=True),) == diff(
        replaced(ONE, params={"value": 1, "path": None}), BOTH
    ).changed[0].changes


def test_fields_are_compared() -> None:
    after = replaced(ONE, verifier="contains", description="x", required=False)

    assert ["verifier", "description", "required"] == [
        change.key for change in diff(BOTH, after).changed[0].changes
    ]
    other = Contract(id="d", title="t", min_isolation="L1", criteria=(ONE, TWO))
    assert ["id", "title", "min_isolation"] == [change.key for change in diff(BOTH, other).changes]


def test_order_is_a_difference_of_its_own() -> None:
    found = diff(BOTH, Contract(id="c", criteria=(TWO, ONE)))

    assert (True, ()) == (found.reordered, found.changed)


def test_what_was_added_or_removed_is_no_other_order() -> None:
    three = Criterion(id="three", verifier="not_empty")
    found = diff(BOTH, Contract(id="c", criteria=(three, TWO)))

    assert ((three,), (ONE,), False) == (found.added, found.removed, found.reordered)
