"""What was answered, counted and logged for many requests at once."""

from __future__ import annotations

import asyncio
from typing import Final

from signoff.service.access_log import FLUSH_S, AccessLog, Answered
from signoff.service.metrics import Metrics

__all__ = ["Journal"]

MAX_PLANNED: Final = 4096


class Journal:
    """
    Requests that were answered and are not told yet.

    Args:
        loop: Has them told a moment later.
        metrics: Where they are counted.
        access_log: Where they are logged; None for nowhere.
    """

    def __init__(
        self, loop: asyncio.AbstractEventLoop, metrics: Metrics, access_log: AccessLog | None
    ) -> None:
        self._loop = loop
        self._metrics = metrics
        self._access_log = access_log
        self._answered: list[Answered] = []
        self._planned = False

    def note(self, answered: Answered) -> None:
        """Keep one request, to be told soon."""
        self._answered.append(answered)
        if not self._planned:
            self._planned = True
            self._loop.call_later(FLUSH_S, self.tell)
        elif len(self._answered) >= MAX_PLANNED:
            self._tell()

    def tell(self) -> None:
        """Count and log everything that was kept."""
        self._planned = False
        self._tell()

    def _tell(self) -> None:
        answered, self._answered = self._answered, []
        # Most requests of a moment are alike: counting them together is cheap.
        alike: dict[tuple[str, str, int], list[float]] = {}
        for _, _, method, route, status, seconds, _ in answered:
            alike.setdefault((method, route, status), []).append(seconds)
        metrics = self._metrics
        for (method, route, status), times in alike.items():
            told = str(status)
            metrics.count(
                "signoff_http_requests", len(times), method=method, route=route, status=told
            )
            metrics.observe("signoff_http_seconds", *times, route=route)
        if self._access_log is not None and answered:
            self._access_log.answered(answered)
