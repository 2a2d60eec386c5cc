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

__all__ = ["PROTECTED", "SCRIPTS", "Scope", "comparable", "covers", "protection", "read_scope"]

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
    """A glob covers a path, both as they are written save for the Unicode form."""
    return _compiled(unicodedata.normalize("NFC", pattern)).fullmatch(
        unicodedata.normalize("NFC", path)
    ) is not None  # fmt: skip


def protection(path: str, more: Iterable[str] = ()) -> str | None:
    """
    The protected pattern that a path falls under, in any spelling; None for a free path.

    Args:
        path: Relative to the workspace.
        more: Further patterns: the contract file, and those of the settings.
    """
    wanted = comparable(path)
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
    return [one.removeprefix("./") if one != "./" else one for one in entries]


def _examine(entry: str, shape: Shape) -> None:
    if entry == "EMPTY":
        shape.fault("/scope_allow", "scope_allow is EMPTY and has entries beside it")
    elif not entry or _UNSAFE.search(entry):
        message = f'scope_allow has "{shown(entry)}", which is no path in the workspace'
        shape.fault("/scope_allow", message)
    elif entry == "**":
        shape.warning("/scope_allow", "scope_broad: ** alone allows every path")


def _opens_protected(entry: str) -> bool:
    folded = comparable(entry)
    return f"{folded}/".startswith("docs/report/") or folded.endswith("verdict.json")


@lru_cache(maxsize=1024)
def _compiled(pattern: str) -> re.Pattern[str]:
    pattern = pattern.rstrip("/")
    pieces: list[str] = []
    at = 0
    while at < len(pattern):
        piece, at = _glob_piece(pattern, at)
        pieces.append(piece)
    below = "" if re.search(r"[*?[]", pattern) else "(?:/.*)?"
    return re.compile("".join(pieces) + below, re.DOTALL)


def _glob_piece(pattern: str, at: int) -> tuple[str, int]:
    starts = at == 0 or pattern[at - 1] == "/"
    if starts and pattern.startswith("**/", at):
        return "(?:.*/)?", at + 3
    if pattern.startswith("**", at):
        return ".*", at + 2
    if pattern[at] == "*":
        return "[^/]*", at + 1
    if pattern[at] == "?":
        return "[^/]", at + 1
    if pattern[at] == "[" and (found := _CLASS.match(pattern, at)):
        inside = re.escape(found[2]).replace(r"\-", "-")
        return f"(?!/)[{'^' if found[1] else ''}{inside}]", found.end()
    return re.escape(pattern[at]), at + 1


_CLASS: Final = re.compile(r"\[([!^]?)(\]?[^]/]*)\]")
