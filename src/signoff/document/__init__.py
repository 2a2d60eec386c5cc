"""
A document read from a file: JSON, YAML 1.2 or TOML, one value whichever it is.

All three are held to the rules of strict JSON, and whatever has no JSON form is
refused with its place.  A format's parser is imported when a file of it is read.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cached_property
from pathlib import PurePath
from typing import Final, Literal, TypeAlias

import msgspec

from signoff.document.filebytes import read_bytes, read_stdin
from signoff.document.text import MAX_TOML_BYTES, MAX_YAML_BYTES, position
from signoff.errors import DocumentError, Fault, JSONError, TextError
from signoff.jsonlimits import MAX_DEPTH, MAX_DIGITS
from signoff.jsonvalue import JSON, parse_pointer, shown
from signoff.strictjson import Limits
from signoff.strictjson import loads as loads_json

__all__ = [
    "LIMITS",
    "Document",
    "Format",
    "parse_document",
    "parse_json",
    "parse_toml",
    "parse_yaml",
    "read_bytes",
    "read_document",
    "read_stdin",
]

Format: TypeAlias = Literal["json", "yaml", "toml"]
_Find: TypeAlias = Callable[[str], tuple[int, int] | None]

LIMITS: Final = Limits(max_bytes=8 * 2**20)

_FORMATS: Final[dict[str, Format]] = {
    ".json": "json",
    ".yaml": "yaml",
    ".yml": "yaml",
    ".toml": "toml",
}
_CAPS: Final[dict[Format, int]] = {"yaml": MAX_YAML_BYTES, "toml": MAX_TOML_BYTES}
# For a text that was accepted before, under whichever limits.
_WIDEST: Final = Limits(max_depth=MAX_DEPTH, max_digits=MAX_DIGITS)


class Document(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """
    A value, and the text it was read from.

    Args:
        value: What the text says.
        source: Name of the file, fit for a message.
        data: The bytes as they were read.
        format: What the bytes are.
    """

    value: JSON
    source: str
    data: bytes
    format: Format

    def place(self, pointer: str, *, key: bool = False) -> tuple[int, int]:
        """
        The 1-based line and column, in code points, of the value at a pointer.

        Of its key when ``key`` is set and it has one.  Where there is no value,
        of the nearest value around it that there is.

        Raises:
            ValueError: ``pointer`` is no RFC 6901 pointer.
        """
        parse_pointer(pointer)
        text, find = self._finder
        found = find(pointer)
        wanted = 0 if key and found is not None else 1
        while found is None:
            pointer = pointer.rpartition("/")[0]
            found = find(pointer)
        return position(text, found[wanted])

    def placed(self, fault: Fault) -> Fault:
        """The fault with its line and column: of the key, where a name is wrong."""
        line, column = self.place(fault.where, key=bool(fault.got))
        return msgspec.structs.replace(fault, line=line, column=column)

    @cached_property
    def _finder(self) -> tuple[str, _Find]:
        # Built when the first place is asked for: only a fault needs one.
        text = self.data.decode()
        return text, _FINDERS[self.format](self.data, text)


def read_document(
    path: str | os.PathLike[str],
    *,
    limits: Limits = LIMITS,
    folder: str | os.PathLike[str] | None = None,
) -> Document:
    """
    The document in a file, whose name says its format.

    Args:
        path: A ``.json``, ``.yaml``, ``.yml`` or ``.toml`` file.
        limits: Of the value, and of the file; YAML files have at most 256 KiB and TOML files 1 MiB.
        folder: Where the file must be; see ``read_bytes``.

    Raises:
        DocumentError: The file cannot be read.
        TextError: Its text is not a document of its format; carries file, line and column.
    """
    name = os.fspath(path)
    kind = _kind(name)
    cap = min(limits.max_bytes, _CAPS.get(kind, limits.max_bytes))
    data = read_bytes(name, max_bytes=cap, folder=folder)
    return parse_document(data, name, limits=limits, format=kind)


def parse_document(
    data: bytes, source: str, *, limits: Limits = LIMITS, format: Format | None = None
) -> Document:
    """
    The document in bytes that are at hand.

    Args:
        data: The text, UTF-8.
        source: Name of the file or stream, for messages.
        limits: As for ``read_document``.
        format: What the bytes are; None takes it from the ending of ``source``.

    Raises:
        DocumentError: The name has none of the known endings.
        TextError: The text is not a document of its format; carries source, line and column.
    """
    kind = format or _kind(source)
    name = shown(source)
    try:
        value = _PARSERS[kind](data, limits=limits)
    except TextError as exc:
        raise exc.named(name) from exc
    return Document(value=value, source=name, data=data, format=kind)


def parse_json(data: bytes, *, limits: Limits = LIMITS) -> JSON:
    """
    The value of a JSON text.

    Raises:
        TextError: The text is not strict JSON; says what and where.
    """
    try:
        return loads_json(data, limits=limits)
    except JSONError as exc:
        raise TextError(exc.reason, line=exc.line or 0, column=exc.column or 0) from exc


def parse_yaml(data: bytes, *, limits: Limits = LIMITS) -> JSON:
    """
    The value of a YAML 1.2 text.

    Raises:
        TextError: The text is not one plain YAML document; says what and where.
    """
    from signoff.document import (
        yamltext,  # brings ruamel.yaml, 50 ms that other formats need not pay
    )

    return yamltext.loads(data, limits=limits)


def parse_toml(data: bytes, *, limits: Limits = LIMITS) -> JSON:
    """
    The value of a TOML 1.0 text.

    Raises:
        TextError: The text is not TOML, or holds what JSON cannot; says what and where.
    """
    from signoff.document import tomltext  # brings tomllib, which other formats do not need

    return tomltext.loads(data, limits=limits)


def _kind(name: str) -> Format:
    kind = _FORMATS.get(PurePath(name).suffix.lower())
    if kind is None:
        raise DocumentError(
            f"{shown(name)}: unknown kind of document; the name must end in .json, .yaml or .toml"
        )
    return kind


def _json_finder(_: bytes, text: str) -> _Find:
    from signoff.document.jsonplaces import JSONPlaces  # only a fault needs places

    return JSONPlaces(text).find


def _yaml_finder(data: bytes, _: str) -> _Find:
    from signoff.document.yamltext import loads_placed  # brings ruamel.yaml

    return loads_placed(data, limits=_WIDEST)[1].get


def _toml_finder(_: bytes, text: str) -> _Find:
    from signoff.document.tomlplaces import places  # brings tomllib

    return places(text).get


_PARSERS: Final = {"json": parse_json, "yaml": parse_yaml, "toml": parse_toml}
_FINDERS: Final = {"json": _json_finder, "yaml": _yaml_finder, "toml": _toml_finder}
