"""The commit that two histories have in common."""

from __future__ import annotations

from heapq import heappop, heappush
from typing import Final

from signoff.errors import NotJudged
from signoff.git.objects import Commit, Objects
from signoff.model import inconclusive
from signoff.status import Cause

__all__ = ["merge_base"]

_OURS: Final = 1
_THEIRS: Final = 2
_MAX_COMMITS: Final = 1_000_000


def merge_base(objects: Objects, ours: str, theirs: str) -> str | None:
    """
    The latest commit that both histories hold; None where they share none.

    A history that was fetched in part ends where its commits are absent.
    """
    return _Walk(objects).common(ours, theirs)


class _Walk:
    """Both histories from their ends, the later commits first."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        self._sides: dict[str, int] = {}
        self._waiting: list[tuple[int, str, Commit]] = []
        self._commits: dict[str, Commit | None] = {}

    def common(self, ours: str, theirs: str) -> str | None:
        self._add(ours, _OURS)
        self._add(theirs, _THEIRS)
        while self._waiting:
            _, id_, commit = heappop(self._waiting)
            side = self._sides[id_]
            if side == _OURS | _THEIRS:
                return id_
            for parent in commit.parents:
                self._add(parent, side)
        return None

    def _add(self, id_: str, side: int) -> None:
        seen = self._sides.get(id_, 0)
        if seen | side == seen:
            return
        if len(self._sides) > _MAX_COMMITS:
            detail = f"The history is longer than {_MAX_COMMITS} commits."
            raise NotJudged(inconclusive(detail, Cause.EVIDENCE_UNREACHABLE))
        self._sides[id_] = seen | side
        if id_ not in self._commits:
            self._commits[id_] = self._objects.commit(id_)
        commit = self._commits[id_]
        if commit is not None:
            # Again where it was met from the other side, so that this passes on to its parents.
            heappush(self._waiting, (-commit.time, id_, commit))
