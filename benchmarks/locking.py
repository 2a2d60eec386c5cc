"""Locking a contract of 20 criteria against jsonschema, which looks at shapes and binds nothing."""

from __future__ import annotations

import json
from typing import Any, Final

import orjson
from jsonschema import Draft202012Validator

from benchmarks.row import Pair, Row
from benchmarks.samples import FIVE, OUTPUT_SCHEMA, contract, require
from benchmarks.timing import calling
from signoff import STDLIB, ContractError, lock
from signoff.strictjson import loads

__all__ = ["ROWS"]

CRITERIA: Final[tuple[tuple[str, str, dict[str, Any]], ...]] = (
    *FIVE,
    *((f"{id_}-again", verifier, params) for id_, verifier, params in FIVE),
    *((f"rating-{i}", "number_between", {"min": 0, "path": f"/{i}/rating"}) for i in range(5)),
    *((f"word-{i}", "regex_match", {"pattern": f"^place-[0-9]{{{i}}}"}) for i in range(4)),
    ("shape", "json_schema", {"schema": OUTPUT_SCHEMA}),
)


def _document() -> Pair:
    document, validator = _contract(), _validator()
    broken = [document, *_broken()]
    return Pair(
        ours=calling(lock, document, STDLIB),
        peer=calling(_conforms, validator, document),
        answers=lambda: (
            [_locks(one) for one in broken],
            [_conforms(validator, one) for one in broken],
        ),
    )


def _bytes() -> Pair:
    validator, data = _validator(), orjson.dumps(_contract())
    texts = [data, *map(orjson.dumps, _broken())]
    return Pair(
        ours=calling(lambda: lock(loads(data), STDLIB)),
        peer=calling(lambda: _conforms(validator, json.loads(data))),
        answers=lambda: (
            [_locks(loads(text)) for text in texts],
            [_conforms(validator, json.loads(text)) for text in texts],
        ),
        note=f"{len(data)} bytes",
    )


def _contract() -> dict[str, Any]:
    require(*(verifier for _, verifier, _ in CRITERIA))
    return contract(*CRITERIA)


def _broken() -> list[dict[str, Any]]:
    """Contracts that must not be locked."""
    nameless, unknown, typed, schema = (_contract() for _ in range(4))
    del nameless["id"]
    unknown["criteria"][3]["verifier"] = "unique_bye"
    typed["criteria"][0]["params"]["min"] = "5"
    schema["criteria"][-1]["params"]["schema"]["type"] = "arrray"
    return [nameless, unknown, typed, schema]


def _locks(document: Any) -> bool:
    try:
        lock(document, STDLIB)
    except ContractError:
        return False
    return True


def _conforms(validator: Any, document: dict[str, Any]) -> bool:
    if [*validator.iter_errors(document)]:
        return False
    for criterion in document["criteria"]:
        if criterion["verifier"] == "json_schema":
            meta = Draft202012Validator(Draft202012Validator.META_SCHEMA)
            if [*meta.iter_errors(criterion["params"]["schema"])]:
                return False
    return True


def _validator() -> Any:
    return Draft202012Validator(_CONTRACT_SCHEMA)


def _closed(properties: dict[str, Any], *required: str) -> dict[str, Any]:
    return {
        "type": "object",
        "required": [*required],
        "properties": properties,
        "additionalProperties": False,
    }


_TEXT: Final[dict[str, Any]] = {"type": "string", "minLength": 1, "maxLength": 4096}
_POINTER: Final[dict[str, Any]] = {"type": "string", "pattern": "^(/([^~/]|~[01])*)*$"}
_COUNT: Final[dict[str, Any]] = {"type": "integer", "minimum": 0}
_NUMBER: Final[dict[str, Any]] = {"type": "number"}
_PARAMS: Final[dict[str, dict[str, Any]]] = {
    "count_between": _closed({"min": _COUNT, "max": _COUNT, "path": _POINTER}),
    "contains_fields": _closed(
        {"fields": {"type": "array", "items": _TEXT, "minItems": 1}, "path": _POINTER}, "fields"
    ),
    "sorted_by": _closed(
        {"field": _TEXT, "order": {"enum": ["asc", "desc"]}, "path": _POINTER}, "field"
    ),
    "unique_by": _closed(
        {"field": _TEXT, "allow_missing": {"type": "boolean"}, "path": _POINTER}, "field"
    ),
    "number_between": _closed({"min": _NUMBER, "max": _NUMBER, "path": _POINTER}),
    "regex_match": _closed({"pattern": _TEXT, "flags": {"type": "string"}, "path": _POINTER}),
    "json_schema": _closed({"schema": {"type": ["object", "boolean"]}, "path": _POINTER}, "schema"),
}
_CRITERION: Final[dict[str, Any]] = _closed(
    {
        "id": _TEXT,
        "verifier": {"enum": sorted(_PARAMS)},
        "params": {"type": "object"},
        "description": {"type": "string"},
        "required": {"type": "boolean"},
    },
    "id",
    "verifier",
)
_BY_VERIFIER: Final[list[dict[str, Any]]] = [
    {
        "if": {"properties": {"verifier": {"const": id_}}},
        "then": {"properties": {"params": params}},
    }
    for id_, params in sorted(_PARAMS.items())
]
_CONTRACT_SCHEMA: Final[dict[str, Any]] = _closed(
    {
        "id": _TEXT,
        "title": {"type": "string"},
        "criteria": {
            "type": "array",
            "minItems": 1,
            "items": _CRITERION | {"allOf": _BY_VERIFIER},
        },
    },
    "id",
    "criteria",
)


ROWS: Final = (
    Row(
        name="lock-document",
        ours="lock: bind, digest",
        peer="jsonschema, shapes alone",
        prepare=_document,
        note="parsed, 20 criteria; the one schema in it is compiled already",
    ),
    Row(
        name="lock-bytes",
        ours="strict loads, lock",
        peer="json.loads, jsonschema",
        prepare=_bytes,
        note="as lock-document",
    ),
)
