"""
Judging by a prepared contract: at once where that is proven quick, on a thread elsewhere.

``Judge.holds`` says "pass" or "not sure", nothing else; whatever it is not sure of
the plain engine judges, so the two can never disagree about anything but time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from msgspec import Struct

from signoff.engine import Engine
from signoff.model import Report, Result, Subject, Verdict
from signoff.plan import Bound, Plan
from signoff.record import weakened_by
from signoff.registry import Check
from signoff.status import Status
from signoff.strictjson import Limits
from signoff.verifiers import STDLIB

__all__ = ["Judge", "Judging"]

Accepts = Callable[[Subject], bool]

AT_ONCE: Final = 100_000
"""Bytes of a request times subschemas, up to which a verdict takes milliseconds at the most."""
# These may ask a process or a function of the operator; they say so where they do not.
_MAY_WAIT: Final = frozenset({"json_schema", "response_shape"})


class Judge(Struct, frozen=True, kw_only=True):
    """
    What judges by one contract.

    Args:
        plan: The contract with its checks bound.
        required: What is true where a required criterion holds, one for each, if all checks
            are signoff's own and none may wait for anything; None elsewhere.
        weight: Evaluations for each byte of a subject at most; None where that is not known.
        weakened: What is less strict than usual, for reports.
    """

    plan: Plan
    required: tuple[Accepts, ...] | None
    weight: int | None
    weakened: tuple[str, ...]

    def is_quick(self, size: int) -> bool:
        """A subject of so many bytes is judged without keeping anybody waiting."""
        return self.weight is not None and self.weight * size <= AT_ONCE

    def holds(self, subject: Subject) -> bool:
        """True if the verdict is a pass; False if it is not known what it is."""
        if not self.required:
            return False
        try:
            for accepts in self.required:
                if accepts(subject) is not True:
                    return False
        except Exception:  # noqa: BLE001  the engine says what it means
            return False
        return True


class Judging:
    """
    Makes judges of plans, and verdicts by them.

    Args:
        engine: What judges.
        limits: How requests are read.
    """

    def __init__(self, engine: Engine, *, limits: Limits) -> None:
        self.engine = engine
        self.limits = limits

    def judge_of(self, plan: Plan, *, weakened: tuple[str, ...] = ()) -> Judge:
        """The judge of a plan, and of what its contract was made less strict by."""
        weights = [*map(_weight, plan.bound)]
        known = [weight for weight in weights if weight is not None]
        quick = len(known) == len(weights)
        required = (_accepts(entry.check) for entry in plan.bound if entry.criterion.required)
        return Judge(
            plan=plan,
            required=tuple(required) if quick else None,
            weight=sum(known) if quick else None,
            weakened=weakened + weakened_by(self.limits),
        )

    def report(self, judge: Judge, subject: Subject) -> Report:
        """The report on a subject."""
        return self.engine.verify(judge.plan, subject, weakened=judge.weakened)

    def verdict(self, judge: Judge, subject: Subject) -> tuple[tuple[Result, ...], Verdict]:
        """Results and verdict alone."""
        return self.engine.judge(judge.plan, subject)


def _accepts(check: Check) -> Accepts:
    """What is true where a check passes, at less cost where the check has such a thing."""
    found: Accepts | None = getattr(check, "accepts", None)
    if found is not None:
        return found

    def accepts(subject: Subject) -> bool:
        status = check(subject).status
        return status is Status.PASS or status is Status.WARN

    return accepts


def _weight(entry: Bound) -> int | None:
    """How many evaluations a byte of the subject may cost; None for a check that may wait."""
    verifier, check = entry.criterion.verifier, entry.check
    if not entry.own or verifier not in STDLIB.entries:
        return None
    if verifier not in _MAY_WAIT:
        return 1
    found: int | None = getattr(check, "subschemas", None)
    return found
