"""
How many lines were changed: added and removed ones, whatever the files are.

Every file counts as text, since an attribute or a stray null would otherwise hide
its lines.  Git compares; it sees contents alone, under names of our own.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from signoff.git.changes import Change, Side
from signoff.git.objects import Content
from signoff.git.program import Git, broken
from signoff.git.store import stored

__all__ = ["changed_lines"]

_MAX_COMPARED_BYTES: Final = 512 * 2**20
_NOTHING: Final = Content(b"")


def changed_lines(git: Git, changes: Iterable[Change]) -> int:
    """
    Lines that were added or removed; for a path that has several states now, the most of them.

    Files of more than 64 MiB count as if every line of them was replaced.
    """
    comparison = _Comparison(git)
    counts = [
        [comparison.count(change.before, side) for side in change.after] for change in changes
    ]
    compared = comparison.compared()
    return sum(
        max((compared[one] if is_open else one for one, is_open in states), default=0)
        for states in counts
    )


class _Comparison:
    """Pairs of contents, collected for git to compare them all at once."""

    def __init__(self, git: Git) -> None:
        self._git = git
        self._pairs: list[tuple[bytes, bytes]] = []
        self._size = 0

    def count(self, before: Side | None, after: Side | None) -> tuple[int, bool]:
        """The lines that are changed; or the number of the pair, and True."""
        old = _NOTHING if before is None else before.read()
        new = _NOTHING if after is None else after.read()
        if old.data is None or new.data is None:
            return _lines(old) + _lines(new), False
        if old.data == new.data:
            return 0, False
        self._size += len(old.data) + len(new.data)
        if not old.data or not new.data or self._size > _MAX_COMPARED_BYTES:
            return _lines(old) + _lines(new), False
        self._pairs.append((_id(self._git, "blob", old.data), _id(self._git, "blob", new.data)))
        return len(self._pairs) - 1, True

    def compared(self) -> list[int]:
        """The changed lines of each pair."""
        if not self._pairs:
            return []
        old, new = (self._tree([pair[side] for pair in self._pairs]) for side in (0, 1))
        options = ("--numstat", "-z", "--text", "--no-renames", "--no-ext-diff", "--no-textconv")
        printed = self._git.run("diff-tree", *options, old.hex(), new.hex())
        found = [0] * len(self._pairs)
        for record in printed.split(b"\0")[:-1]:
            added, removed, name = record.split(b"\t")
            if not (added + removed + name).isdigit():
                raise broken("answered nonsense")
            found[int(name)] = int(added) + int(removed)
        return found

    def _tree(self, ids: list[bytes]) -> bytes:
        entries = (b"100644 %08d\0%b" % (index, id_) for index, id_ in enumerate(ids))
        return _id(self._git, "tree", b"".join(entries))


def _id(git: Git, kind: str, data: bytes) -> bytes:
    return bytes.fromhex(stored(git, kind, data))


def _lines(content: Content) -> int:
    if content.data is None:
        return content.lines
    return content.data.count(b"\n") + bool(content.data and not content.data.endswith(b"\n"))
