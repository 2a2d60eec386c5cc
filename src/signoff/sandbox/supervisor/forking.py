"""The keeper: one process for each sandbox, which forks a guardian for each command."""

from __future__ import annotations

import os
import select
import signal
import time
from _socket import MSG_NOSIGNAL, socket
from collections.abc import Callable
from typing import Final

from signoff.sandbox.supervisor.adoption import adopt_orphans
from signoff.sandbox.supervisor.guardian import guard
from signoff.sandbox.supervisor.kinship import end_all
from signoff.sandbox.supervisor.removal import remove
from signoff.sandbox.supervisor.wire import answer, receive_handles

__all__ = ["keep"]

HANDLES: Final = 4  # channel, standard input, output and error
HIGHEST_HANDLE: Final = 2**20
LOOK_S: Final = 0.1
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
    os.closerange(control + 1, HIGHEST_HANDLE)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    adopt_orphans()
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


class Keeper:
    """The guardians that there are, each with its end of the channel to signoff."""

    def __init__(self, control: socket, folder: str) -> None:
        self.control = control
        self.folder = folder
        self.guardians = dict[int, int]()

    def refuse(self, reason: str) -> None:
        """Says on the way out why nothing can be run."""
        try:
            self.control.send(reason.encode("utf-8", "replace")[:1_000], MSG_NOSIGNAL)
        except OSError:
            return

    def serve(self, signoff: int) -> None:
        """Until signoff has ended, or has closed its side."""
        poll = select.poll()
        poll.register(self.control.fileno(), select.POLLIN)
        watched = _watch(poll, signoff)
        while os.getppid() == signoff:
            ready = poll.poll(LOOK_S * 1_000 if self.guardians or not watched else None)
            if any(handle == self.control.fileno() for handle, _ in ready):
                data, handles = receive_handles(self.control, 1)
                if not data:
                    return
                self.fork(handles)
            self.reap()

    def fork(self, handles: list[int]) -> None:
        """Forks a guardian, which takes the handles over."""
        try:
            if len(handles) == HANDLES:
                self._fork(handles)
                handles = handles[1:]
        except OSError:
            pass  # no more processes: signoff sees its channel closed
        for handle in handles:
            os.close(handle)

    def _fork(self, handles: list[int]) -> None:
        keeper = os.getpid()
        pid = os.fork()
        if pid:
            # held until the guardian and all of its own are gone: signoff waits for that
            self.guardians[pid] = handles[0]
            return
        try:
            guard(handles, keeper)
        finally:
            os._exit(70)

    def reap(self) -> None:
        """Takes leave of guardians that have ended; what one of them left behind is killed."""
        while self.guardians:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG | os.WUNTRACED)
            except ChildProcessError:
                pid, status = next(iter(self.guardians)), 0
            if not pid:
                return
            if os.WIFSTOPPED(status):
                # nobody but the command can have stopped it, to outlive its deadline
                _kill(pid)
            elif pid in self.guardians:
                self.part(pid, status)

    def part(self, pid: int, status: int) -> None:
        """A guardian has ended; its last word was said unless something killed it."""
        code = os.waitstatus_to_exitcode(status)
        channel = socket(fileno=self.guardians.pop(pid))
        if code:
            end_all(self.note, time.monotonic() + PATIENCE_S, self.guardians.__contains__)
            reason = f"its guardian ended with {code}" if code > 0 else "its guardian was killed"
            try:
                channel.send(answer({"ended": "broken", "reason": reason}), MSG_NOSIGNAL)
            except OSError:
                pass  # signoff is gone
        channel.close()

    def note(self, pid: int, status: int) -> None:
        """A child has ended while others were killed; guardians are not forgotten."""
        if pid in self.guardians:
            self.part(pid, status)

    def finish(self) -> None:
        """Guardians end by themselves when signoff is gone; those that do not are killed."""
        until = time.monotonic() + PATIENCE_S
        while self.guardians and time.monotonic() < until:
            self.reap()
            time.sleep(0.002)
        for pid in [*self.guardians]:
            _kill(pid)
        self.guardians.clear()
        end_all(lambda _pid, _status: None, time.monotonic() + PATIENCE_S)


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except OSError:
        return


def _watch(poll: select.poll, signoff: int) -> bool:
    """Has the poll wake up when signoff ends; a copy of its socket may live in a child of it."""
    opened: Callable[[int], int] | None = getattr(os, "pidfd_open", None)
    try:
        if opened is None:
            return False
        poll.register(opened(signoff), select.POLLIN)
    except OSError:
        return False
    return True
