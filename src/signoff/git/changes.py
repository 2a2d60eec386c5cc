"""
Everything that differs from a base: committed, staged, on disk, untracked.

A path is changed when the commit that is checked out, the index or the disk has
something else there than the base.  So a change that was undone later is one, since
it stays in the history, and so is one that is only staged.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Final

from msgspec import Struct

from signoff.errors import NotJudged
from signoff.git.index import staged
from signoff.git.objects import (
    EXECUTABLE,
    FOLDER,
    GITLINK,
    REGULAR,
    Content,
    Entry,
    Objects,
    absent,
    hasher,
)
from signoff.git.program import Deadline, Git, clean_git
from signoff.git.repository import Repository, open_repository
from signoff.git.rules import AS_IT_IS, Keeping, Rules
from signoff.git.worktree import Worktree
from signoff.model import inconclusive
from signoff.status import Cause

__all__ = ["Change", "Opened", "Side", "changes_since", "opened"]

_FILES: Final = frozenset({REGULAR, EXECUTABLE})
_MAX_NESTING: Final = 8
_EMPTY: Final = Content(b"")


class Side(Struct, frozen=True):
    """What stands at a path on one side of a change, and how to read it."""

    entry: Entry
    read: Callable[[], Content]


class Change(Struct, frozen=True, kw_only=True):
    """
    A path that differs from the base.

    Args:
        path: Relative to the workspace.
        before: In the base; None where there was nothing.
        after: Every other thing that stands there now, None for nothing.
    """

    path: bytes
    before: Side | None
    after: tuple[Side | None, ...]


class Opened(Struct, frozen=True, kw_only=True):
    """A repository with its working tree, and a clean git to read its objects with."""

    root: str
    repository: Repository
    head: str | None
    git: Git
    objects: Objects
    nested: Callable[[str], Opened]


@contextmanager
def opened(root: str, deadline: Deadline) -> Iterator[Opened]:
    """
    The repository whose top folder this is, and those inside it as they are met.

    Raises:
        NotJudged: There is none, or no git.
    """
    with ExitStack() as stack:

        def one(folder: str) -> Opened:
            repository = open_repository(folder)
            head = repository.head()
            hashing = "sha256" if head is not None and len(head) == 64 else "sha1"
            git = stack.enter_context(clean_git(root, hashing, deadline))
            objects = stack.enter_context(Objects.opened(git, repository.objects))
            return Opened(
                root=folder,
                repository=repository,
                head=head,
                git=git,
                objects=objects,
                nested=one,
            )

        yield one(root)


def changes_since(work: Opened, base: str) -> list[Change]:
    """All that differs from a commit, sorted by path."""
    return sorted(_Comparison(work, base, 0).changes(), key=lambda change: change.path)


class _Comparison:
    """One repository, compared with one of its commits."""

    def __init__(self, work: Opened, base: str, depth: int) -> None:
        if depth > _MAX_NESTING:
            detail = "Repositories lie too deep in each other."
            raise NotJudged(inconclusive(detail, Cause.EVIDENCE_UNREACHABLE))
        self._work = work
        self._depth = depth
        self._base_id = base
        self._base = self._files(base)
        self._tree = Worktree(root=work.root, hashing=work.git.hashing, deadline=work.git.deadline)
        self._rules = Rules(work.git, work.objects, self._base)
        self._after: dict[bytes, list[Side | None]] = {}
        self._linked: set[bytes] = set()
        self._nested: list[Change] = []

    def changes(self) -> Iterator[Change]:
        known = self._recorded()
        seen = self._walk(known)
        self._on_disk(known, seen)
        for path, after in self._after.items():
            before = self._base.get(path)
            yield Change(
                path=path,
                before=None if before is None else self._stored(before),
                after=tuple(after),
            )
        yield from self._nested

    def _files(self, commit: str) -> dict[bytes, Entry]:
        found = self._work.objects.commit(commit)
        if found is None:
            raise absent(commit)
        return self._work.objects.files(found.tree)

    def _files_of_head(self) -> dict[bytes, Entry]:
        head = self._work.head
        if head is None:  # nothing was committed yet
            return {}
        return self._base if head == self._base_id else self._files(head)

    # -- what git has recorded --

    def _recorded(self) -> dict[bytes, set[int]]:
        """Notes what differs in HEAD and in the index; gives all known paths with their modes."""
        head = self._files_of_head()
        index: dict[bytes, set[Entry]] = {}
        for path, entry in staged(self._work.repository.index(), self._work.objects):
            index.setdefault(path, set()).add(entry)
        self._compare({path: {entry} for path, entry in head.items()})
        self._compare(index)
        known = {path: {entry.mode} for path, entry in self._base.items()}
        for path, entries in [*((path, {entry}) for path, entry in head.items()), *index.items()]:
            known.setdefault(path, set()).update(entry.mode for entry in entries)
        return known

    def _compare(self, state: Mapping[bytes, set[Entry]]) -> None:
        for path in self._base.keys() - state.keys():
            self._differs(path, None)
        for path, entries in state.items():
            before = self._base.get(path)
            for entry in sorted(entries, key=lambda one: (one.mode, one.id)):
                if entry != before:
                    self._differs(path, self._stored(entry))

    def _stored(self, entry: Entry) -> Side:
        if entry.mode == GITLINK:
            return Side(entry, lambda: Content(f"Subproject commit {entry.id}\n".encode()))
        return Side(entry, lambda: self._work.objects.content(entry.id))

    def _differs(self, path: bytes, side: Side | None) -> None:
        after = self._after.setdefault(path, [])
        known = [None if one is None else one.entry for one in after]
        if (None if side is None else side.entry) not in known:
            after.append(side)

    # -- what is on disk --

    def _walk(self, known: Mapping[bytes, set[int]]) -> dict[bytes, Entry]:
        """What is on disk at known paths; notes what is on disk elsewhere."""
        folders = _folders(known)
        seen: dict[bytes, Entry] = {}
        level = [b""]
        while level:
            below: list[bytes] = []
            unknown: list[bytes] = []
            for folder in level:
                files = []
                for name, is_folder in self._tree.names(folder):
                    path = folder + name
                    if name == b".git":
                        self._repository_in(folder, path)
                    elif is_folder and GITLINK in known.get(path, ()):
                        below += self._submodule(path)
                    elif is_folder:
                        (below if path in folders else unknown).append(path + b"/")
                    elif path in known:
                        files.append(name)
                    else:
                        unknown.append(path)
                seen |= self._tree.entries(folder, files)
            below += self._untracked(unknown)
            level = below
        return seen

    def _untracked(self, paths: Iterable[bytes]) -> list[bytes]:
        """Notes the files that are not ignored; gives the folders that are not."""
        paths = list(paths)
        ignored = self._rules.ignored(paths)
        kept = [path for path in paths if path not in ignored]
        for path in kept:
            if not path.endswith(b"/"):
                self._differs(path, self._file(path, Entry(0, ""), AS_IT_IS))
        return [path for path in kept if path.endswith(b"/")]

    def _repository_in(self, folder: bytes, path: bytes) -> None:
        """A repository that nothing refers to; our own is not meant."""
        if folder:
            self._differs(path, Side(Entry(FOLDER, ""), lambda: _EMPTY))

    def _submodule(self, path: bytes) -> list[bytes]:
        """Compares a submodule with the commit it is at; gives the folder where it is none."""
        self._linked.add(path)
        names = [name for name, _ in self._tree.names(path)]
        if b".git" not in names:  # not fetched, so empty, or files of nobody
            return [path + b"/"]
        inner = self._work.nested(os.path.join(self._work.root, os.fsdecode(path)))  # noqa: PTH118  a text
        if inner.head is None:
            raise absent(os.fsdecode(path))
        entry = Entry(GITLINK, inner.head)
        if entry != self._base.get(path):
            self._differs(path, self._stored(entry))
        for change in _Comparison(inner, inner.head, self._depth + 1).changes():
            self._nested.append(
                Change(path=path + b"/" + change.path, before=change.before, after=change.after)
            )
        return []

    def _on_disk(self, known: Mapping[bytes, set[int]], seen: Mapping[bytes, Entry]) -> None:
        """Notes what is different on disk at the known paths."""
        different = [
            path
            for path in known
            if path not in self._linked and seen.get(path) != self._base.get(path)
        ]
        keeping = self._rules.keeping(path for path in different if self._may_be_kept(path, seen))
        for path in different:
            now, how = seen.get(path), keeping.get(path, AS_IT_IS)
            if now is None:
                self._differs(path, None)
            elif path not in keeping or not self._is_kept(path, how):
                self._differs(path, self._file(path, now, how))

    def _may_be_kept(self, path: bytes, seen: Mapping[bytes, Entry]) -> bool:
        """A plain file that has changed in nothing but its content."""
        now, before = seen.get(path), self._base.get(path)
        if now is None or before is None:
            return False
        return now.mode == before.mode and now.mode in _FILES

    def _is_kept(self, path: bytes, how: Keeping) -> bool:
        """The content on disk is that of the base, but for how the base says it is kept."""
        if how == AS_IT_IS:
            return False
        before = self._base[path]
        if how.is_large:
            pointer = self._work.objects.content(before.id).data
            if pointer is not None and how.is_meant(pointer, *self._tree.digest(path)):
                return True
        data = self._tree.content(path).data
        if data is None:
            return False
        kept = how.kept(data)
        hashed = hasher(self._work.git.hashing, "blob", len(kept))
        hashed.update(kept)
        return hashed.hexdigest() == before.id

    def _file(self, path: bytes, entry: Entry, how: Keeping) -> Side:
        def read() -> Content:
            found = self._tree.content(path)
            return found if found.data is None else Content(how.kept(found.data))

        return Side(entry, read)


def _folders(paths: Iterable[bytes]) -> set[bytes]:
    """Every folder that lies above one of the paths."""
    found: set[bytes] = set()
    for path in paths:
        folder = path.rpartition(b"/")[0]
        while folder and folder not in found:
            found.add(folder)
            folder = folder.rpartition(b"/")[0]
    return found
