"""Whether a command stays within its limits of memory, processes and disk."""

from __future__ import annotations

import os
import sys
import time
from typing import Any, Final

from signoff.sandbox.supervisor.cgroup import ControlGroup
from signoff.sandbox.supervisor.kinship import descendants, threads_of_user
from signoff.sandbox.supervisor.launch import Launch
from signoff.sandbox.supervisor.watch import DiskWatch, memory_of

__all__ = ["Usage"]

REST: Final = 10
FINAL_LOOK_S: Final = 0.1


class Usage:
    """
    Sets the limits that the system keeps, and watches the others.

    Args:
        launch: What is about to be started.
        group: Its control group, or one without any hierarchy.
        copied: Bytes of its private workspace at the start.
    """

    def __init__(self, launch: Launch, group: ControlGroup, copied: int) -> None:
        limits: dict[str, Any] = launch.request["limits"]
        self._limits = limits
        self._group = group
        group.limit(limits["memory_bytes"], limits["processes"])
        self._set_others(launch)
        # what signoff is handed back lies in a file system that has its own limit
        folders = [] if launch.hand_back is not None else [launch.home, launch.temporary]
        before: int | None = copied
        if folders and launch.workspace is not None:
            folders.append(launch.workspace)
            before = None if launch.request["live"] else copied
        self._disk = DiskWatch(folders, limits["disk_bytes"], before)
        self._next = 0.0

    def _set_others(self, launch: Launch) -> None:
        limits = self._limits
        if not self._group.limits_memory:
            launch.missing.append("no control group limits memory: it is only looked at, often")
            if not sys.platform.startswith("linux"):
                limits["address_bytes"] = limits["memory_bytes"]
        if not self._group.limits_processes:
            launch.missing.append("no control group limits processes: they are only counted, often")
            if os.geteuid():
                limits["user_processes"] = threads_of_user() + limits["processes"]

    def exceeded(self) -> str:
        """One of ``Ended`` when a limit is exceeded, else nothing; call it often."""
        if self._group.memory_ran_out():
            return "memory_limit"
        if self._disk.exceeded(os.getpid()):
            return "disk_limit"
        if self._group.limits_memory and self._group.limits_processes:
            return ""
        return self._looked_at()

    def finally_exceeded(self) -> str:
        """The same, when the command has ended."""
        if self._group.memory_ran_out():
            return "memory_limit"
        return "disk_limit" if self._disk.finally_exceeded(FINAL_LOOK_S) else ""

    def _looked_at(self) -> str:
        begin = time.monotonic()
        if begin < self._next:
            return ""
        limits, own = self._limits, os.getpid()
        if not self._group.limits_processes and len(descendants(own)) > limits["processes"]:
            return "process_limit"
        memory = limits["memory_bytes"]
        if not self._group.limits_memory and memory_of(own, memory) > memory:
            return "memory_limit"
        self._next = time.monotonic() + REST * (time.monotonic() - begin)
        return ""
