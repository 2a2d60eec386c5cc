"""The embedding is similar enough to a reference."""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import mul
from typing import Annotated, Any, cast

from msgspec import Struct

from signoff.embedder import Vector, embed, require_library
from signoff.errors import Fault, NoAnswer, NotGiven, ParamsError
from signoff.items import Field, Problem, failure
from signoff.jsonvalue import JSON, MISSING, number_text, parse_pointer, shown
from signoff.model import Finding, Subject, held, passed
from signoff.params import Kind, Pointer, field_name, number, text
from signoff.registry import Check, Powers, reads, verifier
from signoff.status import Cause, Status

MAX_VECTOR = 65_536
DECIMALS = 9
NUMBERS = frozenset({int, float})
# Between these the squares of a vector's largest number neither overflow nor vanish.
SMALLEST, LARGEST = 2.0**-400, 2.0**400
UNUSABLE = "Output is neither a vector nor text."


def _read_reference(value: JSON) -> Vector:
    if type(value) is not list or len(value) > MAX_VECTOR:
        raise ValueError
    vector = _vector(value)
    if vector is None or not any(vector):
        raise ValueError
    return vector


Threshold = Annotated[float, number(ge=-1, le=1)]
Reference = Annotated[
    tuple[float, ...],
    Kind(
        says="non-zero vector",
        read=_read_reference,
        schema={
            "type": "array",
            "items": {"type": "number"},
            "contains": {"not": {"const": 0}},
            "minItems": 1,
            "maxItems": MAX_VECTOR,
        },
    ),
]
NonEmpty = Annotated[str, text("non-empty string", least=1)]
VectorField = Annotated[str, field_name("field name of vector or text in an object or item")]


@verifier
def similarity_above(
    *,
    threshold: Threshold,
    reference: Reference | None = None,
    reference_text: NonEmpty | None = None,
    embedder: NonEmpty | None = None,
    field: VectorField = "embedding",
    inclusive: bool = False,
    path: Pointer = "",
    powers: Powers,
) -> Check:
    """
    The cosine similarity of every embedding to a reference is above a threshold.

    The output is a vector, a text, an object with either, or an array of these.
    Vectors need nothing else; texts go to an embedder that the operator configured,
    all of an output together with the reference in one batch.  A similarity is
    rounded to 9 decimals before it is compared.  What the output says of its own
    similarity is not looked at.  An embedder that does not answer leaves the check
    inconclusive; an empty array is a warning.

    Args:
        threshold: What the similarity must exceed, -1 to 1.
        reference: The vector to compare with; it or ``reference_text`` is given.
        reference_text: The text to compare with.
        embedder: Name of the operator's embedder; needed as soon as there is a text.
        field: Key of the vector or text in an object or item, or a pointer inside it.
        inclusive: True lets the similarity equal the threshold.
        path: RFC 6901 pointer to what is compared; the whole output when empty.

    Source: OpenSpec, "Standard Library of Acceptance Checks".
    """
    faults = []
    if (reference is None) == (reference_text is None):
        message = "exactly one of params.reference, params.reference_text is required"
        faults.append(Fault("", message))
    if embedder is None and reference_text is not None:
        faults.append(Fault("", "params.embedder is required"))
    if embedder is not None and embedder not in powers.embedders:
        message = f'no embedder named "{shown(embedder)}"'
        known = tuple(powers.embedders)
        faults.append(Fault("/embedder", message, got=embedder, known=known))
    if faults:
        raise ParamsError(tuple(faults))
    source = None
    if embedder is not None:
        source = _Source(name=embedder, embedder=powers.embedders[embedder])
        require_library(source.embedder, "similarity_above")
    compared_with = reference if reference_text is None else reference_text
    assert compared_with is not None
    comparison = _Comparison(
        threshold=threshold, inclusive=inclusive, reference=compared_with, source=source
    )
    return _check(path, Field.named(field), comparison)


class _Source(Struct, frozen=True, kw_only=True):
    """An embedder and what the contract calls it."""

    name: str
    embedder: Any


class _Reading(Struct, frozen=True, kw_only=True):
    """A vector or text of the output, and the tokens from the item to where it stands."""

    value: Vector | str
    tokens: tuple[str, ...] = ()


class _Comparison(Struct, frozen=True, kw_only=True):
    """What is compared with, where texts become vectors, and what is similar enough."""

    threshold: float
    inclusive: bool
    reference: Vector | str
    source: _Source | None

    def similarities(self, readings: Sequence[_Reading]) -> list[float | Problem]:
        """The similarity of each, up to the first that has none."""
        reference, *vectors = self._vectors([self.reference, *(one.value for one in readings)])
        length, unit = len(reference), _Unit.of(reference)
        if unit is None:
            raise ValueError("the reference text has a vector without direction")
        found: list[float | Problem] = []
        for reading, vector in zip(readings, vectors, strict=True):
            if len(vector) != length:
                text = f"Dimension mismatch: {length} and {len(vector)}."
                return [*found, Problem(text=text, tokens=reading.tokens)]
            other = _Unit.of(vector)
            if other is None:
                text = "Zero vector has no direction."
                return [*found, Problem(text=text, tokens=reading.tokens)]
            found.append(unit.cosine(other))
        return found

    def problem(self, similarity: float, reading: _Reading, suffix: str) -> Problem | None:
        """Why a similarity is not enough, or None."""
        enough = similarity > self.threshold or (self.inclusive and similarity == self.threshold)
        if enough:
            return None
        return Problem(text=self.told(similarity) + suffix, tokens=reading.tokens)

    def told(self, similarity: float) -> str:
        """A similarity beside the threshold."""
        return f"similarity={number_text(similarity)}, {self.bound}"

    @property
    def bound(self) -> str:
        """The threshold as details show it."""
        return f"threshold={number_text(self.threshold)}"

    def suffix(self, readings: Sequence[_Reading]) -> str:
        """The name of the embedder where it is used."""
        texts = any(type(one) is str for one in (self.reference, *(r.value for r in readings)))
        return f", embedder={shown(self.source.name)}" if texts and self.source else ""

    def _vectors(self, values: list[Vector | str]) -> list[Vector]:
        texts = [value for value in values if isinstance(value, str)]
        if not texts:
            return cast("list[Vector]", values)
        assert self.source is not None
        embedded = iter(embed(self.source.embedder, texts))
        return [next(embedded) if isinstance(value, str) else value for value in values]


def _check(path: str, field: Field, comparison: _Comparison) -> Check:
    def check(subject: Subject) -> Finding:
        value = subject.value(path)
        alone = type(value) is not list or (bool(value) and {*map(type, value)} <= NUMBERS)
        items: list[JSON] = [value] if alone else cast("list[JSON]", value)
        readings, unusable = _readings(items, field)
        if comparison.source is None and any(type(one.value) is str for one in readings):
            return _error("params.embedder is required.", Cause.BAD_PARAMS)
        if readings:
            found = _judged(comparison, readings, path, alone=alone)
            if unusable is None or not found.status.holds:
                return found
        if unusable is not None:
            return failure(unusable, path, None if alone else len(readings))
        return held(f"All 0 items: {comparison.bound}", items=0)

    return reads(check, parse_pointer(path))


def _judged(
    comparison: _Comparison, readings: list[_Reading], path: str, *, alone: bool
) -> Finding:
    """The same as ``_compared``, whatever becomes of the embedder."""
    try:
        return _compared(comparison, readings, path, alone=alone)
    except NoAnswer as exc:
        assert comparison.source is not None
        return Finding(
            status=Status.INCONCLUSIVE,
            detail=f'Embedder "{shown(comparison.source.name)}" did not answer.',
            cause=Cause.EVIDENCE_TIMED_OUT if exc.late else Cause.EVIDENCE_UNREACHABLE,
            data={"reason": shown(str(exc))},
        )
    except NotGiven as exc:
        detail = f"similarity_above was not given the means: {exc}"
        return _error(detail, Cause.NOT_INSTALLED)


def _compared(
    comparison: _Comparison, readings: list[_Reading], path: str, *, alone: bool
) -> Finding:
    """The finding for vectors and texts that can be compared."""
    suffix = comparison.suffix(readings)
    similarities = list[float]()
    for index, found in enumerate(comparison.similarities(readings)):
        if isinstance(found, Problem):
            return failure(found, path, None if alone else index)
        problem = comparison.problem(found, readings[index], suffix)
        if problem is not None:
            return failure(problem, path, None if alone else index)
        similarities.append(found)
    if alone:
        return passed(comparison.told(*similarities) + suffix)
    lowest = comparison.told(min(similarities))
    return passed(f"All {len(similarities)} items: lowest {lowest}{suffix}")


def _readings(items: list[JSON], field: Field) -> tuple[list[_Reading], Problem | None]:
    """The vectors and texts before the first item that is neither, and what that one is."""
    readings = list[_Reading]()
    for item in items:
        found = _reading(item, field)
        if isinstance(found, Problem):
            return readings, found
        readings.append(found)
    return readings, None


def _reading(item: JSON, field: Field) -> _Reading | Problem:
    value, tokens = (field.of(item), field.tokens) if type(item) is dict else (item, ())
    if value is MISSING:
        return Problem(text=UNUSABLE)
    if type(value) is str:
        return _Reading(value=value, tokens=tokens)
    if type(value) is not list:
        return Problem(text=UNUSABLE, tokens=tokens)
    vector = _vector(value)
    if vector is None:
        return Problem(text=UNUSABLE, tokens=tokens)
    if not vector:
        return Problem(text="Vector is empty.", tokens=tokens)
    return _Reading(value=vector, tokens=tokens)


def _vector(values: list[JSON]) -> Vector | None:
    """The numbers as floats, None if there is anything else among them."""
    if not {*map(type, values)} <= NUMBERS:
        return None
    numbers = cast("list[int | float]", values)
    try:
        vector = tuple(map(float, numbers))
    except OverflowError:  # an integer of hundreds of digits: only the direction matters
        vector = _shrunk(numbers)
    return vector if all(map(math.isfinite, vector)) else None


def _shrunk(numbers: list[int | float]) -> Vector:
    bits = max(one.bit_length() for one in numbers if isinstance(one, int))
    return tuple(
        one / (1 << bits) if isinstance(one, int) else math.ldexp(one, -bits) for one in numbers
    )


class _Unit(Struct, frozen=True, kw_only=True):
    """A vector with a direction, and the sum of its squares."""

    vector: Vector
    square: float

    @classmethod
    def of(cls, vector: Vector) -> _Unit | None:
        """The same direction in numbers whose squares can be added; None of zeros alone."""
        largest = max(map(abs, vector))
        if not largest > 0:
            return None
        if not SMALLEST < largest < LARGEST:
            bits = math.frexp(largest)[1]
            vector = tuple(math.ldexp(one, -bits) for one in vector)
        return cls(vector=vector, square=math.fsum(map(mul, vector, vector)))

    def cosine(self, other: _Unit) -> float:
        """The cosine of the angle between them, rounded."""
        dot = math.fsum(map(mul, self.vector, other.vector))
        cosine = dot / (math.sqrt(self.square) * math.sqrt(other.square))
        return round(max(-1.0, min(1.0, cosine)), DECIMALS)


def _error(detail: str, cause: Cause) -> Finding:
    return Finding(status=Status.ERROR, detail=detail, cause=cause)
