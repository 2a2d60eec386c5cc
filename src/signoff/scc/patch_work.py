"""Work that is recorded as a patch: its headers, and whether the workspace is base plus patch."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from signoff.dialects.scc.patch import Change as PatchChange
from signoff.dialects.scc.patch import changed_paths, read_patch
from signoff.errors import NotJudged, PatchRefused
from signoff.git.changes import Change, Opened
from signoff.git.objects import Entry, hasher, plain_mode
from signoff.git.patched import patched
from signoff.git.program import clean_git
from signoff.jsonvalue import shown
from signoff.scc.comparison import Compared, path_text
from signoff.scc.protected import Protected, path_violation
from signoff.scc.tree import Node
from signoff.scc.work_refused import WorkRefused

__all__ = ["patch_paths", "read_headers", "require_applied"]

_UNTOLD: Final = 0


def read_headers(patch: bytes) -> tuple[PatchChange, ...]:
    """
    Every change of a patch.

    Raises:
        WorkRefused: What cannot be read cannot be cleared.
    """
    try:
        return read_patch(patch)
    except PatchRefused as exc:
        raise WorkRefused.denied(f"the patch cannot be read: {exc}") from exc


def patch_paths(
    headers: tuple[PatchChange, ...], compared: Compared, protected: Protected
) -> tuple[str, ...]:
    """
    Every path that a patch writes, sorted.

    Raises:
        WorkRefused: One of them is protected, or leads to what is.
    """
    paths = changed_paths(headers)
    for path in paths:
        if (fault := path_violation(path, compared, protected)) is not None:
            raise WorkRefused.denied(f"the patch: {fault}")
    for one in headers:
        path = one.new or one.old
        if one.is_submodule and protected.lies_at_or_above(path):
            message = f'"{shown(path)}" is a submodule at or above a protected path'
            raise WorkRefused.denied(f"the patch: {message}")
    return paths


def require_applied(
    work: Opened, compared: Compared, patch: bytes, paths: Iterable[str], changes: Iterable[Change]
) -> None:
    """
    Nothing, if the workspace is its base with the patch.

    Args:
        work: The repository.
        compared: The workspace against the base.
        patch: A unified diff.
        paths: That it names.
        changes: What differs from the base, the verifier's own files aside.

    Raises:
        WorkRefused: It is not, so another state would be judged.
    """
    keys = {path.encode("utf-8", "surrogateescape") for path in paths}
    before = {path: compared.base[path] for path in keys if path in compared.base}
    with clean_git(work.root, work.git.hashing, work.git.deadline) as git:
        try:
            after = patched(git, work.objects, before, patch)
        except NotJudged as exc:
            raise WorkRefused.unusable(f"the patch does not apply to the base: {exc}") from exc
    differing = {change.path: change for change in changes}
    for path in sorted(keys | differing.keys()):
        wanted = after.get(path) if path in keys else compared.base.get(path)
        change = differing.get(path)
        if change is None:
            matches = wanted == compared.base.get(path)
        else:
            matches = _stands(change, wanted, compared.nodes.get(path), work.git.hashing)
        if not matches:
            why = "the patch is not applied to it" if change is None else "it was changed otherwise"
            place = f'"{shown(path_text(path))}" is not what base and patch make of it'
            raise WorkRefused.unusable(f"the workspace is in another state: {place}, {why}")


def _stands(change: Change, wanted: Entry | None, node: Node | None, hashing: str) -> bool:
    """Whatever stands at a path now is what is wanted there."""
    for side in change.after:
        if side is None or wanted is None:
            if side is not None or wanted is not None:
                return False
            continue
        mode = side.entry.mode
        if mode == _UNTOLD and node is not None:
            mode = _told(node)
        if mode != wanted.mode:
            return False
        if side.entry.id != wanted.id and _id(side.read().data, hashing) != wanted.id:
            return False
    return True


def _told(node: Node) -> int:
    return plain_mode(node.mode) if node.is_file else node.mode & 0o170000


def _id(data: bytes | None, hashing: str) -> str:
    if data is None:
        return ""
    hashed = hasher(hashing, "blob", len(data))
    hashed.update(data)
    return hashed.hexdigest()
