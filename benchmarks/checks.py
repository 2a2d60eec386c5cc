"""Five criteria over an array of 20 items: parsed, and from its bytes with everything strict."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import Any, Final

import orjson
from jsonschema import Draft202012Validator

from benchmarks import by_hand
from benchmarks.row import Pair, Row
from benchmarks.samples import FIELDS, FIVE, bad_outputs, judging, output, plan
from benchmarks.timing import calling
from signoff import STDLIB, Engine, Outcome, Plan, Report, Subject, Verdict

__all__ = ["ROWS"]


def _judge() -> Pair:
    judge, good = judging(*FIVE), output()
    return Pair(
        ours=calling(judge, Subject(output=good)),
        peer=calling(by_hand.holds, good),
        answers=lambda: (_judged(judge), [*map(by_hand.holds, [good, *bad_outputs()])]),
    )


def _judged(judge: Callable[[Subject], tuple[object, Verdict]]) -> list[bool]:
    subjects = (Subject(output=value) for value in [output(), *bad_outputs()])
    return [judge(subject)[1].outcome is Outcome.PASSED for subject in subjects]


def _report() -> Pair:
    prepared, good, engine = plan(*FIVE), output(), Engine(STDLIB)
    subject = Subject(output=good)
    values = [good, *bad_outputs()]
    return Pair(
        ours=calling(engine.verify, prepared, subject),
        peer=calling(by_hand.holds, good),
        answers=lambda: (
            [engine.verify(prepared, Subject(output=value)).passed for value in values],
            [*map(by_hand.holds, values)],
        ),
    )


def _verified(engine: Engine, prepared: Plan, data: bytes) -> Report:
    return engine.verify(prepared, Subject.from_json(data))


def _bytes_orjson() -> Pair:
    prepared, data, engine = plan(*FIVE), orjson.dumps(output()), Engine(STDLIB)
    return Pair(
        ours=calling(_verified, engine, prepared, data),
        peer=calling(orjson.loads, data),
        answers=lambda: (
            (Subject.from_json(data).output, _verified(engine, prepared, data).passed),
            (orjson.loads(data), True),
        ),
        note=f"{len(data)} bytes",
    )


def _bytes_jsonschema() -> Pair:
    prepared, data, engine = plan(*FIVE), orjson.dumps(output()), Engine(STDLIB)
    validator = Draft202012Validator(_AS_SCHEMA)
    inexpressible = {2, 3}  # the order and the identity of items, among the bad outputs
    bad = [value for index, value in enumerate(bad_outputs()) if index not in inexpressible]
    texts = [data, *map(orjson.dumps, bad)]
    return Pair(
        ours=calling(_verified, engine, prepared, data),
        peer=calling(partial(_conforms, validator), data),
        answers=lambda: (
            [_verified(engine, prepared, text).passed for text in texts],
            [_conforms(validator, text) for text in texts],
        ),
    )


# Neither order nor identity of items can be said; the schema says the rest, and the types.
_AS_SCHEMA: Final[dict[str, Any]] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "array",
    "minItems": 5,
    "maxItems": 50,
    "prefixItems": [{"properties": {"rating": {"minimum": 4, "maximum": 5}}}],
    "allOf": [
        {
            "items": {
                "type": "object",
                "required": [*FIELDS],
                "properties": {"rating": {"type": "number"}},
            }
        }
    ],
}


def _conforms(validator: Any, data: bytes) -> bool:
    return not [*validator.iter_errors(json.loads(data))]


ROWS: Final = (
    Row(
        name="five-judge",
        ours="Engine.judge: results, verdict",
        peer="five loops by hand",
        prepare=_judge,
        aim=2,
        note="parsed, 20 items",
    ),
    Row(
        name="five-report",
        ours="Engine.verify: report with digest",
        peer="five loops by hand",
        prepare=_report,
        note="parsed; the loops have no digest",
    ),
    Row(
        name="five-bytes-orjson",
        ours="Subject.from_json, Engine.verify",
        peer="orjson.loads alone",
        prepare=_bytes_orjson,
        aim=4,
    ),
    Row(
        name="five-bytes-jsonschema",
        ours="Subject.from_json, Engine.verify",
        peer="json.loads, jsonschema",
        prepare=_bytes_jsonschema,
        aim=0.2,
        note="the schema cannot say order and identity",
    ),
)
