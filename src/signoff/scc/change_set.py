"""What an executor changed: the paths, and what the knowledge of them rests on."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from typing import Any

import msgspec
from msgspec import Struct

from signoff.dialects.scc.shape import VERSION

__all__ = ["Assurance", "ChangedPath", "encode_changes", "printable"]


class Assurance(Enum):
    """What the change set rests on."""

    COMMIT = "commit"
    PATCH = "patch"
    WORKTREE = "worktree"
    NONE = "none"


class ChangedPath(Struct, frozen=True, kw_only=True):
    """
    A path that is not as it is in the base.

    Args:
        path: Relative to the workspace; bytes that are no UTF-8 are lone surrogates.
        kind: ``add``, ``modify`` or ``delete``.
        old_mode: Octal mode in the base, ``""`` where there was nothing.
        new_mode: Octal mode now, ``""`` where there is nothing or it is not told.
        ignored: Version control ignores it, so what was there before is not known.
    """

    path: str
    kind: str
    old_mode: str = ""
    new_mode: str = ""
    ignored: bool = False


def encode_changes(
    changes: Iterable[ChangedPath], *, assurance: Assurance, base: str, commit: str
) -> bytes:
    """
    The bytes of ``changes.json``.

    Args:
        changes: In any order.
        assurance: What they rest on.
        base: The commit before the work, ``""`` where there is none.
        commit: That is checked out, likewise.
    """
    document: dict[str, Any] = {
        "schema_version": VERSION,
        "assurance": assurance.value,
        "base_commit": base,
        "commit": commit,
        "changes": [
            {**msgspec.structs.asdict(one), "path": printable(one.path)}
            for one in sorted(changes, key=lambda one: one.path)
        ],
    }
    return msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n"


def printable(path: str) -> str:
    """The path where it is UTF-8, else with its odd bytes written out."""
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
