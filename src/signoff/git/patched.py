"""What a tree becomes under a patch, and the patch between two trees; git sees contents alone."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from signoff.errors import NotJudged
from signoff.git.objects import GITLINK, Entry, Objects
from signoff.git.program import Git
from signoff.git.store import stored
from signoff.model import inconclusive
from signoff.status import Cause

__all__ = ["difference", "laid_index", "patched"]

_LISTED: Final = re.compile(rb"([0-7]{6}) ([0-9a-f]{40,64}) 0\t(.+)", re.DOTALL)


def patched(
    git: Git, objects: Objects, files: Mapping[bytes, Entry], patch: bytes
) -> dict[bytes, Entry]:
    """
    What stands at each path after a patch.

    Args:
        git: Its repository is used up by this.
        objects: Where the contents of the files are.
        files: All that stands before at the paths which the patch names.
        patch: A unified diff.

    Raises:
        NotJudged: It does not apply, or a file is too large.
    """
    for entry in files.values():
        if entry.mode != GITLINK:
            data = objects.content(entry.id).data
            if data is None:
                detail = f"A file that the patch changes is too large to be read: {entry.id}"
                raise NotJudged(inconclusive(detail, Cause.EVIDENCE_UNREACHABLE))
            stored(git, "blob", data)
    laid_index(git, files)
    if patch.strip():
        git.run("apply", "--cached", "--whitespace=nowarn", "-", given=patch)
    listed = map(_LISTED.fullmatch, git.run("ls-files", "--stage", "-z").split(b"\0"))
    return {one[3]: Entry(int(one[1], 8), one[2].decode()) for one in listed if one is not None}


def difference(git: Git, before: Mapping[bytes, Entry], after: Mapping[bytes, Entry]) -> bytes:
    """
    The unified diff from one tree to another; all contents must be in git's own repository.

    Raises:
        NotJudged: It is too large.
    """
    # Here what is no text is told as such, so that it can be applied.
    (git.folder / "git" / "info" / "attributes").write_bytes(b"")
    trees = []
    for files in (before, after):
        laid_index(git, files)
        trees.append(git.run("write-tree", "--missing-ok").decode().strip())
    options = ("--no-renames", "--no-ext-diff", "--no-textconv", "--binary", "--full-index")
    return git.run("-c", "core.quotePath=false", "diff-tree", "-r", "-p", *options, *trees)


def laid_index(git: Git, files: Mapping[bytes, Entry]) -> None:
    """Makes the index of git's own repository hold these files and no others."""
    git.run("read-tree", "--empty")
    lines = (b"%06o %b\t%b\0" % (e.mode, e.id.encode(), path) for path, e in sorted(files.items()))
    git.run("update-index", "-z", "--index-info", given=b"".join(lines))
