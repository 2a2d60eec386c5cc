"""The guardian of one command: starts it, watches it, and ends it with all that it started."""

from __future__ import annotations

import errno
import os
import select
import signal
import time
from _socket import MSG_DONTWAIT, socket
from collections.abc import Callable
from typing import Any, Final

from signoff.sandbox.supervisor.adoption import adopt_orphans
from signoff.sandbox.supervisor.child import become
from signoff.sandbox.supervisor.confine import confinement
from signoff.sandbox.supervisor.copying import Copied, TooMuch, copy_tree
from signoff.sandbox.supervisor.kinship import descendants, end_all, reap
from signoff.sandbox.supervisor.launch import Free, Launch, NotStarted
from signoff.sandbox.supervisor.removal import remove
from signoff.sandbox.supervisor.wire import Gone, answer, read_request, send_handles

__all__ = ["guard"]

HIGHEST_HANDLE: Final = 2**20
TICK_S: Final = 0.05
"""How often the command is looked at while nothing is heard of it."""
GRACE_S: Final = 0.1
"""What a process may take to notice that its parent has ended, before it counts as left."""
KILL_S: Final = 0.35
"""How long killing may take before signoff is told that something could not be killed."""
PERSISTENCE_S: Final = 10.0

ENDINGS: Final = {b"o": "output_limit", b"c": "cancelled", b"": "cancelled"}
"""What signoff says to end a command; closing its side is a way of saying so too."""


class Over(Exception):
    """The command is to be ended now; the message is one of ``Ended``."""


def guard(handles: list[int], keeper: int) -> None:
    """
    Runs the one command that signoff asks for on a channel, and ends.

    Args:
        handles: The channel, then standard input, output and error of the command.
        keeper: Process that forked this one.
    """
    _let_go(handles)
    os.setsid()
    adopt_orphans()
    channel = socket(fileno=handles[0])
    try:
        request = read_request(channel)
    except (Gone, OSError):
        return
    guardian = Guardian(channel, (handles[1], handles[2], handles[3]), request)
    try:
        facts = guardian.run()
        send_handles(channel, answer(facts), guardian.handed_back())
        channel.close()
    except OSError:
        pass  # signoff is gone; what is left to do is to clean up
    finally:
        guardian.clean_up()
        # a keeper that the command has stopped would never notice that signoff is gone
        _send_signal(keeper, signal.SIGCONT)
    os._exit(0)


def _let_go(handles: list[int]) -> None:
    """Closes what belongs to the keeper and to other commands."""
    os.dup2(1, 0, inheritable=False)
    start = 3
    for handle in sorted(handles):
        os.closerange(start, handle)
        start = handle + 1
    os.closerange(start, HIGHEST_HANDLE)


class Guardian:
    """One command from its start to its end."""

    def __init__(
        self, channel: socket, handles: tuple[int, int, int], request: dict[str, Any]
    ) -> None:
        self.channel = channel
        self.handles = handles
        self.request = request
        self.launch = Launch(request)
        self.confinement: Free = confinement(request["confine"])
        self.begin = time.monotonic()
        timeout_s: float | None = request["timeout_s"]
        self.deadline = None if timeout_s is None else self.begin + timeout_s
        self.child = 0
        self.status: int | None = None
        self.facts: dict[str, Any] = {"ended": "broken", "reason": "the guardian gave up"}

    def run(self) -> dict[str, Any]:
        """How the command ended; by then none of its processes runs."""
        try:
            self.prepare()
            self.start()
            self.wait()
        except Over as exc:
            self.facts = {"ended": str(exc), "reason": self.why(str(exc))}
        except NotStarted as exc:
            self.facts = {"ended": exc.ended, "reason": exc.reason}
        except TooMuch as exc:
            self.facts = {"ended": "disk_limit", "reason": f"the workspace cannot be copied: {exc}"}
        except OSError as exc:
            reason = f"cannot prepare the command: {exc.strerror}: {exc.filename or ''}"
            self.facts = {"ended": "broken", "reason": reason}
        self.end()
        self.facts["elapsed_s"] = time.monotonic() - self.begin
        self.facts["missing"] = self.launch.missing
        return self.facts

    # -- before --

    def prepare(self) -> None:
        """Makes the command's folders and its workspace."""
        os.mkdir(self.launch.folder, 0o700)
        os.mkdir(self.launch.home, 0o700)
        os.mkdir(self.launch.temporary, 0o700)
        workspace: str | None = self.request["workspace"]
        if workspace is not None and self.request["live"]:
            self.launch.workspace = workspace
        self.confinement.prepare(self.launch)
        if workspace is not None and self.launch.workspace is None:
            self.copy_workspace(workspace)
        self.launch.cwd = self.place()

    def copy_workspace(self, workspace: str) -> None:
        """Makes the private copy in which the command works."""
        target = f"{self.launch.folder}/workspace"
        copied = Copied(self.heed, self.request["limits"]["disk_bytes"])
        try:
            copy_tree(workspace, target, copied)
        except FileNotFoundError as exc:
            if exc.filename != workspace:
                raise
            raise NotStarted("cwd_missing", f"there is no workspace {workspace!r}") from exc
        self.launch.workspace = target
        self.launch.missing += copied.missing()

    def place(self) -> str:
        """The folder to start in, which must lie in the workspace, also when links are followed."""
        root, cwd = self.launch.workspace, str(self.request["cwd"])
        if root is None:
            if cwd:
                raise NotStarted("cwd_missing", f"there is no folder {cwd!r} without a workspace")
            return self.launch.cwd
        found, root = os.path.realpath(f"{root}/{cwd}"), os.path.realpath(root)
        if cwd.startswith("/") or os.path.commonpath((root, found)) != root:
            raise NotStarted("cwd_missing", f"folder {cwd!r} is outside the workspace")
        if not os.path.isdir(found):
            raise NotStarted("cwd_missing", f"there is no folder {cwd!r} in the workspace")
        return found

    # -- start --

    def start(self) -> None:
        """Forks the child, which becomes the command; returns when it has."""
        report, writer = os.pipe()
        self.child = os.fork()
        if not self.child:
            become(self.launch, self.confinement, self.handles, [], writer)
        os.close(writer)
        # the command alone holds them from here on
        for handle in {*self.handles}:
            os.close(handle)
        failure = self.hear(report)
        os.close(report)
        if failure:
            raise self.not_started(failure)
        self.confinement.started(self.launch, self.child)

    def hear(self, report: int) -> bytes:
        """What the child says before it becomes the command; nothing when all is well."""
        said = b""
        while True:
            if self.listen(report):
                part = os.read(report, 4_096)
                if not part:
                    return said
                said += part
            self.heed()

    def not_started(self, failure: bytes) -> NotStarted:
        """What kept a program from being executed."""
        word, _, reason = failure.decode("utf-8", "replace").partition(" ")
        if not word.isdecimal():
            return NotStarted(word, reason)
        program = os.fsdecode(self.launch.argv[0])
        match int(word):
            case errno.ENOENT | errno.ENOTDIR | errno.ENAMETOOLONG | errno.ELOOP:
                place = f"{self.launch.cwd}/{program}" if "/" in program else ""
                if place and os.path.exists(place):
                    return NotStarted("not_found", f"the interpreter of {program!r} is missing")
                return NotStarted("not_found", f"there is no program {program!r}")
            case errno.EACCES | errno.EPERM | errno.EISDIR:
                return NotStarted("denied", f"program {program!r} may not be executed")
            case errno.ENOEXEC:
                return NotStarted("denied", f"{program!r} is in no format that can be executed")
            case errno.E2BIG:
                return NotStarted("denied", "the arguments and the environment are too long")
            case number:
                return NotStarted("broken", f"cannot start {program!r}: {os.strerror(number)}")

    # -- while it runs --

    def wait(self) -> None:
        """Until the command has ended by itself."""
        exits = _exit_handle(self.child)
        try:
            while self.status is None:
                self.listen(exits)
                reap(self.note)
                if self.status is None:
                    self.heed()
        finally:
            if exits is not None:
                os.close(exits)

    def listen(self, handle: int | None) -> bool:
        """True when a handle can be read; returns at the next tick at the latest."""
        poll = select.poll()
        poll.register(self.channel.fileno(), select.POLLIN)
        if handle is not None:
            poll.register(handle, select.POLLIN)
        wait_s = TICK_S if handle is not None or not self.child else TICK_S / 10
        if self.deadline is not None:
            wait_s = min(wait_s, max(0.0, self.deadline - time.monotonic()))
        ready = poll.poll(wait_s * 1_000 + 0.5)
        return any(which == handle for which, _ in ready)

    def heed(self) -> None:
        """Raises when the time is up or signoff wants the command to end."""
        try:
            raise Over(ENDINGS.get(self.channel.recv(1, MSG_DONTWAIT), "cancelled"))
        except BlockingIOError:
            pass
        except ConnectionError:
            raise Over("cancelled") from None
        if self.deadline is not None and time.monotonic() >= self.deadline:
            raise Over("timed_out")

    def why(self, ended: str) -> str:
        """What a person must know besides the word for it."""
        if ended == "timed_out" and not self.child:
            return "the time was up before the command could be started"
        return ""

    def note(self, pid: int, status: int) -> None:
        """A child has ended, by birth or adopted."""
        if pid == self.child and self.status is None:
            self.status = status

    # -- the end --

    def end(self) -> None:
        """Ends all that is left, and says how the command itself has ended."""
        if self.status is not None:
            self.facts = self.confinement.ended(self.launch, _exit_facts(self.status))
            self.facts["left"] = self.left()
        if not end_all(self.note, time.monotonic() + KILL_S):
            self.facts = {"ended": "broken", "reason": "processes of the command cannot be killed"}
        self.confinement.finish(self.launch)

    def left(self) -> int:
        """How many processes are still there a little after the command itself has ended."""
        until = time.monotonic() + GRACE_S
        if self.deadline is not None:
            until = min(until, self.deadline)
        wait = 0.001
        while reap(self.note):
            if time.monotonic() >= until:
                return sum(process.runs for process in descendants(os.getpid()))
            time.sleep(wait)
            wait = min(wait * 2, 0.01)
        return 0

    def handed_back(self) -> list[int]:
        """The handle that signoff gets, if there is one."""
        return [] if self.launch.hand_back is None else [self.launch.hand_back]

    def clean_up(self) -> None:
        """Removes the folders of the command, save the workspace, which signoff still reads."""
        end_all(self.note, time.monotonic() + PERSISTENCE_S)
        remove(self.launch.home)
        remove(self.launch.temporary)


def _exit_facts(status: int) -> dict[str, Any]:
    code = os.waitstatus_to_exitcode(status)
    if code >= 0:
        return {"ended": "exited", "exit_code": code}
    if -code == signal.SIGXFSZ:
        return {"ended": "disk_limit", "reason": "a file grew beyond what a file may hold"}
    return {"ended": "signaled", "signal": -code}


def _exit_handle(pid: int) -> int | None:
    """A handle that can be read when a child has ended; None where there are none."""
    opened: Callable[[int], int] | None = getattr(os, "pidfd_open", None)
    if opened is None:
        return None
    try:
        return opened(pid)
    except OSError:
        return None


def _send_signal(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except OSError:
        return
