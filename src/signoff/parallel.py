"""
Checks that wait for commands, run side by side: begun before their turn, told in their turn.

Only signoff's own are, which read nothing of the output and change nothing.  What
a report says does not depend on how many run at a time: results stand in contract
order, and what was begun in vain counts as not run.
"""

from __future__ import annotations

from collections import deque
from threading import Event, Thread
from time import perf_counter
from types import TracebackType
from typing import Final, Self

from msgspec.structs import replace

from signoff.model import Finding, Result, Subject
from signoff.plan import Bound, Plan
from signoff.registry import Check

__all__ = ["SideBySide"]

PATIENCE_S: Final = 0.02
WAKE_S: Final = 0.1


class SideBySide:
    """
    The checks of a contract, those that wait for commands begun ahead; a context manager.

    Leaving the ``with`` ends what still runs.

    Args:
        plan: The contract with its checks bound.
        subject: What is judged.
        jobs: How many may run at a time; of 1 none is begun ahead.

    Attributes:
        bound: The criteria of the plan; those begun ahead have checks that wait for the answer.

    Raises:
        ValueError: ``jobs`` is below 1.
    """

    def __init__(self, plan: Plan, subject: Subject, *, jobs: int) -> None:
        if jobs < 1:
            raise ValueError(f"jobs must be at least 1, got {jobs}")
        self.bound = plan.bound
        self._runner = plan.runner
        self._begun: dict[str, _Begun] = {}
        self._queue: deque[_Begun] = deque()
        if jobs > 1 and subject.output_fault is None:
            self.bound = tuple(self._ahead(entry, subject) for entry in plan.bound)
        count = min(jobs, len(self._queue))
        self._workers = [Thread(target=self._work, daemon=True) for _ in range(count)]

    def __enter__(self) -> Self:
        begun = False
        try:
            for worker in self._workers:
                worker.start()
            begun = True
        finally:
            if not begun:  # a person's Ctrl-C comes at any time
                self._end()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, at: TracebackType | None
    ) -> None:
        self._end()

    def timed(self, result: Result) -> Result:
        """The result with the time that its check took, rather than that of waiting for it."""
        begun = self._begun.get(result.criterion)
        if begun is None or not begun.was_asked:
            return result
        return replace(result, elapsed_s=begun.elapsed_s)

    def _ahead(self, entry: Bound, subject: Subject) -> Bound:
        if not _waits(entry):
            return entry
        begun = _Begun(entry.check, subject)
        self._begun[entry.criterion.id] = begun
        self._queue.append(begun)
        return replace(entry, check=begun.answer)

    def _end(self) -> None:
        self._queue.clear()
        for worker in self._workers:
            # Again and again: between two commands of one check there is nothing to end.
            while worker.is_alive():
                if self._runner is not None and worker.ident is not None:
                    self._runner.cancel(worker.ident)
                worker.join(PATIENCE_S)

    def _work(self) -> None:
        while self._queue:
            try:
                begun = self._queue.popleft()
            except IndexError:  # another worker took the last one
                return
            begun.run()


def _waits(entry: Bound) -> bool:
    """The check does nothing but start commands and wait for them."""
    return entry.own and getattr(entry.check, "starts_commands", False) is True


class _Begun:
    """A check that runs on another thread, and its answer for whoever asks."""

    def __init__(self, check: Check, subject: Subject) -> None:
        self.elapsed_s = 0.0
        self.was_asked = False
        self._check = check
        self._subject = subject
        self._done = Event()
        self._found: Finding | None = None
        self._raised: Exception | KeyboardInterrupt | SystemExit | None = None

    def run(self) -> None:
        begin = perf_counter()
        try:
            self._found = self._check(self._subject)
        except (Exception, KeyboardInterrupt, SystemExit) as exc:  # noqa: BLE001  raised again for the engine, which tells of it
            self._raised = exc
        finally:
            self.elapsed_s = perf_counter() - begin
            self._done.set()

    def answer(self, _: Subject) -> Finding | None:
        """What the check answers, or raises."""
        self.was_asked = True
        # In steps: a Ctrl-C that comes just before waiting begins does not end the wait.
        while not self._done.wait(WAKE_S):
            pass
        if self._raised is not None:
            raise self._raised
        return self._found
