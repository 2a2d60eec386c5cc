"""
Evidence: bytes kept by their digest, in memory or in a folder.

What is read is what was put: the bytes are hashed again at every read, from the
handle they are read from.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import BinaryIO, Final, Protocol

from signoff.canonical import is_digest
from signoff.errors import EvidenceCorrupt, EvidenceMissing, RunUnwritable
from signoff.folder import Folder, Unfinished, is_unfinished, reason
from signoff.jsonvalue import shown
from signoff.model import Evidence

__all__ = ["MAX_EVIDENCE_BYTES", "DirectoryStore", "EvidenceStore", "MemoryStore"]

MAX_EVIDENCE_BYTES: Final = 2**30
MAX_FILES: Final = 100_000
_PIECE: Final = 2**20
_BINARY: Final = "application/octet-stream"


class EvidenceStore(Protocol):
    """Where evidence is kept and found by its digest."""

    def put(self, data: bytes | BinaryIO, *, media_type: str = _BINARY, name: str = "") -> Evidence:
        """Keep bytes, or all that a stream holds; the answer says how to find them."""
        ...

    def read(self, digest: str) -> bytes:
        """The bytes of a digest; ``EvidenceMissing`` or ``EvidenceCorrupt``."""
        ...

    def has(self, digest: str) -> bool:
        """Bytes are kept under that digest, whether or not they still have it."""
        ...


class MemoryStore:
    """Evidence that lasts as long as this object."""

    def __init__(self, *, max_bytes: int = MAX_EVIDENCE_BYTES) -> None:
        self._kept: dict[str, bytes] = {}
        self._max_bytes = max_bytes

    def put(self, data: bytes | BinaryIO, *, media_type: str = _BINARY, name: str = "") -> Evidence:
        """
        Keep bytes, or all that a stream holds.

        Raises:
            ValueError: There are more than the store's ``max_bytes``.
        """
        whole = b"".join(_pieces(data, self._max_bytes))
        digest = f"sha256:{sha256(whole).hexdigest()}"
        self._kept[digest] = whole
        return Evidence(digest=digest, size=len(whole), media_type=media_type, name=name)

    def read(self, digest: str) -> bytes:
        """
        The bytes of a digest.

        Raises:
            EvidenceMissing: There are none.
        """
        _require_digest(digest)
        if digest not in self._kept:
            raise EvidenceMissing(f"no evidence {digest}")
        return self._kept[digest]

    def has(self, digest: str) -> bool:
        """Bytes are kept under that digest."""
        return digest in self._kept


class DirectoryStore:
    """
    Evidence in a folder, one file for each digest, named by its 64 hex digits.

    Args:
        folder: The folder; made when the first evidence is put.
        within: An open folder that holds it, ``folder`` then being its bare name.
        max_bytes: Largest size of one piece of evidence.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        *,
        within: Folder | None = None,
        max_bytes: int = MAX_EVIDENCE_BYTES,
    ) -> None:
        self._path = os.fspath(folder)
        self._within = within
        self._max_bytes = max_bytes

    def put(self, data: bytes | BinaryIO, *, media_type: str = _BINARY, name: str = "") -> Evidence:
        """
        Keep bytes, or all that a stream holds; they last when this returns.

        Raises:
            ValueError: There are more than the store's ``max_bytes``.
            RunUnwritable: They cannot be written; nothing is left of them.
        """
        size, hashed = 0, sha256()
        try:
            with self._open(create=True) as folder, Unfinished(folder) as file:
                for piece in _pieces(data, self._max_bytes):
                    file.write(piece)
                    hashed.update(piece)
                    size += len(piece)
                file.keep(hashed.hexdigest())
                folder.sync()
        except OSError as exc:
            raise RunUnwritable(f"{shown(self._path)}: {reason(exc)}") from exc
        digest = f"sha256:{hashed.hexdigest()}"
        return Evidence(digest=digest, size=size, media_type=media_type, name=name)

    def read(self, digest: str) -> bytes:
        """
        The bytes of a digest, which they have.

        Raises:
            EvidenceMissing: There is no such file, or it may not be read.
            EvidenceCorrupt: The file is none of ours or has another digest.
        """
        name = _require_digest(digest)
        try:
            with self._open() as folder:
                data = folder.read(name, max_bytes=self._max_bytes)
        except (FileNotFoundError, PermissionError) as exc:
            raise EvidenceMissing(f"no evidence {digest} ({reason(exc)})") from exc
        except OSError as exc:
            raise EvidenceCorrupt(f"evidence {digest} {reason(exc)}") from exc
        found = f"sha256:{sha256(data).hexdigest()}"
        if found != digest:
            raise EvidenceCorrupt(f"evidence {digest} has the digest {found}", found=found)
        return data

    def has(self, digest: str) -> bool:
        """Something is kept under that digest; ``read`` says whether it still has it."""
        if not is_digest(digest):
            return False
        try:
            with self._open() as folder:
                folder.mode(_name(digest))
        except OSError:
            return False
        return True

    def listing(self) -> tuple[Mapping[str, int], tuple[str, ...]]:
        """
        Size by digest of all that is kept, each hashed anew; and what is wrong in the folder.

        Never raises for what the folder holds: no folder is no evidence.
        """
        kept: dict[str, int] = {}
        problems: list[str] = []
        try:
            with self._open() as folder:
                for name in folder.names(limit=MAX_FILES):
                    problem = self._measure(folder, name, kept)
                    if problem:
                        problems.append(f"evidence/{shown(name)}: {problem}")
        except FileNotFoundError:
            return {}, ()
        except OSError as exc:
            return {}, (f"evidence: {reason(exc)}",)
        return kept, tuple(problems)

    def strays(self) -> list[str]:
        """
        Names in the folder under which this store never writes.

        Raises:
            OSError: It is no folder, or cannot be read.
        """
        try:
            with self._open() as folder:
                names = folder.names(limit=MAX_FILES)
                return [name for name in names if not _is_ours(folder, name)]
        except FileNotFoundError:
            return []

    def clear(self) -> None:
        """
        Remove everything that this store wrote, unfinished files too.

        Raises:
            OSError: Something cannot be removed.
        """
        try:
            with self._open() as folder:
                for name in folder.names(limit=MAX_FILES):
                    if _is_ours(folder, name):
                        folder.remove(name)
                folder.sync()
        except FileNotFoundError:
            return

    def _measure(self, folder: Folder, name: str, kept: dict[str, int]) -> str:
        digest = f"sha256:{name}"
        if not is_digest(digest):
            return "is no evidence"
        try:
            found, size = folder.measure(name, max_bytes=self._max_bytes)
        except OSError as exc:
            return reason(exc)
        kept[found] = size
        return "" if found == digest else f"has the digest {found}"

    def _open(self, *, create: bool = False) -> Folder:
        if self._within is None:
            return Folder.open(self._path, create=create)
        return self._within.child(self._path, create=create)


def _is_ours(folder: Folder, name: str) -> bool:
    named = is_digest(f"sha256:{name}") or is_unfinished(name)
    return named and stat.S_ISREG(folder.mode(name))


def _pieces(data: bytes | BinaryIO, max_bytes: int) -> Iterator[bytes]:
    left = max_bytes
    for piece in [data] if isinstance(data, bytes) else iter(lambda: data.read(_PIECE), b""):
        left -= len(piece)
        if left < 0:
            raise ValueError(f"evidence is larger than {max_bytes} bytes")
        yield piece


def _require_digest(digest: str) -> str:
    if not is_digest(digest):
        raise EvidenceMissing(f"{shown(str(digest))} is no digest")
    return _name(digest)


def _name(digest: str) -> str:
    return digest.removeprefix("sha256:")
