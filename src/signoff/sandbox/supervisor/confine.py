"""The levels of isolation as they take part in starting a command."""

from __future__ import annotations

import os
from typing import Any, Final

from signoff.sandbox.supervisor import kernel, landlock
from signoff.sandbox.supervisor.kinship import Process
from signoff.sandbox.supervisor.launch import Free, Launch, NotStarted
from signoff.sandbox.supervisor.stage import Stage, can_be_lower
from signoff.sandbox.supervisor.warm import Warm
from signoff.sandbox.supervisor.whereabouts import find_program

__all__ = ["confinement"]

INNER_TEMPORARY: Final = b"/tmp"
INNER_HOME: Final = b"/tmp/home"
SIGNAL_BASE: Final = 128
LAST_SIGNAL: Final = 64
# What a version of Landlock brought, and what holds before it.
LATER: Final = (
    (2, "Landlock cannot allow moving files between folders (Linux 5.19 can)"),
    (3, "Landlock does not keep files outside from being cut short (Linux 6.2 does)"),
    (6, "Landlock does not keep signals from other processes (Linux 6.12 does)"),
)
UNFILTERED: Final = "there is no filter for system calls on this kind of processor"


def confinement(plan: dict[str, Any]) -> Free:
    """What a plan asks for."""
    match plan["level"]:
        case "L3":
            return Wrapped(plan)
        case "L2":
            return Restricted(plan)
        case _:
            return Warm() if plan.get("warm") else Free()


class Restricted(Free):
    """Landlock, a filter for system calls, and none of root's privileges."""

    def __init__(self, plan: dict[str, Any]) -> None:
        self.plan = plan

    def prepare(self, launch: Launch) -> None:
        """Says what the Landlock of this kernel cannot do."""
        version = kernel.landlock_version()
        launch.missing += [text for first, text in LATER if version < first]
        if not self.plan["filter"]:
            launch.missing.append(UNFILTERED)

    def enter(self, launch: Launch) -> None:
        """Restricts the child; it can still execute what it may read."""
        private = [launch.home, launch.temporary, launch.workspace or launch.home]
        try:
            self._restrict([*private, *self.plan["writable"]])
        except OSError as exc:
            raise NotStarted("broken", str(exc.strerror)) from exc

    def _restrict(self, writable: list[str]) -> None:
        kernel.keep_privileges_fixed()
        landlock.restrict(
            readable=self.plan["readable"],
            writable=writable,
            devices=self.plan["devices"],
            network=self.plan["network"],
        )
        kernel.drop_capabilities()
        if self.plan["filter"]:
            kernel.filter_calls(self.plan["filter"])


class Wrapped(Free):
    """Bubblewrap, in a mount namespace of the guardian's own that lays files over the workspace."""

    changes_guardian = True

    def __init__(self, plan: dict[str, Any]) -> None:
        self.plan = plan
        self.stage: Stage | None = None
        self.status = self.writer = -1

    def prepare(self, launch: Launch) -> None:
        """Lays the workspace out, where the machine can do this without copying it."""
        self.status, self.writer = os.pipe()
        os.set_blocking(self.status, False)
        launch.pass_handles.append(self.writer)
        if self.plan["namespace"]:
            self._set_stage(launch)
        if not self.plan["filter"]:
            launch.missing.append(UNFILTERED)
        os.mkdir(f"{launch.temporary}/home", 0o700)

    def _set_stage(self, launch: Launch) -> None:
        workspace: str = "" if launch.workspace else self.plan["workspace"] or ""
        lays_over = workspace and can_be_lower(workspace)
        self.stage = Stage(launch.folder, self.plan["disk_bytes"])
        self.stage.enter((launch.home, launch.temporary))
        if lays_over:
            launch.workspace = self.stage.lay_over(workspace)
            launch.hand_back = self.stage.handle
        if workspace and not launch.workspace:
            self.stage.leave()  # a copy can be large

    def enter(self, launch: Launch) -> None:
        """Bubblewrap is what the child executes, and the command is what bubblewrap executes."""
        find_program(launch, self.plan["workspace"])
        options = [*map(os.fsencode, self.plan["options"]), *self._places(launch)]
        for name, value in _environment(launch).items():
            options += [b"--setenv", name, value]
        if self.plan["filter"]:
            options += [b"--seccomp", _number(_handle("filter", self.plan["filter"]))]
        options += [b"--json-status-fd", _number(self.writer)]
        told = _handle("options", b"".join(option + b"\0" for option in options))
        program = os.fsencode(self.plan["bubblewrap"])
        launch.argv = [program, b"--args", _number(told), b"--", *launch.argv]
        launch.env = {}

    def _places(self, launch: Launch) -> list[bytes]:
        """Options that show the command its own folders; later ones lie over earlier ones."""
        plan = self.plan
        options = [b"--bind", os.fsencode(launch.temporary), INNER_TEMPORARY]
        # its home is seen in /tmp from inside, so that this folder is free
        options += [b"--bind", os.fsencode(launch.home), b"/dev/shm"]
        for path in map(os.fsencode, plan["readable"]):
            options += [b"--ro-bind-try", path, path]
        inner = b""
        for place in map(os.fsencode, plan["places"]):
            inner = inner or place
            options += [b"--bind", os.fsencode(launch.workspace or ""), place]
        for path in map(os.fsencode, plan["writable"]):
            options += [b"--bind", path, path]
        options += [b"--remount-ro", b"/dev", b"--remount-ro", b"/"]
        return [*options, b"--chdir", self._inner_cwd(launch, inner)]

    def _inner_cwd(self, launch: Launch, inner: bytes) -> bytes:
        if launch.workspace is None:
            return INNER_HOME
        below = os.path.relpath(launch.cwd, os.path.realpath(launch.workspace))
        return inner if below == "." else inner + b"/" + os.fsencode(below)

    def is_own(self, process: Process) -> bool:
        """True of the first process of the namespace, which adopts what is left in it."""
        return process.parent == os.getpid()

    def ended(self, launch: Launch, facts: dict[str, Any]) -> dict[str, Any]:  # noqa: ARG002  the hook's signature
        """How the command itself has ended, from what bubblewrap made of it."""
        if self.stage and self.stage.is_full:
            return {"ended": "disk_limit", "reason": "it wrote as much as it may"}
        if facts["ended"] != "exited":
            return facts
        if not self._was_executed():
            reason = "bubblewrap could not start the program; it says why on standard error"
            return {"ended": "broken", "reason": reason}
        number = facts["exit_code"] - SIGNAL_BASE
        if 0 < number <= LAST_SIGNAL:  # bubblewrap tells of signals like a shell
            return {"ended": "signaled", "signal": number}
        return facts

    def _was_executed(self) -> bool:
        """Bubblewrap reports an exit code of a program only, before it ends itself."""
        try:
            return b'"exit-code"' in os.read(self.status, 65_536)
        except BlockingIOError:
            return False


def _environment(launch: Launch) -> dict[bytes, bytes]:
    """The variables, with the private folders named as they are seen from inside."""
    env = dict(launch.env)
    for name, outer, inner in (
        (b"HOME", launch.home, INNER_HOME),
        (b"TMPDIR", launch.temporary, INNER_TEMPORARY),
    ):
        if env.get(name) == os.fsencode(outer):
            env[name] = inner
    return env


def _handle(name: str, data: bytes) -> int:
    """A handle that the next program inherits, from which these bytes are read."""
    handle = os.memfd_create(name, 0)
    os.write(handle, data)
    os.lseek(handle, 0, os.SEEK_SET)
    return handle


def _number(handle: int) -> bytes:
    return b"%d" % handle
