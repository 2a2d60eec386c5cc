"""
The types of parameters: how each is read, how its fault is worded, how it is documented.

A verifier's factory annotates its keyword parameters with these types (or with
plain Python ones); the registry reads a criterion's ``params`` through them when
the contract is locked.  Wording: spec "The standard library of checks", 2.1.
"""

from __future__ import annotations

import math
import types
from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import msgspec

from signoff.canonical import canonical_bytes
from signoff.errors import ParamsError
from signoff.jsonvalue import JSON, is_number, number_text, parse_pointer

__all__ = [
    "BOOLEAN",
    "MAX_ITEMS",
    "MAX_TEXT",
    "OBJECT",
    "Count",
    "FieldName",
    "Kind",
    "Number",
    "Pointer",
    "array_of",
    "choice",
    "crossed",
    "field_name",
    "has_big_integer",
    "integer",
    "kind_of",
    "number",
    "require_shallow",
    "require_small",
    "text",
]

MAX_PARAMS_BYTES = 262_144
MAX_PARAMS_DEPTH = 64
MAX_SAFE_INTEGER = 2**53 - 1
MAX_TEXT = 4_096
MAX_ITEMS = 1_000


class Kind(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """
    One type of parameter.

    Args:
        says: What the value must be, as in ``params.X must be <says>``.
        read: Gives the value to bind; raises ``ValueError`` for a wrong type or a value
            out of bounds, ``ParamsError`` where it has a message of its own.
        schema: JSON Schema of the values, for documents.
        fault: The whole message for a wrong value where it is not the usual one;
            ``{name}`` stands for the parameter's name.
        absent: The whole message for a required one that is absent, likewise.
    """

    says: str
    read: Callable[[JSON], Any]
    schema: dict[str, Any]
    fault: str = "params.{name} must be {says}"
    absent: str = "params.{name} is required"

    def wrong(self, name: str) -> str:
        """The message for a wrong value of the parameter ``name``."""
        return self.fault.format(name=name, says=self.says)


def integer(says: str = "", *, ge: int | None = None, le: int | None = None, **words: str) -> Kind:
    """Whole numbers; ``3.0`` is one, ``true`` is none."""

    def read(value: JSON) -> int:
        if not is_number(value) or (type(value) is float and not value.is_integer()):
            raise ValueError
        return int(_within(value, ge, le))

    bounds = _bounds(ge, le)
    return Kind(
        says=says or f"integer{_in_words(ge, le)}",
        read=read,
        schema={"type": "integer", **bounds},
        **words,
    )


def number(
    says: str = "", *, ge: float | None = None, le: float | None = None, **words: str
) -> Kind:
    """Finite numbers; ``true`` is none."""

    def read(value: JSON) -> int | float:
        if not is_number(value) or not math.isfinite(value):
            raise ValueError
        return _within(value, ge, le)

    return Kind(
        says=says or f"number{_in_words(ge, le)}",
        read=read,
        schema={"type": "number", **_bounds(ge, le)},
        **words,
    )


def text(says: str = "string", *, least: int = 0, most: int = MAX_TEXT, **words: str) -> Kind:
    """Strings of ``least`` to ``most`` code points."""

    def read(value: JSON) -> str:
        if type(value) is not str or not least <= len(value) <= most:
            raise ValueError
        return value

    schema = {"type": "string", "maxLength": most} | ({"minLength": least} if least else {})
    return Kind(says=says, read=read, schema=schema, **words)


def field_name(says: str = "field name", **words: str) -> Kind:
    """Names of an item's own key, or pointers inside the item where they begin with ``/``."""

    def read(value: JSON) -> str:
        if type(value) is not str or not value or len(value) > MAX_TEXT:
            raise ValueError
        if value.startswith("/"):
            parse_pointer(value)
        return value

    schema = {"type": "string", "minLength": 1, "maxLength": MAX_TEXT}
    return Kind(says=says, read=read, schema=schema, **words)


def array_of(item: Kind, says: str, *, least: int = 1, most: int = MAX_ITEMS, **words: str) -> Kind:
    """Arrays of ``least`` to ``most`` entries of one kind, as a tuple."""

    def read(value: JSON) -> tuple[Any, ...]:
        if type(value) is not list or not least <= len(value) <= most:
            raise ValueError
        return tuple(item.read(entry) for entry in value)

    schema = {"type": "array", "items": item.schema, "minItems": least, "maxItems": most}
    return Kind(says=says, read=read, schema=schema, **words)


def choice(*allowed: JSON) -> Kind:
    """One of the given texts."""

    def read(value: JSON) -> JSON:
        if type(value) is not str or value not in allowed:
            raise ValueError
        return value

    quoted = [f'"{entry}"' for entry in allowed]
    says = " or ".join([", ".join(quoted[:-1]), quoted[-1]] if len(quoted) > 1 else quoted)
    return Kind(says=says, read=read, schema={"enum": list(allowed)})


def _read_pointer(value: JSON) -> str:
    if type(value) is not str or len(value) > MAX_TEXT:
        raise ValueError
    parse_pointer(value)
    return value


def _exactly(kind: type, says: str, json_type: str) -> Kind:
    def read(value: JSON) -> Any:
        if type(value) is not kind:
            raise ValueError
        return value

    return Kind(says=says, read=read, schema={"type": json_type})


def kind_of(hint: Any) -> Kind:
    """
    The kind of a parameter, from its annotation.

    Understands ``Annotated`` with a ``Kind`` or ``msgspec.Meta``, ``Literal`` of
    texts, ``X | None`` (absent, never null), ``bool``, ``int``, ``float``, ``str``,
    ``list`` and ``tuple`` of these, ``dict`` and ``Any``.

    Raises:
        TypeError: Another annotation.
    """
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _annotated(arguments[0], arguments[1:])
    if origin in {Union, types.UnionType}:
        return _optional([entry for entry in arguments if entry is not types.NoneType], hint)
    if origin is Literal:
        return choice(*arguments)
    if origin in {list, tuple}:
        return array_of(kind_of(arguments[0]), "array", least=0)
    if origin is dict:
        return OBJECT
    plain: dict[Any, Kind] = {
        bool: BOOLEAN,
        int: integer(),
        float: number(),
        str: text(),
        dict: OBJECT,
        list: ARRAY,
        Any: ANY,
    }
    if hint in plain:
        return plain[hint]
    raise TypeError(f"no kind of parameter for {hint!r}")


def _annotated(plain: Any, extras: tuple[Any, ...]) -> Kind:
    for extra in extras:
        if isinstance(extra, Kind):
            return extra
    for extra in extras:
        if isinstance(extra, msgspec.Meta):
            return _with_bounds(plain, extra)
    return kind_of(plain)


# The bounds that are understood, by plain type; others are refused rather than ignored.
_BOUNDS = {int: {"ge", "gt", "le", "lt"}, float: {"ge", "le"}, str: {"min_length", "max_length"}}
_ALL_BOUNDS = ("ge", "gt", "le", "lt", "multiple_of", "pattern", "min_length", "max_length")


def _with_bounds(plain: Any, meta: msgspec.Meta) -> Kind:
    given = {name for name in _ALL_BOUNDS if getattr(meta, name) is not None}
    if not given <= _BOUNDS.get(plain, set()):
        odd = ", ".join(sorted(given - _BOUNDS.get(plain, set())))
        raise TypeError(f"bounds on {plain!r} are not understood: {odd}")
    if plain is int:
        lows = [math.ceil(meta.ge)] if meta.ge is not None else []
        lows += [math.floor(meta.gt) + 1] if meta.gt is not None else []
        highs = [math.floor(meta.le)] if meta.le is not None else []
        highs += [math.ceil(meta.lt) - 1] if meta.lt is not None else []
        return integer(ge=max(lows, default=None), le=min(highs, default=None))
    if plain is float:
        return number(ge=meta.ge, le=meta.le)
    if plain is str:
        least, most = meta.min_length or 0, meta.max_length or MAX_TEXT
        return text("non-empty string" if least == 1 else "string", least=least, most=most)
    return kind_of(plain)


def _optional(kinds: list[Any], hint: Any) -> Kind:
    if len(kinds) != 1:
        raise TypeError(f"no kind of parameter for {hint!r}")
    return kind_of(kinds[0])


def _within(value: float, ge: float | None, le: float | None) -> float:
    if (ge is not None and not value >= ge) or (le is not None and not value <= le):
        raise ValueError
    return value


def _bounds(ge: float | None, le: float | None) -> dict[str, float]:
    return {} | ({} if ge is None else {"minimum": ge}) | ({} if le is None else {"maximum": le})


def _in_words(ge: float | None, le: float | None) -> str:
    if ge is not None and le is not None:
        return f", {number_text(ge)} to {number_text(le)}"
    if ge is not None:
        return f" >= {number_text(ge)}"
    return "" if le is None else f" <= {number_text(le)}"


def crossed(low: float | None, high: float | None, low_name: str, high_name: str) -> None:
    """
    Refuse a lower bound above its upper bound.

    Raises:
        ParamsError: ``params.min 4 is above params.max 1``.
    """
    if low is not None and high is not None and low > high:
        raise ParamsError(
            f"params.{low_name} {number_text(low)} is above params.{high_name} {number_text(high)}",
            where=f"/{low_name}",
        )


def require_small(params: Mapping[str, JSON]) -> None:
    """
    Refuse the params of a criterion that are too many bytes.

    Raises:
        ParamsError: They are.
    """
    if len(canonical_bytes(dict(params))) > MAX_PARAMS_BYTES:
        raise ParamsError(f"params is larger than {MAX_PARAMS_BYTES} bytes in canonical form")


def require_shallow(params: Mapping[str, JSON]) -> None:
    """
    Refuse the params of a criterion that are nested too deep.

    Raises:
        ParamsError: They are.
    """
    if _is_deeper(list(params.values()), MAX_PARAMS_DEPTH):
        raise ParamsError(f"params is nested deeper than {MAX_PARAMS_DEPTH} levels")


def _is_deeper(values: Iterable[JSON], levels: int) -> bool:
    """Some array or object among the values lies deeper than that; the values are one level."""
    inner = [value for value in values if type(value) in {list, dict}]
    if not inner:
        return False
    return levels == 1 or any(
        _is_deeper(value.values() if type(value) is dict else value, levels - 1)  # type: ignore[arg-type]  # lists and dicts
        for value in inner
    )


def has_big_integer(value: JSON) -> bool:
    """Somewhere in a value is an integer that a double may not hold."""
    if type(value) is float:
        # Whole decimals below 1e21 are written as integers in canonical form.
        return MAX_SAFE_INTEGER < abs(value) < 1e21
    if type(value) is int:
        return abs(value) > MAX_SAFE_INTEGER
    if type(value) is list:
        return any(map(has_big_integer, value))
    return type(value) is dict and any(map(has_big_integer, value.values()))


BOOLEAN = _exactly(bool, "boolean", "boolean")
OBJECT = _exactly(dict, "object", "object")
ARRAY = _exactly(list, "array", "array")
ANY = Kind(says="JSON value", read=lambda value: value, schema={})

Pointer = Annotated[
    str,
    Kind(
        says="a JSON Pointer",
        read=_read_pointer,
        schema={"type": "string", "format": "json-pointer", "maxLength": MAX_TEXT},
    ),
]
FieldName = Annotated[str, field_name()]
Count = Annotated[int, integer(ge=0)]
Number = Annotated[float, number()]
