"""The beginning of a JSON value in one short line, however large the value is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from signoff.jsonvalue import is_number, number_text, shown

__all__ = ["excerpt", "params_text"]

LIMIT: Final = 120
MAX_DEPTH: Final = 8
CUT: Final = "..."


def excerpt(value: Any, limit: int = LIMIT) -> str:
    """The value as JSON, cut to ``limit`` characters; only what is shown is looked at."""
    text = ""
    for piece in _pieces(value, limit, MAX_DEPTH):
        text += piece
        if len(text) > limit:
            return shown(text, limit)
    return shown(text, limit)


def params_text(params: dict[str, Any], limit: int = LIMIT) -> str:
    """Parameters in one line, such as ``min=1, max=10``."""
    return shown(", ".join(f"{name}={excerpt(value, 60)}" for name, value in params.items()), limit)


def _pieces(value: Any, limit: int, depth: int) -> Iterator[str]:
    if isinstance(value, (list, tuple)):
        yield "["
        for index, item in enumerate(value):
            yield ", " if index else ""
            yield from _pieces(item, limit, depth - 1) if depth else [CUT]
        yield "]"
    elif isinstance(value, dict):
        yield "{"
        for index, (key, item) in enumerate(value.items()):
            yield f"{', ' if index else ''}{_string(key, limit)}: "
            yield from _pieces(item, limit, depth - 1) if depth else [CUT]
        yield "}"
    elif isinstance(value, str):
        yield _string(value, limit)
    elif is_number(value):
        yield number_text(value)
    else:
        yield {True: "true", False: "false", None: "null"}.get(value, CUT)


def _string(text: str, limit: int) -> str:
    begin = text[: limit + 1].encode("utf-8", "backslashreplace").decode()
    return msgspec.json.encode(begin).decode()
