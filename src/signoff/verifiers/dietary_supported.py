"""Required dietary restrictions are supported."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Annotated

from signoff.folding import folded
from signoff.items import Field, Lookup, Problem, first_problem, listed, of_value_or_items
from signoff.jsonvalue import JSON, json_type, shown, utf16_key
from signoff.model import Finding, Subject, failed, held, passed
from signoff.params import FieldName, Kind, Pointer, array_of, text
from signoff.registry import Check, reads, verifier

ALIASES = {
    "gf": "gluten-free",
    "glutenfree": "gluten-free",
    "no-gluten": "gluten-free",
    "df": "dairy-free",
    "dairyfree": "dairy-free",
    "no-dairy": "dairy-free",
    "nf": "nut-free",
    "nutfree": "nut-free",
    "no-nuts": "nut-free",
    "lactosefree": "lactose-free",
    "veggie": "vegetarian",
    "pescetarian": "pescatarian",
    "ketogenic": "keto",
}
LISTED_KEYS = ("dietary_options", "dietary", "dietary_restrictions", "dietary_supported")
KEYS = {key: Field.named(key) for key in LISTED_KEYS}
_GAPS = re.compile(r"[\s_-]+")


def _name_form(name: str) -> str:
    """The one spelling of a dietary name: ``Gluten_Free`` and ``GF`` are ``gluten-free``."""
    return _known_form(name) if len(name) <= 64 else _worked_out_form(name)


def _worked_out_form(name: str) -> str:
    form = _GAPS.sub("-", folded(name).strip())
    return ALIASES.get(form, form)


_known_form = lru_cache(maxsize=1024)(_worked_out_form)  # the same few names come again and again


def _read_names(value: JSON) -> tuple[str, ...]:
    names: tuple[str, ...] = _NAMES.read(value)
    forms = set(map(_name_form, names))
    if "" in forms or len(forms) < len(names):
        raise ValueError
    return names


_NAMES = array_of(text(least=1), "array of 1 or more different names")
Names = Annotated[tuple[str, ...], Kind(says=_NAMES.says, read=_read_names, schema=_NAMES.schema)]


@verifier
def dietary_supported(
    *, required: Names, field: FieldName | None = None, path: Pointer = ""
) -> Check:
    """
    Every item supports every required dietary restriction; one object is judged alone.

    An item lists what it supports as an array of names, or as an object of booleans
    where only true supports.  Spelling does not matter (``GF`` is ``gluten-free``),
    and nothing is inferred: vegan does not imply vegetarian.  An item that says
    nothing, or contradicts itself, supports nothing.  An empty array is a warning.

    Args:
        required: Names of restrictions, different once they are spelt in one way.
        field: Key of the list in each item, or a pointer inside it; when absent, the one of
            ``dietary_options``, ``dietary``, ``dietary_restrictions`` and
            ``dietary_supported`` that the item has.
        path: RFC 6901 pointer to the array or object; the whole output when empty.

    Source: OpenSpec, "Standard Library of Acceptance Checks".
    """
    lookup = Lookup(
        keys=KEYS,
        several="several dietary fields",
        absent="no dietary field.",
        field=None if field is None else Field.named(field),
    )
    wanted = [(_name_form(name), name) for name in required]
    names = listed(required)

    def problem_of(item: JSON) -> Problem | None:
        found = lookup.find(item)
        if isinstance(found, Problem):
            return found
        key, value = found
        supported = _supported(value)
        if supported is None:
            expected = "expected array of strings or object of booleans"
            complaint = f"Field {key.quoted} is {json_type(value)}, {expected}."
        elif isinstance(supported, str):
            complaint = supported
        else:
            lacking = next((name for form, name in wanted if form not in supported), None)
            if lacking is None:
                return None
            complaint = f'does not support "{shown(lacking)}".'
        return Problem(text=complaint, tokens=key.tokens)

    def check(subject: Subject) -> Finding:
        value = subject.value(path)
        if type(value) not in {list, dict}:
            return failed("Output is not an array.", at=path)
        found = first_problem(value, path, problem_of)
        if found is not None:
            return found
        if type(value) is list:
            return held(f"All {len(value)} items support: {names}.", items=len(value))
        return passed(f"Supports: {names}.")

    return reads(check, *of_value_or_items(path, *lookup.fields))


def _supported(value: JSON) -> frozenset[str] | str | None:
    """Name forms that are supported, or which two names disagree; None for another type."""
    if type(value) is list:
        names = [name for name in value if isinstance(name, str)]
        return frozenset(map(_name_form, names)) if len(names) == len(value) else None
    if type(value) is not dict or not {*map(type, value.values())} <= {bool}:
        return None
    spelt = dict[str, str]()
    for name in sorted(value, key=utf16_key):
        earlier = spelt.setdefault(_name_form(name), name)
        if value[earlier] is not value[name]:
            return f'"{shown(earlier)}" and "{shown(name)}" disagree.'
    return frozenset(form for form, name in spelt.items() if value[name] is True)
