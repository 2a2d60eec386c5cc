"""The commit that work is compared with."""

from __future__ import annotations

from msgspec import Struct

from signoff.errors import NotJudged
from signoff.git.changes import Opened
from signoff.git.history import merge_base
from signoff.git.repository import FULL_ID
from signoff.jsonvalue import shown
from signoff.model import inconclusive
from signoff.status import Cause

__all__ = ["Base", "base_of"]


class Base(Struct, frozen=True):
    """
    A commit, and how it was found.

    Args:
        id: The commit.
        source: The id or the name that led to it.
        is_pinned: Nobody who can write the repository could have chosen another one.
    """

    id: str
    source: str
    is_pinned: bool


def base_of(work: Opened, wanted: str | None) -> Base:
    """
    The base that is wanted: a commit by its id, or where HEAD left the history of a name.

    Args:
        work: The repository.
        wanted: A full commit id, a name of a reference, or None for the upstream.

    Raises:
        NotJudged: It is not to be found.
    """
    if wanted is None:
        return _upstream(work)
    if FULL_ID.fullmatch(wanted):
        commit = work.objects.commit(wanted) if len(wanted) == _length(work) else None
        if commit is None:
            raise _unknown(wanted)
        return Base(commit.id, wanted, is_pinned=True)
    found = work.repository.meanings(wanted)
    if not found:
        raise _unknown(wanted)
    if len({*found.values()}) > 1:
        # git takes the first; a tag that somebody pushed would then move the base
        names = " and ".join(found)
        detail = f"Base is ambiguous: {shown(wanted)} is {shown(names)}; write it in full."
        raise NotJudged(inconclusive(detail, Cause.EVIDENCE_UNREACHABLE))
    return Base(_left(work, next(iter(found.values())), wanted), wanted, is_pinned=False)


def _upstream(work: Opened) -> Base:
    for name in work.repository.upstreams():
        if found := work.repository.find(name):
            return Base(_left(work, found, name), name, is_pinned=False)
    detail = "No base: neither params.base nor a recorded one, and the branch has no upstream."
    raise NotJudged(inconclusive(detail, Cause.NOT_RECORDED))


def _left(work: Opened, id_: str, name: str) -> str:
    """Where HEAD left the history of a commit."""
    theirs = work.objects.commit(id_)
    if theirs is None:
        raise _unknown(name)
    found = None if work.head is None else merge_base(work.objects, work.head, theirs.id)
    if found is None:
        detail = f"HEAD and {shown(name)} share no commit here; a shallow clone needs more history."
        raise NotJudged(inconclusive(detail, Cause.EVIDENCE_UNREACHABLE))
    return found


def _length(work: Opened) -> int:
    return 64 if work.git.hashing == "sha256" else 40


def _unknown(name: str) -> NotJudged:
    detail = f"Base is not in the repository: {shown(name)}"
    return NotJudged(inconclusive(detail, Cause.EVIDENCE_UNREACHABLE))
