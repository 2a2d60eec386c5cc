"""The sandbox: runs commands, each contained, limited, and ended with all that it started."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterable, Iterator
from copy import copy
from threading import Lock, get_ident
from types import TracebackType
from typing import Any, Final, Self, get_args

from msgspec.structs import replace

from signoff.model import Isolation
from signoff.sandbox.command import Command, Completed, Ended, Limits
from signoff.sandbox.confinement import Confinement
from signoff.sandbox.environment import check, environment, search_path
from signoff.sandbox.folders import Folders
from signoff.sandbox.keeper import Keeper, KeeperBroken
from signoff.sandbox.levels import LevelReport, Levels, Undecided, Way
from signoff.sandbox.running import Running, signal_name
from signoff.sandbox.supervisor.abandoned import folder_name
from signoff.sandbox.supervisor.contained import end_contained
from signoff.sandbox.supervisor.removal import remove

__all__ = ["Sandbox"]

LEVELS: Final[tuple[Isolation, ...]] = get_args(Isolation)
WARM: Final = Way(
    level="L1", missing=("a warm process is trusted with the tests: nothing above L1 was tried",)
)


class Sandbox:
    """
    Runs commands; safe to use from many threads at once.

    Nothing is started before the first command is.  ``close`` it, or use it in a ``with``:
    whatever runs is ended, and all that is temporary is removed.

    Args:
        level: The level of isolation to use; None for the highest that this machine gives.
        min_isolation: The lowest that will do; below it nothing is run.
        readable: Absolute paths, beyond the system's, that commands may read and run.
        pass_env: Names of variables of signoff's own environment that commands get.
        limits: Highest limits; those of a command cannot exceed them, save that of its time.
        warm: Commands that say what to preload are forked from a process that has, which
            is fast, and no more than L1; not where more is required.

    Raises:
        ValueError: There is no such level.
    """

    def __init__(
        self,
        *,
        level: Isolation | None = None,
        min_isolation: Isolation = "L1",
        readable: Iterable[str] = (),
        pass_env: Iterable[str] = (),
        limits: Limits | None = None,
        warm: bool = False,
    ) -> None:
        for name, value in (("level", level or "L1"), ("min_isolation", min_isolation)):
            if value not in LEVELS:
                raise ValueError(f"{name} must be L1, L2 or L3, got {value!r}")
        self._level = level
        self._warm = warm
        self._min_isolation: Isolation = min_isolation
        self._readable = tuple(readable)
        self._pass_env = tuple(pass_env)
        self._limits = limits
        self._house = _House()
        search = search_path(os.environ.get("PATH", os.defpath))
        self._confinement = Confinement(self._readable, search, os.environ.get("HOME", ""))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, at: TracebackType | None
    ) -> None:
        self.close()

    @property
    def scratch(self) -> str:
        """Folder for temporary files, removed with the sandbox, also when it is killed."""
        keeper = self._here().keeper()
        keeper.wait_until_ready()
        return keeper.folder

    @property
    def limits(self) -> Limits:
        """What a command may use up where nobody says otherwise."""
        return self._limits or Limits()

    def cancel(self, thread: int) -> None:
        """End the command that a thread waits for, if any; ``threading.get_ident`` names it."""
        self._house.cancel(thread)

    def requiring(self, level: Isolation) -> Sandbox:
        """The same sandbox, refusing to run anything below a level."""
        other = copy(self)
        other._min_isolation = max(self._min_isolation, level, key=LEVELS.index)  # noqa: SLF001 - a copy of this
        return other

    def close(self) -> None:
        """Ends whatever runs, and removes all that is temporary; more than once does nothing."""
        self._house.close()

    def run(self, command: Command) -> Completed:
        """
        Run a command to its end; never raises for what the command does.

        Raises:
            ValueError: It cannot be a command: no program, a NUL character, a relative path.
        """
        check(command)
        if self._may_be_warm(command):
            return self._run(self._limited(command), WARM)
        levels = self._levels()
        try:
            way = levels.highest(self._level)
        except Undecided as exc:
            return exc.completed
        got = way.level if way else "L0"
        if way is None or LEVELS.index(got) < LEVELS.index(self._min_isolation):
            wanted = max(self._level or "L1", self._min_isolation, key=LEVELS.index)
            reason = levels.refusal(wanted, got)
            return Completed(ended=Ended.ISOLATION_UNAVAILABLE, reason=reason)
        return self._run(self._limited(command), way)

    def survey(self) -> tuple[LevelReport, ...]:
        """The levels that this machine gives, the highest first, each by running something."""
        return self._levels().survey()

    def _may_be_warm(self, command: Command) -> bool:
        levels = {self._level, self._min_isolation}
        return self._warm and bool(command.preload) and levels <= {None, "L0", "L1"}

    def _limited(self, command: Command) -> Command:
        if self._limits is None:
            return command
        return replace(command, limits=_lowest(command.limits, self._limits))

    def _levels(self) -> Levels:
        return self._here().levels(self._run, self._confinement.bubblewrap)

    def _run(self, command: Command, way: Way) -> Completed:
        house = self._here()
        try:
            keeper = house.warm_keeper(command) if way is WARM else house.keeper()
            if way is WARM:
                keeper.wait_until_ready()  # the time of the command begins after that
            folder = house.folders.take(keeper.folder)
            request = self._request(command, folder)
            request["confine"] = self._confinement.plan(way, command, keeper)
            request["confine"]["warm"] = way is WARM
            running = Running(keeper, request, command.stdin, command.limits)
            with house.registered(running):
                return _completed(running, command, way, lambda: house.folders.give_back(folder))
        except KeeperBroken as exc:
            return Completed(ended=Ended.BROKEN, reason=str(exc), passing=True)
        except OSError as exc:
            reason = f"cannot run a command: {exc.strerror}"
            return Completed(ended=Ended.BROKEN, reason=reason, passing=True)

    def _here(self) -> _House:
        """What runs the commands of this process; a fork of signoff gets its own."""
        if self._house.pid != os.getpid():
            self._house = _House()
        return self._house

    def _request(self, command: Command, folder: str) -> dict[str, Any]:
        env = environment(command, os.environ, self._pass_env, folder)
        limits = command.limits
        return {
            "argv": [os.fsencode(argument) for argument in command.argv],
            "env": {os.fsencode(name): os.fsencode(value) for name, value in env.items()},
            "search": [os.fsencode(place) for place in search_path(env["PATH"])],
            "cwd": command.cwd,
            "folder": folder,
            "workspace": command.workspace,
            "live": command.live,
            "writable": list(command.writable),
            "timeout_s": limits.timeout_s,
            "limits": {
                "memory_bytes": limits.memory_bytes,
                "processes": limits.processes,
                "file_bytes": limits.file_bytes,
                "disk_bytes": limits.disk_bytes,
                "open_files": limits.open_files,
            },
        }


class _House:
    """The keeper and the running commands of one process."""

    def __init__(self) -> None:
        self.pid = os.getpid()
        self._lock = Lock()
        self._keeper: Keeper | None = None
        self._warm = dict[tuple[str, str], Keeper]()
        self._found: Levels | None = None
        self._running = dict[Running, int]()
        self._closed = False
        self._abandoned = list[str]()
        self.folders = Folders()

    def keeper(self) -> Keeper:
        """The keeper, started when it is first asked for, and anew when it has ended."""
        with self._lock:
            if self._closed:
                raise KeeperBroken("the sandbox is closed")
            if self._keeper is not None and self._keeper.has_ended():
                self._keeper.let_go()
                self._abandoned.append(self._keeper.folder)
                self._keeper = None
            if self._keeper is None:
                self._keeper = Keeper(_new_folder())
            return self._keeper

    def warm_keeper(self, command: Command) -> Keeper:
        """The keeper that has preloaded what a command says, in the Python that runs it."""
        python = command.argv[0]
        with self._lock:
            if self._closed:
                raise KeeperBroken("the sandbox is closed")
            found = self._warm.get((python, command.preload))
            if found is not None and found.has_ended():
                found.let_go()
                self._abandoned.append(found.folder)
                found = None
            if found is None:
                found = Keeper(_new_folder(), python=python, preload=command.preload)
                self._warm[python, command.preload] = found
            return found

    def levels(self, run: Callable[[Command, Way], Completed], bubblewrap: str | None) -> Levels:
        """The levels of isolation, found out once."""
        with self._lock:
            if self._found is None:
                self._found = Levels(run, bubblewrap)
            return self._found

    def registered(self, running: Running) -> _Registered:
        """A ``with`` during which closing the sandbox cancels the command."""
        return _Registered(self, running)

    def add(self, running: Running) -> None:
        """One more that is to be cancelled."""
        with self._lock:
            if self._closed:
                raise KeeperBroken("the sandbox is closed")
            self._running[running] = get_ident()

    def remove(self, running: Running) -> None:
        """One that has ended."""
        with self._lock:
            self._running.pop(running, None)

    def cancel(self, thread: int) -> None:
        """Cancels what a thread waits for."""
        with self._lock:
            running = [one for one, waiting in self._running.items() if waiting == thread]
        for one in running:
            one.cancel()

    def close(self) -> None:
        """Cancels whatever runs and ends the keeper."""
        with self._lock:
            self._closed = True
            keepers = [*self._warm.values(), *([self._keeper] if self._keeper else [])]
            self._keeper = None
            self._warm.clear()
            running = [*self._running]
        for one in running:
            one.cancel()
        for keeper in keepers:
            keeper.close()
            self._abandoned.append(keeper.folder)
        for folder in self._abandoned:
            if os.path.exists(folder):  # the keeper has been killed, and maybe guardians too
                end_contained(folder)
                remove(folder)


class _Registered:
    """A command that is cancelled when the sandbox is closed."""

    def __init__(self, house: _House, running: Running) -> None:
        self._house = house
        self._running = running

    def __enter__(self) -> None:
        self._house.add(self._running)

    def __exit__(self, *_: object) -> None:
        self._house.remove(self._running)


def _lowest(limits: Limits, highest: Limits) -> Limits:
    """Each limit, as low as either says; how long a command may take is its own affair."""
    names = [name for name in limits.__struct_fields__ if name != "timeout_s"]
    return replace(
        limits, **{name: min(getattr(limits, name), getattr(highest, name)) for name in names}
    )


def _new_folder() -> str:
    return f"{_temporary_folder()}/{folder_name(os.getpid(), secrets.token_hex(8))}"


def _temporary_folder() -> str:
    for name in ("TMPDIR", "TEMP", "TMP"):
        if os.environ.get(name, "").startswith("/"):
            return os.path.realpath(os.environ[name])
    return os.path.realpath("/tmp")  # noqa: S108 - the folder itself is made with a random name


def _completed(
    running: Running, command: Command, way: Way, give_back: Callable[[], None]
) -> Completed:
    answer, out, err = running.run()
    workspace, release = _left(command, running, give_back)
    started = answer.ended not in {Ended.NOT_FOUND, Ended.DENIED, Ended.CWD_MISSING, Ended.BROKEN}
    return Completed(
        ended=answer.ended,
        exit_code=answer.exit_code,
        signal=None if answer.signal is None else signal_name(answer.signal),
        elapsed_s=answer.elapsed_s,
        stdout=out.captured(),
        stderr=err.captured(),
        left_processes=answer.left,
        isolation=way.level if started else None,
        missing=(*answer.missing, *way.missing, *_weakened(command)),
        reason=answer.reason,
        workspace=workspace,
        release=release,
        passing=answer.passing,
    )


def _left(
    command: Command, running: Running, give_back: Callable[[], None]
) -> tuple[str | None, Callable[[], None] | None]:
    """Where the workspace is as the command left it, and what gives it up."""
    handle = running.handed_back
    if command.workspace is None or command.live:
        give_back()
        return command.workspace, None
    if handle is not None:  # of a file system that nobody else sees
        return f"/proc/self/fd/{handle}", _Release(give_back, handle)
    return f"{running.folder}/workspace", _Release(give_back, None)


class _Release:
    """Gives up a workspace that a command has left, once."""

    def __init__(self, give_back: Callable[[], None], handle: int | None) -> None:
        self._give_back = give_back
        self._handle = handle
        self._done = False

    def __call__(self) -> None:
        if self._done:
            return
        self._done = True
        if self._handle is not None:
            os.close(self._handle)
        self._give_back()


def _weakened(command: Command) -> Iterator[str]:
    """What a command was allowed that takes from what its level says, a sentence each."""
    if command.inherit_env:
        yield "the command was given signoff's environment"
    if command.live:
        yield "the command worked in the workspace itself"
