"""
The files of a workspace as they lie on the disk, and the digest that decides on staleness.

They are walked directly and no link is followed: what version control ignores, or
was told to overlook, is seen like everything else.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Mapping
from contextlib import suppress
from hashlib import sha256
from typing import Final

from msgspec import Struct

from signoff.dialects.scc.scope import comparable
from signoff.errors import NotJudged
from signoff.folder import reason
from signoff.git.changes import Opened, opened
from signoff.git.index import staged
from signoff.git.objects import EXECUTABLE, LINK, REGULAR
from signoff.git.program import Deadline
from signoff.git.worktree import Worktree
from signoff.model import inconclusive
from signoff.scc.workspace import Workspace
from signoff.status import Cause

__all__ = ["LIMIT_S", "Node", "is_versioned", "listing", "tree_digest", "unreadable"]

LIMIT_S: Final = 120.0
_VERIFIERS: Final = ("docs/report/", "evidence/", "artifacts/", ".signoff/")
_VERDICT: Final = "verdict.json"
_RULES: Final = b".gitignore"
_LAID: Final = "laid"


class Node(Struct, frozen=True):
    """
    What stands at a path: type and permissions, and which file it is.

    Args:
        mode: As ``lstat`` says it.
        file: Device and number of the file; None where it has but one name.
    """

    mode: int
    file: tuple[int, int] | None = None

    @property
    def is_file(self) -> bool:
        """It is a regular file."""
        return stat.S_ISREG(self.mode)

    @property
    def is_link(self) -> bool:
        """It is a symbolic link."""
        return stat.S_ISLNK(self.mode)


def listing(root: str, deadline: Deadline) -> dict[bytes, Node]:
    """
    Everything below a folder that is no folder itself, by path; repositories' own left out.

    Raises:
        NotJudged: It cannot be read, or took too long.
    """
    found: dict[bytes, Node] = {}
    folders = [b""]
    try:
        while folders:
            folder = folders.pop()
            deadline.left()
            try:
                with os.scandir(os.fsencode(root) + b"/" + folder) as entries:
                    for entry in entries:
                        if entry.name != b".git":
                            _list(entry, folder + entry.name, found, folders)
            except FileNotFoundError:
                # Another run has moved it away meanwhile; the workspace itself is never moved.
                if not folder:
                    raise
    except OSError as exc:
        raise unreadable(exc) from exc
    return found


def _list(
    entry: os.DirEntry[bytes], path: bytes, found: dict[bytes, Node], folders: list[bytes]
) -> None:
    """Note an entry of a folder, unless it has gone meanwhile."""
    if entry.is_dir(follow_symlinks=False):
        folders.append(path + b"/")
        return
    with suppress(FileNotFoundError):
        found[path] = _node(entry.stat(follow_symlinks=False))


def is_versioned(workspace: Workspace) -> bool:
    """The workspace says that it is the top folder of a repository."""
    return os.path.lexists(workspace.root / ".git")


def tree_digest(workspace: Workspace, *, own: Iterable[str] = ()) -> str:
    """
    ``sha256:`` and the digest of path, mode and content of every file that counts.

    Files below protected trees do not count, nor any ``verdict.json``, nor those that
    the ``.gitignore`` files on the disk ignore, unless they are checked in.  So neither
    a commit of the evidence nor one of the work changes it.

    Args:
        workspace: Whose files.
        own: Further files of the verifier, such as a gate report elsewhere.

    Raises:
        NotJudged: The workspace cannot be read.
    """
    root = str(workspace.root)
    deadline = Deadline.after(LIMIT_S)
    apart = {comparable(path) for path in own}
    nodes = listing(root, deadline)
    counted = {path: node for path, node in nodes.items() if _counts(path, apart)}
    ignored = set[bytes]()
    if is_versioned(workspace):
        with opened(root, deadline) as work:
            ignored = _ignored(work, counted) - _checked_in(work)
    return _digest(root, {p: n for p, n in counted.items() if p not in ignored}, deadline)


def unreadable(exc: OSError) -> NotJudged:
    """The workspace cannot be read."""
    detail = f"The workspace cannot be read: {reason(exc)}"
    return NotJudged(inconclusive(detail, Cause.EVIDENCE_UNREACHABLE))


def _node(facts: os.stat_result) -> Node:
    return Node(facts.st_mode, (facts.st_dev, facts.st_ino) if facts.st_nlink > 1 else None)


def _counts(path: bytes, apart: set[str]) -> bool:
    folded = comparable(os.fsdecode(path))
    if folded.startswith(_VERIFIERS) or folded.rpartition("/")[2] == _VERDICT:
        return False
    return folded not in apart


def _checked_in(work: Opened) -> set[bytes]:
    """Every path that the commit which is checked out or the index knows."""
    found = {path for path, _ in staged(work.repository.index(), work.objects)}
    commit = None if work.head is None else work.objects.commit(work.head)
    return found if commit is None else found | work.objects.files(commit.tree).keys()


def _ignored(work: Opened, nodes: Mapping[bytes, Node]) -> set[bytes]:
    """Those of the paths that the rules on the disk ignore."""
    tree = os.fsencode(work.git.folder / _LAID)
    os.mkdir(tree)  # noqa: PTH102  bytes
    files = Worktree(root=work.root, hashing=work.git.hashing, deadline=work.git.deadline)
    for path, node in nodes.items():
        folder, _, name = path.rpartition(b"/")
        if name == _RULES and node.is_file:
            os.makedirs(b"/".join((tree, folder)), exist_ok=True)  # noqa: PTH103  as above
            with open(b"/".join((tree, path)), "xb") as file:  # noqa: PTH123  as above
                file.write(files.content(path).data or b"")
    given = b"".join(b"./%b\x00" % path for path in nodes)
    if not given:
        return set()
    options = ("check-ignore", "--no-index", "-z", "--stdin")
    printed = work.git.run(*options, given=given, tree=_LAID)
    return {path[2:] for path in printed.split(b"\x00") if path}


def _digest(root: str, nodes: Mapping[bytes, Node], deadline: Deadline) -> str:
    files = Worktree(root=root, hashing="sha1", deadline=deadline)
    digests = _digests(files, (path for path, node in nodes.items() if node.is_file))
    whole = sha256()
    for path, node in sorted(nodes.items()):
        mode, content = stat.S_IFMT(node.mode), b""
        if node.is_file:
            mode = EXECUTABLE if node.mode & stat.S_IXUSR else REGULAR
            content = digests[path].encode()
        elif node.is_link:
            mode, content = LINK, files.content(path).data or b""
        whole.update(b"%o %d %b %d %b\n" % (mode, len(path), path, len(content), content))
    return f"sha256:{whole.hexdigest()}"


def _digests(files: Worktree, paths: Iterable[bytes]) -> dict[bytes, str]:
    """The digest of each file; folder by folder, since to open one costs more than to hash."""
    folders: dict[bytes, list[bytes]] = {}
    for path in paths:
        folder, slash, name = path.rpartition(b"/")
        folders.setdefault(folder + slash, []).append(name)
    found: dict[bytes, str] = {}
    for folder, names in folders.items():
        found |= files.digests(folder, names)
    return found
