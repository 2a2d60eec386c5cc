"""
What a person wants to read about a verifier, from its docstring and its parameters.

The docstring's first paragraph says what holds, ``Args`` what each parameter
means, ``Source`` where the check comes from.  The examples are data, and their
findings are what the check itself says of them.
"""

from __future__ import annotations

import inspect
import re
from functools import cache
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import Struct

from signoff.jsonvalue import JSON
from signoff.model import Finding, Subject, ToolCall
from signoff.registry import Powers, Verifier

__all__ = ["Example", "Manual", "ParamManual", "manual", "tried"]

EXAMPLES: Final = Path(__file__).with_name("examples.json")
_SECTION: Final = re.compile(r"^(Args|Source):[ \t]*", re.MULTILINE)


class Example(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """
    Parameters, a subject that meets them, and one that does not.

    Args:
        params: The parameters of a criterion.
        meets: Fields of a subject, such as ``output``.
        misses: The same, for which the check does not pass; None when it needs no showing.
    """

    params: dict[str, Any]
    meets: dict[str, Any]
    misses: dict[str, Any] | None = None


class ParamManual(Struct, frozen=True, kw_only=True):
    """
    One parameter.

    Args:
        name: What criteria call it.
        type: What its value must be.
        required: It must be given.
        default: Its value when absent; None also where absence has a meaning of its own.
        meaning: What it does.
    """

    name: str
    type: str
    required: bool
    default: JSON
    meaning: str


class Manual(Struct, frozen=True, kw_only=True):
    """
    All about one verifier.

    Args:
        id: What criteria call it.
        description: What holds when it passes.
        notes: Further paragraphs.
        params: Its parameters, in the order of the factory.
        origin: Name and version of what provides it.
        source: Where the check comes from.
        examples: Parameters with subjects.
    """

    id: str
    description: str
    notes: tuple[str, ...]
    params: tuple[ParamManual, ...]
    origin: str
    source: str
    examples: tuple[Example, ...]


def manual(verifier: Verifier) -> Manual:
    """What there is to say about a verifier."""
    prose, meanings, source = _read(inspect.getdoc(verifier.factory) or "")
    return Manual(
        id=verifier.id,
        description=_joined(verifier.description),
        notes=prose[1:],
        params=tuple(
            ParamManual(
                name=param.name,
                type=param.kind.says,
                required=param.required,
                default=param.default,
                meaning=meanings.get(param.name, ""),
            )
            for param in verifier.params
        ),
        origin=verifier.source,
        source=source,
        examples=_examples().get(verifier.id, ()) if verifier.own else (),
    )


def tried(verifier: Verifier, example: Example) -> tuple[Finding, Finding | None]:
    """What the check itself says of the subjects of an example."""
    check = verifier.bind(example.params, Powers())
    misses = None if example.misses is None else check(_subject(example.misses))
    return check(_subject(example.meets)), misses


def _subject(fields: dict[str, Any]) -> Subject:
    tools = fields.get("tools")
    calls = {} if tools is None else {"tools": msgspec.convert(tools, tuple[ToolCall, ...])}
    return Subject(**(fields | calls))


@cache
def _examples() -> dict[str, tuple[Example, ...]]:
    return msgspec.json.decode(EXAMPLES.read_bytes(), type=dict[str, tuple[Example, ...]])


def _read(text: str) -> tuple[tuple[str, ...], dict[str, str], str]:
    """Paragraphs, meaning by parameter, and source."""
    prose, *rest = _SECTION.split(text)
    sections = dict(zip(rest[::2], rest[1::2], strict=True))
    paragraphs = tuple(_joined(part) for part in prose.split("\n\n") if part.strip())
    return paragraphs, _meanings(sections.get("Args", "")), _joined(sections.get("Source", ""))


def _meanings(text: str) -> dict[str, str]:
    meanings: dict[str, str] = {}
    name = ""
    for line in inspect.cleandoc(text).splitlines():
        begun = re.match(r"(\w+): (.*)", line)
        if begun:
            name = begun[1]
            meanings[name] = begun[2]
        elif name:
            meanings[name] += f" {line.strip()}"
    return {key: _joined(value) for key, value in meanings.items()}


def _joined(text: str) -> str:
    return " ".join(text.replace("``", "").split())
