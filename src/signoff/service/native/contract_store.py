"""
Locked contracts by digest, in a folder that all workers share.

A file has its contract's digest for a name and is never changed; whoever reads
it computes the digest again, so that a file changed by hand is noticed.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from signoff.canonical import is_digest
from signoff.document.filebytes import read_bytes
from signoff.errors import ContractError, DocumentError, JSONError
from signoff.jsonlimits import MAX_DEPTH, MAX_DIGITS
from signoff.lockfile import encode_lock, read_lock
from signoff.model import LockedContract
from signoff.strictjson import Limits, loads

__all__ = ["ContractDamaged", "ContractStore", "StoreFull", "StoreUnusable"]

MAX_COUNT: Final = 10_000
MAX_BYTES: Final = 256 * 2**20
MAX_FILE_BYTES: Final = 64 * 2**20
LOCK: Final = "lock"
_LIMITS: Final = Limits(max_bytes=MAX_FILE_BYTES, max_depth=MAX_DEPTH, max_digits=MAX_DIGITS)


class StoreFull(Exception):
    """There is no room for another contract."""


class StoreUnusable(Exception):
    """The folder cannot be read or written."""


class ContractDamaged(Exception):
    """A file is not the contract whose digest it has for a name."""


class ContractStore:
    """
    The contracts in a folder.

    Args:
        folder: Where they are; made when the first one is put there.
        max_count: How many there may be.
        max_bytes: How many bytes they may take.
    """

    def __init__(
        self, folder: Path, *, max_count: int = MAX_COUNT, max_bytes: int = MAX_BYTES
    ) -> None:
        self.folder = folder
        self._max_count = max_count
        self._max_bytes = max_bytes

    def put(self, locked: LockedContract) -> tuple[bytes, bool]:
        """
        Keep a contract; it lasts when this returns.

        Returns:
            The lock file that is kept, and whether it is new: of a contract that was there
            already, what it was locked against then.

        Raises:
            StoreFull: There is no room.
            StoreUnusable: It cannot be written.
            ContractDamaged: There is a file of its name that is something else.
        """
        path = self._path(locked.digest)
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with _alone(self.folder / LOCK):
                if path.exists():
                    return encode_lock(self._read(path, locked.digest)), False
                data = encode_lock(locked)
                self._require_room(len(data))
                _write(path, data)
                return data, True
        except OSError as exc:
            raise StoreUnusable(f"contracts cannot be kept: {exc.strerror}") from exc

    def get(self, digest: str) -> LockedContract | None:
        """
        The contract of a digest; None where there is none.

        Raises:
            StoreUnusable: The folder cannot be read.
            ContractDamaged: The file does not hold that contract.
        """
        if not is_digest(digest):
            return None
        path = self._path(digest)
        try:
            return self._read(path, digest) if path.exists() else None
        except OSError as exc:
            raise StoreUnusable(f"contracts cannot be read: {exc.strerror}") from exc

    def require_writable(self) -> None:
        """
        Nothing, if contracts can be kept.

        Raises:
            StoreUnusable: They cannot.
        """
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with _alone(self.folder / LOCK):
                pass
        except OSError as exc:
            raise StoreUnusable(f"contracts cannot be kept: {exc.strerror}") from exc

    def _path(self, digest: str) -> Path:
        return self.folder / f"{digest.removeprefix('sha256:')}.json"

    def _read(self, path: Path, digest: str) -> LockedContract:
        try:
            data = read_bytes(path, max_bytes=MAX_FILE_BYTES)
            locked = read_lock(loads(data, limits=_LIMITS))
        except DocumentError as exc:
            raise StoreUnusable("a contract cannot be read") from exc
        except (ContractError, JSONError) as exc:
            raise ContractDamaged(f"{digest} is damaged where it is kept") from exc
        if locked.digest != digest:
            raise ContractDamaged(f"{digest} is kept as another contract")
        return locked

    def _require_room(self, more: int) -> None:
        with os.scandir(self.folder) as entries:
            sizes = [entry.stat().st_size for entry in entries if entry.name.endswith(".json")]
        if len(sizes) >= self._max_count:
            raise StoreFull(f"{len(sizes)} contracts are kept, and no more can be")
        if sum(sizes) + more > self._max_bytes:
            raise StoreFull(f"contracts take {self._max_bytes} bytes, and no more can be kept")


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Of all processes and threads, one at a time."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _write(path: Path, data: bytes) -> None:
    """The file with these bytes, all of them or none, also when the power fails."""
    draft = path.with_suffix(".part")
    try:
        handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        draft.rename(path)
    except OSError:
        with suppress(OSError):
            draft.unlink()
        raise
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
