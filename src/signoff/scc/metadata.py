"""
Inline metadata of a file: the front matter of a Markdown file, or five keys of a JSON file.

Front matter is no YAML: lines ``key: value`` between two lines ``---``, and the only
value that is not a text is an inline list.
"""

from __future__ import annotations

import re
from typing import Final

from msgspec import Struct

from signoff.errors import JSONError
from signoff.jsonvalue import JSON, json_type, shown
from signoff.strictjson import Limits, loads

__all__ = ["LAYERS", "STATUSES", "Inline", "MetadataError", "inline_of", "read_front_matter"]

LAYERS: Final = (
    "RAW", "DERIVED", "CANON", "DIST", "CODE", "CONF", "TOOL", "REPORT", "ARCH", "DOCOPS",
)  # fmt: skip
STATUSES: Final = ("active", "moved", "deprecated", "tombstoned")
MAX_LINES: Final = 64
MAX_BYTES: Final = 8 * 2**20

_LINE: Final = re.compile(r"([A-Za-z_][A-Za-z0-9_-]*):(?: +(.*?))? *")


class MetadataError(ValueError):
    """
    A file without metadata that can be read.

    Args:
        code: The finding of the oid-validator.
        reason: In one sentence.
    """

    def __init__(self, code: str, reason: str) -> None:
        super().__init__(reason)
        self.code = code
        self.reason = reason


class Inline(Struct, frozen=True, kw_only=True):
    """
    The five values as they are written; None for one that is absent.

    A value of the wrong type is there and is none of the registered ones.
    """

    oid: JSON = None
    layer: JSON = None
    primary_unit: JSON = None
    tags: JSON = None
    status: JSON = None


def inline_of(path: str, data: bytes) -> Inline:
    """
    The metadata in a file.

    Args:
        path: Its name says what it is: ``.json`` is JSON, all else Markdown.
        data: Its content.

    Raises:
        MetadataError: There is none that can be read.
    """
    values = _json(data) if path.lower().endswith(".json") else read_front_matter(data)
    return Inline(**{name: values.get(name) for name in Inline.__struct_fields__})


def read_front_matter(data: bytes) -> dict[str, JSON]:
    """
    The keys and values of a Markdown file's front matter.

    Raises:
        MetadataError: There is none, or it is malformed.
    """
    head = data[: 2**16].split(b"\n")
    if head[0].rstrip(b"\r") != b"---":
        raise MetadataError("missing_frontmatter", "the first line is not ---")
    found: dict[str, JSON] = {}
    for number, raw in enumerate(head[1 : MAX_LINES + 2], 2):
        line = _text(raw.removesuffix(b"\r"), number)
        if line == "---":
            return found
        match = _LINE.fullmatch(line)
        if match is None:
            raise MetadataError(
                "frontmatter_invalid", f'line {number} is no "key: value": "{shown(line, 80)}"'
            )
        if match[1] in found:
            raise MetadataError("frontmatter_invalid", f"line {number} repeats {match[1]}")
        found[match[1]] = _value(match[1], match[2] or "", number)
    raise MetadataError("frontmatter_invalid", f"there is no --- within {MAX_LINES} lines")


def _text(raw: bytes, number: int) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError as exc:
        raise MetadataError("frontmatter_invalid", f"line {number} is not UTF-8") from exc


def _value(key: str, text: str, number: int) -> JSON:
    if not text.startswith("["):
        if key == "tags" and text:
            raise MetadataError("frontmatter_invalid", f"line {number}: tags must be [A, B]")
        return [] if key == "tags" else text
    if not text.endswith("]"):
        raise MetadataError("frontmatter_invalid", f"line {number} does not end its list")
    inside = text[1:-1].strip()
    items = [item.strip() for item in inside.split(",")] if inside else []
    if "" in items:
        raise MetadataError("frontmatter_invalid", f"line {number} has an empty item in its list")
    return [*items]


def _json(data: bytes) -> dict[str, JSON]:
    try:
        value = loads(data, limits=Limits(max_bytes=MAX_BYTES, max_depth=64))
    except JSONError as exc:
        raise MetadataError("invalid_json", f"is not strict JSON: {exc}") from exc
    if not isinstance(value, dict):
        raise MetadataError("invalid_json", f"must be object, got {json_type(value)}")
    return value
