"""What an executor left in a checkout, told as a patch, and why it is refused if it is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from msgspec import Struct

from signoff.dialects.scc.contract import SccContract
from signoff.dialects.scc.patch import MAX_BYTES
from signoff.dialects.scc.settings import Settings
from signoff.errors import NotJudged
from signoff.git.changes import Change, Opened
from signoff.git.checkout import opened_elsewhere
from signoff.git.lines import changed_lines
from signoff.git.objects import EXECUTABLE, GITLINK, LINK, REGULAR, Entry
from signoff.git.patched import difference
from signoff.git.program import Git, clean_git
from signoff.git.store import stored
from signoff.git.worktree import Worktree
from signoff.scc.comparison import Compared, compared_with, path_text
from signoff.scc.given import Given, require_allowed
from signoff.scc.own_files import OwnFiles
from signoff.scc.patch_work import patch_paths, read_headers, require_applied
from signoff.scc.protected import Protected, violations
from signoff.scc.work_refused import WorkRefused

__all__ = ["Told", "told_work"]

_UNTOLD: Final = "Not told by this patch: {}\n"


class Told(Struct, frozen=True, kw_only=True):
    """
    What an executor left.

    Args:
        patch: The unified diff from the commit, empty where nothing was changed.  What no patch
            can tell stands in it as a line that no reader accepts.
        touched: The paths that it changed, sorted.
        ignored: How many files it left that version control ignores; they are not taken along.
        problem: Which rule it broke, ``""`` for none.
    """

    patch: bytes
    touched: tuple[str, ...]
    ignored: int
    problem: str


def told_work(
    work: Opened,
    commit: str,
    root: str,
    *,
    contract: SccContract,
    settings: Settings,
    given: Given,
    contract_path: str,
) -> Told:
    """
    What an executor left in a folder that a commit was laid out in.

    Args:
        work: The repository that has the commit.
        commit: Its id.
        root: The folder.
        contract: Whose scope holds.
        settings: In force.
        given: Pins and map.
        contract_path: Of the contract, relative to the workspace.

    Raises:
        NotJudged: It cannot be read.
    """
    with opened_elsewhere(work, commit, root) as there:
        compared = compared_with(there, commit)
        files = Worktree(root=root, hashing=there.git.hashing, deadline=there.git.deadline)
        own = OwnFiles(written={}, compared=compared, files=files, keeps_state=False)
        changes = [one for _, one in sorted(compared.changes.items()) if not own.made(one)]
        patch = _patch(there, compared, changes)
        protected = Protected(more=settings.protected, files=(contract_path, *given.paths))
        touched = tuple(sorted(path_text(change.path) for change in changes))
        problem = ""
        try:
            _require_kept(there, own, protected, patch, changes)
            limited = given.pins is not None and given.pins.max_loc is not None
            lines = changed_lines(there.git, changes) if limited else None
            require_allowed(contract.scope, given.pins, touched, lines=lines)
        except WorkRefused as exc:
            problem = exc.failure.reason
        return Told(patch=patch, touched=touched, ignored=len(compared.ignored()), problem=problem)


def _require_kept(
    there: Opened, own: OwnFiles, protected: Protected, patch: bytes, changes: list[Change]
) -> None:
    """The prohibition is kept, and the patch says all that was done."""
    for fault in violations(own.compared, own, protected):
        raise WorkRefused.denied(fault)
    paths = patch_paths(read_headers(patch), own.compared, protected)
    require_applied(there, own.compared, patch, paths, changes)


def _patch(there: Opened, compared: Compared, changes: Iterable[Change]) -> bytes:
    before, after = dict[bytes, Entry](), dict[bytes, Entry]()
    untold: list[str] = []
    submodules = [path for path, entry in compared.base.items() if entry.mode == GITLINK]
    with clean_git(there.root, there.git.hashing, there.git.deadline) as git:
        for change in changes:
            old = compared.base.get(change.path)
            try:
                new = _entry(change, compared, submodules, git)
                if old is not None:
                    _store(old, there, git)
            except WorkRefused as exc:
                untold.append(exc.failure.reason)
                continue
            before |= {change.path: old} if old is not None else {}
            after |= {change.path: new} if new is not None else {}
        try:
            patch = difference(git, before, after)
        except NotJudged as exc:
            patch, untold = b"", [*untold, str(exc)]
    if len(patch) > MAX_BYTES:
        patch, untold = b"", [*untold, f"it is larger than {MAX_BYTES} bytes"]
    return patch + b"".join(_lines(untold))


def _entry(
    change: Change, compared: Compared, submodules: Sequence[bytes], git: Git
) -> Entry | None:
    """What stands at a path now, its content put where git finds it; None for nothing."""
    path, node = path_text(change.path), compared.nodes.get(change.path)
    if any(change.path.startswith(submodule + b"/") for submodule in submodules):
        raise WorkRefused.denied(f"{path!a} lies in a submodule")
    side = change.after[-1]
    if side is not None and side.entry.mode == GITLINK:
        return side.entry
    if side is None:
        return None
    if node is None or not (node.is_file or node.is_link):
        raise WorkRefused.denied(f"{path!a} is no file")
    data = side.read().data
    if data is None:
        raise WorkRefused.denied(f"{path!a} is too large")
    mode = EXECUTABLE if node.mode & 0o100 else REGULAR
    return Entry(LINK if node.is_link else mode, stored(git, "blob", data))


def _store(entry: Entry, there: Opened, git: Git) -> None:
    if entry.mode == GITLINK:
        return
    data = there.objects.content(entry.id).data
    if data is None:
        raise WorkRefused.denied("a file that is changed is too large")
    stored(git, "blob", data)


def _lines(untold: Iterable[str]) -> Iterator[bytes]:
    return (_UNTOLD.format(" ".join(one.split())).encode() for one in untold)
