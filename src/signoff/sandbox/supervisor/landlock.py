"""What Landlock lets a process and all that it starts do with files, signals and sockets."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from typing import Final

from signoff.sandbox.supervisor import kernel

__all__ = ["FIRST_WITH_SCOPES", "restrict"]

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
TRUNCATE, IOCTL_DEV = 1 << 14, 1 << 15
OF_FILES: Final = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV
READING: Final = EXECUTE | READ_FILE | READ_DIR
# All rights on files that each version of the interface knows, from the first on.
RIGHTS: Final = (0x1FFF, 0x3FFF, 0x7FFF, 0x7FFF, 0xFFFF)
MAKE_CHAR, MAKE_BLOCK = 1 << 6, 1 << 11
BIND_AND_CONNECT_TCP: Final = 0x3
ABSTRACT_SOCKETS_AND_SIGNALS: Final = 0x3
FIRST_WITH_NET, FIRST_WITH_SCOPES = 4, 6


def restrict(
    *, readable: Iterable[str], writable: Iterable[str], devices: Iterable[str], network: bool
) -> None:
    """
    Nothing but these paths can be opened from here on; what is not there is passed over.

    Where the kernel is new enough, no process outside can be signalled, no abstract socket of
    one reached, and no TCP port used unless ``network``.

    Raises:
        OSError: The kernel has no Landlock, or refused.
    """
    version = kernel.landlock_version()
    known = RIGHTS[min(max(version, 1), len(RIGHTS)) - 1]
    net = BIND_AND_CONNECT_TCP if version >= FIRST_WITH_NET and not network else 0
    scoped = ABSTRACT_SOCKETS_AND_SIGNALS if version >= FIRST_WITH_SCOPES else 0
    size = 8 if version < FIRST_WITH_NET else 16 if version < FIRST_WITH_SCOPES else 24
    ruleset = kernel.landlock_ruleset(known, net, scoped, size)
    try:
        _allow(ruleset, readable, READING & known)
        _allow(ruleset, writable, known & ~(MAKE_CHAR | MAKE_BLOCK | IOCTL_DEV))
        _allow(ruleset, devices, (READ_FILE | WRITE_FILE | TRUNCATE) & known)
        kernel.landlock_restrict(ruleset)
    finally:
        os.close(ruleset)


def _allow(ruleset: int, paths: Iterable[str], rights: int) -> None:
    for path in paths:
        try:
            handle = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except OSError:
            continue  # what cannot be reached needs no right
        try:
            is_folder = stat.S_ISDIR(os.fstat(handle).st_mode)
            kernel.landlock_allow(ruleset, handle, rights if is_folder else rights & OF_FILES)
        finally:
            os.close(handle)
