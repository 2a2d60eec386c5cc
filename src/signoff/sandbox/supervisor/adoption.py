"""Keeps descendants from leaving: orphans become children of this process."""

from __future__ import annotations

from ctypes import CDLL
from typing import Final

__all__ = ["adopt_orphans"]

PR_SET_CHILD_SUBREAPER: Final = 36


def adopt_orphans() -> bool:
    """
    From here on descendants whose parent ends become children of this process.

    So nothing can leave: while this process has no children it has no descendants.
    False where the system does not do this.
    """
    try:
        done: int = CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    except (OSError, AttributeError):
        return False  # only Linux has the call
    return done == 0
