"""
Texts made comparable: NFKC and case folding, in time that grows with the text alone.

``unicodedata.normalize`` sorts a run of combining marks by insertion, so that a
hundred thousand prepared marks cost it seconds; here long runs are sorted first.
"""

from __future__ import annotations

import re
from unicodedata import combining, normalize

__all__ = ["folded", "normalized"]

_LONG = 1024
_LONG_RUN = re.compile(rb"[^\0]{32,}")

# The characters that are no combining marks themselves and are made of nothing else.
_HIDDEN_MARKS = str.maketrans(
    {
        "\u0f73": "\u0f71\u0f72",
        "\u0f75": "\u0f71\u0f74",
        "\u0f81": "\u0f71\u0f80",
        "\uff9e": "\u3099",
        "\uff9f": "\u309a",
    }
)


def normalized(text: str) -> str:
    """The text in Unicode normalisation form KC."""
    if text.isascii():
        return text
    return normalize("NFKC", _with_sorted_marks(text) if len(text) > _LONG else text)


def folded(text: str) -> str:
    """The text in form KC with full case folding, in form KC again."""
    if text.isascii():
        return text.lower()
    return normalized(normalized(text).casefold())


def _with_sorted_marks(text: str) -> str:
    """An equivalent text whose long runs of combining marks are in canonical order already."""
    text = text.translate(_HIDDEN_MARKS)
    parts, end = list[str](), 0
    for run in _LONG_RUN.finditer(bytes(map(combining, text))):
        parts.append(text[end : run.start()])
        parts.extend(sorted(text[run.start() : run.end()], key=combining))
        end = run.end()
    return "".join([*parts, text[end:]]) if parts else text
