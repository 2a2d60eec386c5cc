"""Objects of our own, put where our own git finds them."""

from __future__ import annotations

import zlib

from signoff.git.objects import hasher
from signoff.git.program import Git

__all__ = ["stored"]


def stored(git: Git, kind: str, data: bytes) -> str:
    """The id of an object that is now in the repository which was made for git."""
    hashed = hasher(git.hashing, kind, len(data))
    hashed.update(data)
    name = hashed.hexdigest()
    path = git.folder / "git" / "objects" / name[:2] / name[2:]
    if not path.exists():
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(zlib.compress(f"{kind} {len(data)}\0".encode() + data, 1))
    return name
