"""Files that a run of tests may not change, and those that must be as they were agreed."""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Iterable, Mapping
from hashlib import sha256
from pathlib import PurePosixPath
from typing import Annotated, Final

from msgspec import Struct

from signoff.document.beneath import open_beneath
from signoff.jsonvalue import JSON, shown
from signoff.params import MAX_ITEMS, MAX_TEXT, Kind
from signoff.suite.failure import Failure
from signoff.suite.judging import Problem
from signoff.workspace import OPENING

__all__ = ["PROTECTED", "Protected", "ProtectedPath", "States", "changed", "states_of", "unlike"]

ABSENT: Final = "absent"
UNREADABLE: Final = "no file that can be read"
_PIECE: Final = 2**20
_DIGEST: Final = re.compile(r"sha256:[0-9a-f]{64}")
_NOT_THERE: Final = frozenset({errno.ENOENT, errno.ENOTDIR})

States = Mapping[str, str]
"""What there is under each path: a digest, ``absent``, or why there is none."""


class ProtectedPath(Struct, frozen=True, kw_only=True):
    """
    One file.

    Args:
        path: Below the workspace.
        expected: The digest it must have, or ``absent``; None for whatever it is.
    """

    path: str
    expected: str | None = None


def _read_entry(entry: JSON) -> ProtectedPath:
    if type(entry) is str:
        return ProtectedPath(path=_read_path(entry))
    if type(entry) is not dict or entry.keys() != {"path", "digest"}:
        raise ValueError
    digest = entry["digest"]
    if digest is not None and (type(digest) is not str or not _DIGEST.fullmatch(digest)):
        raise ValueError
    return ProtectedPath(path=_read_path(entry["path"]), expected=digest or ABSENT)


def _read_path(value: JSON) -> str:
    if type(value) is not str or not value or len(value) > MAX_TEXT or "\0" in value:
        raise ValueError
    path = PurePosixPath(value)
    if path.is_absolute() or ".." in path.parts or not path.parts:
        raise ValueError
    return str(path)


def _read(value: JSON) -> tuple[ProtectedPath, ...]:
    if type(value) is not list or len(value) > MAX_ITEMS:
        raise ValueError
    return tuple(map(_read_entry, value))


PROTECTED: Final = Kind(
    says="array of paths below the workspace, or of {path, digest} with null for an absent file",
    read=_read,
    schema={
        "type": "array",
        "items": {
            "anyOf": [
                {"type": "string", "minLength": 1, "maxLength": MAX_TEXT},
                {
                    "type": "object",
                    "properties": {
                        "path": {"type": "string", "minLength": 1, "maxLength": MAX_TEXT},
                        "digest": {"type": ["string", "null"], "pattern": f"^{_DIGEST.pattern}$"},
                    },
                    "required": ["path", "digest"],
                    "additionalProperties": False,
                },
            ]
        },
        "maxItems": MAX_ITEMS,
    },
)
Protected = Annotated[tuple[ProtectedPath, ...], PROTECTED]


def states_of(paths: Iterable[str], root: str) -> States:
    """What there is under some paths below a folder."""
    return {path: _state(path, root) for path in paths}


def unlike(protected: Iterable[ProtectedPath], states: States) -> Problem | None:
    """The first file that is not as it was agreed; None when all are."""
    for one in protected:
        found = states[one.path]
        if found == UNREADABLE or one.expected not in {None, found}:
            detail = f"{shown(one.path)} is {found}"
            expected = f", expected {one.expected}" if one.expected else ""
            return Problem(failure=Failure.TAMPERED, detail=f"{detail}{expected}")
    return None


def changed(before: States, after: States) -> Problem | None:
    """The first file that is another after the run; None when all are the same."""
    for path, state in before.items():
        if after[path] != state:
            detail = f"{shown(path)} was {state}, and is {after[path]} after the run"
            return Problem(failure=Failure.TAMPERED, detail=detail)
    return None


def _state(path: str, root: str) -> str:
    try:
        handle = open_beneath(root, path, OPENING)
    except OSError as exc:
        return ABSENT if exc.errno in _NOT_THERE else UNREADABLE
    except ValueError:  # a character that no file name can have
        return ABSENT
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            return UNREADABLE
        hashed = sha256()
        while piece := os.read(handle, _PIECE):
            hashed.update(piece)
        return f"sha256:{hashed.hexdigest()}"
    except OSError:
        return UNREADABLE
    finally:
        os.close(handle)
