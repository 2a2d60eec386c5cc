"""Replies that were given lately, by the digest of the question: a retry gets the same bytes."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from time import monotonic
from typing import Final

from msgspec import Struct

from signoff.service.message import Response

__all__ = ["Given", "ReplyCache"]

MAX_ENTRIES: Final = 4_096
MAX_BYTES: Final = 32 * 2**20


class Given(Struct, frozen=True):
    """A reply with what the log says of it."""

    response: Response
    notes: Mapping[str, object]


class ReplyCache:
    """
    Replies for some time each, and so many at most: the oldest go first.

    Args:
        clock: Seconds that never go back.
    """

    __slots__ = ("_bytes", "_clock", "_kept")

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._kept: OrderedDict[bytes, tuple[float, Given]] = OrderedDict()
        self._bytes = 0

    def get(self, key: bytes) -> Given | None:
        """The reply of a key; None where there is none, or its time is over."""
        found = self._kept.get(key)
        if found is None or found[0] > self._clock():
            return found and found[1]
        self._bytes -= len(self._kept.pop(key)[1].response.body)
        return None

    def put(self, key: bytes, given: Given, seconds: float) -> None:
        """Keep a reply for so long."""
        size = len(given.response.body)
        if size > MAX_BYTES or key in self._kept:
            return
        self._kept[key] = (self._clock() + seconds, given)
        self._bytes += size
        while self._bytes > MAX_BYTES or len(self._kept) > MAX_ENTRIES:
            _, (_, oldest) = self._kept.popitem(last=False)
            self._bytes -= len(oldest.response.body)
