"""
What a run takes away before it puts its own files there: legitimate, or somebody's forgery.

A file is legitimate if the verifier wrote it, as the ledger says, or if it is as the
base commit has it, such as the evidence of a run that was committed and cloned.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from hashlib import sha256

from msgspec.structs import replace

from signoff.git.changes import Opened
from signoff.git.objects import REGULAR
from signoff.git.worktree import Worktree
from signoff.jsonvalue import shown
from signoff.scc.comparison import Compared, path_text
from signoff.scc.work_refused import WorkRefused

__all__ = ["as_in_base", "require_unforged", "without_removals"]


def require_unforged(
    removed: Mapping[str, str],
    written: Mapping[str, frozenset[str]],
    work: Opened | None = None,
    base: Compared | None = None,
) -> dict[str, str]:
    """
    The digests of those that are as the base commit has them, if all of them are legitimate.

    Args:
        removed: Digest of each file that the verifier has taken away, by path.
        written: Digests that it wrote, by path.
        work: The repository, None where there are no commits.
        base: The workspace against the base commit, likewise.

    Raises:
        WorkRefused: One was written by somebody else.
    """
    of_base: dict[str, str] = {}
    for path, digest in sorted(removed.items()):
        if work is not None and base is not None and digest == _in_base(path, work, base):
            of_base[path] = digest
        elif digest not in written.get(path, ()):
            raise WorkRefused.denied(f'"{shown(path)}" was written by somebody else')
    return of_base


def without_removals(compared: Compared, removed: Iterable[str]) -> Compared:
    """The same, as if the verifier had taken nothing away."""
    changes = dict(compared.changes)
    for path in removed:
        change = changes.pop(_key(path), None)
        after = () if change is None else tuple(side for side in change.after if side is not None)
        if change is not None and after:
            changes[_key(path)] = replace(change, after=after)
    return replace(compared, changes=changes)


def as_in_base(compared: Compared, tops: tuple[str, ...], files: Worktree) -> dict[str, str]:
    """The digest of each file whose path begins so and that is as the base commit has it."""
    found: dict[str, str] = {}
    for path, node in compared.nodes.items():
        text = path_text(path)
        if text.startswith(tops) and node.is_file and compared.is_unchanged(path):
            found[text] = files.digest(path)[0].removeprefix("sha256:")
    return found


def _in_base(path: str, work: Opened, compared: Compared) -> str | None:
    entry = compared.base.get(_key(path))
    if entry is None or entry.mode != REGULAR:
        return None
    data = work.objects.content(entry.id).data
    return None if data is None else sha256(data).hexdigest()


def _key(path: str) -> bytes:
    return path.encode("utf-8", "surrogateescape")
