"""What the rows judge: a search result of 20 items, criteria, outputs that break each of them."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from functools import partial
from typing import Any, Final

from benchmarks.row import Unavailable
from signoff import STDLIB, Engine, Plan, Result, Subject, Verdict, lock

__all__ = [
    "FIELDS",
    "FIVE",
    "ITEM_SCHEMA",
    "OUTPUT_SCHEMA",
    "bad_outputs",
    "contract",
    "judging",
    "output",
    "plan",
    "require",
]

FIELDS: Final = ("id", "title", "rating", "address")

FIVE: Final = (
    ("count", "count_between", {"min": 5, "max": 50}),
    ("fields", "contains_fields", {"fields": list(FIELDS)}),
    ("sorted", "sorted_by", {"field": "rating", "order": "desc"}),
    ("unique", "unique_by", {"field": "id"}),
    ("best", "number_between", {"min": 4, "max": 5, "path": "/0/rating"}),
)
"""Id, verifier and parameters of each criterion."""

ITEM_SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "required": list(FIELDS),
    "properties": {
        "id": {"type": "string", "pattern": "^place-[0-9]{4}$"},
        "title": {"type": "string", "minLength": 1, "maxLength": 200},
        "rating": {"type": "number", "minimum": 0, "maximum": 5},
        "reviews": {"type": "integer", "minimum": 0},
        "address": {"type": "string"},
        "open": {"type": "boolean"},
        "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 10},
        "geo": {
            "type": "object",
            "required": ["lat", "lon"],
            "properties": {
                "lat": {"type": "number", "minimum": -90, "maximum": 90},
                "lon": {"type": "number", "minimum": -180, "maximum": 180},
            },
        },
    },
    "additionalProperties": False,
}

OUTPUT_SCHEMA: Final[dict[str, Any]] = {
    "type": "array",
    "minItems": 5,
    "maxItems": 50,
    "items": ITEM_SCHEMA,
}


def output() -> list[dict[str, Any]]:
    """Twenty places, best first; all of ``FIVE`` hold, and so does ``OUTPUT_SCHEMA``."""
    return [
        {
            "id": f"place-{index:04}",
            "title": f"Café Number {index}",
            "rating": round(4.9 - index * 0.13, 2),
            "reviews": 1250 - index * 37,
            "address": f"{index + 3} Canal Street, 10{index:02} AB Amsterdam",
            "open": index % 3 != 0,
            "tags": ["coffee", "breakfast", "vegan"][: 1 + index % 3],
            "geo": {"lat": 52.37 + index / 1000, "lon": 4.89 - index / 1000},
        }
        for index in range(20)
    ]


def bad_outputs() -> list[Any]:
    """Outputs of which each breaks at least one of ``FIVE``."""
    short, missing, swapped, doubled, poor, odd = (output() for _ in range(6))
    del short[4:]
    del missing[11]["title"]
    swapped[7], swapped[8] = swapped[8], swapped[7]
    doubled[19]["id"] = doubled[3]["id"]
    poor[0]["rating"] = 5.5
    mixed: list[Any] = odd
    mixed[13] = "place-0013"
    return [short, missing, swapped, doubled, poor, mixed, {"items": []}, "none found", None]


def contract(*criteria: tuple[str, str, dict[str, Any]]) -> dict[str, Any]:
    """The document of a contract."""
    return {
        "id": "places",
        "title": "Places to have coffee, best first",
        "criteria": [
            {"id": id_, "verifier": verifier, "params": deepcopy(params)}
            for id_, verifier, params in criteria
        ],
    }


def plan(*criteria: tuple[str, str, dict[str, Any]]) -> Plan:
    """
    The criteria, locked and prepared.

    Raises:
        Unavailable: A verifier is not there.
    """
    require(*(verifier for _, verifier, _ in criteria))
    return Engine(STDLIB).prepare(lock(contract(*criteria), STDLIB))


def judging(
    *criteria: tuple[str, str, dict[str, Any]],
) -> Callable[[Subject], tuple[tuple[Result, ...], Verdict]]:
    """The engine's results and verdict on subjects, the criteria being prepared."""
    return partial(Engine(STDLIB).judge, plan(*criteria))


def require(*verifiers: str) -> None:
    """
    Nothing, if all of the verifiers are there.

    Raises:
        Unavailable: One is not.
    """
    for id_ in verifiers:
        if STDLIB.get(id_) is None:
            raise Unavailable(f"there is no verifier {id_}")
