"""
Which verifiers a forge contract asks for, and the criteria that they come to.

Source: forge-lcdl, "Verification registry", Policy.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Final

from msgspec import Struct

from signoff.jsonvalue import shown
from signoff.model import Contract, Criterion

__all__ = ["DEFAULT_IDS", "Chosen", "PolicySource", "chosen", "contract_of", "criterion_id"]

DEFAULT_IDS: Final = ("json.object", "contract.schema")
MAX_NAME: Final = 100


class PolicySource(Enum):
    """Where the ids come from."""

    CONTRACT = "contract"
    DEFAULT_MISSING = "default_missing"
    DEFAULT_INVALID = "default_invalid"


class Chosen(Struct, frozen=True, kw_only=True):
    """
    The ids to run, in order.

    Args:
        ids: Each as it is listed; one that is listed twice runs twice.
        source: Where they come from.
        problem: What is wrong with the policy where it is invalid, else ``""``.
    """

    ids: tuple[str, ...]
    source: PolicySource
    problem: str = ""


def chosen(policy: object) -> Chosen:
    """
    The ids that a ``verification_policy`` asks for.

    Missing ids mean the default pair, silently; invalid ones mean it too, as a whole and
    with a problem: nothing is dropped or guessed, and an empty list must not pass for
    want of checks.
    """
    if policy is None:
        return Chosen(ids=DEFAULT_IDS, source=PolicySource.DEFAULT_MISSING)
    if not isinstance(policy, dict):
        return _invalid(f"verification_policy must be an object, got {_kind(policy)}")
    if "verifier_ids" not in policy:
        return Chosen(ids=DEFAULT_IDS, source=PolicySource.DEFAULT_MISSING)
    listed = policy["verifier_ids"]
    if not isinstance(listed, list | tuple):
        return _invalid(f"verifier_ids must be an array of strings, got {_kind(listed)}")
    if not listed:
        return _invalid("verifier_ids is empty")
    for index, item in enumerate(listed):
        if not isinstance(item, str) or not item:
            wrong = "an empty string" if item == "" else _kind(item)
            return _invalid(f"verifier_ids must hold ids alone, got {wrong} at {index}")
    return Chosen(ids=tuple(listed), source=PolicySource.CONTRACT)


def criterion_id(position: int, verifier_id: str) -> str:
    """The criterion of a slot; its position keeps repeated ids apart."""
    return f"{position}:{shown(verifier_id, MAX_NAME)}"


def contract_of(name: str, ids: Sequence[str]) -> Contract:
    """The core contract of some slots: one required criterion for each, in order."""
    return Contract(
        id=shown(name) or "forge",
        criteria=tuple(
            Criterion(id=criterion_id(position, id_), verifier=shown(id_, MAX_NAME))
            for position, id_ in enumerate(ids)
        ),
    )


def _invalid(problem: str) -> Chosen:
    return Chosen(ids=DEFAULT_IDS, source=PolicySource.DEFAULT_INVALID, problem=problem)


def _kind(value: object) -> str:
    return "null" if value is None else type(value).__name__
