"""
One line of JSON on stderr for each request, and for what happens to the server.

Lines are made for many requests at once, a moment after they were answered, and
written by a thread: whoever reads them slowly holds up no request.  When they are
not read at all, lines are dropped, and a line says how many.
"""

from __future__ import annotations

import os
import select
import stat
import threading
import time
from collections.abc import Mapping
from queue import SimpleQueue
from typing import Final, Protocol

import msgspec

__all__ = ["FLUSH_S", "AccessLog", "Answered", "LineWriter"]

FLUSH_S: Final = 0.05
BACKLOG_BYTES: Final = 8 * 1024 * 1024
# What a pipe takes in one piece, so that the lines of several workers stay whole.
PIECE_BYTES: Final = select.PIPE_BUF
END_WAIT_S: Final = 2.0
OWN: Final = frozenset({"time", "level", "event", "worker", "insecure"})
OWN_OF_REQUESTS: Final = OWN | {"id", "method", "route", "status", "ms"}

# When it ended, its id, method, route, status, seconds and the notes of its handlers.
Answered = tuple[float, str, str, str, int, float, Mapping[str, object]]
_encode: Final = msgspec.json.Encoder(enc_hook=str).encode


class Lines(Protocol):
    """Where lines go."""

    def write(self, lines: bytes) -> None:
        """Take whole lines; raises nothing."""
        ...


class AccessLog:
    """
    The log lines of one worker.

    Args:
        writer: Where lines go.
        worker: Which worker writes them.
        insecure: Every line says that anyone may connect.
    """

    def __init__(self, writer: Lines, *, worker: int, insecure: bool) -> None:
        self._writer = writer
        warning = ',"insecure":true' if insecure else ""
        self._tail = f',"worker":{worker}{warning}}}\n'
        self._middles: dict[tuple[str, str, int], str] = {}
        # What lines of the same second begin with.
        self._second, self._begin = -1, ""

    def say(self, event: str, level: str = "info", **facts: object) -> None:
        """A line about the server itself, or about something in it; never a payload."""
        at = time.time()
        if int(at) != self._second:
            self._tick(int(at))
        line = (
            f'{self._begin}{int(at % 1.0 * 1000.0):03d}Z","level":"{level}",'
            f'"event":{_text(event)}{_told(facts, OWN)}{self._tail}'
        )
        self._writer.write(line.encode())

    def answered(self, requests: list[Answered]) -> None:
        """The lines of requests that were answered."""
        offset = time.time() - time.monotonic()
        middles, tail = self._middles, self._tail
        lines = []
        for ended, id_, method, route, status, seconds, notes in requests:
            at = ended + offset
            second = int(at)
            if second != self._second:
                self._tick(second)
            middle = middles.get((method, route, status)) or self._middle(method, route, status)
            told = _told(notes, OWN_OF_REQUESTS) if notes else ""
            lines.append(
                f'{self._begin}{int((at - second) * 1000.0):03d}Z",{middle}{id_}",'
                f'"ms":{seconds * 1000.0:.3f}{told}{tail}'
            )
        self._writer.write("".join(lines).encode())

    def _middle(self, method: str, route: str, status: int) -> str:
        if len(self._middles) >= 1024:
            self._middles.clear()
        level = _level(route, status)
        middle = (
            f'"level":"{level}","event":"request","method":{_text(method)},'
            f'"route":{_text(route)},"status":{status},"id":"'
        )
        self._middles[method, route, status] = middle
        return middle

    def _tick(self, second: int) -> None:
        self._second = second
        self._begin = time.strftime('{"time":"%Y-%m-%dT%H:%M:%S.', time.gmtime(second))


class LineWriter:
    """
    Lines to a file descriptor, written by a thread of its own.

    Args:
        descriptor: Usually 2.
    """

    def __init__(self, descriptor: int = 2) -> None:
        self._descriptor = descriptor
        self._queue: SimpleQueue[bytes | None] = SimpleQueue()
        self._lock = threading.Lock()
        self._backlog = 0
        self._dropped = 0
        self._piped = _is_pipe(descriptor)
        self._thread = threading.Thread(target=self._run, name="log", daemon=True)
        self._thread.start()

    def write(self, lines: bytes) -> None:
        """Have whole lines written; dropped when too much is waiting."""
        with self._lock:
            if self._backlog + len(lines) > BACKLOG_BYTES:
                self._dropped += lines.count(b"\n")
                return
            self._backlog += len(lines)
        self._queue.put(lines)

    def close(self) -> None:
        """Write what is left, as far as somebody reads it."""
        self._queue.put(None)
        self._thread.join(END_WAIT_S)

    def _run(self) -> None:
        while (lines := self._queue.get()) is not None:
            with self._lock:
                self._backlog -= len(lines)
                dropped, self._dropped = self._dropped, 0
            if dropped:
                lines += b'{"level":"error","event":"log_dropped","lines":%d}\n' % dropped
            self._put(lines)

    def _put(self, lines: bytes) -> None:
        at = 0
        while at < len(lines):
            end = _piece_end(lines, at) if self._piped else len(lines)
            try:
                at += os.write(self._descriptor, lines[at:end])
            except BlockingIOError:
                select.select((), (self._descriptor,), ())
            except OSError:
                return  # nobody reads any more


def _piece_end(lines: bytes, at: int) -> int:
    """The end of the last line that fits in one piece; of the piece, if none does."""
    if len(lines) - at <= PIECE_BYTES:
        return len(lines)
    end = lines.rfind(b"\n", at, at + PIECE_BYTES)
    return at + PIECE_BYTES if end < 0 else end + 1


def _is_pipe(descriptor: int) -> bool:
    try:
        return stat.S_ISFIFO(os.fstat(descriptor).st_mode)
    except OSError:
        return False


def _level(route: str, status: int) -> str:
    # Whoever asks for a verdict takes a refusal for a fault of the network.
    if status >= 500 or (400 <= status <= 422 and route.endswith("/verify")):
        return "error"
    return "warning" if status >= 400 else "info"


def _told(facts: Mapping[str, object], own: frozenset[str]) -> str:
    """Members to append; names that a line has anyway are not taken from elsewhere."""
    if not own.isdisjoint(facts):
        facts = {name: fact for name, fact in facts.items() if name not in own}
    try:
        return "," + _encode(facts).decode()[1:-1] if facts else ""
    except (TypeError, ValueError, RecursionError):  # a line must not cost the others
        return ',"facts":"not JSON"'


def _text(text: str) -> str:
    return _encode(text).decode()
