"""
Judging by a prepared contract: at once where that is proven quick, on a thread elsewhere.

``Judge.holds`` says "pass" or "not sure", nothing else; whatever it is not sure of
the plain engine judges, so the two can never disagree about anything but time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec
from msgspec import Struct

from signoff.engine import Engine
from signoff.jsonvalue import JSON
from signoff.model import Report, Result, Subject, Verdict
from signoff.plan import Bound, Plan
from signoff.record import weakened_by
from signoff.registry import Check
from signoff.schema_engine.native import PATTERN_COSTS, pattern_cost
from signoff.status import Status
from signoff.strictjson import Limits
from signoff.verifiers import STDLIB

__all__ = ["Judge", "Judging"]

Accepts = Callable[[Subject], bool]

AT_ONCE: Final = 100_000
"""Bytes of a request times evaluations, up to which a verdict takes milliseconds at the most."""
WORD_BYTES: Final = 64
"""So many bytes of parameters are worth an evaluation."""
PATTERN_BYTES: Final = 1024
"""So much memory of a compiled pattern is worth an evaluation."""
# These may ask a process or a function of the operator; they say so where they do not.
_MAY_WAIT: Final = frozenset({"json_schema", "response_shape"})
# An exact distance on the globe is dear.
_DEAR: Final = {"within_radius": 20}


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
    """
    How many evaluations a byte of the subject may cost; None for a check that may wait.

    Lists of words and enumerations are looked through for every value, so that what
    stands in the parameters counts.
    """
    criterion = entry.criterion
    if not entry.own or criterion.verifier not in STDLIB.entries:
        return None
    words = len(msgspec.json.encode(criterion.params)) // WORD_BYTES
    if criterion.verifier not in _MAY_WAIT:
        return _DEAR.get(criterion.verifier, 1) + words
    if getattr(entry.check, "subschemas", None) is None:
        return None
    weight: int = getattr(entry.check, "weight")  # noqa: B009  functions carry attributes
    return weight + words + _pattern_weight(criterion.params.get("schema"))


def _pattern_weight(schema: JSON) -> int:
    """What the patterns of a schema weigh; whatever looks like one is taken for one."""
    weight, todo = 0, [schema]
    while todo:
        item = todo.pop()
        if isinstance(item, dict):
            pattern, by_name = item.get("pattern"), item.get("patternProperties")
            found = [pattern] if isinstance(pattern, str) else []
            found += by_name if isinstance(by_name, dict) else []
            costs = (pattern_cost(one) or PATTERN_COSTS[-1] for one in found)
            weight += sum(cost // PATTERN_BYTES for cost in costs)
            todo += item.values()
        elif isinstance(item, list):
            todo += item
    return weight
