"""
The objects of a repository, each found to be what its id says.

An id is the digest of an object.  Whoever can write a repository can put other bytes
under an id, and git itself does not look; here every object is hashed when it is read.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from msgspec import Struct

from signoff.errors import NotJudged
from signoff.git.program import Git, Running, broken
from signoff.model import failed, inconclusive
from signoff.status import Cause

__all__ = [
    "EXECUTABLE",
    "FOLDER",
    "GITLINK",
    "LINK",
    "REGULAR",
    "Commit",
    "Content",
    "Entry",
    "Objects",
    "absent",
    "hasher",
    "plain_mode",
]

REGULAR: Final = 0o100644
EXECUTABLE: Final = 0o100755
LINK: Final = 0o120000
GITLINK: Final = 0o160000
FOLDER: Final = 0o040000
MAX_CONTENT_BYTES: Final = 64 * 2**20
_MAX_TREE_BYTES: Final = 256 * 2**20
_MAX_ENTRIES: Final = 5_000_000
_MAX_DEPTH: Final = 1_024
_ODD_NAMES: Final = (b"", b".", b"..")


class Entry(Struct, frozen=True):
    """What stands at a path: its mode as git writes it, and the id of its content."""

    mode: int
    id: str


class Commit(Struct, frozen=True):
    """A commit: its id, those of its tree and of its parents, and its time in seconds."""

    id: str
    tree: str
    parents: tuple[str, ...]
    time: int


class Content(Struct, frozen=True):
    """
    The content of a file, or no more than its number of lines where it is too long.

    Args:
        data: The bytes; None where there are more than ``MAX_CONTENT_BYTES``.
        lines: Newlines in it, counted only then.
    """

    data: bytes | None
    lines: int = 0

    @classmethod
    def of(cls, pieces: Iterator[bytes], size: int) -> Content:
        """The content that comes in pieces."""
        if size <= MAX_CONTENT_BYTES:
            return cls(b"".join(pieces))
        return cls(None, 1 + sum(piece.count(b"\n") for piece in pieces))


class Objects:
    """
    The objects of one repository.

    Args:
        running: A ``git cat-file --batch``.
        hashing: What they are named by, ``sha1`` or ``sha256``.
    """

    def __init__(self, running: Running, hashing: str) -> None:
        self._running = running
        self.hashing = hashing

    @classmethod
    @contextmanager
    def opened(cls, git: Git, folder: str) -> Iterator[Objects]:
        """The objects in a folder, until the end of the block."""
        with git.answering("cat-file", "--batch", objects=folder) as running:
            yield cls(running, git.hashing)

    def commit(self, id_: str) -> Commit | None:
        """A commit, by its id or that of a tag of it; None when it is not there."""
        for _ in range(_MAX_DEPTH):
            found = self._read(id_)
            if found is None:
                return None
            kind, data = found
            if kind == "commit":
                return _commit(id_, data)
            target = data.partition(b"\n")[0].removeprefix(b"object ")
            if kind != "tag" or not _is_id(target):
                break
            id_ = target.decode()
        raise _unusable(id_, "commit")

    def files(self, tree: str) -> dict[bytes, Entry]:
        """
        Everything in a tree and in the trees below it, by path.

        Raises:
            NotJudged: An object is absent or is not what it should be.
        """
        found: dict[bytes, Entry] = {}
        folders = [(b"", tree, 0)]
        while folders:
            prefix, id_, depth = folders.pop()
            if depth > _MAX_DEPTH or len(found) > _MAX_ENTRIES:
                raise _unusable(id_, "tree")
            for name, entry in self._tree(id_):
                if entry.mode == FOLDER:
                    folders.append((prefix + name + b"/", entry.id, depth + 1))
                elif prefix + name in found:  # one of the two would be hidden
                    raise _unusable(id_, "tree")
                else:
                    found[prefix + name] = entry
        return found

    def content(self, id_: str) -> Content:
        """The content of a file or of a link."""
        head = self._head(id_)
        if head is None:
            raise absent(id_)
        kind, size = head
        if kind != "blob":
            raise _unusable(id_, "blob")
        return Content.of(self._body(id_, kind, size), size)

    def _tree(self, id_: str) -> Iterator[tuple[bytes, Entry]]:
        found = self._read(id_)
        if found is None:
            raise absent(id_)
        kind, data = found
        if kind != "tree":
            raise _unusable(id_, "tree")
        at, length = 0, len(id_) // 2
        while at < len(data):
            end = data.find(b"\0", at)
            mode, space, name = data[at:end].partition(b" ")
            at = end + 1 + length
            if end < 0 or not space or not mode.isdigit() or name in _ODD_NAMES or b"/" in name:
                raise _unusable(id_, "tree")
            yield name, Entry(plain_mode(int(mode, 8)), data[end + 1 : at].hex())

    def _read(self, id_: str) -> tuple[str, bytes] | None:
        head = self._head(id_)
        if head is None:
            return None
        kind, size = head
        if size > _MAX_TREE_BYTES:
            raise _unusable(id_, kind)
        return kind, b"".join(self._body(id_, kind, size))

    def _head(self, id_: str) -> tuple[str, int] | None:
        """Kind and size of an object; None when it is not there."""
        self._running.ask(id_.encode() + b"\n")
        answer = self._running.line().decode("utf-8", "replace").split(" ")
        if answer == [id_, "missing"]:
            return None
        if len(answer) != 3 or answer[0] != id_ or not answer[2].isdigit():
            raise broken("answered nonsense")
        return answer[1], int(answer[2])

    def _body(self, id_: str, kind: str, size: int) -> Iterator[bytes]:
        """The bytes of an object, which have its id when they have all been taken."""
        hashed = hasher(self.hashing, kind, size)
        for piece in self._running.pieces(size):
            hashed.update(piece)
            yield piece
        if b"".join(self._running.pieces(1)) != b"\n":
            raise broken("answered nonsense")
        if hashed.hexdigest() != id_:
            detail = f"Repository object is altered: {id_}"
            raise NotJudged(failed(detail, cause=Cause.EVIDENCE_CORRUPT))


def hasher(hashing: str, kind: str, size: int) -> hashlib._Hash:
    """A hash that gives the id of an object when it is fed the object's bytes."""
    # Git names objects by SHA-1 unless it is told otherwise; that is no choice of ours.
    return hashlib.new(hashing, f"{kind} {size}\0".encode(), usedforsecurity=False)


def absent(id_: str) -> NotJudged:
    """The repository lacks an object."""
    detail = f"The repository lacks an object, fetch it: {id_}"
    return NotJudged(inconclusive(detail, Cause.EVIDENCE_UNREACHABLE))


def _unusable(id_: str, kind: str) -> NotJudged:
    detail = f"Repository object is no {kind} that can be used: {id_}"
    return NotJudged(inconclusive(detail, Cause.EVIDENCE_UNREACHABLE))


def plain_mode(mode: int) -> int:
    """The modes that git tells apart: old ones with group bits are those of plain files."""
    if mode & 0o170000 == 0o100000:
        return EXECUTABLE if mode & 0o100 else REGULAR
    return mode


def _is_id(text: bytes) -> bool:
    return len(text) in {40, 64} and all(char in b"0123456789abcdef" for char in text)


def _commit(id_: str, data: bytes) -> Commit:
    head = data.partition(b"\n\n")[0].split(b"\n")
    trees = [line[5:] for line in head if line.startswith(b"tree ")]
    parents = [line[7:] for line in head if line.startswith(b"parent ")]
    times = [line.rsplit(b" ", 2)[1] for line in head if line.startswith(b"committer ")]
    if len(trees) != 1 or not all(map(_is_id, [*trees, *parents])):
        raise _unusable(id_, "commit")
    time = int(times[0]) if times and times[0].isdigit() and len(times[0]) < 18 else 0
    return Commit(id_, trees[0].decode(), tuple(one.decode() for one in parents), time)
