"""
The entries of a repository's index: what is staged.

Nothing else of it is looked at: what it says of the files on disk, and which of them
need not be looked at, is written by whoever wrote the files.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from signoff.errors import NotJudged
from signoff.git.objects import FOLDER, Entry, Objects, plain_mode
from signoff.model import inconclusive
from signoff.status import Cause

__all__ = ["staged"]

_HEAD: Final = 12
_STAT: Final = 40
_EXTENDED: Final = 0x4000
_LENGTH: Final = 0x0FFF


def staged(data: bytes | None, objects: Objects) -> Iterator[tuple[bytes, Entry]]:
    """
    Each path and what is staged there; several entries for a path that is in conflict.

    Args:
        data: The bytes of the index; None for an empty one.
        objects: Where the trees are that stand for a folder in a sparse index.

    Raises:
        NotJudged: It is no index, or a part of another.
    """
    if data is None:
        return
    length = 20 if objects.hashing == "sha1" else 32
    try:
        entries, end = _entries(data, length)
        _require_whole(data[end : len(data) - length])
    except (IndexError, ValueError) as exc:
        detail = f"The index cannot be read: {exc}"
        raise NotJudged(inconclusive(detail, Cause.EVIDENCE_UNREACHABLE)) from None
    for path, entry in entries:
        if entry.mode == FOLDER:
            below = objects.files(entry.id).items()
            yield from ((path.rstrip(b"/") + b"/" + name, inner) for name, inner in below)
        else:
            yield path, entry


def _entries(data: bytes, length: int) -> tuple[list[tuple[bytes, Entry]], int]:
    """The entries, and where what follows them begins."""
    version = int.from_bytes(data[4:8])
    if data[:4] != b"DIRC" or version not in {2, 3, 4} or len(data) < _HEAD + length:
        raise ValueError("it has an unknown form")
    found: list[tuple[bytes, Entry]] = []
    at, path = _HEAD, b""
    for _ in range(int.from_bytes(data[8:12])):
        start, flags_at = at, at + _STAT + length
        flags = int.from_bytes(data[flags_at : flags_at + 2])
        at = flags_at + (4 if flags & _EXTENDED and version > 2 else 2)
        if version == 4:
            cut, at = _varint(data, at)
            if cut > len(path):
                raise ValueError("a path is shorter than nothing")
            end = data.index(b"\0", at)
            path = path[: len(path) - cut] + data[at:end]
            at = end + 1
        else:
            end = data.index(b"\0", at)
            path = data[at:end]
            at = start + ((end - start) // 8 + 1) * 8
        if flags & _LENGTH != min(len(path), _LENGTH):
            raise ValueError("a path has another length than it says")
        mode = int.from_bytes(data[start + 24 : start + 28])
        found.append((path, Entry(plain_mode(mode), data[start + _STAT : flags_at].hex())))
    if at > len(data) - length:
        raise ValueError("it ends early")
    return found, at


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """A number of as many bytes as it needs, as packs and indexes write offsets."""
    value = data[at] & 0x7F
    while data[at] & 0x80:
        at += 1
        value = ((value + 1) << 7) | (data[at] & 0x7F)
        if value > 2**31:
            raise ValueError("a number is too large")
    return value, at + 1


def _require_whole(extensions: bytes) -> None:
    """Refuse an index that lists only what differs from another file."""
    at = 0
    while at + 8 <= len(extensions):
        if extensions[at : at + 4] == b"link":
            raise ValueError("it is split; run git update-index --no-split-index")
        at += 8 + int.from_bytes(extensions[at + 4 : at + 8])
