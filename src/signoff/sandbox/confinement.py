"""What a guardian is told about the isolation of one command."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import Any, Final

from signoff.sandbox import seccomp, system
from signoff.sandbox.bubblewrap import find_bubblewrap, options
from signoff.sandbox.command import Command
from signoff.sandbox.keeper import Keeper
from signoff.sandbox.levels import Way
from signoff.sandbox.programs import Reach, is_in

__all__ = ["Confinement"]

MAX_REACHES: Final = 64


class Confinement:
    """
    Makes plans for the commands of one sandbox.

    Args:
        readable: Absolute paths, beyond the system's, that every command may read and run.
        search: Folders of the operator's search path.
        home: The operator's home folder.
    """

    def __init__(self, readable: Iterable[str], search: Sequence[str], home: str) -> None:
        self._readable = tuple(readable)
        self._search = tuple(search)
        self._home = home
        self._lock = Lock()
        self._reaches = dict[str | None, Reach]()
        self.bubblewrap = find_bubblewrap([*self._search])

    def plan(self, way: Way, command: Command, keeper: Keeper) -> dict[str, Any]:
        """
        What the guardian acts on.

        Raises:
            KeeperBroken: There is no folder for temporary files.
        """
        if way.level == "L3":
            keeper.wait_until_ready()
            return self._wrapped(command, keeper.folder, namespace=way.namespace)
        if way.level == "L2":
            return self._restricted(command)
        return {"level": "L1"}

    def _wrapped(self, command: Command, folder: str, *, namespace: bool) -> dict[str, Any]:
        settings = self._settings(f"{folder}/etc", command)
        readable = self._reachable(command)
        readable += [str(path) for path in system.name_service()] if command.network else []
        workspace = command.workspace and os.path.realpath(command.workspace)
        places = dict.fromkeys(place for place in (workspace, command.workspace) if place)
        return {
            "level": "L3",
            "namespace": namespace,
            "bubblewrap": self.bubblewrap or "bwrap",
            "options": options(settings, network=command.network),
            "filter": _filter(sockets=True, contained=True),
            "readable": readable,
            "writable": _there(command.writable),
            "workspace": workspace,
            "places": [*places],
            "disk_bytes": command.limits.disk_bytes,
        }

    def _restricted(self, command: Command) -> dict[str, Any]:
        readable = [*system.FOLDERS, system.CPUS, "/proc", *map(str, system.settings())]
        readable += map(str, system.name_service()) if command.network else []
        return {
            "level": "L2",
            "filter": _filter(sockets=command.network, contained=False),
            "readable": readable + self._reachable(command),
            "writable": _there(command.writable),
            "devices": [*system.DEVICES],
            "network": command.network,
        }

    def _settings(self, folder: str, command: Command) -> str:
        """The folder that stands for ``/etc``, copied when it is first wanted."""
        named = (Path(path) for path in (*self._readable, *command.readable, *command.writable))
        with self._lock:
            if not os.path.exists(folder):
                system.copy_settings(Path(folder))
            system.make_places(
                Path(folder), (path for path in named if path.is_relative_to("/etc"))
            )
        return folder

    def _reachable(self, command: Command) -> list[str]:
        """Folders beyond the system's that are read, none of them in another."""
        reach = self._reach(command.workspace)
        cwd = command.workspace and f"{command.workspace}/{command.cwd}"
        found = {*self._readable, *command.readable}
        found |= {*reach.everywhere, *reach.of(command.argv[0], cwd)}
        covers = [*system.FOLDERS, *([command.workspace] if command.workspace else [])]
        kept = list[str]()
        for path in sorted(found, key=lambda path: (path.count("/"), path)):
            covered = any(is_in(path, cover) for cover in (*covers, *kept))
            if not covered and os.access(path, os.R_OK):
                kept.append(path)
        return kept

    def _reach(self, workspace: str | None) -> Reach:
        """What programs need besides a workspace, found out once for each."""
        with self._lock:
            if workspace not in self._reaches:
                if len(self._reaches) >= MAX_REACHES:
                    self._reaches.clear()
                self._reaches[workspace] = Reach(self._search, self._home, workspace)
            return self._reaches[workspace]


def _there(paths: Iterable[str]) -> list[str]:
    return [path for path in paths if os.path.exists(path)]


@lru_cache(maxsize=4)
def _filter(*, sockets: bool, contained: bool) -> bytes | None:
    return seccomp.program(sockets=sockets, debugging=contained, others=contained)
