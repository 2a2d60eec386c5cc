"""One json_schema criterion against the validator that it runs on, used by itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import jsonschema_rs

from benchmarks.row import Pair, Row
from benchmarks.samples import OUTPUT_SCHEMA, judging, output
from benchmarks.timing import calling
from signoff import Outcome, Subject, Verdict

__all__ = ["ROWS"]

CRITERION: Final = ("shape", "json_schema", {"schema": OUTPUT_SCHEMA})


def _valid() -> Pair:
    judge, validator = judging(CRITERION), jsonschema_rs.validator_for(OUTPUT_SCHEMA)
    good, bad = output(), _invalid_output()
    return Pair(
        ours=calling(judge, Subject(output=good)),
        peer=calling(validator.is_valid, good),
        answers=lambda: (
            [_holds(judge, value) for value in (good, bad)],
            [validator.is_valid(value) for value in (good, bad)],
        ),
    )


def _invalid() -> Pair:
    judge, validator = judging(CRITERION), jsonschema_rs.validator_for(OUTPUT_SCHEMA)
    bad = _invalid_output()
    return Pair(
        ours=calling(judge, Subject(output=bad)),
        peer=calling(lambda: [*validator.iter_errors(bad)]),
        answers=lambda: (_holds(judge, bad), validator.is_valid(bad)),
    )


def _invalid_output() -> list[dict[str, Any]]:
    """Three things are wrong with it."""
    bad = output()
    del bad[2]["title"]
    bad[5]["rating"] = 7.5
    bad[11]["geo"]["lat"] = "52.37"
    return bad


def _holds(judge: Callable[[Subject], tuple[object, Verdict]], value: Any) -> bool:
    return judge(Subject(output=value))[1].outcome is Outcome.PASSED


ROWS: Final = (
    Row(
        name="schema-valid",
        ours="Engine.judge, one json_schema",
        peer="jsonschema-rs is_valid",
        prepare=_valid,
        aim=2,
        note="parsed, 20 items",
    ),
    Row(
        name="schema-invalid",
        ours="Engine.judge, one json_schema",
        peer="jsonschema-rs iter_errors",
        prepare=_invalid,
        note="three faults, told in full",
    ),
)
