"""What the commands of ``signoff wattswarm hash`` read: JSON as a node reads it."""

from __future__ import annotations

from typing import Final

from signoff.cli.exits import Refusal
from signoff.cli.reading import open_output
from signoff.cli.terminal import Terminal
from signoff.dialects.wattswarm.jsonform import loads_canonical
from signoff.errors import JSONError
from signoff.jsonvalue import JSON, shown

__all__ = ["json_argument", "json_file", "not_json"]

MAX_BYTES: Final = 64 * 2**20


def json_file(path: str, terminal: Terminal) -> tuple[JSON, bytes, bytes]:
    """
    The value of a file, or of standard input for ``-``; its canonical bytes; the bytes as read.

    Raises:
        Refusal: It cannot be read, or is no JSON.
    """
    data = open_output(path, terminal, max_bytes=MAX_BYTES)
    try:
        return *loads_canonical(data), data
    except JSONError as exc:
        raise not_json("standard input" if path == "-" else path, exc) from exc


def json_argument(text: str, *, what: str, terminal: Terminal) -> JSON:
    """
    The value of an argument, or of the file that it names after ``@``.

    Raises:
        Refusal: It cannot be read, or is no JSON.
    """
    if text.startswith("@"):
        return json_file(text[1:], terminal)[0]
    try:
        return loads_canonical(text.encode("utf-8", "surrogateescape"))[0]
    except JSONError as exc:
        raise not_json(what, exc) from exc


def not_json(what: str, exc: JSONError) -> Refusal:
    """The refusal of what is no JSON."""
    return Refusal(
        f"{shown(what)} is not JSON: {exc}",
        next_step="give it one JSON document in UTF-8, with each key once",
    )
