"""Folders of sandboxes that were killed together with everybody who would have removed them."""

from __future__ import annotations

import os
from typing import Final

from signoff.sandbox.supervisor.contained import end_contained
from signoff.sandbox.supervisor.kinship import can_see, is_alive
from signoff.sandbox.supervisor.removal import remove

__all__ = ["folder_name", "process_space", "remove_abandoned"]

PREFIX: Final = "signoff"
PARTS: Final = 4


def process_space() -> int:
    """What tells process numbers of this machine from equal ones in a container of it."""
    try:
        return os.stat("/proc/self/ns/pid").st_ino
    except OSError:
        return 0


def folder_name(signoff: int, token: str) -> str:
    """
    What the folder of a sandbox is called.

    Args:
        signoff: The process that it belongs to.
        token: What nobody guesses.
    """
    return f"{PREFIX}-{process_space()}-{signoff}-{token}"


def remove_abandoned(parent: str) -> None:
    """Removes folders in a folder that belonged to processes of this user that are no more."""
    if not can_see():
        return
    for name in os.listdir(parent):
        parts = name.split("-")
        if len(parts) != PARTS or not parts[2].isdecimal():
            continue
        ours = name == folder_name(int(parts[2]), parts[3])
        path = f"{parent}/{name}"
        if ours and not is_alive(int(parts[2])) and os.lstat(path).st_uid == os.geteuid():
            end_contained(path)
            remove(path)
