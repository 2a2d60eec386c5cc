"""
YAML 1.2 into JSON values, by the core schema and nothing beyond it.

The parser gives events; what a plain scalar means is decided here, because the
parser's own resolver also knows sexagesimal numbers, underscores and dates.  So
``no``, ``1_000``, ``12:30:00`` and ``2026-02-09`` are texts.  Anchors, aliases
and tags are refused, and with them every way in which a small text grows large.
Every text that is both JSON and readable here has one value.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import isfinite
from typing import Any, Final

from ruamel import yaml

from signoff.document.text import MAX_YAML_BYTES, decoded, fault_at
from signoff.errors import TextError
from signoff.jsonvalue import JSON, join_pointer, parse_integer, shown
from signoff.strictjson import Limits

__all__ = ["loads", "loads_placed"]

_DEFAULT: Final = Limits(max_bytes=MAX_YAML_BYTES)
# What YAML does not allow, and the line ends of YAML 1.1, which the parser still breaks lines at.
_UNFIT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_INTEGER = re.compile(r"[-+]?[0-9]++|0o[0-7]++|0x[0-9a-fA-F]++")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]++|[0-9]++(?:\.[0-9]*+)?)(?:[eE][-+]?[0-9]++)?")
_NOT_FINITE = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
_LONG_ESCAPE = re.compile(r"\\U([0-9a-fA-F]{8})")
_LARGEST: Final = 0x10FFFF
_OTHER_VERSION: Final = "a %YAML line for another version than 1.2"
_WORDS: Final[dict[str, JSON]] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}


def loads(data: bytes, *, limits: Limits = _DEFAULT) -> JSON:
    """
    The value of a YAML document.

    Args:
        data: The text, UTF-8, at most ``MAX_YAML_BYTES`` whatever ``limits`` says.
        limits: As for JSON, save that a repeated key is always refused.

    Raises:
        TextError: The text is not one plain YAML document; says what and where.
    """
    return loads_placed(data, limits=limits)[0]


def loads_placed(
    data: bytes, *, limits: Limits = _DEFAULT
) -> tuple[JSON, dict[str, tuple[int, int]]]:
    """
    The value of a YAML document, and the offsets of each pointer's key and value.

    Raises:
        TextError: As ``loads``.
    """
    text = decoded(data, max_bytes=min(limits.max_bytes, MAX_YAML_BYTES))
    if (found := _UNFIT.search(text)) is not None:
        reason = f"unescaped \\u{ord(found[0]):04x}; write it as an escape in double quotes"
        raise fault_at(text, found.start(), reason)
    builder = _Builder(text, limits)
    for event in _events(text):
        builder.take(event)
    if not builder.started:
        raise fault_at(text, 0, "the text is empty")
    return builder.value, builder.places


def _events(text: str) -> Iterator[Any]:
    """The parser's events; whatever it raises becomes a TextError."""
    end = 0
    try:
        for event in yaml.YAML(typ="safe", pure=True).parse(text):
            end = event.end_mark.index
            yield event
    except yaml.error.MarkedYAMLError as exc:
        mark = exc.problem_mark or exc.context_mark
        raise fault_at(text, mark.index if mark else end, _reason(exc)) from exc
    except yaml.error.YAMLError as exc:
        raise TextError(f"not YAML: {shown(str(exc))}") from exc
    except AssertionError as exc:
        raise fault_at(text, end, _OTHER_VERSION) from exc
    except (OverflowError, ValueError) as exc:
        # The parser turns \U escapes into characters without asking whether there is one.
        bad = (found for found in _LONG_ESCAPE.finditer(text, end) if int(found[1], 16) > _LARGEST)
        found = next(bad, None)
        raise fault_at(text, found.start() if found else end, "no such character") from exc


def _reason(exc: yaml.error.MarkedYAMLError) -> str:
    problem = str(exc.problem or "malformed text")
    if "'\\t'" in problem:
        return "a tab where only spaces may stand"
    context = f" {exc.context}" if exc.context else ""
    return f"not YAML: {shown(f'{problem}{context}')}"


class _Open:
    """A list or object that is not at its end, and the key that waits for a value."""

    __slots__ = ("key", "key_at", "pointer", "value")

    def __init__(self, value: list[JSON] | dict[str, JSON], pointer: str) -> None:
        self.value = value
        self.pointer = pointer
        self.key: str | None = None
        self.key_at = 0


class _Builder:
    """One document from its events; the depth is bounded by a list of its own."""

    def __init__(self, text: str, limits: Limits) -> None:
        self.text = text
        self.limits = limits
        self.started = False
        self.value: JSON = None
        self.places: dict[str, tuple[int, int]] = {}
        self.open: list[_Open] = []

    def take(self, event: Any) -> None:
        at = event.start_mark.index
        if isinstance(event, yaml.events.DocumentStartEvent):
            self.begin(event, at)
        elif isinstance(event, yaml.events.AliasEvent):
            raise fault_at(self.text, at, f'alias "*{shown(event.anchor)}"; write the value out')
        elif isinstance(event, yaml.events.ScalarEvent):
            self.refuse_properties(event, at)
            self.scalar(event, at)
        elif isinstance(event, yaml.events.CollectionStartEvent):
            self.refuse_properties(event, at)
            self.descend({} if isinstance(event, yaml.events.MappingStartEvent) else [], at)
        elif isinstance(event, yaml.events.CollectionEndEvent):
            self.open.pop()

    def begin(self, event: Any, at: int) -> None:
        if self.started:
            raise fault_at(self.text, at, "a second document; one file holds one")
        self.started = True
        if event.version not in (None, (1, 2)):
            raise fault_at(self.text, 0, _OTHER_VERSION)
        if event.tags:
            raise fault_at(self.text, 0, "a %TAG line; tags are not read")

    def refuse_properties(self, event: Any, at: int) -> None:
        if event.anchor is not None:
            raise fault_at(self.text, at, f'anchor "&{shown(event.anchor)}"; remove it')
        if event.ctag is not None:
            raise fault_at(self.text, at, f'tag "{shown(str(event.ctag))}"; tags are not read')

    def scalar(self, event: Any, at: int) -> None:
        plain = not event.style
        value = self.plain(event.value, at) if plain else self.quoted(event.value, at)
        parent = self.open[-1] if self.open else None
        if parent is None or parent.key is not None or isinstance(parent.value, list):
            unwritten = plain and not event.value and parent is not None and parent.key is not None
            self.place(value, parent.key_at if parent is not None and unwritten else at)
        elif isinstance(value, str):
            self.key(parent, parent.value, value, at)
        else:
            written = shown(event.value)
            raise fault_at(self.text, at, f'a key that is not a text: write "{written}" in quotes')

    def key(self, parent: _Open, members: dict[str, JSON], key: str, at: int) -> None:
        if key in members:
            raise fault_at(self.text, at, f'duplicate key "{shown(key)}"')
        parent.key = key
        parent.key_at = at

    def descend(self, value: list[JSON] | dict[str, JSON], at: int) -> None:
        if len(self.open) >= self.limits.max_depth:
            raise fault_at(self.text, at, f"nested deeper than {self.limits.max_depth} levels")
        self.open.append(_Open(value, self.place(value, at)))

    def place(self, value: JSON, at: int) -> str:
        """Put the value where it belongs; its pointer."""
        parent = self.open[-1] if self.open else None
        key_at = at
        if parent is None:
            pointer, self.value = "", value
        elif isinstance(parent.value, list):
            pointer = join_pointer(parent.pointer, len(parent.value))
            parent.value.append(value)
        elif parent.key is None:
            raise fault_at(self.text, at, "a key that is not a text")
        else:
            pointer, key_at = join_pointer(parent.pointer, parent.key), parent.key_at
            parent.value[parent.key] = value
            parent.key = None
        self.places[pointer] = key_at, at
        return pointer

    def quoted(self, value: str, at: int) -> str:
        if _SURROGATE.search(value) is None:
            return value
        try:  # two escapes may spell one character, as in JSON
            return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le")
        except UnicodeDecodeError as exc:
            raise fault_at(self.text, at, "lone surrogate in a string") from exc

    def plain(self, text: str, at: int) -> JSON:
        if text in _WORDS:
            return _WORDS[text]
        if text[0] not in "+-.0123456789":
            return text
        if _INTEGER.fullmatch(text):
            return self.integer(text, at)
        if _FLOAT.fullmatch(text):
            number = float(text)
            if not isfinite(number):
                raise fault_at(self.text, at, f"number out of range: {shown(text)}")
            return number
        if _NOT_FINITE.fullmatch(text):
            raise fault_at(self.text, at, f"{text} is not a JSON number")
        return text

    def integer(self, text: str, at: int) -> int:
        most = self.limits.max_digits
        if len(text) <= most + 2:  # a sign, or the two characters that name the base
            number = _whole(text)
            if len(text) <= most // 2 or abs(number) < 10**most:
                return number
        raise fault_at(self.text, at, f"integer of more than {most} digits")


def _whole(text: str) -> int:
    if text[:2] in ("0o", "0x"):  # powers of two have no limit on digits
        return int(text, 0)
    return parse_integer(text.removeprefix("+"))
