"""
The throw-away view of a workspace that the checks of one run share.

It is a copy, without the output of earlier runs.  Evidence is opened in it part by
part, so that no link leads elsewhere, and copied out through the handle that was
opened.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from hashlib import sha256
from pathlib import Path
from tempfile import mkdtemp
from typing import Final

from msgspec import Struct

from signoff.dialects.scc.names import RUNS
from signoff.dialects.scc.verdict import path_fault
from signoff.folder import Folder, close_quietly, reason
from signoff.jsonvalue import shown
from signoff.pathglob import Glob
from signoff.sandbox.supervisor.copying import Copied, copy_tree
from signoff.sandbox.supervisor.removal import remove
from signoff.scc.evidence_index import NEVER_COLLECTED, EvidenceFile
from signoff.scc.run_names import LOCKS, STAGING
from signoff.scc.workspace import PathUnsafe

__all__ = ["Stamp", "View", "copy_out", "folder_state", "given_up", "laid_out", "stamps"]

LEFT_OUT: Final = (RUNS, STAGING, LOCKS)
MAX_BYTES: Final = 64 * 2**30
MAX_ENTRIES: Final = 1_000_000
_PIECE: Final = 2**20
_SPECIAL: Final = frozenset("*?[\\")
_READ: Final = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NOCTTY

Stamp = tuple[int, int, int, int]


class View(Struct, frozen=True, kw_only=True):
    """
    Folders of the checks of one run, absolute.

    Args:
        root: The workspace as they see it.
        home: Their home.
        temporary: For their temporary files.
    """

    root: str
    home: str
    temporary: str


def laid_out(workspace: Path, scratch: str) -> View:
    """
    A view of a workspace, in a folder that is given up with the sandbox.

    Raises:
        OSError: It cannot be copied.
        TooMuch: It is larger or deeper than may be copied.
    """
    base = Path(mkdtemp(prefix="view-", dir=scratch))
    view = View(root=str(base / "workspace"), home=str(base / "home"), temporary=str(base / "tmp"))
    for folder in (view.home, view.temporary):
        Path(folder).mkdir(mode=0o700)
    _fill(str(workspace), view.root, "", Copied(lambda: None, MAX_BYTES))
    return view


def given_up(view: View) -> None:
    """Nothing is left of a view."""
    remove(str(Path(view.root).parent))


def _fill(source: str, target: str, at: str, copied: Copied) -> None:
    """Copy what is in a folder, save what is left out."""
    Path(target).mkdir(mode=0o700)
    with os.scandir(source) as entries:
        for entry in entries:
            path = f"{at}{entry.name}"
            if path in LEFT_OUT:
                continue
            place = f"{target}/{entry.name}"
            if entry.is_symlink():
                Path(place).symlink_to(Path(entry.path).readlink())
            elif entry.is_dir():
                if any(one.startswith(f"{path}/") for one in LEFT_OUT):
                    _fill(entry.path, place, f"{path}/", copied)
                else:
                    copy_tree(entry.path, place, copied)
                    shutil.copymode(entry.path, place)
            elif entry.is_file():
                shutil.copy2(entry.path, place, follow_symlinks=False)


def stamps(root: str, globs: Iterable[Glob]) -> dict[str, dict[str, Stamp]]:
    """
    The files that each glob matches, by its text: regular, not empty, behind no link.

    Names that no verdict can list, and those of the verifier's own files, are none.

    Raises:
        OSError: The folder cannot be read, or holds too many files.
    """
    found: dict[str, dict[str, Stamp]] = {glob.text: {} for glob in globs}
    wild = [glob for glob in globs if not _SPECIAL.isdisjoint(glob.text)]
    for glob in globs:
        if glob not in wild:
            _add(found[glob.text], root, glob.text)
    for path in _paths(root) if wild else ():
        for glob in wild:
            if glob.matches(path):
                _add(found[glob.text], root, path)
    return found


def folder_state(root: str, path: str) -> str:
    """Whether a path is a ``folder``, leads through a ``link``, or is ``absent``."""
    at = root
    for part in (part for part in path.split("/") if part not in {"", "."}):
        at = f"{at}/{part}"
        try:
            mode = Path(at).lstat().st_mode
        except (OSError, ValueError):
            return "absent"
        if stat.S_ISLNK(mode):
            return "link"
        if not stat.S_ISDIR(mode):
            return "absent"
    return "folder"


def copy_out(root: str, path: str, into: Path, target: str) -> EvidenceFile:
    """
    A copy of a file of the view, measured as it was copied; it lasts from the next flush.

    Args:
        root: The view.
        path: In the view.
        into: Folder of the run.
        target: Path in that folder.

    Raises:
        PathUnsafe: It cannot be opened, or is no regular file.
        OSError: It cannot be copied.
    """
    hashed, size = sha256(), 0
    place = into / target
    place.parent.mkdir(parents=True, exist_ok=True)
    done = False
    with ExitStack() as stack:
        handle = _opened(root, path, stack)
        copy = stack.enter_context(place.open("xb"))
        try:
            while piece := os.read(handle, _PIECE):
                hashed.update(piece)
                size += len(piece)
                copy.write(piece)
            copy.flush()
            done = True
        finally:
            if not done:  # what was broken off is no evidence
                place.unlink()
    return EvidenceFile(path=target, sha256=hashed.hexdigest(), size=size)


def _opened(root: str, path: str, stack: ExitStack) -> int:
    try:
        *above, name = path.split("/")
        source = stack.enter_context(Folder.open(root))
        for part in above:
            source = stack.enter_context(source.child(part))
        handle = os.open(name, _READ, dir_fd=source.handle)
    except OSError as exc:
        raise PathUnsafe(f"{shown(path)}: {reason(exc)}") from exc
    stack.callback(close_quietly, handle)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        raise PathUnsafe(f"{shown(path)}: is not a regular file")
    return handle


def _add(found: dict[str, Stamp], root: str, path: str) -> None:
    if path_fault(path) is not None or path.rsplit("/", 1)[-1] in NEVER_COLLECTED:
        return
    above, _, _ = path.rpartition("/")
    if folder_state(root, above) != "folder":
        return
    try:
        facts = Path(root, path).lstat()
    except (OSError, ValueError):
        return
    if stat.S_ISREG(facts.st_mode) and facts.st_size:
        found[path] = (facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns)


def _paths(root: str) -> Iterator[str]:
    count, skip = 0, len(root) + 1
    for folder, _, names in os.walk(root, followlinks=False):
        count += len(names)
        if count > MAX_ENTRIES:
            raise OSError(f"the view holds more than {MAX_ENTRIES} files")
        for name in sorted(names):
            yield f"{folder}/{name}"[skip:]
