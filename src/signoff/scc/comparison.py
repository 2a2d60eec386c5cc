"""A workspace compared with a commit: what differs, and everything that lies on the disk."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from signoff.git.changes import Change, Opened, changes_since
from signoff.git.objects import EXECUTABLE, GITLINK, LINK, REGULAR, Entry, absent
from signoff.scc.change_set import ChangedPath
from signoff.scc.tree import Node, listing

__all__ = ["Compared", "changed_as", "compared_with", "ignored_as", "path_text"]

_MAX_NESTING: Final = 8


class Compared(Struct, frozen=True, kw_only=True):
    """
    A workspace against a commit.

    Args:
        root: The workspace.
        nodes: What lies on the disk, by path.
        changes: What differs from the commit, by path.
        base: What the commit has, by path, that of submodules included.
        head: What the commit that is checked out has, by path.
    """

    root: str
    nodes: Mapping[bytes, Node]
    changes: Mapping[bytes, Change] = {}
    base: Mapping[bytes, Entry] = {}
    head: Mapping[bytes, Entry] = {}

    def is_unchanged(self, path: bytes) -> bool:
        """The path is as the commit has it."""
        return path in self.base and path not in self.changes

    def ignored(self) -> list[bytes]:
        """What lies on the disk and neither the commit knows nor the changes, sorted."""
        return sorted(self.nodes.keys() - self.base.keys() - self.changes.keys())


def compared_with(work: Opened, base: str) -> Compared:
    """
    A workspace against a commit of its repository.

    Raises:
        NotJudged: Something cannot be read.
    """
    return Compared(
        root=work.root,
        nodes=listing(work.root, work.git.deadline),
        changes={change.path: change for change in changes_since(work, base)},
        base=_checked_in(work, base, 0),
        head={} if work.head is None else _files(work, work.head),
    )


def changed_as(change: Change, node: Node | None) -> ChangedPath:
    """A change as it is recorded; ``node`` is what lies on the disk."""
    modes = [side.entry.mode for side in change.after if side is not None and side.entry.mode]
    new = "" if node is None else f"{_mode(node):06o}"
    if node is None and GITLINK in modes:
        new = f"{GITLINK:06o}"
    there = "modify" if new else "delete"
    return ChangedPath(
        path=path_text(change.path),
        kind="add" if change.before is None else there,
        old_mode="" if change.before is None else f"{change.before.entry.mode:06o}",
        new_mode=new,
    )


def ignored_as(path: bytes, node: Node) -> ChangedPath:
    """What version control ignores, as it is recorded: as new, since nobody can say otherwise."""
    return ChangedPath(
        path=path_text(path), kind="add", new_mode=f"{_mode(node):06o}", ignored=True
    )


def path_text(path: bytes) -> str:
    """The path as text; bytes that are no UTF-8 are the same lone surrogates everywhere."""
    return path.decode("utf-8", "surrogateescape")


def _mode(node: Node) -> int:
    if node.is_file:
        return EXECUTABLE if node.mode & 0o100 else REGULAR
    return LINK if node.is_link else node.mode & 0o170000


def _checked_in(work: Opened, commit: str, depth: int) -> dict[bytes, Entry]:
    """What a commit has, and what the submodules have that lie on the disk."""
    found = _files(work, commit)
    for path, entry in list(found.items()):
        place = os.path.join(work.root, os.fsdecode(path))  # noqa: PTH118  a text
        if entry.mode != GITLINK or depth >= _MAX_NESTING or not os.path.lexists(f"{place}/.git"):
            continue
        inner = work.nested(place)
        if inner.head is not None:
            below = _checked_in(inner, inner.head, depth + 1)
            found |= {path + b"/" + name: one for name, one in below.items()}
    return found


def _files(work: Opened, id_: str) -> dict[bytes, Entry]:
    commit = work.objects.commit(id_)
    if commit is None:
        raise absent(id_)
    return work.objects.files(commit.tree)
