"""Control groups: what bounds and counts all processes of a command, whichever version there is."""

from __future__ import annotations

import os
import signal
import time
from typing import Final, NamedTuple

from signoff.sandbox.supervisor.abandoned import process_space
from signoff.sandbox.supervisor.kinship import can_go_on, is_alive

__all__ = ["ControlGroup", "Place", "end_abandoned", "group_name", "places"]

PREFIX: Final = "signoff"
CONTROLLERS: Final = ("memory", "pids")
LIMITS: Final = {
    ("memory", 1): ("memory.limit_in_bytes", "memory.memsw.limit_in_bytes"),
    ("memory", 2): ("memory.max",),
    ("pids", 1): ("pids.max",),
    ("pids", 2): ("pids.max",),
}
ROUNDS: Final = 100
STEP_S: Final = 0.002
DEATHS: Final = {1: "memory.oom_control", 2: "memory.events"}


class Place(NamedTuple):
    """
    A folder of control groups in which others can be made.

    Args:
        path: The folder.
        version: 1 or 2.
        controllers: What groups in it can limit.
    """

    path: str
    version: int
    controllers: frozenset[str]


def places() -> list[Place]:
    """Where groups can be made by this process; empty where there are none, or none to write."""
    found = list[Place]()
    own = _own_groups()
    for mount, version, options in _mounts():
        if version == 1:
            controllers = options & {*CONTROLLERS}
            paths = [f"{mount}{own[name]}" for name in controllers if name in own]
            # in a container the path may be that outside
            paths += [mount] if controllers else []
        else:
            path = f"{mount}{own.get('', '/')}"
            # with processes of its own in it, a group may give nothing on to groups inside
            controllers, paths = frozenset(), [os.path.dirname(path.rstrip("/")), path, mount]
        for path in paths:
            given = controllers if version == 1 else _given_on(path)
            if path.startswith(mount) and _can_hold(path):
                found.append(Place(path.rstrip("/"), version, frozenset(given)))
                break
    bounding = [place for place in found if place.controllers]
    return bounding or found


class ControlGroup:
    """
    The group of one command, or several where each controller has its own.

    Args:
        where: Places to make it in; those that refuse are left out.
        name: Unlike any other's.
    """

    def __init__(self, where: list[Place], name: str) -> None:
        self._groups = [(place, f"{place.path}/{name}") for place in where]
        self._deaths: int | None = None
        self.limits_memory = False
        self.limits_processes = False

    def make(self) -> None:
        """Makes it, and moves this process into it, so that all it starts begin there."""
        entered = list[tuple[Place, str]]()
        for place, path in self._groups:
            try:
                os.mkdir(path, 0o755)
                _write(f"{path}/cgroup.procs", "0")
            except OSError:
                _remove(path)
            else:
                entered.append((place, path))
        self._groups = entered

    def limit(self, memory_bytes: int, processes: int) -> None:
        """Sets what all together may use; this process counts among them until it leaves."""
        self._close_deaths()
        self.limits_memory = self._limit("memory", memory_bytes)
        self.limits_processes = self._limit("pids", processes + 1)
        for place, path in self._groups:
            if "memory" in place.controllers and self.limits_memory:
                self._deaths = _opened(f"{path}/{DEATHS[place.version]}")

    def _limit(self, controller: str, limit: int) -> bool:
        done = False
        for place, path in self._groups:
            if controller in place.controllers:
                main, *more = LIMITS[controller, place.version]
                # before and after, as the one may never be lower than the other
                for name in more:
                    _written(f"{path}/{name}", str(limit))
                done = _written(f"{path}/{main}", str(limit)) or done
                for name in more:
                    _written(f"{path}/{name}", str(limit))
        return done

    @property
    def is_used_again(self) -> bool:
        """True when it has both limits and neither was exceeded: another command can have it."""
        return self.limits_memory and self.limits_processes and not self.memory_ran_out()

    def memory_ran_out(self) -> bool:
        """True once the system has killed one of its processes for want of memory."""
        if self._deaths is None:
            return False
        for line in os.pread(self._deaths, 4_096, 0).splitlines():
            if line.startswith(b"oom_kill "):
                return int(line.split()[1]) > 0
        return False

    def _close_deaths(self) -> None:
        if self._deaths is not None:
            os.close(self._deaths)
            self._deaths = None

    def leave(self) -> None:
        """Moves this process out again."""
        for place, path in self._groups:
            self._leave(place, path)

    def _leave(self, place: Place, path: str) -> None:
        if os.getpid() in _members(path):
            _written(f"{place.path}/cgroup.procs", "0")

    def kill(self) -> None:
        """Kills all that are in it, save this process; nothing in it can fork from then on."""
        for place, path in self._groups:
            if "pids" in place.controllers:
                _written(f"{path}/pids.max", "0")
        for place, path in self._groups:
            if place.version == 2:
                self._leave(place, path)
                if os.getpid() not in _members(path) and _written(f"{path}/cgroup.kill", "1"):
                    continue
            for pid in _members(path):
                if pid != os.getpid():
                    _kill(pid)

    def remove(self) -> bool:
        """Removes it; False while something is still in it."""
        self._close_deaths()
        self.leave()
        for _, path in self._groups:
            _remove(path)
        return not any(os.path.exists(path) for _, path in self._groups)


def group_name(keeper: int, guardian: int) -> str:
    """What the control group of a guardian is called."""
    return f"{PREFIX}-{process_space()}-{keeper}-{guardian}"


def end_abandoned(where: list[Place], given_up: int = 0) -> None:
    """
    Kills what is in groups whose keeper is gone and whose guardian is too, or was stopped.

    The groups are removed as well.

    Args:
        where: Places in which to look.
        given_up: A keeper that was killed; its guardians are killed in their groups.
    """
    for place in where:
        for name in _names(place.path):
            *_, keeper, guardian = f"--{name}".split("-")
            made_here = keeper.isdecimal() and guardian.isdecimal()
            if not made_here or name != group_name(int(keeper), int(guardian)):
                continue
            given = int(keeper) == given_up
            if given or not (is_alive(int(keeper)) or can_go_on(int(guardian))):
                group = ControlGroup([place], name)
                for _ in range(ROUNDS):
                    group.kill()
                    if group.remove():
                        break
                    time.sleep(STEP_S)


def _own_groups() -> dict[str, str]:
    """The group of this process by controller; that of version 2 by the empty name."""
    own = dict[str, str]()
    for line in _read("/proc/self/cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        own |= dict.fromkeys(controllers.split(","), path)
    return own


def _mounts() -> list[tuple[str, int, frozenset[str]]]:
    """Where the hierarchies are mounted, their version, and the options, which name controllers."""
    found = list[tuple[str, int, frozenset[str]]]()
    for line in _read("/proc/self/mounts").splitlines():
        _, mount, kind, options, *_ = line.split(" ")
        if kind in {"cgroup", "cgroup2"}:
            found.append((mount, 2 if kind == "cgroup2" else 1, frozenset(options.split(","))))
    return found


def _given_on(path: str) -> set[str]:
    return {*_read(f"{path}/cgroup.subtree_control").split()} & {*CONTROLLERS}


def _can_hold(path: str) -> bool:
    return os.access(path, os.W_OK) and os.access(f"{path}/cgroup.procs", os.W_OK)


def _members(path: str) -> list[int]:
    return [int(pid) for pid in _read(f"{path}/cgroup.procs").split()]


def _names(path: str) -> list[str]:
    try:
        return os.listdir(path)
    except OSError:
        return []


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            return file.read()
    except OSError:
        return ""


def _opened(path: str) -> int | None:
    try:
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None


def _written(path: str, text: str) -> bool:
    try:
        _write(path, text)
    except OSError:
        return False
    return True


def _write(path: str, text: str) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(handle, text.encode())
    finally:
        os.close(handle)


def _remove(path: str) -> None:
    try:
        os.rmdir(path)
    except OSError:
        return


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except OSError:
        return
