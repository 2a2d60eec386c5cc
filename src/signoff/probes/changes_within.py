"""Every change of the workspace against a commit is one that is allowed."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Annotated, Final

from msgspec.structs import replace

from signoff.git.changes import Change, changes_since, opened
from signoff.git.lines import changed_lines
from signoff.git.program import Deadline
from signoff.git.repository import FULL_ID, NAME
from signoff.git.starting_point import Base, base_of
from signoff.jsonvalue import JSON, shown
from signoff.model import Finding, Subject, failed, held
from signoff.params import Count, Kind
from signoff.pathglob import Glob, Globs, folded_path
from signoff.registry import Check, Powers, reads, verifier
from signoff.workspace import workspace_of

LIMIT_S: Final = 120.0
MAX_LISTED: Final = 100
_MAX_NAME: Final = 255


def _read_base(value: JSON) -> str:
    if type(value) is not str or len(value) > _MAX_NAME:
        raise ValueError
    if not FULL_ID.fullmatch(value) and not NAME.fullmatch(value):
        raise ValueError
    return value


BASE: Final = Kind(
    says="full commit id or name of a branch or tag",
    read=_read_base,
    schema={"type": "string", "minLength": 1, "maxLength": _MAX_NAME},
)


@verifier
def changes_within(
    *,
    allowed: Globs,
    forbidden: Globs = (),
    base: Annotated[str | None, BASE] = None,
    max_files: Count | None = None,
    max_lines: Count | None = None,
    powers: Powers,
) -> Check:
    """
    Every change of the workspace against a commit is one that is allowed.

    Changes are what the checked-out commit, the index and the files have otherwise
    than the base, untracked files included; of a rename both paths.  Only what the
    ``.gitignore`` files of the base ignore is left out.  The workspace must be the
    top folder of a git repository.  Nothing that the repository configures is run,
    and its objects are hashed again.  No change at all is a warning.

    In a contract, params are such as
    ``{"allowed": ["src/**", "tests/**"], "forbidden": [".github/**"], "max_files": 40}``

    Args:
        allowed: Globs of paths that may change, ``**`` for any number of folders; none allows
            nothing.
        forbidden: Globs of paths that may not, in whatever case they are written; they win.
        base: A full commit id is compared with as it is, of a branch or tag the merge base
            with HEAD; when absent, the one recorded with the work, else the upstream's. Only an
            id cannot be moved by the work.
        max_files: How many paths may change.
        max_lines: How many lines may be added and removed, all files counting as text.
    """

    def check(subject: Subject) -> Finding:
        root = workspace_of(subject, powers)
        with opened(os.path.abspath(root), Deadline.after(LIMIT_S)) as work:  # noqa: PTH100  links stay
            since = base_of(work, base if base is not None else subject.base)
            changes = changes_since(work, since.id)
            paths = [_text(change) for change in changes]
            denied = [path for path in paths if not _is_allowed(path, allowed, forbidden)]
            facts = _facts(since, paths, denied)
            if denied:
                return replace(failed(f"Not allowed: {shown(denied[0])}"), data=facts)
            if max_files is not None and len(paths) > max_files:
                detail = f"{_counted(len(paths), 'file')} changed, at most {max_files} allowed."
                return replace(failed(detail), data=facts)
            lines = changed_lines(work.git, changes)
        facts = facts | {"lines": lines}
        changed = f"{_counted(len(paths), 'file')}, {_counted(lines, 'line')} changed"
        if max_lines is not None and lines > max_lines:
            detail = f"{changed}, at most {_counted(max_lines, 'line')} allowed."
            return replace(failed(detail), data=facts)
        return replace(held(f"{changed}, all allowed.", items=len(paths)), data=facts)

    return reads(check)


def _text(change: Change) -> str:
    """The path as text; bytes that are no UTF-8 are the same lone surrogates everywhere."""
    return change.path.decode("utf-8", "surrogateescape")


def _is_allowed(path: str, allowed: Sequence[Glob], forbidden: Sequence[Glob]) -> bool:
    spelled = folded_path(path)
    if any(glob.matches(path) or glob.matches_folded(spelled) for glob in forbidden):
        return False
    return any(glob.matches(path) for glob in allowed)


def _facts(base: Base, paths: Sequence[str], denied: Sequence[str]) -> dict[str, JSON]:
    return {
        "base": base.id,
        "base_from": shown(base.source),
        "base_pinned": base.is_pinned,
        "files": len(paths),
        "changed": [shown(path) for path in paths[:MAX_LISTED]],
        "not_allowed": [shown(path) for path in denied[:MAX_LISTED]],
    }


def _counted(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"
