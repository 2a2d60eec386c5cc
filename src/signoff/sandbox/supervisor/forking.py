"""The keeper: one process for each sandbox, which forks a guardian for each command."""

from __future__ import annotations

import gc
import os
import select
import signal
import time
from _socket import AF_UNIX, MSG_NOSIGNAL, SHUT_RDWR, SOCK_STREAM, socket, socketpair
from collections.abc import Callable
from typing import Final, NamedTuple

from signoff.sandbox.supervisor.abandoned import remove_abandoned
from signoff.sandbox.supervisor.adoption import adopt_orphans
from signoff.sandbox.supervisor.cgroup import ControlGroup, Place, end_abandoned, group_name, places
from signoff.sandbox.supervisor.guardian import HANDLES, guard
from signoff.sandbox.supervisor.kinship import end_all
from signoff.sandbox.supervisor.removal import remove
from signoff.sandbox.supervisor.wire import answer, receive_handles, send_handles

__all__ = ["keep"]

FIRST_HANDLE: Final = 3
"""What is open beyond the standard three is not ours."""
HIGHEST_HANDLE: Final = 2**20
LOOK_S: Final = 0.1
HUNG_S: Final = 0.2
"""What a guardian may take to end its command once signoff has let it go."""
CLOSED: Final = getattr(select, "POLLRDHUP", 0)
PATIENCE_S: Final = 2.0


def keep(signoff: int, folder: str, control: int = 0) -> None:
    """
    Forks a guardian for each set of handles that arrives, until signoff is gone.

    The requests themselves are read by the guardians, so that nothing waits here.

    Args:
        signoff: Process that must be this one's parent.
        folder: Where everything temporary goes; made here, and removed in the end.
        control: Handle of the socket on which signoff asks.
    """
    os.closerange(FIRST_HANDLE, HIGHEST_HANDLE)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    adopt_orphans()
    # what is never looked at again need not be copied for every guardian
    gc.disable()
    gc.freeze()
    keeper = Keeper(socket(fileno=control), folder)
    try:
        os.mkdir(folder, 0o700)
        keeper.control.send(b".", MSG_NOSIGNAL)
        keeper.serve(signoff)
    except OSError as exc:
        keeper.refuse(f"{exc.strerror}: {exc.filename or folder}")
    finally:
        keeper.finish()
        remove(folder)


class Idle(NamedTuple):
    """A guardian that waits for a command, and the socket on which it gets one."""

    pid: int
    link: socket


class Keeper:
    """The guardians that there are, each with its end of the channel to signoff."""

    def __init__(self, control: socket, folder: str) -> None:
        self.control = control
        self.folder = folder
        self.guardians = dict[int, int]()
        self.links = dict[int, Idle]()
        """Every guardian by the handle of its socket."""
        self.idle = list[Idle]()
        self.where: list[Place] = places()
        self.poll = select.poll()
        self.exits = dict[int, int]()
        self.hung = dict[int, float]()

    def refuse(self, reason: str) -> None:
        """Says on the way out why nothing can be run."""
        try:
            self.control.send(reason.encode("utf-8", "replace")[:1_000], MSG_NOSIGNAL)
        except OSError:
            return

    def serve(self, signoff: int) -> None:
        """Until signoff has ended, or has closed its side."""
        control = self.control.fileno()
        self.poll.register(control, select.POLLIN)
        # a copy of signoff's socket may live on in a child of it
        watched = self.watch(signoff) is not None
        end_abandoned(self.where)
        try:
            remove_abandoned(os.path.dirname(self.folder))
        except OSError:
            pass  # somebody else is at it
        while os.getppid() == signoff:
            if not self.idle:
                self.prepare()
            ready = self.poll.poll(LOOK_S * 1_000 if self.guardians or not watched else None)
            if any(handle == control for handle, _ in ready):
                data, handles = receive_handles(self.control, 1)
                if not data:
                    return
                self.hand(handles)
            for handle, _ in ready:
                if handle in self.links:
                    self.hear(self.links[handle])
            self.reap()
            if self.guardians:
                self.press()

    def watch(self, pid: int) -> int | None:
        """Has the poll wake up when a process ends, where the system can do that."""
        opened: Callable[[int], int] | None = getattr(os, "pidfd_open", None)
        if opened is None:
            return None
        try:
            handle = opened(pid)
        except OSError:
            return None
        self.poll.register(handle, select.POLLIN)
        return handle

    def prepare(self) -> None:
        """Has a guardian wait for the next command, so that the command need not wait for it."""
        ours, theirs = socketpair(AF_UNIX, SOCK_STREAM)
        keeper = os.getpid()
        try:
            pid = os.fork()
        except OSError:
            ours.close()
            theirs.close()
            return  # no more processes: signoff sees its channel closed
        if not pid:
            try:
                guard(theirs.fileno(), keeper, self.where)
                os._exit(0)
            finally:
                os._exit(70)
        theirs.close()
        self.idle.append(Idle(pid, ours))
        self.links[ours.fileno()] = self.idle[-1]
        self.poll.register(ours.fileno(), select.POLLIN)

    def hand(self, handles: list[int]) -> None:
        """Hands a command over to a guardian that waits."""
        if len(handles) == HANDLES and (who := self.taker(handles)) is not None:
            # held until the guardian and all of its own are gone: signoff waits for that
            self.guardians[who.pid] = handles.pop(0)
            self.await_exit(who.pid)
        for handle in handles:
            os.close(handle)

    def taker(self, handles: list[int]) -> Idle | None:
        """The guardian that has been given a command; none when no more can be forked."""
        while True:
            if not self.idle:
                self.prepare()
            if not self.idle:
                return None
            who = self.idle.pop()
            try:
                send_handles(who.link, b"+", handles)
            except OSError:
                continue  # it has been killed, which is noticed next
            return who

    def hear(self, who: Idle) -> None:
        """A guardian says that nothing of its command is left, and that it can have another."""
        try:
            said = who.link.recv(1)
        except OSError:
            said = b""
        if said and who.pid in self.guardians:
            os.close(self.guardians.pop(who.pid))
            self.hung.pop(who.pid, None)
            self.idle.append(who)
        elif not said and self.await_exit(who.pid):
            self.poll.unregister(who.link.fileno())  # it is ending, which takes a moment

    def await_exit(self, pid: int) -> bool:
        """Has the poll wake up when a guardian has ended, where the system can do that."""
        if pid not in self.exits and (exits := self.watch(pid)) is not None:
            self.exits[pid] = exits
        return pid in self.exits

    def forget(self, who: Idle) -> None:
        """A guardian that has ended."""
        handle = who.link.fileno()
        del self.links[handle]
        try:
            self.poll.unregister(handle)
        except KeyError:
            pass  # its end has been seen coming
        who.link.close()
        if who in self.idle:
            self.idle.remove(who)

    def reap(self) -> None:
        """Takes leave of guardians that have ended; what one of them left behind is killed."""
        while self.links:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG | os.WUNTRACED)
            except ChildProcessError:
                return
            if not pid:
                return
            if os.WIFSTOPPED(status):
                # nobody but the command can have stopped it, to outlive its deadline
                _kill(pid)
            else:
                self.note(pid, status)

    def press(self) -> None:
        """Kills guardians that signoff has left and that did not end because of it."""
        hung = select.poll()
        for channel in self.guardians.values():
            hung.register(channel, CLOSED)
        left = {channel for channel, event in hung.poll(0) if event}
        now = time.monotonic()
        for pid, channel in self.guardians.items():
            if channel not in left:
                self.hung.pop(pid, None)
            elif now - self.hung.setdefault(pid, now) > HUNG_S:
                _kill(pid)

    def part(self, pid: int, status: int) -> None:
        """A guardian has ended; its last word was said unless something killed it."""
        code = os.waitstatus_to_exitcode(status)
        if code:
            self.kill_orphans(pid)
        self.group_of(pid).remove()
        if (handle := self.guardians.pop(pid, None)) is None:
            return
        self.hung.pop(pid, None)
        channel = socket(fileno=handle)
        if code:
            reason = f"its guardian ended with {code}" if code > 0 else "its guardian was killed"
            facts = {"ended": "broken", "reason": reason, "passing": True}
            try:
                channel.send(answer(facts), MSG_NOSIGNAL)
            except OSError:
                pass  # signoff is gone
        channel.close()

    def kill_orphans(self, guardian: int) -> None:
        """Kills what a guardian has left behind, which this process has adopted."""
        group = self.group_of(guardian)
        until = time.monotonic() + PATIENCE_S
        end_all(self.note, until, strike=group.kill, spared=self.is_guardian)

    def group_of(self, guardian: int) -> ControlGroup:
        """The control group of a guardian."""
        return ControlGroup(self.where, group_name(os.getpid(), guardian))

    def is_guardian(self, pid: int) -> bool:
        """True of processes that are here by right."""
        return pid in self.guardians or any(one.pid == pid for one in self.links.values())

    def note(self, pid: int, status: int) -> None:
        """A child has ended; those that were adopted are of no interest."""
        if (exits := self.exits.pop(pid, None)) is not None:
            self.poll.unregister(exits)
            os.close(exits)
        if not self.is_guardian(pid):
            return
        for who in [one for one in self.links.values() if one.pid == pid]:
            self.forget(who)
        self.part(pid, status)

    def finish(self) -> None:
        """Guardians end by themselves when signoff is gone; those that do not are killed."""
        for who in self.links.values():
            who.link.shutdown(SHUT_RDWR)
        until = time.monotonic() + PATIENCE_S
        while self.links and time.monotonic() < until:
            self.reap()
            time.sleep(0.001)
        for pid in [*self.guardians]:
            _kill(pid)
        self.reap()
        end_all(self.note, time.monotonic() + PATIENCE_S)


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except OSError:
        return
