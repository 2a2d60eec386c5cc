"""Where probes look for files: the folder the work was done in, where they may read it."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Final

from signoff.errors import NotJudged
from signoff.model import Subject, inconclusive
from signoff.registry import Powers
from signoff.status import Cause

__all__ = ["NO_FILE", "OPENING", "workspace_of"]

OPENING: Final = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
"""How a file is opened that may be anything: without waiting, and without a terminal."""

NO_FILE: Final = frozenset(
    {
        errno.EINVAL,
        errno.EISDIR,
        errno.ELOOP,
        errno.EMLINK,  # a link, to some systems
        errno.ENAMETOOLONG,
        errno.ENODEV,
        errno.ENOENT,
        errno.ENOTDIR,
        errno.ENXIO,
        errno.EXDEV,
    }
)
"""What the system says of a name under which there is no regular file below the folder."""


def workspace_of(subject: Subject, powers: Powers) -> str:
    """
    The folder of the work, as an absolute path.

    The subject's own, which must be the operator's or lie below it where there is
    one; the operator's for a subject that names none.

    Raises:
        NotJudged: There is no folder, or it may not be read.
    """
    granted = None if powers.workspace is None else os.fspath(powers.workspace)
    named = subject.workspace
    if named is None and granted is None:
        raise NotJudged(inconclusive("No workspace was recorded.", Cause.NOT_RECORDED))
    if named is None or granted is None:
        return _absolute(named if named is not None else granted or "")
    root, place = os.path.realpath(granted), os.path.realpath(named)
    if os.path.commonpath((root, place)) != root:
        detail = "Workspace is outside the folder that probes may read."
        raise NotJudged(inconclusive(detail, Cause.EVIDENCE_DENIED))
    return _absolute(named)


def _absolute(name: str) -> str:
    """The same from the root; what stands before ``..`` may be a link, so that stays."""
    return str(Path(name).absolute())
