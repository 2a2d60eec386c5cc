"""
Counts and times of every worker, in memory that all of them see.

Each worker writes to a region of its own, so that nothing is locked, and any of
them can tell of all.  A worker that takes a dead one's place goes on with its counts.
"""

from __future__ import annotations

import mmap
import struct
from bisect import bisect_left
from collections.abc import Iterator
from typing import Final

import msgspec

__all__ = ["BOUNDS", "Board", "Metrics", "Series"]

BOUNDS: Final = (
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 25.0,
)  # fmt: skip
REGION_BYTES: Final = 256 * 1024
_DOUBLE: Final = 8
# A region begins with the bytes that are used, the count of what found no room, and how
# many connections the worker has.
_USED: Final = 0
_LOST: Final = 1
_LOAD: Final = 2
_FIRST: Final = 3 * _DOUBLE
_USED_FORMAT: Final = "=Q"

Labels = tuple[tuple[str, str], ...]


class Series(msgspec.Struct, frozen=True, array_like=True):
    """
    What one number counts.

    Args:
        kind: ``counter``, ``gauge``, ``bucket`` or ``sum``; the last two make a histogram.
        name: As it is shown, without what the exposition appends.
        labels: Names and values.
        bound: The upper bound of a bucket; infinity for the last one.
    """

    kind: str
    name: str
    labels: Labels
    bound: float = 0.0


class Board:
    """The memory of all workers; made before the first of them is forked."""

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self.memory = mmap.mmap(-1, workers * REGION_BYTES)
        for index in range(workers):
            struct.pack_into(_USED_FORMAT, self.memory, index * REGION_BYTES, _FIRST)

    def totals(self) -> dict[Series, float]:
        """Every number, summed over the workers."""
        totals: dict[Series, float] = {}
        for index in range(self.workers):
            for series, at in _entries(self.memory, index):
                value: float = struct.unpack_from("=d", self.memory, at)[0]
                totals[series] = totals.get(series, 0.0) + value
        return totals

    def loads(self) -> list[float]:
        """How many connections each worker has."""
        starts = range(0, self.workers * REGION_BYTES, REGION_BYTES)
        return [struct.unpack_from("=d", self.memory, at + _LOAD * _DOUBLE)[0] for at in starts]

    def lost(self) -> int:
        """How often something was counted that no region had room for."""
        starts = range(0, self.workers * REGION_BYTES, REGION_BYTES)
        return sum(int(struct.unpack_from("=d", self.memory, at + _DOUBLE)[0]) for at in starts)


class Metrics:
    """
    What one worker counts, from the thread of its loop alone.

    Args:
        board: The memory of all workers.
        index: Which of them this is.
    """

    def __init__(self, board: Board, index: int) -> None:
        self.board = board
        self._start = index * REGION_BYTES
        self._memory = board.memory
        region = memoryview(board.memory)[self._start : self._start + REGION_BYTES]
        self._values = region.cast("d")
        self._known = {
            series: (at - self._start) // _DOUBLE for series, at in _entries(self._memory, index)
        }
        self._values[_LOAD] = 0.0
        self._counters: dict[tuple[object, ...], int] = {}
        self._histograms: dict[tuple[object, ...], tuple[int, tuple[int, ...]]] = {}

    def load(self, connections: int) -> None:
        """Tell the other workers how many connections this one has."""
        self._values[_LOAD] = connections

    def has_more(self) -> bool:
        """Another worker has fewer connections."""
        loads = self.board.loads()
        return self._values[_LOAD] > min(loads)

    def count(self, name: str, amount: float = 1.0, **labels: str) -> None:
        """Add to a counter."""
        key = (name, *labels.items())
        slot = self._counters.get(key)
        if slot is None:
            slot = self._counters[key] = self._slot(Series("counter", name, _labels(labels)))
        self._values[slot] += amount

    def gauge(self, name: str, value: float, **labels: str) -> None:
        """Set what is now; the sum over the workers is shown."""
        slot = self._slot(Series("gauge", name, _labels(labels)))
        if slot != _LOST:
            self._values[slot] = value

    def observe(self, name: str, *seconds: float, **labels: str) -> None:
        """Add times to a histogram."""
        key = (name, *labels.items())
        slots = self._histograms.get(key)
        if slots is None:
            slots = self._histograms[key] = self._histogram(name, _labels(labels))
        total, buckets = slots
        values = self._values
        for one in seconds:
            values[total] += one
            values[buckets[bisect_left(BOUNDS, one)]] += 1.0

    def _histogram(self, name: str, labels: Labels) -> tuple[int, tuple[int, ...]]:
        bounds = (*BOUNDS, float("inf"))
        buckets = tuple(self._slot(Series("bucket", name, labels, bound)) for bound in bounds)
        return self._slot(Series("sum", name, labels)), buckets

    def _slot(self, series: Series) -> int:
        """Where the number of a series stands; the count of what is lost where there is no room."""
        slot = self._known.get(series)
        if slot is not None:
            return slot
        used: int = struct.unpack_from(_USED_FORMAT, self._memory, self._start)[0]
        key = msgspec.msgpack.encode(series)
        value_at = used + _padded(4 + len(key))
        if value_at + _DOUBLE > REGION_BYTES:
            return _LOST
        at = self._start + used
        struct.pack_into("=I", self._memory, at, len(key))
        self._memory[at + 4 : at + 4 + len(key)] = key
        # Last, so that a reader never meets half an entry.
        struct.pack_into(_USED_FORMAT, self._memory, self._start, value_at + _DOUBLE)
        slot = self._known[series] = value_at // _DOUBLE
        return slot


def _entries(memory: mmap.mmap, index: int) -> Iterator[tuple[Series, int]]:
    """Each series of a worker, and where its number stands."""
    start = index * REGION_BYTES
    end = start + struct.unpack_from(_USED_FORMAT, memory, start)[0]
    at = start + _FIRST
    while at < end:
        (length,) = struct.unpack_from("=I", memory, at)
        series = _DECODER.decode(memory[at + 4 : at + 4 + length])
        at += _padded(4 + length)
        yield series, at
        at += _DOUBLE


def _labels(labels: dict[str, str]) -> Labels:
    return tuple(sorted(labels.items()))


def _padded(length: int) -> int:
    return (length + _DOUBLE - 1) // _DOUBLE * _DOUBLE


_DECODER: Final = msgspec.msgpack.Decoder(Series)
