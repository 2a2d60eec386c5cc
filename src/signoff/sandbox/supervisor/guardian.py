"""The guardian of one command: starts it, watches it, and ends it with all that it started."""

from __future__ import annotations

import errno
import os
import select
import signal
import time
from _socket import MSG_DONTWAIT, MSG_NOSIGNAL, socket
from collections.abc import Callable
from typing import Any, Final

from signoff.sandbox.supervisor.adoption import adopt_orphans
from signoff.sandbox.supervisor.cgroup import ControlGroup, Place, group_name
from signoff.sandbox.supervisor.child import become
from signoff.sandbox.supervisor.confine import confinement
from signoff.sandbox.supervisor.copying import TooMuch
from signoff.sandbox.supervisor.kinship import descendants, end_all, reap
from signoff.sandbox.supervisor.launch import Free, Launch, NotStarted
from signoff.sandbox.supervisor.preparation import copy_workspace, make_folders, place_of
from signoff.sandbox.supervisor.removal import remove
from signoff.sandbox.supervisor.standing import be_first
from signoff.sandbox.supervisor.usage import Usage
from signoff.sandbox.supervisor.wire import (
    Gone,
    answer,
    read_request,
    receive_handles,
    send_handles,
)

__all__ = ["HANDLES", "guard"]

HANDLES: Final = 4
"""What a guardian is given: the channel, then standard input, output and error."""
HIGHEST_HANDLE: Final = 2**20
TICK_S: Final = 0.05
"""How often the command is looked at while nothing is heard of it."""
GRACE_S: Final = 0.1
"""What a process may take to notice that its parent has ended, before it counts as left."""
KILL_S: Final = 0.35
"""How long killing may take before signoff is told that something could not be killed."""
PERSISTENCE_S: Final = 10.0

PASSING: Final = {errno.EAGAIN, errno.EMFILE, errno.ENFILE, errno.ENOMEM}
"""Errors for want of something that there may be more of in a moment."""

ENDINGS: Final = {b"o": "output_limit", b"": "cancelled"}
"""What signoff says to end a command; closing its side is a way of saying so too."""


class Over(Exception):
    """The command is to be ended now; the message is one of ``Ended``."""


def guard(link: int, keeper: int, where: list[Place]) -> None:
    """
    Makes itself ready, waits for a command that it is to run, and runs it, again and again.

    It ends after a command that leaves anything of itself in here, or leaves more than it may.

    Args:
        link: Handle of a socket from the keeper, on which it is given what it needs.
        keeper: Process that forked this one.
        where: Places for control groups.
    """
    _let_go([link])
    os.setsid()
    adopt_orphans()
    group = ControlGroup(where, group_name(keeper, os.getpid()))
    # entering takes many milliseconds, so this is done before anybody waits
    group.make()
    talk = socket(fileno=link)
    before = os.getpriority(os.PRIO_PROCESS, 0), ""
    begun = False
    try:
        while handles := _given(talk):
            before, begun = (before if begun else be_first()), True
            again = _serve(handles, group, before)
            # a keeper that the command has stopped would never notice that signoff is gone
            _send_signal(keeper, signal.SIGCONT)
            if not again:
                return
            talk.send(b"=", MSG_NOSIGNAL)
    except OSError:
        return  # the keeper is gone
    finally:
        if os.getppid() != keeper:
            group.remove()  # else the keeper does: leaving it by ending is what takes no time
        _send_signal(keeper, signal.SIGCONT)


def _let_go(handles: list[int]) -> None:
    """Closes what belongs to the keeper and to other commands."""
    os.dup2(1, 0, inheritable=False)
    start = 3
    for handle in sorted(handles):
        os.closerange(start, handle)
        start = handle + 1
    os.closerange(start, HIGHEST_HANDLE)


def _given(talk: socket) -> list[int]:
    """The handles of a command, or none when the keeper has no more commands."""
    _, handles = receive_handles(talk, 1)
    return handles if len(handles) == HANDLES else []


def _serve(handles: list[int], group: ControlGroup, before: tuple[int, str]) -> bool:
    """Runs one command; True when another can be run as if there had been none."""
    channel = socket(fileno=handles[0])
    try:
        request = read_request(channel)
    except (Gone, OSError):
        return False
    guardian = Guardian(channel, (handles[1], handles[2], handles[3]), request, group)
    guardian.launch.standing = before
    facts = guardian.run()
    heard = True
    try:
        send_handles(channel, answer(facts), guardian.handed_back())
    except OSError:
        heard = False  # signoff is gone, and reads nothing any more
        remove(guardian.launch.folder)
    channel.close()
    guardian.persist()
    return heard and guardian.is_as_before


class Guardian:
    """One command from its start to its end."""

    def __init__(
        self,
        channel: socket,
        handles: tuple[int, int, int],
        request: dict[str, Any],
        group: ControlGroup,
    ) -> None:
        self.channel = channel
        self.handles = handles
        self.request = request
        self.group = group
        self.launch = Launch(request)
        self.confinement: Free = confinement(request["confine"])
        self.usage: Usage | None = None
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
            self.facts = self.ended_by(str(exc))
        except NotStarted as exc:
            self.facts = {"ended": exc.ended, "reason": exc.reason}
        except TooMuch as exc:
            self.facts = {"ended": "disk_limit", "reason": f"the workspace cannot be copied: {exc}"}
        except OSError as exc:
            reason = f"cannot prepare the command: {exc.strerror}: {exc.filename or ''}"
            self.facts = {"ended": "broken", "reason": reason, "passing": exc.errno in PASSING}
        self.end()
        self.facts["elapsed_s"] = time.monotonic() - self.begin
        self.facts["missing"] = self.launch.missing
        return self.facts

    # -- start --

    def prepare(self) -> None:
        """Makes the command's folders and its workspace, and sets its limits."""
        make_folders(self.launch)
        workspace: str | None = self.request["workspace"]
        copied = 0
        if workspace is not None and not os.path.isdir(workspace):
            raise NotStarted("cwd_missing", f"there is no workspace {workspace!r:.200}")
        if workspace is not None and self.request["live"]:
            self.launch.workspace = workspace
        self.confinement.prepare(self.launch)
        if workspace is not None and self.launch.workspace is None:
            copied = copy_workspace(self.launch, workspace, self.heed)
        self.launch.cwd = place_of(self.launch)
        self.usage = Usage(self.launch, self.group, copied)

    def start(self) -> None:
        """Forks the child, which becomes the command; returns when it has."""
        report, writer = os.pipe()
        self.child = os.fork()
        if not self.child:
            become(self.launch, self.confinement, self.handles, writer)
        os.close(writer)
        # the command alone holds them from here on
        for handle in {*self.handles}:
            os.close(handle)
        failure = self.hear(report)
        os.close(report)
        if failure:
            raise self.launch.not_started(failure)
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

    # -- while it runs --

    def wait(self) -> None:
        """Until the command has ended by itself."""
        exits = _exit_handle(self.child)
        while self.status is None:
            self.listen(exits)
            reap(self.note)
            if self.status is None:
                self.heed()
                self.measure()
        if exits is not None:
            os.close(exits)

    def listen(self, handle: int | None) -> bool:
        """True when a handle can be read; returns at the next tick at the latest."""
        poll = select.poll()
        poll.register(self.channel.fileno(), select.POLLIN)
        if handle is not None:
            poll.register(handle, select.POLLIN)
        wait_s = TICK_S if handle is not None else TICK_S / 10
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

    def measure(self) -> None:
        """Raises when the command uses up more than it may."""
        if self.usage is not None and (exceeded := self.usage.exceeded()):
            raise Over(exceeded)

    def ended_by(self, ended: str) -> dict[str, Any]:
        """What signoff is told when the guardian is to end the command."""
        if ended == "timed_out" and not self.child:
            reason = "the time was up before the command could be started"
            return {"ended": ended, "reason": reason}
        if ended == "process_limit":  # where the system keeps that limit, forking fails instead
            reason = self.launch.reason(ended)
            return {"ended": "signaled", "signal": int(signal.SIGKILL), "reason": reason}
        return {"ended": ended, "reason": self.launch.reason(ended)}

    def note(self, pid: int, status: int) -> None:
        """A child has ended, by birth or adopted."""
        if pid == self.child and self.status is None:
            self.status = status

    # -- the end --

    def end(self) -> None:
        """Ends all that is left, and says how the command itself has ended."""
        by_itself = self.status is not None
        left = self.left() if by_itself else 0
        if not end_all(self.note, time.monotonic() + KILL_S, strike=self.group.kill):
            self.facts = {"ended": "broken", "reason": "processes of the command cannot be killed"}
        elif by_itself:
            self.facts = self.by_itself() | {"left": left}

    def by_itself(self) -> dict[str, Any]:
        """How the command has ended, unless it did so for want of what it may not have."""
        if self.usage is not None and (exceeded := self.usage.finally_exceeded()):
            return {"ended": exceeded, "reason": self.launch.reason(exceeded)}
        facts = self.confinement.ended(self.launch, _exit_facts(self.status or 0))
        if facts.get("signal") == signal.SIGXFSZ:
            reason = f"a file grew beyond {self.request['limits']['file_bytes']} bytes"
            return {"ended": "disk_limit", "reason": reason}
        return facts

    def left(self) -> int:
        """How many processes are still there a little after the command itself has ended."""
        until = time.monotonic() + GRACE_S
        if self.deadline is not None:
            until = min(until, self.deadline)
        wait = 0.001
        while reap(self.note):
            if time.monotonic() >= until:
                return sum(
                    process.runs and not self.confinement.is_own(process)
                    for process in descendants(os.getpid())
                )
            time.sleep(wait)
            wait = min(wait * 2, 0.01)
        return 0

    def handed_back(self) -> list[int]:
        """The handle that signoff gets, if there is one."""
        return [] if self.launch.hand_back is None else [self.launch.hand_back]

    @property
    def is_as_before(self) -> bool:
        """True when the command has ended by itself with all of its own, and nothing is changed."""
        clean = self.facts["ended"] == "exited" and not self.facts["left"]
        return clean and self.group.is_used_again and not self.confinement.changes_guardian

    def persist(self) -> None:
        """Goes on killing what could not be killed in time, for a while."""
        end_all(self.note, time.monotonic() + PERSISTENCE_S, strike=self.group.kill)


def _exit_facts(status: int) -> dict[str, Any]:
    code = os.waitstatus_to_exitcode(status)
    if code >= 0:
        return {"ended": "exited", "exit_code": code}
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
