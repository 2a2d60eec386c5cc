"""
Worker processes that judge what may take for ever: kept warm, few, and always stopped in time.

A worker is stopped when it is late, when its answer makes no sense, when whoever
waits for it is interrupted, and when this process ends.
"""

from __future__ import annotations

import atexit
import json
import os
import select
import sys
from collections import deque
from contextlib import suppress
from functools import lru_cache
from signal import SIGALRM, SIGKILL, SIGPIPE
from threading import BoundedSemaphore
from time import monotonic
from typing import Any

from signoff.errors import SchemaNotJudged, SchemaTimeout
from signoff.schema_engine import worker

__all__ = ["LIMIT_S", "ask"]

LIMIT_S = 2.0
START_LIMIT_S = 20.0
MAX_WORKERS = 4
MAX_ANSWER_BYTES = 2**26


def ask(want: str, formats: str, schema: bytes, value: bytes) -> Any:
    """
    The answer of a worker about a value.

    Args:
        want: ``valid``, ``all`` (complaints) or ``first`` (complaint).
        formats: What becomes of ``format``, as the worker names it.
        schema: The schema as JSON.
        value: The value as JSON.

    Raises:
        SchemaTimeout: There was none within ``LIMIT_S``.
        SchemaNotJudged: The worker died, or could not be started, or the library refused.
    """
    header = json.dumps([want, formats, len(schema), len(value)]).encode()
    answer = json.loads(_workers(os.getpid()).ask(b"".join((header, b"\n", schema, value))))
    if "broken" in answer:
        raise SchemaNotJudged(f"the schema could not be judged: {answer['broken']}")
    return answer["answer"]


@lru_cache(maxsize=1)
def _workers(process: int) -> _Workers:
    workers = _Workers(process)
    atexit.register(workers.close)
    return workers


class _Workers:
    """The idle workers of one process; a forked child has others."""

    def __init__(self, process: int) -> None:
        self._process = process
        self._idle: deque[_Worker] = deque()
        self._turns = BoundedSemaphore(MAX_WORKERS)

    def ask(self, request: bytes) -> bytes:
        with self._turns:
            try:
                warm = self._idle.pop()
            except IndexError:
                return self._ask(_Worker(), request)
            try:
                return self._ask(warm, request)
            except _Gone:  # it may have ended of boredom
                return self._ask(_Worker(), request)

    def _ask(self, worker: _Worker, request: bytes) -> bytes:
        answered = False
        try:
            answer = worker.ask(request)
            answered = True
        finally:
            if answered:
                self._idle.append(worker)
            else:
                worker.stop()
        return answer

    def close(self) -> None:
        while self._process == os.getpid() and self._idle:
            self._idle.pop().stop()


class _Gone(SchemaNotJudged):
    """The worker ended before it answered."""


class _Worker:
    """One worker process and the two pipes to it."""

    def __init__(self) -> None:
        import jsonschema_rs

        library = os.path.dirname(os.path.dirname(jsonschema_rs.__file__))  # noqa: PTH120  start-up
        theirs_in, self._to = os.pipe()
        self._from, theirs_out = os.pipe()
        os.set_blocking(self._to, False)
        os.set_blocking(self._from, False)
        argv = [sys.executable, "-I", "-S", worker.__file__, library]
        try:
            self._id = os.posix_spawn(
                sys.executable,
                argv,
                os.environ,
                file_actions=[
                    (os.POSIX_SPAWN_DUP2, theirs_in, 0),
                    (os.POSIX_SPAWN_DUP2, theirs_out, 1),
                    (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
                ],
                setsigmask=(),
                setsigdef=(SIGALRM, SIGPIPE),
            )
        except OSError as exc:
            os.close(self._to)
            os.close(self._from)
            raise SchemaNotJudged(f"no worker process could be started: {exc.strerror}") from exc
        finally:
            os.close(theirs_in)
            os.close(theirs_out)
        self._ready = False

    def ask(self, request: bytes) -> bytes:
        if not self._ready:
            self._receive(monotonic() + START_LIMIT_S)
            self._ready = True
        deadline = monotonic() + LIMIT_S
        self._send(request, deadline)
        return self._receive(deadline)

    def stop(self) -> None:
        """Kill the process, wait for its end, and close the pipes."""
        with suppress(ProcessLookupError):
            os.kill(self._id, SIGKILL)
        with suppress(ChildProcessError):  # somebody else has waited for it
            os.waitpid(self._id, 0)
        os.close(self._to)
        os.close(self._from)

    def _send(self, request: bytes, deadline: float) -> None:
        rest = memoryview(request)
        while rest:
            self._wait(self._to, select.POLLOUT, deadline)
            with suppress(BlockingIOError):
                try:
                    rest = rest[os.write(self._to, rest) :]
                except BrokenPipeError:
                    raise _Gone("the process that judges schemas ended") from None

    def _receive(self, deadline: float) -> bytes:
        data = bytearray()
        while (end := data.find(b"\n")) < 0:
            data += self._read(deadline)
        size = int(data[:end])
        if size > MAX_ANSWER_BYTES:
            raise SchemaNotJudged("there is too much to complain about")
        del data[: end + 1]
        while len(data) < size:
            data += self._read(deadline)
        return bytes(data)

    def _read(self, deadline: float) -> bytes:
        while True:
            self._wait(self._from, select.POLLIN, deadline)
            with suppress(BlockingIOError):
                if part := os.read(self._from, 2**20):
                    return part
                raise _Gone("the process that judges schemas ended")

    def _wait(self, pipe: int, event: int, deadline: float) -> None:
        poll = select.poll()
        poll.register(pipe, event)
        if not poll.poll(max(0.0, deadline - monotonic()) * 1000):
            raise SchemaTimeout(f"the schema was not judged within {LIMIT_S:g} s")
