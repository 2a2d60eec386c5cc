"""
Two things timed side by side: A B A B, so that whatever disturbs one disturbs both.

A time by itself says more about the machine than about the code.  What is
reported is the ratio of each round, its median, and the quartiles as its spread.
"""

from __future__ import annotations

import gc
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import repeat
from statistics import median, quantiles
from time import perf_counter, thread_time
from typing import Any, TypeAlias

from msgspec import Struct

__all__ = ["Effort", "Measured", "Timed", "calling", "measure", "starting"]

Timed: TypeAlias = Callable[[int], float]
"""Does its work so many times over, and gives the seconds that all of it took."""


class Effort(Struct, frozen=True, kw_only=True):
    """
    How long to look.

    Args:
        rounds: Rounds for each row; one round is a batch of ours and one of the peer's.
        batch_s: Seconds that one batch takes at least; a single call may take longer.
        row_s: Seconds after which a row of slow calls gets no further round.
        load_rounds: Rounds of a row that puts servers under load.
        load_s: Seconds that each side of such a round takes.
    """

    rounds: int = 40
    batch_s: float = 0.005
    row_s: float = 6.0
    load_rounds: int = 5
    load_s: float = 10.0


class Measured(Struct, frozen=True, kw_only=True):
    """
    What came of one row.

    Args:
        ours_s: Seconds of one call of ours, median of the rounds.
        peer_s: Seconds of one call of the peer, likewise.
        ratio: Ours over the peer's, median of the rounds.
        low: Lower quartile of the ratios.
        high: Upper quartile of the ratios.
        rounds: Rounds that were timed.
        cpu_ratio: The ratio of the processor times, where the times are those of a clock.
        note: What else was seen.
    """

    ours_s: float
    peer_s: float
    ratio: float
    low: float
    high: float
    rounds: int
    cpu_ratio: float | None = None
    note: str = ""


def calling(
    function: Callable[..., object], *arguments: Any, clock: Callable[[], float] = thread_time
) -> Timed:
    """
    Calls of a function in this process.

    The clock is this thread's processor time, which other programs disturb less.
    """

    def timed(loops: int) -> float:
        begin = clock()
        for _ in repeat(None, loops):
            function(*arguments)
        return clock() - begin

    return timed


def starting(argv: Sequence[str], expected: int = 0) -> Timed:
    """Whole processes by the wall clock, start to end; each must exit as expected."""

    def timed(loops: int) -> float:
        begin = perf_counter()
        for _ in repeat(None, loops):
            done = subprocess.run(
                argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=False
            )
            if done.returncode != expected:
                raise RuntimeError(f"{argv} exited with {done.returncode}, expected {expected}")
        return perf_counter() - begin

    return timed


def measure(ours: Timed, peer: Timed, effort: Effort) -> Measured:
    """Both in turns, warmed up, in batches that the clock can tell, without garbage collection."""
    with _no_collection():
        our_loops, peer_loops = _loops(ours, effort.batch_s), _loops(peer, effort.batch_s)
        rounds = list[tuple[float, float]]()
        end = perf_counter() + effort.row_s
        while len(rounds) < effort.rounds and (len(rounds) < 2 or perf_counter() < end):
            rounds.append((ours(our_loops) / our_loops, peer(peer_loops) / peer_loops))
    ratios = [mine / theirs for mine, theirs in rounds]
    low, _, high = quantiles(ratios, n=4, method="inclusive")
    return Measured(
        ours_s=median(mine for mine, _ in rounds),
        peer_s=median(theirs for _, theirs in rounds),
        ratio=median(ratios),
        low=low,
        high=high,
        rounds=len(rounds),
    )


def _loops(timed: Timed, batch_s: float) -> int:
    """How many calls fill a batch; finding it out warms up."""
    loops = 1
    while (took := timed(loops)) < batch_s:
        loops = max(loops * 2, int(loops * batch_s / max(took, 1e-9)))
    return loops


@contextmanager
def _no_collection() -> Iterator[None]:
    collecting = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()
