"""``verify``: lock, judge and report in one call."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import UNSET

from signoff.contract import lock
from signoff.engine import Engine
from signoff.model import Contract, LockedContract, Report, Subject
from signoff.registry import Registry
from signoff.verifiers import STDLIB

__all__ = ["LOCKED_AT_VERIFY", "verify"]

LOCKED_AT_VERIFY = "locked_at_verify"


def verify(
    contract: LockedContract | Contract | Mapping[str, Any],
    output: Any = UNSET,
    *,
    registry: Registry = STDLIB,
    fail_fast: bool = False,
    jobs: int = 1,
    **facts: Any,
) -> Report:
    """
    The report on an output, the short way.

    A contract that is not locked is locked on the spot, and the report says so
    under ``weakened``: nobody can show that it was agreed before the work.

    Args:
        contract: What must hold.
        output: A JSON value as Python has it: dict, list, str, int, float, bool, None; absent
            where the work lies in a workspace alone.
        registry: The verifiers that the contract may name.
        fail_fast: Skip what follows the first required criterion that does not hold.
        jobs: How many checks that start commands may run at a time.
        facts: Any other field of ``Subject``, such as ``elapsed_s`` or ``tools``.

    Raises:
        ContractError: The contract cannot be locked.
    """
    weakened: tuple[str, ...] = ()
    if not isinstance(contract, LockedContract):
        contract, weakened = lock(contract, registry), (LOCKED_AT_VERIFY,)
    subject = Subject(output=output, **facts)
    engine = Engine(registry)
    return engine.verify(contract, subject, fail_fast=fail_fast, jobs=jobs, weakened=weakened)
