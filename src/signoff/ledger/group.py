"""
Group commit: all that waits is written in one transaction, by one of those who wait.

The first to come writes; whoever comes meanwhile waits, and the first of them
then writes for all.  Nobody sleeps and no thread is kept: a single writer pays
for a lock and nothing else.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, Final, Generic, TypeVar, cast

__all__ = ["Group", "NotWritten"]

MAX_BATCH: Final = 512
Entry = TypeVar("Entry")
Answer = TypeVar("Answer")


class NotWritten(Exception):
    """The one who wrote for all was interrupted."""


class Group(Generic[Entry, Answer]):
    """
    Writes the entries of many threads together.

    Args:
        write: Calls what it is given, once and as late as it can, for the entries; writes
            them, all or none, and gives an answer for each.  One thread at a time calls it.
    """

    def __init__(self, write: Callable[[Callable[[], Sequence[Entry]]], Sequence[Answer]]) -> None:
        self._write = write
        self._lock = threading.Lock()
        self._waiting: list[_Ticket] = []
        self._busy = False

    def submit(self, entry: Entry) -> Answer:
        """
        Write one entry, together with whatever else waits; it is written when this returns.

        Raises:
            NotWritten: The thread that wrote it was interrupted.
            Exception: Whatever the writing raised; then it was not written.
        """
        ticket = _Ticket(entry)
        woken: threading.Lock | None = None
        with self._lock:
            self._waiting.append(ticket)
            if self._busy:
                woken = ticket.woken = threading.Lock()
                woken.acquire()
            else:
                self._busy = ticket.leads = True
        try:
            if woken is not None:
                woken.acquire()
            if ticket.leads:
                self._lead(ticket)
        finally:
            if not ticket.ended:
                self._leave(ticket)
        if ticket.error is not None:
            raise ticket.error
        return cast("Answer", ticket.answer)

    def _lead(self, leader: _Ticket) -> None:
        batch: list[_Ticket] = []
        answers: Sequence[Answer] = ()
        error: Exception = NotWritten("the thread that wrote it was interrupted")

        def take() -> Sequence[Entry]:
            # Whoever was told of the batch before has had time to come again, and nobody
            # then contends with this thread for the interpreter while it writes.
            with self._lock:
                batch.extend(self._waiting[:MAX_BATCH])
                del self._waiting[:MAX_BATCH]
            return [ticket.entry for ticket in batch]

        try:
            answers = self._write(take)
        except Exception as exc:  # noqa: BLE001  it is the answer to everyone in the batch
            error = exc
        finally:
            if not batch:
                take()
            leader.leads = False
            for at, ticket in enumerate(batch):
                ticket.end(*((answers[at], None) if answers else (None, error)))
            self._pass_on()

    def _pass_on(self) -> None:
        with self._lock:
            self._busy = bool(self._waiting)
            if self._waiting:
                self._waiting[0].leads = True
                self._waiting[0].wake()

    def _leave(self, ticket: _Ticket) -> None:
        """Whoever was interrupted while waiting leaves nobody waiting for them."""
        with self._lock:
            if ticket in self._waiting:
                self._waiting.remove(ticket)
        if ticket.leads:
            self._pass_on()


class _Ticket:
    """One entry that waits: its turn comes when it was written, or when it is to write."""

    __slots__ = ("answer", "ended", "entry", "error", "leads", "woken")

    def __init__(self, entry: Any) -> None:
        self.entry = entry
        self.woken: threading.Lock | None = None
        self.leads = False
        self.ended = False
        self.answer: Any = None
        self.error: Exception | None = None

    def end(self, answer: Any, error: Exception | None) -> None:
        self.answer, self.error, self.ended = answer, error, True
        self.wake()

    def wake(self) -> None:
        # Whoever came first waits for nobody.
        if self.woken is not None:
            self.woken.release()
