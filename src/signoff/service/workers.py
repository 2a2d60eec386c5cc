"""
Several processes that answer on one socket, and the parent that keeps them alive.

The parent answers nothing.  A worker that dies takes its own connections with it and
nothing else; another takes its place, unless they die faster than that makes sense.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import sys
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Final, NoReturn

import msgspec

from signoff.service.access_log import AccessLog
from signoff.service.process import Post, work
from signoff.service.settings import CannotServe, Settings

__all__ = ["Crew"]

WINDOW_S: Final = 60.0
# What a worker may take beyond the time to finish: its parts have to stop too.
STOP_EXTRA_S: Final = 5.0
READY: Final = b"+"
FAILED: Final = b"-"
MAX_SENTENCE: Final = 2000
PARENT: Final = -1


class _StandardError:
    """Lines at once, without a thread: a process with threads must not be forked."""

    def write(self, lines: bytes) -> None:
        with suppress(OSError):
            os.write(2, lines)


class Crew:
    """
    The parent of all workers.

    Args:
        post: What each of them needs; the index and the parent are filled in.
        ready: Called when all of them listen for the first time.
    """

    def __init__(self, post: Post, ready: Callable[[], None]) -> None:
        self._post = post
        self._settings: Settings = post.settings
        self._ready = ready
        self._pids: dict[int, int] = {}
        self._news: dict[int, int] = {}
        self._awaited = set(range(post.settings.workers))
        self._deaths: deque[float] = deque()
        self._life = os.pipe()
        self._signals: deque[int] = deque()
        self._stopping: float | None = None
        self._fault = ""
        self._log = AccessLog(_StandardError(), worker=PARENT, insecure=post.settings.insecure)

    def run(self) -> int:
        """
        Keep all workers alive until a signal says to stop.

        Returns:
            The exit code: 0.

        Raises:
            CannotServe: Workers could not start, or died too often.
        """
        woken, wake = socket.socketpair()
        before = self._hear(woken, wake)
        try:
            for index in range(self._settings.workers):
                self._fork(index)
            while self._pids:
                self._wait(woken)
                self._reap()
                self._obey()
        finally:
            self._end_all()
            signal.set_wakeup_fd(-1)
            for number, handler in before.items():
                signal.signal(number, handler)
            for descriptor in (*self._life, *self._news):
                with suppress(OSError):  # the end that keeps workers alive may be closed already
                    os.close(descriptor)
            woken.close()
            wake.close()
        if self._fault:
            raise CannotServe(self._fault)
        return 0

    def _hear(self, woken: socket.socket, wake: socket.socket) -> dict[int, signal.Handlers]:
        woken.setblocking(False)
        wake.setblocking(False)
        signal.set_wakeup_fd(wake.fileno(), warn_on_full_buffer=False)
        told = (signal.SIGTERM, signal.SIGINT)
        before = {number: signal.signal(number, self._told) for number in told}
        before[signal.SIGCHLD] = signal.signal(signal.SIGCHLD, lambda *_: None)
        return before  # type: ignore[return-value]  # what is given back is what was got

    def _told(self, number: int, _: object) -> None:
        self._signals.append(number)

    def _fork(self, index: int) -> None:
        news, tell = os.pipe()
        sys.stdout.flush()
        sys.stderr.flush()
        pid = os.fork()
        if pid == 0:
            os.close(news)
            self._be_worker(index, tell)
        os.close(tell)
        self._pids[pid] = index
        self._news[news] = index

    def _be_worker(self, index: int, tell: int) -> NoReturn:
        """Answer; whatever happens, the worker never goes on where the parent would."""
        status = 1
        try:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            os.close(self._life[1])
            for descriptor in self._news:
                os.close(descriptor)
            post = msgspec.structs.replace(self._post, index=index, parent=self._life[0])
            work(post, lambda: _tell(tell, READY))
            status = 0
        except Exception as exc:  # noqa: BLE001 the parent says what kept a worker from starting
            _tell(tell, FAILED + (str(exc) or type(exc).__name__).encode()[:MAX_SENTENCE])
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)

    def _wait(self, woken: socket.socket) -> None:
        timeout = None
        if self._stopping is not None:
            timeout = max(self._stopping - time.monotonic(), 0.0)
        found, _, _ = select.select([woken.fileno(), *self._news], (), (), timeout)
        for source in found:
            if source in self._news:
                self._hear_news(source)
            else:
                with suppress(BlockingIOError):
                    woken.recv(4096)
        if self._stopping is not None and time.monotonic() >= self._stopping:
            self._kill(signal.SIGKILL)

    def _hear_news(self, source: int) -> None:
        news = os.read(source, MAX_SENTENCE + 1)
        index = self._news[source]
        if news.startswith(READY):
            awaited, self._awaited = self._awaited, self._awaited - {index}
            if awaited and not self._awaited:
                self._ready()
            return
        os.close(source)
        del self._news[source]
        if news.startswith(FAILED):
            self._give_up(news[len(FAILED) :].decode("utf-8", "replace"))

    def _reap(self) -> None:
        for pid, index in tuple(self._pids.items()):
            found, status = os.waitpid(pid, os.WNOHANG)
            if not found:
                continue
            del self._pids[pid]
            if self._stopping is None:
                self._replace(index, os.waitstatus_to_exitcode(status))

    def _replace(self, index: int, code: int) -> None:
        self._log.say("worker_died", "error", died=index, code=code)
        now = time.monotonic()
        self._deaths.append(now)
        while self._deaths[0] < now - WINDOW_S:
            self._deaths.popleft()
        if self._awaited:
            self._give_up(f"a worker ended with {code} before it was ready")
        elif len(self._deaths) > self._settings.restarts:
            self._give_up(f"workers died {len(self._deaths)} times within a minute")
        else:
            self._fork(index)

    def _obey(self) -> None:
        while self._signals:
            number = self._signals.popleft()
            if self._stopping is None:
                self._stop()
            else:
                self._end_all()
                os._exit(128 + number)

    def _give_up(self, fault: str) -> None:
        self._fault = self._fault or fault
        if self._stopping is None:
            self._stop()

    def _stop(self) -> None:
        self._stopping = time.monotonic() + self._settings.drain_s + STOP_EXTRA_S
        self._post.listener.close()
        # One that was just forked may not hear the signal yet; it sees its parent end.
        os.close(self._life[1])
        self._kill(signal.SIGTERM)

    def _end_all(self) -> None:
        self._kill(signal.SIGKILL)
        for pid in self._pids:
            os.waitpid(pid, 0)
        self._pids.clear()

    def _kill(self, number: int) -> None:
        for pid in self._pids:
            with suppress(ProcessLookupError):
                os.kill(pid, number)


def _tell(descriptor: int, news: bytes) -> None:
    with suppress(OSError):
        os.write(descriptor, news)
