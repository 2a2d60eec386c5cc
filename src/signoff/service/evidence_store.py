"""
Our own evidence: kept below the state folder for all workers, and given to whoever asks.

A digest is all that anybody can ask for, so no path reaches the file system.  What
is given was hashed first; what no longer has its digest is not given at all.
Nothing is ever removed to make room: evidence that is gone would count as absent.
"""

from __future__ import annotations

import asyncio
import errno
import fcntl
import os
import re
from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import Final

from signoff.canonical import is_digest
from signoff.errors import EvidenceCorrupt, EvidenceMissing, RunUnwritable, StoreFull
from signoff.evidence import DirectoryStore
from signoff.folder import Folder, is_unfinished
from signoff.model import Evidence
from signoff.service.message import Problem, Request, Response, Route

__all__ = ["OwnEvidence", "evidence_routes"]

MAX_STORE_BYTES: Final = 2**30
MAX_PIECE_BYTES: Final = 8 * 2**20
MAX_MEDIA_TYPE: Final = 127
BINARY: Final = "application/octet-stream"

_BLOCK: Final = 4_096
_DIGITS: Final = 32
_TOKEN: Final = r"[A-Za-z0-9!#$&^_.+-]+"
_MEDIA_TYPE: Final = re.compile(rf"{_TOKEN}/{_TOKEN}(?:; ?{_TOKEN}={_TOKEN})*")
_FULL: Final = (errno.ENOSPC, errno.EDQUOT)


class OwnEvidence:
    """
    Evidence below a folder that processes share; threads may share this object.

    Args:
        state_dir: The folder; what is in it outlasts the processes.
        max_bytes: What may be kept in all, counted in whole blocks as a disk keeps it.
        max_piece: Largest size of one piece.
    """

    def __init__(
        self,
        state_dir: str | os.PathLike[str],
        *,
        max_bytes: int = MAX_STORE_BYTES,
        max_piece: int = MAX_PIECE_BYTES,
    ) -> None:
        self._folder = Path(state_dir) / "evidence"
        self._store = DirectoryStore(self._folder / "bytes", max_bytes=max_piece)
        self._max_bytes = max_bytes
        self._max_piece = max_piece
        self._count = Lock()
        self._is_counted = False

    def put(self, data: bytes, *, media_type: str = BINARY) -> Evidence:
        """
        Keep bytes; they last when this returns, and bytes that are kept already cost nothing.

        Args:
            data: What is kept.
            media_type: What it is given out as; the first one stays, and one that no header
                can carry is that of any bytes.

        Raises:
            StoreFull: There is no room for them.
            ValueError: They are more than one piece may have.
            RunUnwritable: They cannot be written.
        """
        if len(data) > self._max_piece:
            raise ValueError(f"evidence is larger than {self._max_piece} bytes")
        name = sha256(data).hexdigest()
        try:
            with self._locked() as handle:
                if not self._is_kept(f"sha256:{name}"):
                    self._add(handle, name, data, media_type)
        except (OSError, RunUnwritable) as exc:
            cause = exc if isinstance(exc, OSError) else exc.__cause__
            if isinstance(cause, OSError) and cause.errno in _FULL:
                raise StoreFull("the disk that keeps evidence is full") from exc
            if isinstance(exc, OSError):
                raise RunUnwritable(f"evidence cannot be written: {exc.strerror}") from exc
            raise
        digest = f"sha256:{name}"
        return Evidence(digest=digest, size=len(data), media_type=self.media_type(digest))

    def require_room(self, size: int) -> None:
        """
        Make sure that a piece of this size could be kept now.

        Raises:
            StoreFull: It could not.
            OSError: The folder cannot be used.
        """
        with self._locked() as handle:
            self._require(_used(handle), _cost(size))

    def read(self, digest: str) -> bytes:
        """
        The bytes of a digest, which they have.

        Raises:
            EvidenceMissing: There are none.
            EvidenceCorrupt: What is kept has another digest.
        """
        return self._store.read(digest)

    def media_type(self, digest: str) -> str:
        """What the bytes of a digest are given out as."""
        try:
            with Folder.open(self._folder / "types") as folder:
                text = folder.read(digest.removeprefix("sha256:"), max_bytes=MAX_MEDIA_TYPE)
        except OSError:
            return BINARY
        return _sendable(text.decode("ascii", "replace"))

    def _is_kept(self, digest: str) -> bool:
        try:
            self._store.read(digest)
        except (EvidenceMissing, EvidenceCorrupt):
            return False
        return True

    def _add(self, handle: int, name: str, data: bytes, media_type: str) -> None:
        used, cost = _used(handle), _cost(len(data))
        self._require(used, cost)
        # Counted before it is there: whoever dies in between has too much counted, not too little.
        _count(handle, used + cost)
        done = False
        try:
            with Folder.open(self._folder / "types", create=True) as types:
                types.write(name, _sendable(media_type).encode())
                types.sync()
            self._store.put(data)
            done = True
        finally:
            if not done:
                _count(handle, used)

    def _require(self, used: int, cost: int) -> None:
        if used + cost > self._max_bytes:
            raise StoreFull(
                f"evidence takes {used} of {self._max_bytes} bytes, {cost} more do not fit"
            )

    @contextmanager
    def _locked(self) -> Iterator[int]:
        """The file that says how much is used, which one thread of one process holds at a time."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        handle = os.open(self._folder / "used", flags, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            with self._count:
                # Anew when this process begins, and when somebody removed or spoiled the file.
                if not (self._is_counted and _is_number(handle)):
                    _count(handle, self._measured())
                    self._is_counted = True
            yield handle
        finally:
            os.close(handle)

    def _measured(self) -> int:
        """What is used; what nobody finished writing is removed, for nobody is writing now."""
        total = 0
        for name in ("bytes", "types"):
            path = self._folder / name
            if not path.is_dir():
                continue
            with os.scandir(path) as entries:
                for entry in entries:
                    if is_unfinished(entry.name):
                        Path(entry.path).unlink(missing_ok=True)
                    elif name == "bytes":
                        total += _cost(entry.stat(follow_symlinks=False).st_size)
        return total


def evidence_routes(store: OwnEvidence, *, threads: Executor | None = None) -> tuple[Route, ...]:
    """
    What gives out our own evidence to anybody who knows its digest.

    Args:
        store: Where it is.
        threads: Where it is read; None for the loop's own.
    """

    async def give(request: Request) -> Response:
        hexadecimal = request.params["digest"].removeprefix("sha256:")
        digest = f"sha256:{hexadecimal}"
        if not is_digest(digest):
            raise _absent()
        loop = asyncio.get_running_loop()
        try:
            data = await loop.run_in_executor(threads, store.read, digest)
            media_type = await loop.run_in_executor(threads, store.media_type, digest)
        except EvidenceMissing as exc:
            raise _absent() from exc
        except EvidenceCorrupt as exc:
            request.notes["evidence_damaged"] = digest
            raise Problem(500, "internal", "the stored evidence is damaged") from exc
        headers = (
            ("ETag", f'"{hexadecimal}"'),
            ("Cache-Control", "public, max-age=31536000, immutable"),
            ("X-Content-Type-Options", "nosniff"),
            ("Content-Disposition", "attachment"),
        )
        return Response(200, data, media_type, headers)

    return (Route(method="GET", path="/evidence/{digest}", handler=give, token=False, json=False),)


def _absent() -> Problem:
    return Problem(404, "not_found", "there is no such evidence")


def _sendable(media_type: str) -> str:
    fits = len(media_type) <= MAX_MEDIA_TYPE and _MEDIA_TYPE.fullmatch(media_type)
    return media_type if fits else BINARY


def _cost(size: int) -> int:
    """What a piece takes: whole blocks, and one for its media type."""
    return (-(-size // _BLOCK) + 1) * _BLOCK


def _is_number(handle: int) -> bool:
    text = os.pread(handle, _DIGITS + 1, 0)
    return len(text) == _DIGITS and text.isdigit()


def _used(handle: int) -> int:
    return int(os.pread(handle, _DIGITS, 0))


def _count(handle: int, used: int) -> None:
    os.ftruncate(handle, _DIGITS)
    os.pwrite(handle, b"%0*d" % (_DIGITS, used), 0)
