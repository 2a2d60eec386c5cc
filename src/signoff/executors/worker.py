"""Signoff's side of a worker process: its pipes, its time, its end."""

from __future__ import annotations

import fcntl
import math
import os
import select
import signal
import sys
import time
from contextlib import suppress
from threading import Lock
from typing import Final, Literal

from msgspec import Struct

from signoff.executors import warden
from signoff.executors.reply import MAX_LOG_BYTES
from signoff.jsonvalue import shown
from signoff.sandbox.supervisor.kinship import descendants

__all__ = ["Answer", "Late", "Refused", "Worker", "WorkerEnded"]

Kind = Literal["ready", "refused", "reply", "fault", "not_json", "too_large"]

KINDS: Final[dict[bytes, Kind]] = {
    warden.READY: "ready",
    warden.REFUSED: "refused",
    warden.REPLY: "reply",
    warden.FAULT: "fault",
    warden.NOT_JSON: "not_json",
    warden.TOO_LARGE: "too_large",
}
PIECE: Final = 2**16
PROGRAM: Final = "from signoff.executors.warden import main; main()"
ENDING_S: Final = 3.0
STEP_S: Final = 0.002


class Late(Exception):
    """There was no answer in time."""


class Refused(Exception):
    """The function cannot be imported or called; the message says why."""


class WorkerEnded(Exception):
    """The process ended before it answered; the message says how."""


class Answer(Struct, frozen=True, kw_only=True):
    """What a worker said."""

    kind: Kind
    data: bytes


class Worker:
    """
    A worker process; used by one thread at a time, save ``let_go``.

    Args:
        reference: ``PACKAGE.MODULE:FUNCTION``.
        said: Where the operator gave it.
        folder: Where modules are looked for that are not installed.
        max_bytes: Largest reply.

    Raises:
        OSError: It cannot be started.
    """

    def __init__(self, reference: str, said: str, folder: str, max_bytes: int) -> None:
        self.started = time.monotonic()
        self._max_bytes = max_bytes + 2**10
        self._ready = False
        self._spoiled = False
        self._log = bytearray()
        self._letting_go = Lock()
        self._exit_code: int | None = None
        ends = _Pipes()
        try:
            self._pid = _spawned(ends, [reference, said, folder, str(max_bytes)])
        except OSError:
            ends.close_ours()
            raise
        finally:
            ends.close_theirs()
        self._hold: int | None = ends.hold
        self._to, self._from, self._printed = ends.requests, ends.answers, ends.printed
        for handle in (self._to, self._from, self._printed):
            os.set_blocking(handle, False)

    def require_ready(self, until: float) -> None:
        """
        Returns when the function was imported.

        Raises:
            Late: It was not in time.
            Refused: It cannot be.
            WorkerEnded: The process ended meanwhile.
        """
        if self._ready:
            return
        answer = self._heard(until)
        if answer.kind != "ready":
            self._spoiled = True
            raise Refused(f"cannot be used: {shown(answer.data.decode('utf-8', 'replace'), 400)}")
        self._ready = True

    def ask(self, request: bytes, until: float) -> Answer:
        """
        What the function makes of a request.

        Raises:
            Late: There was no answer in time.
            WorkerEnded: The process ended before it answered.
        """
        self._log.clear()
        self._spoiled = True
        self._say(warden.HEAD.pack(b"q", len(request)) + request, until)
        answer = self._heard(until)
        self._spoiled = False
        return answer

    def log(self) -> bytes:
        """What was printed since the last request, the beginning alone where it is long."""
        self._take_printed()
        return bytes(self._log)

    def is_usable(self) -> bool:
        """It still runs, and says nothing unasked."""
        poll = select.poll()
        poll.register(self._from, select.POLLIN)
        self._spoiled = self._spoiled or (self._ready and bool(poll.poll(0)))
        return not self._spoiled

    def may_be_used_again(self, start_limit_s: float) -> bool:
        """It answered when it was last asked, or may still be importing."""
        in_time = self._ready or time.monotonic() < self.started + start_limit_s
        return in_time and not self._spoiled and self._hold is not None

    def let_go(self) -> None:
        """Have it ended; whoever waits for it learns that it has."""
        with self._letting_go:
            if self._hold is not None:
                os.close(self._hold)
                self._hold = None

    def stop(self) -> None:
        """End it with all that it started; nothing of that is left when this returns."""
        self.let_go()
        self._wait()
        self._close()

    def abandon(self) -> None:
        """Let go of what a fork has of its parent's worker, which goes on."""
        self.let_go()
        self._close()

    def _close(self) -> None:
        for handle in (self._to, self._from, self._printed):
            os.close(handle)

    def _wait(self) -> None:
        until = time.monotonic() + ENDING_S
        while not self._has_ended():
            if time.monotonic() > until:
                self._kill()
                until = math.inf
            time.sleep(STEP_S)

    def _kill(self) -> None:
        """For when what watches does not: somebody has stopped it."""
        for pid in [*(one.pid for one in descendants(self._pid)), self._pid]:
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)

    def _has_ended(self) -> bool:
        if self._exit_code is None:
            try:
                pid, status = os.waitpid(self._pid, os.WNOHANG)
            except ChildProcessError:  # somebody else has waited for it
                self._exit_code = 0
            else:
                self._exit_code = os.waitstatus_to_exitcode(status) if pid else None
        return self._exit_code is not None

    def _say(self, message: bytes, until: float) -> None:
        rest = memoryview(message)
        while rest:
            self._wait_for(self._to, select.POLLOUT, until)
            with suppress(BlockingIOError):
                try:
                    rest = rest[os.write(self._to, rest) :]
                except BrokenPipeError:
                    raise self._ended() from None

    def _heard(self, until: float) -> Answer:
        kind, size = warden.HEAD.unpack(self._received(warden.HEAD.size, until))
        if kind not in KINDS or size > self._max_bytes:
            self._spoiled = True
            raise WorkerEnded("said what no worker says")
        return Answer(kind=KINDS[kind], data=self._received(size, until))

    def _received(self, size: int, until: float) -> bytes:
        data = bytearray()
        while len(data) < size:
            self._wait_for(self._from, select.POLLIN, until)
            with suppress(BlockingIOError):
                piece = os.read(self._from, min(size - len(data), PIECE))
                if not piece:
                    raise self._ended()
                data += piece
        return bytes(data)

    def _wait_for(self, handle: int, event: int, until: float) -> None:
        """Returns when the handle is ready; meanwhile what is printed is taken."""
        while True:
            left = until - time.monotonic()
            if left <= 0:
                raise Late
            poll = select.poll()
            poll.register(handle, event)
            poll.register(self._printed, select.POLLIN)
            ready = dict(poll.poll(left * 1_000))
            if ready.get(self._printed, 0) & select.POLLIN:
                self._take_printed()
            if handle in ready:
                return
            if ready.get(self._printed, 0) & select.POLLHUP:
                raise self._ended()

    def _take_printed(self) -> None:
        """Only so much is kept, and the rest is read all the same: nobody is to wait for it."""
        with suppress(BlockingIOError):
            for _ in range(64):
                piece = os.read(self._printed, PIECE)
                if not piece:
                    return
                self._log += piece[: MAX_LOG_BYTES - len(self._log)]

    def _ended(self) -> WorkerEnded:
        self._spoiled = True
        until = time.monotonic() + ENDING_S
        while not self._has_ended() and time.monotonic() < until:
            time.sleep(STEP_S)
        return WorkerEnded(_told(self._exit_code or 0))


class _Pipes:
    """The pipes of one worker, both ends of each."""

    def __init__(self) -> None:
        self.theirs = list[int]()
        self.ours = list[int]()
        try:
            self.hold = self._writing()
            self.requests = self._writing()
            self.answers = self._reading()
            self.printed = self._reading()
        except OSError:
            self.close_theirs()
            self.close_ours()
            raise

    def _writing(self) -> int:
        theirs, ours = os.pipe()
        self.theirs.append(_apart(theirs))
        self.ours.append(ours)
        return ours

    def _reading(self) -> int:
        ours, theirs = os.pipe()
        self.theirs.append(_apart(theirs))
        self.ours.append(ours)
        return ours

    def close_theirs(self) -> None:
        """The ends that the worker has."""
        for handle in self.theirs:
            os.close(handle)

    def close_ours(self) -> None:
        """The ends that signoff has."""
        for handle in self.ours:
            os.close(handle)


def _apart(handle: int) -> int:
    """The same under a number that is none of those that the worker gives its handles."""
    moved = fcntl.fcntl(handle, fcntl.F_DUPFD_CLOEXEC, warden.ANSWERS + 1)
    os.close(handle)
    return moved


def _spawned(ends: _Pipes, arguments: list[str]) -> int:
    hold, requests, answers, printed = ends.theirs
    places = {0: hold, 1: printed, 2: printed, warden.REQUESTS: requests, warden.ANSWERS: answers}
    return os.posix_spawn(
        sys.executable,
        [sys.executable, "-P", "-c", PROGRAM, *arguments],
        os.environ,
        file_actions=[(os.POSIX_SPAWN_DUP2, one, place) for place, one in places.items()],
        setpgroup=0,
        setsigmask=(),
        setsigdef=(signal.SIGPIPE, signal.SIGCHLD),
    )


def _told(code: int) -> str:
    """How it ended; the warden adds 128 to the number of a signal, as shells do."""
    if code > warden.SIGNALLED:
        with suppress(ValueError):
            return f"was ended by {signal.Signals(code - warden.SIGNALLED).name}"
    return f"ended its process with exit code {code} before it answered"
