"""Each distance is within a numeric threshold."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import inf
from operator import eq
from typing import Annotated, Any, Literal

from msgspec import Struct

from signoff.errors import Fault, NotInstalled, ParamsError
from signoff.items import Field, Lookup, Problem, column, failure, measured, of_value_or_items
from signoff.jsonvalue import JSON, MISSING, Missing, is_number, json_type
from signoff.model import Finding, Subject, failed, held, passed
from signoff.params import FieldName, Kind, Pointer, crossed, field_name, number
from signoff.registry import Check, reads, verifier

MINUTES = ("minutes", "distance_minutes", "duration_minutes", "travel_minutes")
METERS = ("meters", "metres", "distance_meters", "distance_metres")
KEYS_OF_UNIT = {
    None: (*MINUTES, *METERS, "distance"),
    "minutes": (*MINUTES, "distance"),
    "meters": (*METERS, "distance"),
}
PAIRS = (("lat", "lon"), ("lat", "lng"), ("latitude", "longitude"))
POSITION_KEYS = ("lat", "lon", "lng", "latitude", "longitude", "type", "coordinates")
POSITION_FIELDS = tuple(map(Field.named, POSITION_KEYS))
NUMBERS, WHOLE = frozenset({int, float}), frozenset({int})
LARGEST = 1.7976931348623157e308
BARE = Field(name="", tokens=())

Position = tuple[float, float]
Unit = Literal["minutes", "meters"]


def _read_center(value: JSON) -> Position:
    if type(value) is not dict or value.keys() != {"lat", "lon"}:
        raise ValueError
    return _LATITUDE.read(value["lat"]), _LONGITUDE.read(value["lon"])


_LATITUDE, _LONGITUDE = number(ge=-90, le=90), number(ge=-180, le=180)
Center = Annotated[
    Position,
    Kind(
        says="object with exactly lat (-90 to 90) and lon (-180 to 180), degrees",
        read=_read_center,
        schema={
            "type": "object",
            "properties": {"lat": _LATITUDE.schema, "lon": _LONGITUDE.schema},
            "required": ["lat", "lon"],
            "additionalProperties": False,
        },
    ),
]
Bound = Annotated[float, number(ge=0)]
PositionField = Annotated[str, field_name("field name of an item's position")]


@verifier
def within_radius(
    *,
    max: Bound | None = None,
    min: Bound | None = None,
    field: FieldName | None = None,
    unit: Unit | None = None,
    center: Center | None = None,
    coordinates: PositionField | None = None,
    path: Pointer = "",
) -> Check:
    """
    Every distance lies between the bounds, both included; one object or number is judged alone.

    Distances are read from the items as they stand, and no unit is ever converted:
    a bound of 15 means 15 of whatever the field is in.  With ``center`` they are
    computed from the items' positions, in metres on the WGS84 ellipsoid, rounded
    to millimetres; that needs geographiclib.  An item without a distance fails,
    and so does one under another key than the first item's.  An empty array is a
    warning.

    Args:
        max: Largest distance; no upper bound when absent.
        min: Smallest distance; no lower bound when absent.
        field: Key of the distance in each item, or a pointer inside it; when absent, the one
            key the item has of the known ones: minutes, meters, distance and their like.
        unit: Looks only for keys of this unit, and for ``distance``.
        center: Where distances are measured from: ``lat`` and ``lon`` in degrees.
        coordinates: Key of each item's position, or a pointer inside it; the item when absent.
        path: RFC 6901 pointer to the array, object or number; the whole output when empty.

    Source: OpenSpec, "Standard Library of Acceptance Checks".
    """
    faults = [*_bound_faults(min, max)]
    if center is not None and field is not None:
        faults.append(Fault("/center", "params.center excludes params.field"))
    if center is not None and unit == "minutes":
        faults.append(Fault("/center", "params.center is in meters"))
    if coordinates is not None and center is None:
        faults.append(Fault("/coordinates", "params.coordinates needs params.center"))
    if faults:
        raise ParamsError(tuple(faults))
    limits = _Limits(min=min, max=max, suffix="" if center is None else " m")
    if center is None:
        lookup = _lookup(unit, None if field is None else Field.named(field))
        return _check(path, limits, _stated(lookup), lookup.fields, _column_of(lookup))
    place = None if coordinates is None else Field.named(coordinates)
    looked_at = (place,) if place else POSITION_FIELDS
    return _check(path, limits, _geodesic(center, place), looked_at)


def _bound_faults(min: float | None, max: float | None) -> Iterator[Fault]:
    if max is None and min is None:
        yield Fault("", "params.max or params.min is required")
    try:
        crossed(min, max, "min", "max")
    except ParamsError as exc:
        yield from exc.faults


class _Reading(Struct, frozen=True, kw_only=True):
    """A distance, and the tokens from the item to where it stands."""

    distance: float
    tokens: tuple[str, ...] = ()


class _Limits(Struct, frozen=True, kw_only=True):
    """The bounds, both included, and the unit that is printed behind every number."""

    min: float | None
    max: float | None
    suffix: str

    def problem(self, reading: _Reading) -> Problem | None:
        """Why a distance does not lie within the bounds, or None."""
        distance = reading.distance
        if self.min is not None and not distance >= self.min:
            text = f"{self._text(distance)} is below min={self._text(self.min)}."
            return Problem(text=text, tokens=reading.tokens)
        if self.max is not None and not distance <= self.max:
            text = f"{self._text(distance)} exceeds max={self._text(self.max)}."
            return Problem(text=text, tokens=reading.tokens)
        return None

    def surely_hold(self, distances: list[Any]) -> bool:
        """True for numbers within the bounds; False also for what needs a closer look."""
        kinds = {*map(type, distances)}
        if not kinds <= NUMBERS or (kinds != WHOLE and not all(map(eq, distances, distances))):
            return False  # the second is how NaN is noticed: it is not even equal to itself
        high = LARGEST if self.max is None else self.max
        return bool(min(distances) >= (self.min or 0) and max(distances) <= high)

    def holds_of_one(self, distance: float) -> str:
        """The detail for a single distance within the bounds."""
        return f"Within {self._named()} ({self._text(distance)})."

    def holds_of_all(self, distances: list[float]) -> str:
        """The detail for any number of distances within the bounds."""
        if not distances:
            return f"All 0 items within {self._named()}."
        ends = [] if self.min is None else [f"smallest {self._text(min(distances))}"]
        ends += [] if self.max is None else [f"largest {self._text(max(distances))}"]
        return f"All {len(distances)} items within {self._named()} ({', '.join(ends)})."

    def _named(self) -> str:
        both = (("min", self.min), ("max", self.max))
        return ", ".join(f"{name}={self._text(bound)}" for name, bound in both if bound is not None)

    def _text(self, number: float) -> str:
        return f"{measured(number)}{self.suffix}"


Measure = Callable[[list[JSON]], Iterator[_Reading | Problem]]


def _check(
    path: str,
    limits: _Limits,
    measure: Measure,
    looked_at: tuple[Field, ...],
    column_of: Callable[[list[JSON]], list[Any] | None] = lambda _: None,
) -> Check:
    def check(subject: Subject) -> Finding:
        value = subject.value(path)
        if type(value) is list:
            certain = column_of(value)
            if certain and limits.surely_hold(certain):
                return passed(limits.holds_of_all(certain))
            distances, found = _distances(measure(value), limits, path)
            return found or held(limits.holds_of_all(distances), items=len(value))
        if type(value) is not dict and not is_number(value):
            return failed("Output is not an array, an object or a number.", at=path)
        distances, found = _distances(measure([value]), limits, path, alone=True)
        return found or passed(limits.holds_of_one(*distances))

    return reads(check, *of_value_or_items(path, *looked_at))


def _distances(
    readings: Iterator[_Reading | Problem], limits: _Limits, path: str, *, alone: bool = False
) -> tuple[list[float], Finding | None]:
    """The distances before the first problem, and the failure that it is."""
    distances = list[float]()
    for index, found in enumerate(readings):
        problem = found if isinstance(found, Problem) else limits.problem(found)
        if problem is not None:
            return distances, failure(problem, path, None if alone else index)
        assert isinstance(found, _Reading)
        distances.append(found.distance)
    return distances, None


def _lookup(unit: Unit | None, field: Field | None) -> Lookup:
    return Lookup(
        keys={key: Field.named(key) for key in KEYS_OF_UNIT[unit]},
        several="several distance fields",
        absent="no distance field." if field is None else f"Missing field {field.quoted}.",
        field=field,
    )


def _stated(lookup: Lookup) -> Measure:
    """The distances that items state themselves, all under one key or all as bare numbers."""

    def measure(items: list[JSON]) -> Iterator[_Reading | Problem]:
        first: Field | None = None
        for item in items:
            found = (BARE, item) if is_number(item) and not lookup.field else lookup.find(item)
            answer: _Reading | Problem
            if isinstance(found, Problem):
                answer = found
            else:
                field, value = found
                first = first or field
                answer = _distance(value, field) if field is first else _mixed(field, first)
            yield answer

    return measure


def _mixed(field: Field, first: Field) -> Problem:
    if field is BARE:
        return Problem(text="no distance field.")
    known = "a bare number" if first is BARE else first.quoted
    return Problem(text=f"distance is in {field.quoted}, not {known}.", tokens=field.tokens)


def _column_of(lookup: Lookup) -> Callable[[list[JSON]], list[JSON] | None]:
    """Every item's distance where all stand under one key; None for what needs a closer look."""
    others = {key: frozenset(lookup.keys) - {key} for key in lookup.keys}

    def column_of(items: list[Any]) -> list[JSON] | None:
        found = lookup.find(items[0]) if items else Problem(text="")
        if isinstance(found, Problem):
            return None
        field = found[0]
        values = column(items, field)
        if values is None or lookup.field:
            return values
        return values if others[field.name].isdisjoint(set[str]().union(*items)) else None

    return column_of


def _distance(value: JSON, field: Field) -> _Reading | Problem:
    if not is_number(value):
        text = f"Field {field.quoted} is {json_type(value)}, expected number."
    elif not 0 <= value < inf:
        text = f"distance {measured(value)} is negative."
    else:
        return _Reading(distance=value, tokens=field.tokens)
    return Problem(text=text, tokens=field.tokens)


def _geodesic(center: Position, place: Field | None) -> Measure:
    """The distances from the centre to the items' positions."""
    try:
        from geographiclib.geodesic import Geodesic  # the extra "geo"
    except ImportError as exc:
        raise NotInstalled("within_radius", "geographiclib", "geo") from exc
    inverse = Geodesic.WGS84.Inverse

    def measure(items: list[JSON]) -> Iterator[_Reading | Problem]:
        for item in items:
            value = item if place is None else place.of(item)
            tokens = () if place is None or value is MISSING else place.tokens
            position = _position(value)
            if position is None:
                yield Problem(text="no coordinates.", tokens=tokens)
            elif not (-90 <= position[0] <= 90 and -180 <= position[1] <= 180):
                yield Problem(text="coordinates out of range.", tokens=tokens)
            else:
                distance = round(inverse(*center, *position, Geodesic.DISTANCE)["s12"], 3)
                yield _Reading(distance=distance, tokens=tokens)

    return measure


def _position(value: JSON | Missing) -> Position | None:
    """Latitude and longitude where the value has them in exactly one of the accepted ways."""
    if type(value) is not dict:
        return None
    ways = [(value[lat], value[lon]) for lat, lon in PAIRS if lat in value and lon in value]
    if value.get("type") == "Point" and "coordinates" in value:
        point = value["coordinates"]
        if type(point) is not list or len(point) != 2:
            return None
        ways.append((point[1], point[0]))
    if len(ways) != 1:
        return None
    ((latitude, longitude),) = ways
    return (latitude, longitude) if is_number(latitude) and is_number(longitude) else None
