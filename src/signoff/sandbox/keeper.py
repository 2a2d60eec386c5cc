"""Signoff's side of the keeper, the one process through which all commands are started."""

from __future__ import annotations

import os
import signal
import sys
import time
from _socket import AF_UNIX, SHUT_RDWR, SOCK_STREAM
from socket import socket, socketpair
from threading import Lock
from typing import Final

from signoff.sandbox.supervisor.cgroup import end_abandoned, places
from signoff.sandbox.supervisor.kinship import descendants
from signoff.sandbox.supervisor.wire import send_handles

__all__ = ["Keeper", "KeeperBroken"]

PATIENCE_S: Final = 5.0
PRELOADING_S: Final = 60.0
CLOSING_S: Final = 5.0
STEP_S: Final = 0.002
PASSED_ON: Final = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
"""Variables that an interpreter may need to start at all; nothing else of ours is shown to it."""

PROGRAM: Final = """\
import sys
for name, folder in (("signoff", sys.argv[1]), ("signoff.sandbox", sys.argv[1] + "/sandbox")):
    module = sys.modules[name] = type(sys)(name)
    module.__path__ = [folder]
from signoff.sandbox.supervisor.forking import keep
try:
    exec(sys.argv[4])
except BaseException as exc:
    import os
    os.write(0, f"cannot preload: {exc!r}".encode("ascii", "replace")[:200])
    raise
keep(int(sys.argv[2]), sys.argv[3])
"""
"""Finds the supervisor's modules without running those of signoff above them."""


class KeeperBroken(Exception):
    """The keeper does not do what it is there for; the message says what is known."""


class Keeper:
    """
    A keeper that has been started.

    Args:
        folder: Its folder for everything temporary, which it makes and removes.
        python: The interpreter that it is; None for our own, with nothing installed in reach.
        preload: Python that it runs first.
    """

    def __init__(self, folder: str, *, python: str | None = None, preload: str = "") -> None:
        self.folder = folder
        self._sending = Lock()
        self._ready = False
        self._gone = False
        self._said = b""
        self._control, theirs = pair()
        self._control.settimeout(PRELOADING_S if preload else PATIENCE_S)
        try:
            self.pid = _spawn(theirs.fileno(), folder, python, preload)
        except (OSError, ValueError) as exc:
            self._control.close()
            raise KeeperBroken(f"cannot start the keeper of commands: {exc}") from exc
        finally:
            theirs.close()

    def hand(self, handles: list[int]) -> None:
        """
        Has a guardian forked that takes handles over.

        Raises:
            KeeperBroken: The keeper has ended.
        """
        try:
            with self._sending:
                send_handles(self._control, b"+", handles)
        except OSError as exc:
            raise KeeperBroken(self.complaint()) from exc

    def wait_until_ready(self) -> None:
        """
        Returns when the folder is there.

        Raises:
            KeeperBroken: It could not be made.
        """
        with self._sending:
            while not self._ready:
                self._hear()
                if not self._ready:
                    raise KeeperBroken(self._complaint())

    def complaint(self) -> str:
        """What the keeper said when it gave up."""
        with self._sending:
            self._control.settimeout(STEP_S)
            self._hear()
            self._control.settimeout(PATIENCE_S)
            return self._complaint()

    def _complaint(self) -> str:
        said = self._said.decode("utf-8", "replace")[:200]
        return f"the keeper of commands has ended{': ' if said else ''}{said}"

    def _hear(self) -> None:
        try:
            said = self._control.recv(1_000)
        except OSError:
            return
        if said.startswith(b".") and not self._ready:
            self._ready, said = True, said[1:]
        self._said += said

    def has_ended(self) -> bool:
        """True once nothing can be run through it any more."""
        self._gone = self._gone or _ended(self.pid)
        return self._gone

    def close(self) -> None:
        """Ends the keeper, which ends all commands and removes its folder."""
        try:
            self._control.shutdown(SHUT_RDWR)  # also when a child of ours holds a copy
        except OSError:
            pass  # the keeper has ended before
        self._control.close()
        until = time.monotonic() + CLOSING_S
        while not self.has_ended():
            if time.monotonic() > until:
                self.kill()
                break
            time.sleep(STEP_S)

    def let_go(self) -> None:
        """Gives up what belongs to a keeper that has ended."""
        self._control.close()

    def kill(self) -> None:
        """Kills the keeper with all that descends from it; for when it no longer answers."""
        for _ in range(100):
            doomed = [process.pid for process in descendants(self.pid) if process.runs]
            for pid in doomed:
                _send(pid, signal.SIGKILL)
            if not doomed:
                break
            time.sleep(STEP_S)
        _send(self.pid, signal.SIGKILL)
        until = time.monotonic() + 1
        while not self.has_ended() and time.monotonic() < until:
            time.sleep(STEP_S)
        end_abandoned(places(), self.pid)


def pair() -> tuple[socket, socket]:
    """Two ends of a channel; no program that is executed inherits either."""
    ours, theirs = socketpair(AF_UNIX, SOCK_STREAM)
    return ours, theirs


def _spawn(control: int, folder: str, python: str | None, preload: str) -> int:
    """Starts the interpreter as it is, without what was put into it; with one handle of ours."""
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    flags = ["-I"] if python else ["-I", "-S"]
    program = python or sys.executable
    argv = [program, *flags, "-c", PROGRAM, package, str(os.getpid()), folder, preload]
    env = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    null = os.devnull
    actions = [
        (os.POSIX_SPAWN_DUP2, control, 0),
        (os.POSIX_SPAWN_OPEN, 1, null, os.O_RDWR, 0),
        (os.POSIX_SPAWN_OPEN, 2, null, os.O_RDWR, 0),
    ]
    return os.posix_spawn(
        program,
        argv,
        env,
        file_actions=actions,
        setpgroup=0,
        setsigmask=[signal.SIGINT],  # until the keeper ignores it
        setsigdef=signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP},
    )


def _ended(pid: int) -> bool:
    try:
        done, status = os.waitpid(pid, os.WNOHANG | os.WUNTRACED)
    except ChildProcessError:
        return True  # somebody else has waited for it
    if done and os.WIFSTOPPED(status):
        _send(pid, signal.SIGCONT)  # nobody but a command can have stopped it
        return False
    return done == pid


def _send(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except OSError:
        return
