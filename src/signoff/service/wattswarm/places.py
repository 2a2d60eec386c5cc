"""How many executors are at work at a time, and how many calls wait for one of them to end."""

from __future__ import annotations

import asyncio
import time
from typing import Final

from signoff.service.message import Problem

__all__ = ["Places"]

AT_WORK: Final = 16
WAITING: Final = 16


class Places:
    """
    The places at which executors work; used on one event loop.

    There are fewer of them than requests may be in progress, and than there are
    threads: whoever wants a verdict does not wait for those who want work.

    Args:
        at_work: How many there are.
        waiting: How many calls may wait for one.
    """

    def __init__(self, at_work: int = AT_WORK, waiting: int = WAITING) -> None:
        self._free = asyncio.Semaphore(at_work)
        self._may_wait = waiting
        self._waiting = 0

    async def take(self, until: float) -> None:
        """
        Returns with a place, which is to be given back.

        Args:
            until: When it is no longer of use, by the monotonic clock.

        Raises:
            Problem: 503, too many wait; 504, there was none in time.
        """
        if self._free.locked() and self._waiting >= self._may_wait:
            told = "all executors are at work, and as many calls wait for them as may"
            raise Problem(503, "busy", told, headers=(("Retry-After", "1"),))
        self._waiting += 1
        try:
            async with asyncio.timeout(until - time.monotonic()):
                await self._free.acquire()
        except TimeoutError:
            told = "timed out before an executor was free"
            raise Problem(504, "executor_timeout", told) from None
        finally:
            self._waiting -= 1

    def give_back(self) -> None:
        """Let another have the place."""
        self._free.release()
