"""An executor that is a function of the operator's, called in worker processes of its own."""

from __future__ import annotations

import os
from collections import deque
from pathlib import Path
from threading import BoundedSemaphore, Lock
from time import monotonic
from typing import Final

from signoff.executors.failure import (
    ExecutorFailed,
    ExecutorOutputInvalid,
    ExecutorTimedOut,
)
from signoff.executors.reply import MAX_REPLY_BYTES, PLAIN, Executed, Form, read_reply
from signoff.executors.worker import Answer, Late, Refused, Worker, WorkerEnded
from signoff.jsonvalue import JSON, shown
from signoff.plugins import is_reference

__all__ = ["MAX_WORKERS", "FunctionExecutor"]

MAX_WORKERS: Final = 8
START_LIMIT_S: Final = 60.0


class FunctionExecutor:
    """
    Calls ``f(request) -> reply`` in a worker process, which is used again for later requests.

    A worker that is late is killed with all that it started, and so is every
    worker when this process ends, however it ends.

    Args:
        reference: ``PACKAGE.MODULE:FUNCTION``.
        form: How JSON is written and read.
        folder: Where modules are looked for that are not installed.
        said: Where the operator gave the reference.
        max_workers: Calls at the same time; others wait.

    Raises:
        ValueError: The reference has another form.
    """

    def __init__(
        self,
        reference: str,
        *,
        form: Form = PLAIN,
        folder: Path | None = None,
        said: str = "--executor",
        max_workers: int = MAX_WORKERS,
    ) -> None:
        if not is_reference(reference):
            raise ValueError(f"a function must be package.module:name, got {shown(reference)}")
        self.name = f"call:{reference}"
        self._form = form
        self._started_as = (reference, said, str((folder or Path.cwd()).resolve()))
        self._max_workers = max_workers
        self._forked = Lock()
        self._begin()

    def prepare(self) -> None:
        """
        Have a worker import the function.

        Raises:
            ExecutorFailed: It cannot be imported or called, or that takes a minute.
        """
        self._require_own_process()
        worker = self._taken()
        try:
            worker.require_ready(monotonic() + START_LIMIT_S)
        except Late:
            reason = f"could not be imported within {START_LIMIT_S:g} s"
            raise ExecutorFailed(self.name, reason, log=worker.log()) from None
        except (Refused, WorkerEnded) as exc:
            raise ExecutorFailed(self.name, str(exc), log=worker.log()) from exc
        finally:
            self._put_back(worker)

    def run(self, request: JSON, deadline_s: float) -> Executed:
        """
        What the function gives.

        Raises:
            ExecutorFailed: It raised, or its process ended.
            ExecutorTimedOut: It had not returned in time; its process was killed.
            ExecutorOutputInvalid: What it returned is no reply.
        """
        until = monotonic() + deadline_s
        self._require_own_process()
        if not self._permits.acquire(timeout=max(deadline_s, 0)):
            raise ExecutorTimedOut(self.name, deadline_s)
        try:
            return self._run(self._form.dumps(request), until, deadline_s)
        finally:
            self._permits.release()

    def close(self) -> None:
        """Kill the workers; calls that wait for one fail."""
        self._require_own_process()
        with self._lock:
            self._closed = True
            idle = [*self._idle]
            self._idle.clear()
            for worker in self._busy:
                worker.let_go()
        for worker in idle:
            worker.stop()

    def _begin(self) -> None:
        self._process = os.getpid()
        self._permits = BoundedSemaphore(self._max_workers)
        self._lock = Lock()
        self._idle = deque[Worker]()
        self._busy = set[Worker]()
        self._closed = False

    def _require_own_process(self) -> None:
        """The workers are those of this process: a fork has none, and leaves its parent's alone."""
        with self._forked:
            if self._process == os.getpid():
                return
            inherited = [*self._idle, *self._busy]
            self._begin()
            for worker in inherited:
                worker.abandon()

    def _run(self, request: bytes, until: float, deadline_s: float) -> Executed:
        worker = self._taken()
        try:
            worker.require_ready(min(until, worker.started + START_LIMIT_S))
            answer = worker.ask(request, until)
            return self._executed(answer, worker.log())
        except Late:
            raise ExecutorTimedOut(self.name, deadline_s, log=worker.log()) from None
        except (Refused, WorkerEnded) as exc:
            raise ExecutorFailed(self.name, str(exc), log=worker.log()) from exc
        finally:
            self._put_back(worker)

    def _executed(self, answer: Answer, log: bytes) -> Executed:
        if answer.kind == "reply":
            return read_reply(self.name, answer.data, self._form, log=log)
        if answer.kind == "too_large":
            reason = f"it has more than {MAX_REPLY_BYTES} bytes"
            raise ExecutorOutputInvalid(self.name, "", reason, log=log)
        told = shown(answer.data.decode("utf-8", "replace"))
        if answer.kind == "not_json":
            raise ExecutorOutputInvalid(self.name, "", f"no JSON: {told}", log=log)
        raise ExecutorFailed(self.name, f"raised {told}", log=log)

    def _taken(self) -> Worker:
        """A worker of which nobody else makes use."""
        while True:
            with self._lock:
                if self._closed:
                    raise ExecutorFailed(self.name, "is being shut down")
                worker = self._idle.pop() if self._idle else None
                if worker is not None:
                    self._busy.add(worker)
            if worker is None:
                return self._new()
            if worker.is_usable():
                return worker
            self._put_back(worker)

    def _new(self) -> Worker:
        try:
            worker = Worker(*self._started_as, MAX_REPLY_BYTES)
        except OSError as exc:
            raise ExecutorFailed(self.name, f"has no process to run in: {exc}") from exc
        with self._lock:
            self._busy.add(worker)
            if self._closed:
                worker.let_go()
        return worker

    def _put_back(self, worker: Worker) -> None:
        """Keep a worker for the next request where it may serve it, else see it end."""
        keeps = worker.may_be_used_again(START_LIMIT_S)
        with self._lock:
            self._busy.discard(worker)
            keeps = keeps and not self._closed
            if keeps:
                self._idle.append(worker)
        if not keeps:
            worker.stop()
