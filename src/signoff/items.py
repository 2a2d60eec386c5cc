"""
What list checks share: fields of items, one value or an array of them, the first problem.

Texts and places follow spec "The standard library of checks", 2.2 and 2.5.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from operator import itemgetter
from typing import Annotated, Any

from msgspec import Struct

from signoff.errors import ParamsError
from signoff.jsonvalue import (
    JSON,
    MISSING,
    Missing,
    join_pointer,
    number_text,
    parse_pointer,
    resolve,
    shown,
)
from signoff.model import Finding, failed
from signoff.params import Kind, field_name
from signoff.registry import EACH, FieldPath

__all__ = [
    "DICT_ALONE",
    "Field",
    "KeyField",
    "Lookup",
    "Problem",
    "column",
    "failure",
    "first_problem",
    "listed",
    "measured",
    "of_items",
    "of_value_or_items",
]

MAX_SHOWN = 200
DICT_ALONE = frozenset({dict})


class Problem(Struct, frozen=True, kw_only=True):
    """What is wrong with an item, and the tokens from the item to the place that is wrong."""

    text: str
    tokens: tuple[str, ...] = ()


class Field(Struct, frozen=True, kw_only=True):
    """
    A value inside an item: under a key of its own, or where a pointer leads.

    Args:
        name: As it was written.
        tokens: The way from the item to the value.
    """

    name: str
    tokens: tuple[str, ...]

    @classmethod
    def named(cls, name: str) -> Field:
        """The field that a parameter names: dots are ordinary, a slash begins a pointer."""
        return cls(name=name, tokens=parse_pointer(name) if name.startswith("/") else (name,))

    @property
    def quoted(self) -> str:
        """The name as details show it."""
        return f'"{shown(self.name)}"'

    def of(self, item: JSON) -> JSON | Missing:
        """The value in an item; ``MISSING`` where there is none, or the item is no object."""
        if type(item) is not dict:
            return MISSING
        if len(self.tokens) == 1:
            return item.get(self.tokens[0], MISSING)
        return resolve(item, self.tokens)[0]


class Lookup(Struct, frozen=True, kw_only=True):
    """
    Where an item keeps its value: in a named field, or under one key of a closed list.

    Args:
        keys: The closed list.
        several: What items with two of those keys have, such as ``several price fields``.
        absent: What is said of an item without a value.
        field: The named field; the list is not looked at then.
    """

    keys: Mapping[str, Field]
    several: str
    absent: str
    field: Field | None = None

    @property
    def fields(self) -> tuple[Field, ...]:
        """Every field that may be looked at."""
        return tuple(self.keys.values()) if self.field is None else (self.field,)

    def find(self, item: JSON) -> tuple[Field, JSON] | Problem:
        """The one field that holds the value, with the value; two of them are none."""
        if self.field is not None:
            value = self.field.of(item)
            return Problem(text=self.absent) if value is MISSING else (self.field, value)
        if type(item) is not dict:
            return Problem(text=self.absent)
        present = [key for key in self.keys if key in item]
        if len(present) == 1:
            return self.keys[present[0]], item[present[0]]
        if present:
            return Problem(text=f"{self.several}: {', '.join(sorted(present))}.")
        return Problem(text=self.absent)


def column(items: list[Any], field: Field) -> list[Any] | None:
    """The field's value in every item; None unless each item is an object that has it."""
    if {*map(type, items)} != DICT_ALONE and items:
        return None
    if len(field.tokens) == 1:
        try:
            return list(map(itemgetter(field.tokens[0]), items))
        except KeyError:
            return None
    values = list(map(field.of, items))
    return None if any(value is MISSING for value in values) else values


def failure(problem: Problem, path: str, index: int | None) -> Finding:
    """The finding for a problem of an array's item, or without ``index`` of a single value."""
    if index is None:
        return failed(problem.text, at=join_pointer(path, *problem.tokens))
    at = join_pointer(path, index, *problem.tokens)
    return failed(f"Index {index}: {problem.text}", at=at)


def first_problem(
    value: JSON, path: str, problem_of: Callable[[JSON], Problem | None]
) -> Finding | None:
    """The failure of the first item with a problem, of an array or of one value; None without."""
    if type(value) is not list:
        found = problem_of(value)
        return None if found is None else failure(found, path, None)
    for index, item in enumerate(value):
        found = problem_of(item)
        if found is not None:
            return failure(found, path, index)
    return None


def listed(names: Iterable[str | tuple[str, str]]) -> str:
    """
    The names with commas between them; beyond 200 characters the rest is ``...``.

    A name with a remark stands in double quotes, the remark behind it.
    """
    entries, room = list[str](), MAX_SHOWN
    for entry in names:
        if room <= 0:
            return ", ".join([*entries, "..."])
        name = entry if isinstance(entry, str) else entry[0]
        text = shown(name, room)
        entries.append(text if isinstance(entry, str) else f'"{text}"{entry[1]}')
        room -= len(name)
    return ", ".join(entries)


def measured(number: int | float) -> str:
    """A number of the output as details show it, bounded like any other data."""
    return shown(number_text(number), MAX_SHOWN)


def of_items(path: str, *fields: Field) -> tuple[FieldPath, ...]:
    """What a check reads that looks at these fields of every item at ``path``."""
    return tuple((*parse_pointer(path), EACH, *field.tokens) for field in fields)


def of_value_or_items(path: str, *fields: Field) -> tuple[FieldPath, ...]:
    """The same where ``path`` may also lead to a single object."""
    alone = ((*parse_pointer(path), *field.tokens) for field in fields)
    return (*of_items(path, *fields), *alone)


def _read_key_field(value: JSON) -> str:
    if type(value) is not str or not value:
        raise ValueError
    try:
        read: str = _FIELD.read(value)
    except ValueError:
        raise ParamsError(f"params.field must be {_FIELD.says}") from None
    return read


_FIELD = field_name("field name, not empty")
_KEY_FIELD = Kind(
    says=_FIELD.says,
    read=_read_key_field,
    schema=_FIELD.schema,
    fault="params.{name} is required",
)
KeyField = Annotated[str, _KEY_FIELD]
