"""
What an executor may not write, whichever way it goes about it.

What lies on the disk is walked directly.  Paths are compared in a form in which case,
Unicode form and spelling make no difference, and a link is judged by where it leads.
"""

from __future__ import annotations

import os
import posixpath
from collections.abc import Iterable, Iterator
from typing import Final

from msgspec import Struct

from signoff.dialects.scc.scope import PROTECTED, comparable, protection
from signoff.git.changes import Change
from signoff.git.objects import GITLINK, LINK
from signoff.jsonvalue import shown
from signoff.scc.comparison import Compared, path_text
from signoff.scc.own_files import OwnFiles

__all__ = ["Protected", "path_violation", "violations"]

_WILD: Final = frozenset("*?[")
_TREES: Final = tuple((one.removesuffix("**"), one) for one in PROTECTED if one.endswith("/**"))


class Protected(Struct, frozen=True, kw_only=True):
    """
    The paths that are protected.

    Args:
        more: Patterns of the settings.
        files: The contract, and what else an executor was given.
    """

    more: tuple[str, ...] = ()
    files: tuple[str, ...] = ()

    def pattern(self, path: str) -> str | None:
        """What protects a path or a folder above it; None for a free one."""
        for root, tree in _TREES:  # by far the most that are protected
            if path.startswith(root):
                return tree
        if not self._may_match(path):
            return None
        parts = path.replace("\\", "/").split("/")
        for end in range(len(parts), 0, -1):
            found = protection("/".join(parts[:end]), self.more, files=self.files)
            if found is not None:
                return found
        return None

    def roots(self) -> set[str]:
        """The folders that are protected with all that is in them, and those above them."""
        found: set[str] = set()
        for pattern in (*PROTECTED, *self.more):
            root = comparable(_literal(pattern)) if pattern.endswith("/**") else ""
            while root:
                found.add(root)
                root = root.rpartition("/")[0]
        return found

    def lies_at_or_above(self, path: str) -> bool:
        """A folder is protected, or something in it is wherever it is looked for."""
        folded = comparable(path)
        places = (_literal(one) for one in (*PROTECTED, *self.more, *self.files))
        known = any(f"{comparable(one)}/".startswith(f"{folded}/") for one in places if one)
        return known or self.pattern(path) is not None

    def _may_match(self, path: str) -> bool:
        """A quick answer for the many paths that nothing is the matter with."""
        if self.more or not path.isascii() or "\\" in path:
            return True
        parts = path.lower().split("/")
        first, last = parts[0].rstrip(". "), [one.rstrip(". ") for one in parts]
        return (
            first in {"docs", "evidence", "artifacts", "tools", ".signoff", ".git", ""}
            or "verdict.json" in last
            or comparable(path) in {comparable(one) for one in self.files}
        )


def violations(compared: Compared, own: OwnFiles, protected: Protected) -> Iterator[str]:
    """
    Every way in which a workspace breaks the prohibition, each as a sentence.

    Args:
        compared: The workspace.
        own: Which of its files are the verifier's.
        protected: What is protected; the given files among it may lie there without the commit.
    """
    yield from _linked_roots(compared, protected)
    for path in sorted(compared.changes):
        change = compared.changes[path]
        if not own.made(change):
            yield from _changed(change, compared, protected)
    guarded: dict[bytes, bool] = {}
    for path in sorted(compared.nodes):
        pattern = protected.pattern(path_text(path))
        guarded[path] = pattern is not None
        if pattern is None or compared.is_unchanged(path) or path in compared.changes:
            continue
        if not own.holds(path):
            yield _written(path_text(path), pattern)
    yield from _shared(compared, guarded)


def path_violation(path: str, compared: Compared, protected: Protected) -> str | None:
    """Why a path may not be written, judged by its text and by where its folders lead."""
    if ".git" in comparable(path).split("/"):
        return _written(path, ".git/**")
    pattern = protected.pattern(path)
    if pattern is not None:
        return _written(path, pattern)
    folder = path.rpartition("/")[0]
    if not any(_is_link(above, compared) for above in _above(path)):
        return None
    return _leads(f'"{shown(path)}"', f"{compared.root}/{folder}", compared.root, protected)


def _linked_roots(compared: Compared, protected: Protected) -> Iterator[str]:
    roots = protected.roots()
    for path, node in sorted(compared.nodes.items()):
        if node.is_link and comparable(path_text(path)) in roots:
            name = shown(path_text(path))
            yield f'"{name}" is a symbolic link in the place of a protected folder'


def _changed(change: Change, compared: Compared, protected: Protected) -> Iterator[str]:
    path = path_text(change.path)
    sides = [side for side in (change.before, *change.after) if side is not None]
    pattern = protected.pattern(path)
    if pattern is not None:
        yield _written(path, pattern)
    is_submodule = any(side.entry.mode == GITLINK for side in sides)
    if is_submodule and protected.lies_at_or_above(path):
        yield f'"{shown(path)}" is a submodule at or above a protected path'
    node = compared.nodes.get(change.path)
    for side in change.after:
        if side is None:
            continue
        if side.entry.mode == LINK or (not side.entry.mode and node is not None and node.is_link):
            target = path_text(side.read().data or b"")
            yield from _link(path, target, compared.root, protected)


def _link(path: str, target: str, root: str, protected: Protected) -> Iterator[str]:
    """What is wrong with where a link leads: by its text, and on the disk."""
    place = posixpath.join(root, posixpath.dirname(path), target)
    lexical = posixpath.relpath(posixpath.normpath(place), root)
    what = f'"{shown(path)}" is a symbolic link that'
    if lexical == ".." or lexical.startswith("../"):
        yield f"{what} leads out of the workspace"
    elif (pattern := protected.pattern(lexical)) is not None:
        yield f"{what} leads to a protected path ({pattern})"
    elif (fault := _leads(what, f"{root}/{path}", root, protected)) is not None:
        yield fault


def _leads(what: str, place: str, root: str, protected: Protected) -> str | None:
    """What is wrong with where a place really is."""
    real = posixpath.relpath(os.path.realpath(place), os.path.realpath(root))
    if real == ".." or real.startswith("../"):
        return f"{what} leads out of the workspace"
    pattern = protected.pattern(real)
    return None if pattern is None else f"{what} leads to a protected path ({pattern})"


def _shared(compared: Compared, guarded: dict[bytes, bool]) -> Iterator[str]:
    """Free files that are one and the same as a protected one."""
    nodes = compared.nodes
    kept = {nodes[p].file: p for p, held in guarded.items() if held and nodes[p].file is not None}
    for path, held in guarded.items():
        file = nodes[path].file
        if not held and file is not None and file in kept:
            other = shown(path_text(kept[file]))
            yield f'"{shown(path_text(path))}" is a hard link to the protected "{other}"'


def _is_link(path: str, compared: Compared) -> bool:
    key = path.encode("utf-8", "surrogateescape")
    entry, node = compared.base.get(key), compared.nodes.get(key)
    return (entry is not None and entry.mode == LINK) or (node is not None and node.is_link)


def _above(path: str) -> Iterable[str]:
    parts = path.split("/")
    return ("/".join(parts[:end]) for end in range(1, len(parts)))


def _literal(pattern: str) -> str:
    parts: list[str] = []
    for part in pattern.split("/"):
        if _WILD & {*part}:
            break
        parts.append(part)
    return "/".join(parts)


def _written(path: str, pattern: str) -> str:
    return f'"{shown(path)}" is written, and {shown(pattern)} is protected'
