"""
Which paths an executor may write: scope globs, protected paths, and the form paths are compared in.

``*`` does not cross ``/``, ``**`` does, and a pattern without wildcard also covers
what lies below it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from msgspec import Struct

from signoff.dialects.scc.shape import Object, Shape
from signoff.jsonvalue import json_type, shown
from signoff.pathglob import Glob, parse_glob

__all__ = [
    "PROTECTED",
    "SCRIPTS",
    "Scope",
    "comparable",
    "covers",
    "pattern_fault",
    "protection",
    "read_scope",
]

SCRIPTS: Final = (
    "tools/scc/ops/contract_runner.py",
    "tools/ci/run_phase4_checks.py",
    "tools/ci/mvm-verdict.py",
    "docs/ssot/05_runbooks/verdict.schema.json",
)
"""The four files of ``scc init``: whoever replaced one would disarm a gate."""

PROTECTED: Final = (
    "docs/REPORT/**",
    "**/verdict.json",
    "evidence/**",
    "artifacts/**",
    ".signoff/**",
    ".git/**",
    *SCRIPTS,
)

_WILDCARD: Final = re.compile(r"[*?[]")
_UNSAFE: Final = re.compile(r"[\x00-\x1f\x7f\\]|^/|^[A-Za-z]:|(?:^|/)\.\.(?:/|$)")


class Scope(Struct, frozen=True, kw_only=True):
    """
    What ``scope_allow`` comes to.

    Args:
        allow: The patterns, without those that would open a protected path; none allows nothing.
        dropped: Those.
        draft: It begins with ``TBD``, so the contract cannot be executed.
    """

    allow: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    draft: bool = False

    def allows(self, path: str) -> bool:
        """A path may be written, as far as the scope is concerned."""
        return any(covers(pattern, path) for pattern in self.allow)


def read_scope(document: Object, shape: Shape, *, draft: bool = False) -> Scope:
    """
    The scope of a contract.

    Args:
        document: The contract.
        shape: Takes the faults and warnings.
        draft: A scope that begins with ``TBD`` is a warning, not a fault.
    """
    entries = _entries(document, shape)
    if entries and entries[0].startswith("TBD"):
        message = "scope_allow is TBD, so the contract cannot be executed"
        (shape.note if draft else shape.fault)("/scope_allow", message)
        return Scope(draft=True)
    if entries == ["EMPTY"]:
        return Scope()
    for entry in entries:
        _examine(entry, shape)
    dropped = tuple(entry for entry in entries if _opens_protected(entry))
    for entry in dropped:
        message = f'"{shown(entry)}" is dropped from the scope: the path is protected'
        shape.note("/scope_allow", message)
    return Scope(allow=tuple(one for one in entries if one not in dropped), dropped=dropped)


def comparable(path: str) -> str:
    """
    The form in which paths are compared with protected ones.

    NFC and case-folded, backslashes taken as slashes, without dots and spaces at the end of a part
    and without parts that say nothing: file systems there are that see no difference.
    """
    folded = unicodedata.normalize("NFC", unicodedata.normalize("NFC", path).casefold())
    parts = (part if part == ".." else part.rstrip(". ") for part in re.split(r"[/\\]", folded))
    return "/".join(part for part in parts if part)


def covers(pattern: str, path: str) -> bool:
    """
    A glob covers a path, both as they are written save for the Unicode form.

    Raises:
        ValueError: The pattern is no glob.
    """
    path, pattern = unicodedata.normalize("NFC", path), unicodedata.normalize("NFC", pattern)
    if not _WILDCARD.search(pattern) and path.startswith(f"{pattern}/"):
        return True
    return _parsed(pattern).matches(path)


def pattern_fault(pattern: str) -> str | None:
    """What is wrong with a glob of workspace paths, None if nothing is."""
    if _UNSAFE.search(pattern):
        return f'"{shown(pattern)}" is no path in the workspace'
    try:
        _parsed(pattern)
    except ValueError as exc:
        return str(exc)
    return None


def protection(path: str, more: Iterable[str] = (), *, files: Iterable[str] = ()) -> str | None:
    """
    The protected pattern or file that a path falls under, in any spelling; None for a free path.

    Args:
        path: Relative to the workspace.
        more: Further patterns, those of the settings.
        files: Further files, as they are: the contract.
    """
    wanted = comparable(path)
    for file in files:
        if comparable(file) == wanted:
            return file
    for pattern in (*PROTECTED, *more):
        own = comparable(pattern)
        # The root of a protected tree is protected with it: a link in its place would move it.
        if covers(own, wanted) or (own.endswith("/**") and covers(own[:-3], wanted)):
            return pattern
    return None


def _entries(document: Object, shape: Shape) -> list[str]:
    given = document.get("scope_allow")
    if isinstance(given, list):
        shape.warning("/scope_allow", "scope_allow is an array; write it as one text with commas")
        entries = [one.strip() for one in shape.texts(document, "scope_allow")]
    elif given is None or isinstance(given, str):
        text = shape.text(document, "scope_allow", filled=True)
        entries = [one.strip() for one in text.split(",")] if text.strip() else []
    else:
        message = f"scope_allow must be string, got {json_type(given)}"
        shape.fault("/scope_allow", message)
        return []
    if given == []:
        shape.fault("/scope_allow", "scope_allow is empty; EMPTY allows nothing")
    return [one.removeprefix("./").rstrip("/") for one in entries]


def _examine(entry: str, shape: Shape) -> None:
    if entry == "EMPTY":
        shape.fault("/scope_allow", "scope_allow is EMPTY and has entries beside it")
    elif (fault := pattern_fault(entry)) is not None:
        shape.fault("/scope_allow", f"scope_allow: {fault}")
    elif entry == "**":
        shape.warning("/scope_allow", "scope_broad: ** alone allows every path")


def _opens_protected(entry: str) -> bool:
    folded = comparable(entry)
    return f"{folded}/".startswith("docs/report/") or folded.endswith("verdict.json")


@lru_cache(maxsize=1024)
def _parsed(pattern: str) -> Glob:
    return parse_glob(pattern)
