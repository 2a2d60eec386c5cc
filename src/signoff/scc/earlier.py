"""Earlier runs: what the ledger knows of them, and that none of their verdicts is left."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from signoff.dialects.scc.names import REPORTS
from signoff.errors import LedgerCorrupt
from signoff.folder import Folder, reason
from signoff.jsonvalue import shown
from signoff.ledger import Event, Ledger, Note
from signoff.scc.workspace import Workspace
from signoff.scc.written import VERIFIED, Digests, WrittenRun, run_data, run_of

__all__ = [
    "Known",
    "announcement_of_publishing",
    "known_of",
    "remove_verdicts",
    "together",
    "verdicts_found",
]

PUBLISHING: Final = "scc.publishing"
MAX_BYTES: Final = 2**30
_EXECUTABLE: Final = 0o111
_KEY: Final = "scc"


class Known(Struct, frozen=True, kw_only=True):
    """
    What the ledger knows of earlier runs.

    Args:
        runs: In their order, also those that were about to be published.
        written: Digests that the verifier wrote, by path.
    """

    runs: tuple[WrittenRun, ...] = ()
    written: dict[str, frozenset[str]] = {}


def known_of(ledger: Ledger) -> Known:
    """
    What a ledger knows of earlier runs.

    Raises:
        DatabaseUnusable: It cannot be read.
        LedgerCorrupt: It holds what no run has recorded.
    """
    announced: list[WrittenRun] = []
    ended: list[WrittenRun] = []
    digests = Digests()
    for event in ledger.events():  # once, for it may be long
        digests.take(event)
        if event.type == PUBLISHING:
            announced.append(_announced(event))
        elif event.type == VERIFIED:
            ended.append(run_of(event))
    return Known(runs=(*announced, *ended), written=digests.by_path())


def announcement_of_publishing(run: WrittenRun) -> Note:
    """The event that tells where verdicts are about to be, before the first of them is."""
    data = run_data(run)
    return Note(type=PUBLISHING, contract_id=run.task_id, signature="", data=data)


def together(
    one: Mapping[str, frozenset[str]], other: Mapping[str, frozenset[str]]
) -> dict[str, frozenset[str]]:
    """The digests of both, by path."""
    nothing = frozenset[str]()
    return {path: one.get(path, nothing) | other.get(path, nothing) for path in {*one, *other}}


def verdicts_found(workspace: Workspace, paths: Iterable[str]) -> dict[str, str]:
    """
    The digest of what lies at each of these paths; none for a path at which nothing does.

    What is no plain file has the digest ``""``, which no file has.
    """
    found: dict[str, str] = {}
    for path in paths:
        digest = _digest(workspace.root, path)
        if digest is not None:
            found[path] = digest
    return found


def _digest(root: Path, path: str) -> str | None:
    *above, name = path.split("/")
    with ExitStack() as stack:
        try:
            folder = stack.enter_context(Folder.open(root))
            for part in above:
                folder = stack.enter_context(folder.child(part))
            is_executable = folder.mode(name) & _EXECUTABLE
        except OSError:
            # Nothing is there, or the folder is none, which its removal tells.
            return None
        try:
            digest = folder.measure(name, max_bytes=MAX_BYTES)[0]
        except FileNotFoundError:  # another run has removed what all of them share
            return None
        except OSError:
            return ""
    return "" if is_executable else digest.removeprefix("sha256:")


def remove_verdicts(workspace: Workspace, paths: Iterable[str]) -> tuple[str, ...]:
    """
    Nothing that reads as a verdict is left at these paths, which lasts when this returns.

    All of them are tried before the first failure is told.

    Returns:
        Paths at which a folder was expected and something else stood: a link, behind which a
        verdict would be read, or, below the reports, anything.  That is removed too.

    Raises:
        OSError: One could neither be removed nor emptied.
    """
    failures: list[OSError] = []
    odd: list[str] = []
    for path in sorted({*paths}):
        try:
            odd += _remove(workspace.root, path)
        except OSError as exc:
            failures.append(OSError(exc.errno, f"{shown(path)}: {reason(exc)}"))
    if failures:
        raise failures[0]
    return tuple(odd)


def _remove(root: Path, path: str) -> Iterator[str]:
    *above, name = path.split("/")
    with ExitStack() as stack:
        folder = stack.enter_context(Folder.open(root))
        try:
            for depth, part in enumerate(above, 1):
                inner = "/".join(above[:depth])
                mode = folder.mode(part)
                is_ours = inner.startswith(f"{REPORTS}/")
                if stat.S_ISLNK(mode) or (is_ours and not stat.S_ISDIR(mode)):
                    _take_away(folder, part)
                    yield inner
                    return
                folder = stack.enter_context(folder.child(part))
            folder.mode(name)
        except FileNotFoundError:
            return
        _take_away(folder, name)


def _take_away(folder: Folder, name: str) -> None:
    try:
        if stat.S_ISDIR(folder.mode(name)):
            shutil.rmtree(name, dir_fd=folder.handle)
        folder.remove(name)
        folder.sync()
    except OSError:
        _empty(folder, name)


def _empty(folder: Folder, name: str) -> None:
    """The next best, where the folder may not be changed and the file may."""
    flags = os.O_WRONLY | os.O_TRUNC | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    handle = os.open(name, flags, dir_fd=folder.handle)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _announced(event: Event) -> WrittenRun:
    try:
        return msgspec.convert(event.data.get(_KEY), WrittenRun)
    except msgspec.ValidationError as exc:
        text = f"the publishing of no SCC run: {shown(str(exc))}"
        raise LedgerCorrupt(text, seq=event.seq) from exc
