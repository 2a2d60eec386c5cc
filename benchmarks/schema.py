"""One json_schema criterion against the validator that it runs on, used by itself."""

from __future__ import annotations

from typing import Any, Final

import jsonschema_rs

from benchmarks.row import Pair, Row
from benchmarks.samples import OUTPUT_SCHEMA, output, plan
from benchmarks.timing import calling
from signoff import Plan, Subject

__all__ = ["ROWS"]

CRITERION: Final = ("shape", "json_schema", {"schema": OUTPUT_SCHEMA})


def _valid() -> Pair:
    prepared, validator = plan(CRITERION), jsonschema_rs.validator_for(OUTPUT_SCHEMA)
    good, bad = output(), _invalid_output()
    return Pair(
        ours=calling(prepared.judge, Subject(output=good)),
        peer=calling(validator.is_valid, good),
        answers=lambda: (
            [_holds(prepared, value) for value in (good, bad)],
            [validator.is_valid(value) for value in (good, bad)],
        ),
    )


def _invalid() -> Pair:
    prepared, validator = plan(CRITERION), jsonschema_rs.validator_for(OUTPUT_SCHEMA)
    bad = _invalid_output()
    return Pair(
        ours=calling(prepared.judge, Subject(output=bad)),
        peer=calling(lambda: [*validator.iter_errors(bad)]),
        answers=lambda: (_holds(prepared, bad), validator.is_valid(bad)),
    )


def _invalid_output() -> list[dict[str, Any]]:
    """Three things are wrong with it."""
    bad = output()
    del bad[2]["title"]
    bad[5]["rating"] = 7.5
    bad[11]["geo"]["lat"] = "52.37"
    return bad


def _holds(prepared: Plan, value: Any) -> bool:
    return prepared.judge(Subject(output=value))[1].outcome.value == "passed"


ROWS: Final = (
    Row(
        name="schema-valid",
        ours="Plan.judge, one json_schema",
        peer="jsonschema-rs is_valid",
        prepare=_valid,
        aim=2,
        note="parsed, 20 items",
    ),
    Row(
        name="schema-invalid",
        ours="Plan.judge, one json_schema",
        peer="jsonschema-rs iter_errors",
        prepare=_invalid,
        note="three faults, told in full",
    ),
)
