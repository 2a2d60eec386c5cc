"""What one worker is, for the parts that are served in it."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor

from signoff.service.access_log import AccessLog
from signoff.service.metrics import Metrics
from signoff.service.settings import Settings

__all__ = ["Worker"]


class Worker:
    """
    One process that answers, and what its parts share.

    Attributes:
        index: From 0; a worker that takes a dead one's place has its index.
        settings: Of the whole server.
        loop: Runs every handler.
        threads: For what would block the loop.
        metrics: Counted from the thread of the loop.
        draining: The server was told to stop and finishes what it has accepted.
    """

    def __init__(
        self,
        index: int,
        settings: Settings,
        *,
        loop: asyncio.AbstractEventLoop,
        threads: ThreadPoolExecutor,
        metrics: Metrics,
        access_log: AccessLog,
    ) -> None:
        self.index = index
        self.settings = settings
        self.loop = loop
        self.threads = threads
        self.metrics = metrics
        self.draining = False
        self._access_log = access_log

    def log(self, event: str, level: str = "info", **facts: object) -> None:
        """Write a line about something other than a request; facts, never payloads."""
        self._access_log.say(event, level, **facts)
