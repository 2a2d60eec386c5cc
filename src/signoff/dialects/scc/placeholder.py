"""
Placeholders: ``%TASK_CODE%`` and ``${TASK_CODE}``, replaced in an argument that is split already.

What replaces one is data: it adds no argument and is not looked at again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

__all__ = ["OWN_NAMES", "expand", "is_variable", "unknown"]

OWN_NAMES: Final = ("TASK_CODE", "TASK_ID", "AREA")
"""Placeholders that every contract may use; the settings can list more."""

# Upper case and at least two characters, so that formats of dates, %Y%m%d, are none.
_PERCENT: Final = re.compile(r"%([A-Z][A-Z0-9_]+)%")
_EITHER: Final = re.compile(r"%([A-Z][A-Z0-9_]+)%|\$\{([A-Z][A-Z0-9_]+)\}")
_VARIABLE: Final = re.compile(r"[A-Z][A-Z0-9_]+")


def is_variable(name: str) -> bool:
    """The name can be that of a placeholder."""
    return _VARIABLE.fullmatch(name) is not None


def expand(text: str, values: Mapping[str, str]) -> str:
    """The text with the placeholders that have a value replaced by it."""
    return _EITHER.sub(lambda found: values.get(found[1] or found[2], found[0]), text)


def unknown(text: str, names: Iterable[str]) -> tuple[str, ...]:
    """The names in ``%NAME%`` that are none of ``names``, in their order."""
    known = frozenset(names)
    return tuple(name for name in _PERCENT.findall(text) if name not in known)
