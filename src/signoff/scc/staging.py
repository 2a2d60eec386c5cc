"""
Where the files of a run are made before any of them gets its place.

What a killed run leaves here is nobody's: the next run removes it.  A file gets its
place by being renamed, so nowhere else is there ever a part of one.
"""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import Final, Self

from signoff.folder import Folder, close_quietly, is_unfinished, reason
from signoff.scc.evidence_index import EvidenceFile
from signoff.scc.run_names import STAGING, RunNames
from signoff.scc.workspace import Workspace

__all__ = ["Staging", "folder_of"]

_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_PIECE: Final = 2**20
MAX_NAMES: Final = 1_000_000
# More are flushed all at once, with whatever else the machine has to write.
MAX_SINGLY: Final = 100


class Staging:
    """
    The staging folder of one run; a context manager that removes it.

    Args:
        workspace: Of the run.
        names: Of the run.

    Raises:
        OSError: It cannot be made.
    """

    def __init__(self, workspace: Workspace, names: RunNames) -> None:
        self._workspace = workspace
        self.path = names.staging
        """Relative to the workspace."""
        with ExitStack() as stack:
            all_of_them = folder_of(workspace, STAGING, stack, create=True)
            # Nobody cleans up between the making of a folder and the locking of it.
            fcntl.flock(all_of_them.handle, fcntl.LOCK_EX)
            _remove_abandoned(workspace.root / STAGING, all_of_them)
            os.mkdir(names.run_id, 0o700, dir_fd=all_of_them.handle)
            self._handle = os.open(names.run_id, _FOLDER, dir_fd=all_of_them.handle)
            fcntl.flock(self._handle, fcntl.LOCK_EX)
        for name in ("run", "mirror"):
            (self.place / name).mkdir()

    @property
    def place(self) -> Path:
        """Where it is."""
        return self._workspace.root / self.path

    @property
    def run(self) -> Path:
        """The run output directory as it is made."""
        return self.place / "run"

    @property
    def mirror(self) -> Path:
        """The mirror as it is made."""
        return self.place / "mirror"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):
            shutil.rmtree(self.place)
        close_quietly(self._handle)

    def write(self, folder: Path, files: dict[str, bytes]) -> None:
        """
        Put files below a folder of this one, in place of those of the same names.

        Raises:
            OSError: One cannot be written.
        """
        for path, data in files.items():
            place = folder / path
            with Folder.open(place.parent, create=True) as opened:
                opened.write(place.name, data)

    def copy(self, paths: Iterable[str]) -> None:
        """
        Put copies of files of the run into the mirror, save those that are there.

        Raises:
            OSError: One cannot be copied.
        """
        for path in paths:
            target = self.mirror / path
            if not target.exists():
                target.parent.mkdir(parents=True, exist_ok=True)
                _copy(self.run / path, target)

    def clear(self) -> None:
        """
        Begin anew, with nothing in it.

        Raises:
            OSError: It cannot be cleared.
        """
        for folder in (self.run, self.mirror):
            shutil.rmtree(folder)
            folder.mkdir()

    def flush(self) -> None:
        """
        Copies last, in run and mirror.

        Raises:
            OSError: They cannot be written.
        """
        copied = [path for top in (self.run, self.mirror) for path in _copied(top)]
        if len(copied) > MAX_SINGLY:
            os.sync()
            return
        for path in copied:
            with path.open("rb") as file:
                os.fsync(file.fileno())

    def kept(self) -> tuple[EvidenceFile, ...]:
        """
        Logs and collected files that were written, measured.

        Raises:
            OSError: One cannot be read.
        """
        found: list[EvidenceFile] = []
        for place in _copied(self.run):
            if is_unfinished(place.name):
                place.unlink()
            else:
                found.append(_measured(place, place.relative_to(self.run).as_posix()))
        return tuple(found)

    def put(self, source: Path, target: str) -> None:
        """
        Give a file or a folder of this one its place in the workspace, where it then lasts.

        Raises:
            OSError: It cannot be put there; a folder that is there already stands in the way.
        """
        *above, name = target.split("/")
        with _about(target), ExitStack() as stack:
            folder = folder_of(self._workspace, "/".join(above), stack, create=True)
            try:
                os.replace(source, name, dst_dir_fd=folder.handle)
            except OSError as exc:
                if exc.errno != errno.EXDEV:
                    raise
                _put_across(source, self._workspace.root / target, folder)
            folder.sync()

    def take(self, target: str, name: str) -> None:
        """
        Move what is at a path of the workspace in here, to be removed with this; or nothing.

        Raises:
            OSError: It cannot be moved.
        """
        *above, last = target.split("/")
        with _about(target), ExitStack() as stack:
            try:
                folder = folder_of(self._workspace, "/".join(above), stack, create=False)
                folder.mode(last)
            except FileNotFoundError:
                return
            try:
                os.rename(last, self.place / name, src_dir_fd=folder.handle)
            except OSError as exc:
                if exc.errno != errno.EXDEV:
                    raise
                shutil.rmtree(self._workspace.root / target)
            folder.sync()


@contextmanager
def _about(path: str) -> Iterator[None]:
    """Errors tell a path of the workspace, not a name in whatever folder was open."""
    try:
        yield
    except OSError as exc:
        raise OSError(exc.errno, reason(exc), path) from exc


def folder_of(workspace: Workspace, path: str, stack: ExitStack, *, create: bool) -> Folder:
    """
    A folder of the workspace, reached through no link.

    Raises:
        OSError: There is none, or a link on the way.
    """
    folder = stack.enter_context(Folder.open(workspace.root))
    for part in path.split("/") if path else ():
        folder = stack.enter_context(folder.child(part, create=create))
    return folder


def _copied(folder: Path) -> list[Path]:
    """Logs and collected files below a folder."""
    tops = (folder / "logs", folder / "collected")
    return sorted(one for top in tops for one in top.rglob("*") if one.is_file())


def _remove_abandoned(place: Path, folder: Folder) -> None:
    """Remove the folders of runs that have ended without doing so."""
    for name in folder.names(limit=MAX_NAMES):
        with _held(name, folder) as is_ours:
            if is_ours:
                shutil.rmtree(place / name, ignore_errors=True)


@contextmanager
def _held(name: str, folder: Folder) -> Iterator[bool]:
    """Whether nobody else holds a folder."""
    try:
        handle = os.open(name, _FOLDER, dir_fd=folder.handle)
    except OSError:
        yield False
        return
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield True
    except BlockingIOError:
        yield False
    finally:
        close_quietly(handle)


def _copy(source: Path, target: Path) -> None:
    with source.open("rb") as reading, target.open("xb") as writing:
        shutil.copyfileobj(reading, writing, _PIECE)


def _put_across(source: Path, target: Path, folder: Folder) -> None:
    """The same from one file system to another."""
    if source.is_dir():
        shutil.copytree(source, target)
    else:
        folder.write(target.name, source.read_bytes())


def _measured(place: Path, path: str) -> EvidenceFile:
    hashed, size = sha256(), 0
    with place.open("rb") as file:
        while piece := file.read(_PIECE):
            hashed.update(piece)
            size += len(piece)
    return EvidenceFile(path=path, sha256=hashed.hexdigest(), size=size)
