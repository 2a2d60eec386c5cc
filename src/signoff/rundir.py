"""
A run on disk: claimed, written, committed by its verdict, and read back.

``verdict.json`` is removed before anything else is done and written after
everything else lasts.  A folder that is left at any instant therefore reads as a
failure, unless the verdict was committed.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import Final, Self

from msgspec import UNSET, MsgspecError

from signoff.canonical import canonical_bytes
from signoff.errors import RunUnreadable, RunUnwritable
from signoff.evidence import DirectoryStore
from signoff.folder import Folder, close_quietly, is_unfinished, reason
from signoff.jsonvalue import shown
from signoff.model import LockedContract, Report, Subject
from signoff.record import (
    FORMAT,
    MAX_FILE_BYTES,
    MAX_OUTPUT_BYTES,
    Recorded,
    VerdictFile,
    assess,
    compose,
    encode_verdict,
)
from signoff.strictjson import Limits

__all__ = ["EVIDENCE", "Run", "RunDirectory", "begin_run", "read_run"]

VERDICT: Final = "verdict.json"
EVIDENCE: Final = "evidence"
# Says that the folder is ours to clear, and is what a writer holds; always empty.
# A run without it still reads: copies often leave hidden files behind.
MARK: Final = ".signoff-run"
OUTPUTS: Final = ("output.json", "output.txt")
MAX_BYTES: Final = {
    "contract.json": MAX_FILE_BYTES,
    "output.json": MAX_OUTPUT_BYTES,
    "output.txt": MAX_OUTPUT_BYTES,
    "facts.json": MAX_FILE_BYTES,
    "report.json": MAX_FILE_BYTES,
}
MAX_NAMES: Final = 64
_DEFAULT: Final = Limits()
_MARK_FLAGS: Final = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class Run(Recorded, frozen=True, kw_only=True):
    """A whole run that was read back, with the folder it was read from."""

    folder: Path


class RunDirectory:
    """
    A claimed run directory that holds no verdict yet; a context manager.

    Leaving the ``with`` without ``commit`` leaves a folder that reads as a failure.

    Args:
        path: Where it is.
        folder: The same, open.
        mark: Handle of the locked mark.
    """

    def __init__(self, path: Path, folder: Folder, mark: int) -> None:
        self._path = path
        self._folder = folder
        self._mark = mark
        self.store = DirectoryStore(EVIDENCE, within=folder)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.abandon()

    def abandon(self) -> None:
        """End the claim; a run that was not committed stays without verdict."""
        mark, self._mark = self._mark, -1
        if mark >= 0:
            _release(mark)
            self._folder.close()

    def commit(
        self,
        locked: LockedContract,
        report: Report,
        subject: Subject,
        *,
        output: bytes | None = None,
        text: bool = False,
        limits: Limits = _DEFAULT,
    ) -> VerdictFile:
        """
        Write the run, and its verdict last; it lasts when this returns, and the claim ends.

        What would not read back is not written: everything is assessed first.

        Args:
            locked: The contract.
            report: What was found out.
            subject: What was judged; its facts are recorded.
            output: The output as received; the canonical bytes of the subject's when None.
            text: The output is plain text, not JSON.
            limits: How the output was read.

        Raises:
            RunUnwritable: It cannot be written or would not read back; no verdict is left.
        """
        if self._mark < 0:
            raise RunUnwritable(f"{self._name}: the run has ended")
        done = False
        try:
            files = _files(locked, report, subject, output, text=text, limits=limits)
            verdict = self._assessed(files)
            for name, data in files.items():
                self._folder.write(name, data)
            self._folder.sync()
            self._require_claim()
            self._folder.write(VERDICT, encode_verdict(verdict))
            self._folder.sync()
            done = True
            return verdict
        except OSError as exc:
            raise RunUnwritable(f"{self._name}: {reason(exc)}") from exc
        except (ValueError, TypeError, RecursionError, MsgspecError) as exc:
            raise RunUnwritable(f"{self._name}: {shown(str(exc))}") from exc
        finally:
            self._end(done=done)

    @property
    def _name(self) -> str:
        return shown(str(self._path))

    def _assessed(self, files: dict[str, bytes]) -> VerdictFile:
        for name, data in files.items():
            if len(data) > MAX_BYTES[name]:
                raise ValueError(f"{name} is larger than {MAX_BYTES[name]} bytes")
        evidence, problems = self.store.listing()
        if problems:
            raise ValueError("; ".join(problems))
        try:
            return assess(files, evidence).verdict
        except RunUnreadable as exc:
            raise ValueError(str(exc)) from exc

    def _require_claim(self) -> None:
        """The folder and the mark are still those that were claimed."""
        if not self._folder.is_at(self._path) or not _is_mark(self._folder, self._mark):
            raise OSError(errno.ESTALE, "was moved or taken by another run meanwhile")

    def _end(self, *, done: bool) -> None:
        try:
            if not done:
                self._folder.remove(VERDICT)
                self._folder.sync()
        except OSError:
            # The caller is told of the first error; nothing more can be done on this disk.
            return
        finally:
            self.abandon()


def begin_run(folder: str | os.PathLike[str]) -> RunDirectory:
    """
    Claim a folder for a run: made if need be, an older verdict removed, then the rest of it.

    Raises:
        RunUnwritable: It is a link or no folder, holds what no run has written, is in
            use by another run, or cannot be written.
    """
    path = Path(folder)
    name = shown(str(path))
    try:
        opened = Folder.open(path, create=True)
    except OSError as exc:
        raise RunUnwritable(f"{name}: {reason(exc)}") from exc
    mark = -1
    claimed = False
    try:
        _require_ours(opened)
        mark = _locked_mark(opened)
        _require_ours(opened)
        _clear(opened)
        claimed = True
        return RunDirectory(path.absolute(), opened, mark)
    except OSError as exc:
        raise RunUnwritable(f"{name}: {reason(exc)}") from exc
    finally:
        if not claimed:
            opened.close()
            if mark >= 0:
                _release(mark)


def read_run(folder: str | os.PathLike[str], *, max_output_bytes: int = MAX_OUTPUT_BYTES) -> Run:
    """
    The run in a folder, if everything in it agrees with everything else.

    Args:
        folder: Where it is.
        max_output_bytes: Largest output that is read, whatever limits the run recorded.

    Raises:
        RunUnreadable: With every problem that was found; then it proves nothing.
    """
    path = Path(folder)
    try:
        with Folder.open(path) as opened:
            recorded = _read(opened, max_output_bytes)
    except OSError as exc:
        raise RunUnreadable((f"{shown(str(path))}: {reason(exc)}",)) from exc
    fields = {name: getattr(recorded, name) for name in Recorded.__struct_fields__}
    return Run(folder=path, **fields)


def _read(folder: Folder, max_output_bytes: int) -> Recorded:
    names = folder.names(limit=MAX_NAMES)
    if VERDICT not in names:
        raise RunUnreadable((f"{VERDICT}: is missing, so no verdict was committed",))
    problems = [f"{shown(name)}: is no part of a run" for name in names if not _is_known(name)]
    verdict = _content(folder, VERDICT, MAX_FILE_BYTES, problems)
    if MARK in names:
        _content(folder, MARK, 0, problems)
    files = {
        name: _content(
            folder, name, min(cap, max_output_bytes) if name in OUTPUTS else cap, problems
        )
        for name, cap in MAX_BYTES.items()
        if name in names
    }
    evidence, faults = DirectoryStore(EVIDENCE, within=folder).listing()
    problems += faults
    if problems:
        raise RunUnreadable(tuple(problems))
    return assess(files, evidence, verdict)


def _content(folder: Folder, name: str, cap: int, problems: list[str]) -> bytes:
    try:
        return folder.read(name, max_bytes=cap)
    except OSError as exc:
        problems.append(f"{name}: {reason(exc)}")
        return b""


def _files(
    locked: LockedContract,
    report: Report,
    subject: Subject,
    output: bytes | None,
    *,
    text: bool,
    limits: Limits,
) -> dict[str, bytes]:
    if output is None and subject.output_fault is not None:
        raise ValueError("the output is not JSON, and its bytes were not given")
    if output is None and subject.output is not UNSET:
        output, text = canonical_bytes(subject.output), False
    return compose(locked, report, subject, output=output, text=text, limits=limits)


def _is_known(name: str) -> bool:
    return name in MAX_BYTES or name in {VERDICT, EVIDENCE, MARK}


def _require_ours(folder: Folder) -> None:
    """Nothing is in the folder that a run has not written, so that it may be cleared."""
    names = folder.names(limit=MAX_NAMES)
    for name in names:
        if not _is_known(name) and not is_unfinished(name):
            raise OSError(errno.ENOTEMPTY, f'holds "{shown(name)}", which is no part of a run')
        if name != EVIDENCE and not stat.S_ISREG(folder.mode(name)):
            raise OSError(errno.ENOTEMPTY, f"holds {shown(name)}, which is not a regular file")
    for name in DirectoryStore(EVIDENCE, within=folder).strays():
        raise OSError(errno.ENOTEMPTY, f'holds "evidence/{shown(name)}", which is no evidence')
    if names and MARK not in names and not _is_verdict(folder, names):
        raise OSError(errno.ENOTEMPTY, "is not empty and is no run directory")


def _is_verdict(folder: Folder, names: list[str]) -> bool:
    """There is a verdict of a run: a copy that lost its mark is ours all the same."""
    if VERDICT not in names:
        return False
    start = b'{\n  "format": "' + FORMAT.encode() + b'"'
    return folder.read(VERDICT, max_bytes=MAX_FILE_BYTES).startswith(start)


def _locked_mark(folder: Folder) -> int:
    mark = os.open(MARK, _MARK_FLAGS, 0o666, dir_fd=folder.handle)
    held = False
    try:
        if not _is_held(folder, mark):
            raise OSError(errno.EBUSY, "is in use by another run")
        folder.sync()
        held = True
        return mark
    finally:
        if not held:
            close_quietly(mark)


def _is_held(folder: Folder, mark: int) -> bool:
    """The mark is locked by us, and it is still the one in the folder."""
    try:
        fcntl.flock(mark, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return _is_mark(folder, mark)


def _release(mark: int) -> None:
    # Closing alone would not do where a child process has inherited the handle.
    with suppress(OSError):
        fcntl.flock(mark, fcntl.LOCK_UN)
    close_quietly(mark)


def _is_mark(folder: Folder, mark: int) -> bool:
    try:
        there = os.stat(MARK, dir_fd=folder.handle, follow_symlinks=False)
    except OSError:
        return False
    return stat.S_ISREG(there.st_mode) and os.path.samestat(there, os.fstat(mark))


def _clear(folder: Folder) -> None:
    """Remove an older run, its verdict first: without it the rest proves nothing."""
    folder.remove(VERDICT)
    folder.sync()
    for name in folder.names(limit=MAX_NAMES):
        if name not in {EVIDENCE, MARK}:
            folder.remove(name)
    DirectoryStore(EVIDENCE, within=folder).clear()
    folder.sync()
