"""How many requests are answered at the same time, and how many wait for their turn."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

__all__ = ["Crowd"]


class Crowd:
    """
    Those whose answers take their time.

    Args:
        in_progress: How many are answered at the same time.
        queue: How many wait beyond them; first come, first served.
    """

    def __init__(self, in_progress: int, queue: int) -> None:
        self._limit = in_progress
        self._queue = queue
        self._waiting: deque[tuple[Callable[[], None], Callable[[], None]]] = deque()
        self.running = 0

    @property
    def waiting(self) -> int:
        """How many wait for their turn."""
        return len(self._waiting)

    def enter(self, start: Callable[[], None], drop: Callable[[], None]) -> bool:
        """
        Start now or when there is room; drop what comes to nothing.

        Returns:
            False where too many wait already.
        """
        if self.running < self._limit:
            self.running += 1
            start()
            return True
        if len(self._waiting) < self._queue:
            self._waiting.append((start, drop))
            return True
        drop()
        return False

    def leave(self) -> None:
        """One is done, and whoever waits longest takes the place."""
        if self._waiting:
            start, _ = self._waiting.popleft()
            start()
        else:
            self.running -= 1

    def abandon(self) -> None:
        """Drop everything that waits."""
        while self._waiting:
            _, drop = self._waiting.popleft()
            drop()
