"""One command from signoff's side: its pipes, its channel to the guardian, its end."""

from __future__ import annotations

import fcntl
import math
import os
import secrets
import select
import signal
import time
from _socket import SHUT_WR
from socket import socket
from threading import Lock
from typing import Any, Final

import msgspec
from msgspec import Struct

from signoff.sandbox.capture import Capture
from signoff.sandbox.command import Ended, Limits
from signoff.sandbox.keeper import Keeper, pair
from signoff.sandbox.supervisor.cgroup import end_abandoned, places
from signoff.sandbox.supervisor.wire import encode_request, receive_handles

__all__ = ["Running"]

CHUNK: Final = 256 * 2**10
PIPE_BYTES: Final = 2**20
MAX_ANSWER: Final = 64 * 2**10
LOOK_S: Final = 0.1
STEP_S: Final = 0.001
OVERDUE_S: Final = 0.42
"""How long after its deadline the guardian of a command is given up."""
GIVEN_UP_S: Final = 2.0
"""How long after its deadline all that runs in the sandbox is given up."""


class _Answer(Struct, frozen=True, kw_only=True):
    """How a command ended, as its guardian says."""

    ended: Ended
    exit_code: int | None = None
    signal: int | None = None
    left: int = 0
    elapsed_s: float = 0.0
    reason: str = ""
    missing: tuple[str, ...] = ()
    passing: bool = False


def _broken(reason: str) -> _Answer:
    return _Answer(ended=Ended.BROKEN, reason=reason, passing=True)


class Running:
    """
    A command that is about to run, or runs.

    Args:
        keeper: Through which it is started.
        request: What its guardian is asked for.
        stdin: What it reads.
        limits: What is kept of its output, and how long it may take.
    """

    def __init__(
        self, keeper: Keeper, request: dict[str, Any], stdin: bytes, limits: Limits
    ) -> None:
        self._keeper = keeper
        self.folder: str = request["folder"]
        self._request = memoryview(encode_request(request))
        self._limits = limits
        self._begin = time.monotonic()
        self._cancelling = Lock()
        self._cancelled = False
        self._due = math.inf if limits.timeout_s is None else self._begin + limits.timeout_s
        self._channel: socket | None = None
        self._handles = dict[int, Capture]()
        self._theirs = list[int]()
        self._said = b""
        self._asked_to_end = self._pressed = False
        self.handed_back: int | None = None
        self._stdin = stdin

    def run(self) -> tuple[_Answer, Capture, Capture]:
        """
        How it ended and what it printed; by then nothing of it is left.

        Raises:
            KeeperBroken: It could not be started.
            OSError: Signoff itself has no more handles.
        """
        captures = [self._capture(), self._capture()]
        try:
            channel = self._open(captures)
            answer = self._exchange(channel)
            self._drain()
            return answer, captures[0], captures[1]
        finally:
            self._close()

    def cancel(self) -> None:
        """Has it ended from another thread; ``run`` then returns."""
        with self._cancelling:
            self._cancelled = True
            self._due = min(self._due, time.monotonic())
            if self._channel is not None:
                try:
                    self._channel.shutdown(SHUT_WR)
                except OSError:
                    return  # it has just ended

    # -- start --

    def _capture(self) -> Capture:
        return Capture(self._limits.head_bytes, self._limits.tail_bytes)

    def _open(self, captures: list[Capture]) -> socket:
        ours, theirs = pair()
        with theirs:
            with self._cancelling:
                self._channel = ours
                if self._cancelled:
                    ours.shutdown(SHUT_WR)
            ours.setblocking(False)
            self._theirs.append(_input(self._stdin, self._keeper.folder))
            for capture in captures:
                reader, writer = os.pipe()
                self._handles[reader] = capture
                self._theirs.append(writer)
                os.set_blocking(reader, False)
                _widen(writer)
            self._keeper.hand([theirs.fileno(), *self._theirs])
        self._close_theirs()
        return ours

    def _close_theirs(self) -> None:
        while self._theirs:
            os.close(self._theirs.pop())

    def _close(self) -> None:
        with self._cancelling:
            if self._channel is not None:
                self._channel.close()
            self._channel = None
        self._close_theirs()
        for handle in self._handles:
            os.close(handle)
        self._handles.clear()

    # -- while it runs --

    def _exchange(self, channel: socket) -> _Answer:
        poll = select.poll()
        for handle in self._handles:
            poll.register(handle, select.POLLIN)
        talk = channel.fileno()
        poll.register(talk, select.POLLIN | select.POLLOUT)
        while True:
            for handle, _ in poll.poll(LOOK_S * 1_000):
                if handle != talk:
                    if not self._read(handle):
                        poll.unregister(handle)
                elif (answer := self._talk(channel, poll)) is not None:
                    return answer
            self._ask_to_end(channel)
            if self._overdue(channel):
                reason = "its guardian did not answer; all that ran in the sandbox was killed"
                return _broken(reason)

    def _overdue(self, channel: socket) -> bool:
        """True when nobody answers any more, and everything has been killed for it."""
        self._keeper.has_ended()  # and goes on, if it was stopped
        late_s = time.monotonic() - self._due
        if late_s > GIVEN_UP_S:
            self._keeper.kill()
            return True
        if late_s > OVERDUE_S and not self._pressed:
            self._pressed = True
            try:
                channel.shutdown(SHUT_WR)  # the keeper kills a guardian that does not mind this
            except OSError:
                return False  # it has just ended
        return False

    def _read(self, handle: int) -> bool:
        """False at the end of a stream."""
        try:
            data = os.read(handle, CHUNK)
        except BlockingIOError:
            return True
        self._handles[handle].take(data)
        return bool(data)

    def _ask_to_end(self, channel: socket) -> None:
        """Says once that the command has printed too much."""
        too_much = any(c.size > self._limits.output_bytes for c in self._handles.values())
        if too_much and not self._asked_to_end and not self._request:
            self._asked_to_end = True
            try:
                channel.send(b"o")
            except OSError:
                return  # it has just ended, or is being cancelled

    def _talk(self, channel: socket, poll: select.poll) -> _Answer | None:
        """Says what is still to be said, and hears the answer when there is one."""
        if self._request:
            try:
                self._request = self._request[channel.send(self._request) :]
            except BlockingIOError:
                pass
            except OSError:
                self._request = self._request[:0]
            if not self._request:
                poll.modify(channel.fileno(), select.POLLIN)
        try:
            data, handles = receive_handles(channel, MAX_ANSWER)
        except BlockingIOError:
            return None
        except OSError:
            data, handles = b"", []
        self._keep(handles)
        self._said += data
        if data and b"\n" not in self._said and len(self._said) < MAX_ANSWER:
            return None
        return self._understood()

    def _keep(self, handles: list[int]) -> None:
        for handle in handles:
            if self.handed_back is None:
                self.handed_back = handle
            else:
                os.close(handle)

    def _understood(self) -> _Answer:
        line, end, _ = self._said.partition(b"\n")
        if not end:
            if self._cancelled:
                return _Answer(ended=Ended.CANCELLED)
            self._end_orphans()
            return _broken("its guardian ended without a word")
        try:
            return msgspec.json.decode(line, type=_Answer)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return _broken("its guardian answered nonsense")

    def _end_orphans(self) -> None:
        """A guardian killed with its keeper: what both were there for may still be found."""
        until = time.monotonic() + LOOK_S
        while not self._keeper.has_ended() and time.monotonic() < until:
            time.sleep(STEP_S)
        end_abandoned(places())

    def _drain(self) -> None:
        """Takes what is still in the pipes; whoever could write more is dead."""
        for handle in self._handles:
            for _ in range(2 * PIPE_BYTES // CHUNK + 1):
                try:
                    data = os.read(handle, CHUNK)
                except BlockingIOError:
                    break
                if not data:
                    break
                self._handles[handle].take(data)


def signal_name(number: int) -> str:
    """The name of a signal, such as ``SIGSEGV``."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"SIG{number}"


def _input(data: bytes, folder: str) -> int:
    """A handle to read bytes from: a file without a name, so that nobody waits for a reader."""
    if not data:
        return os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    if hasattr(os, "memfd_create"):
        handle = os.memfd_create("stdin", os.MFD_CLOEXEC)
    else:
        path = f"{folder}/stdin-{secrets.token_hex(8)}"
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        os.unlink(path)
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(handle, view) :]
        os.lseek(handle, 0, os.SEEK_SET)
    except OSError:
        os.close(handle)
        raise
    return handle


def _widen(pipe: int) -> None:
    """Room for more at a time, where the system gives it."""
    if hasattr(fcntl, "F_SETPIPE_SZ"):
        try:
            fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
        except OSError:
            return
