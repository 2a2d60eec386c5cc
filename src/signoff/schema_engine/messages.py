"""
What a JSON Schema complains about, in words of our own: the same for every version of the library.

Complaints are sorted by pointer (indices by number, keys by UTF-16 code unit),
then keyword, then name; what reads the same is said once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from msgspec import Struct

from signoff.errors import SchemaNotJudged
from signoff.jsonvalue import JSON, join_pointer, number_text, shown, utf16_key
from signoff.schema_engine.keywords import DRAFTS, Holds

__all__ = ["LIMIT", "Violation", "Violations", "too_deep", "violations"]

LIMIT = 20

_NUMBERS = {
    "ExclusiveMaximum": ("exclusiveMaximum", "must be < {}"),
    "ExclusiveMinimum": ("exclusiveMinimum", "must be > {}"),
    "MaxItems": ("maxItems", "must NOT have more than {} items"),
    "MaxLength": ("maxLength", "must NOT have more than {} characters"),
    "MaxProperties": ("maxProperties", "must NOT have more than {} properties"),
    "Maximum": ("maximum", "must be <= {}"),
    "MinItems": ("minItems", "must NOT have fewer than {} items"),
    "MinLength": ("minLength", "must NOT have fewer than {} characters"),
    "MinProperties": ("minProperties", "must NOT have fewer than {} properties"),
    "Minimum": ("minimum", "must be >= {}"),
    "MultipleOf": ("multipleOf", "must be multiple of {}"),
}
_TEXTS = {
    "Format": ("format", 'must match format "{}"'),
    "Pattern": ("pattern", 'must match pattern "{}"'),
}
_NAMES = {
    "AdditionalProperties": ("additionalProperties", "must NOT have additional property '{}'"),
    "UnevaluatedProperties": ("unevaluatedProperties", "must NOT have unevaluated property '{}'"),
}
_FIXED = {
    "AnyOf": ("anyOf", "must match a schema in anyOf"),
    "Constant": ("const", "must be equal to constant"),
    "Enum": ("enum", "must be equal to one of the allowed values"),
    "Not": ("not", "must NOT be valid"),
    "OneOfMultipleValid": ("oneOf", "must match exactly one schema in oneOf"),
    "OneOfNotValid": ("oneOf", "must match exactly one schema in oneOf"),
    "PropertyNames": ("propertyNames", "must satisfy propertyNames"),
    "UniqueItems": ("uniqueItems", "must NOT have duplicate items"),
}
_NO_ANSWER = {"BacktrackLimitExceeded", "RegexEngineFailure", "Referencing"}
_FALSE = ("false schema", "boolean schema is false")
_HOLDS = {
    name: keyword.holds for draft in DRAFTS.values() for name, keyword in draft.keywords.items()
} | {"items": Holds.EITHER}

Path = tuple[str | int, ...]


class Violation(Struct, frozen=True, kw_only=True):
    """
    One complaint about a value.

    Args:
        pointer: RFC 6901 pointer to what is wrong.
        keyword: The keyword of JSON Schema that is not met; ``""`` for a limit of our own.
        name: The property that it is about, or ``""``.
        message: What must hold, without a full stop.
    """

    pointer: str
    keyword: str
    name: str = ""
    message: str

    def __str__(self) -> str:
        return f"{shown(self.pointer) or '/'}: {self.message}" if self.keyword else self.message


class Violations(Struct, frozen=True, kw_only=True):
    """
    What is wrong with a value, the first complaints in words.

    Args:
        items: The first complaints, in order.
        more: How many there are besides; None when nobody counted.
    """

    items: tuple[Violation, ...] = ()
    more: int | None = 0

    def __str__(self) -> str:
        text = "; ".join(str(item) for item in self.items)
        if self.more is None:
            return f"{text}; and more"
        return f"{text}; and {self.more} more" if self.more else text

    @property
    def at(self) -> str:
        """Pointer of the first complaint."""
        return self.items[0].pointer


def too_deep(prefix: str, max_depth: int) -> Violations:
    """The one complaint about a value that the library must not see."""
    message = f"Output is nested deeper than {max_depth} levels."
    return Violations(items=(Violation(pointer=prefix, keyword="", message=message),))


def violations(
    raw: Iterable[Sequence[Any]], value: JSON, *, prefix: str = "", limit: int = LIMIT
) -> Violations:
    """
    Complaints in words and in order.

    Args:
        raw: What the worker's program tells of each complaint.
        value: The value they are about.
        prefix: Pointer to that value in the whole.
        limit: At most so many are told, the others counted.

    Raises:
        SchemaNotJudged: The library gave up on a pattern or a reference.
    """
    found = sorted({one for entry in raw for one in _in_words(entry, value)}, key=_order)
    items = tuple(
        Violation(pointer=join_pointer(prefix, *path), keyword=keyword, name=name, message=message)
        for path, keyword, name, message in found[:limit]
    )
    return Violations(items=items, more=len(found) - len(items))


def _order(words: tuple[Path, str, str, str]) -> tuple[Any, ...]:
    path, keyword, name, message = words
    tokens = [(0, t, b"") if isinstance(t, int) else (1, 0, utf16_key(t)) for t in path]
    return tokens, keyword, utf16_key(name), message


def _in_words(entry: Sequence[Any], value: JSON) -> Iterator[tuple[Path, str, str, str]]:
    path, place, kind, fact = tuple(entry[0]), entry[1], entry[2], entry[3]
    if kind in _NO_ANSWER:
        raise SchemaNotJudged(f"the schema could not be judged: {kind}")
    last = str(place[-1]) if place else ""
    if kind == "FalseSchema":
        yield from _of_false(path, place, value)
    elif kind in _NAMES:
        keyword, text = _NAMES[kind]
        yield from ((path, keyword, name, text.format(shown(name))) for name in fact)
    elif kind in _NUMBERS:
        keyword, text = _NUMBERS[kind]
        yield path, keyword, "", text.format(shown(_number(fact)))
    elif kind in _TEXTS:
        keyword, text = _TEXTS[kind]
        yield path, keyword, "", text.format(shown(fact))
    elif kind in _FIXED:
        keyword, text = _FIXED[kind]
        yield path, keyword, "", text
    elif kind == "Required":
        yield path, last, fact, f"must have required property '{shown(fact)}'"
    elif kind == "Type":
        yield path, "type", "", f"must be {','.join(sorted(fact))}"
    else:
        yield path, last, "", f"must satisfy {shown(last)}"


def _number(fact: Any) -> str:
    return number_text(fact if isinstance(fact, int) else float(fact))


def _of_false(
    path: Path, place: Sequence[str | int], value: JSON
) -> Iterator[tuple[Path, str, str, str]]:
    """A ``false`` schema; as the value of some keywords it says more."""
    keyword = _last_keyword(place)
    if keyword == "propertyNames":
        yield path, *_with_name(_FIXED["PropertyNames"])
        return
    judged = _at(value, path)
    if keyword == "additionalProperties" and isinstance(judged, dict):
        _, text = _NAMES["AdditionalProperties"]
        yield from ((path, keyword, name, text.format(shown(name))) for name in judged)
    else:
        yield path, *_with_name(_FALSE)


def _with_name(words: tuple[str, str]) -> tuple[str, str, str]:
    return words[0], "", words[1]


def _last_keyword(place: Sequence[str | int]) -> str:
    """The keyword whose own value a place in a schema is; ``""`` for one of several in it."""
    last, index = "", 0
    while index < len(place):
        token = place[index]
        holds = _HOLDS.get(token) if isinstance(token, str) else None
        if holds is None:
            return ""
        index += 1
        last = str(token)
        several = holds in {Holds.LIST, Holds.MAP, Holds.DEPENDENCIES}
        if index < len(place) and (several or isinstance(place[index], int)):
            last, index = "", index + 1
    return last


def _at(value: JSON, path: Path) -> JSON:
    for token in path:
        if isinstance(value, dict):
            value = value[str(token)]
        elif isinstance(value, list):
            value = value[int(token)]
    return value
