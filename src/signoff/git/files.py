"""Files of a repository's own folder, read without waiting for what is no file."""

from __future__ import annotations

import os
import stat
from typing import Final

from signoff.errors import NotJudged
from signoff.jsonvalue import shown
from signoff.model import inconclusive
from signoff.status import Cause

__all__ = ["OPENING", "file_bytes", "unreadable"]

OPENING: Final = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY | os.O_NOFOLLOW


def file_bytes(path: str, most: int) -> bytes | None:
    """
    The bytes of a regular file; None when there is none of that name.

    Raises:
        NotJudged: It cannot be read, is no regular file, or is larger than ``most``.
    """
    try:
        handle = os.open(path, OPENING & ~os.O_NOFOLLOW)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as exc:
        raise unreadable(path) from exc
    try:
        facts = os.fstat(handle)
        if stat.S_ISDIR(facts.st_mode):
            return None
        if not stat.S_ISREG(facts.st_mode):
            raise unreadable(path)
        return _all_of(handle, most, path)
    except OSError as exc:
        raise unreadable(path) from exc
    finally:
        os.close(handle)


def unreadable(path: str) -> NotJudged:
    """A file of the repository's own cannot be read; its folder is nobody's business."""
    detail = f"Repository cannot be read: {shown(os.path.basename(path))}"  # noqa: PTH119  a text
    return NotJudged(inconclusive(detail, Cause.EVIDENCE_UNREACHABLE))


def _all_of(handle: int, most: int, path: str) -> bytes:
    data = bytearray()
    while piece := os.read(handle, 2**20):
        data += piece
        if len(data) > most:
            raise unreadable(path)
    return bytes(data)
