"""
Two servers under the same load in turns: requests a second, processor time, latencies.

A shared machine takes time from whoever runs.  The processor time of a request hardly
changes with that, so its ratio is told beside the one of the wall clock.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import median, quantiles
from typing import Any, Final, TypeAlias

from msgspec import Struct

from benchmarks.row import Failed
from benchmarks.timing import Effort, Measured

__all__ = ["Load", "LoadPair", "Side"]

WARM_UP_S: Final = 2.0
P99_AIM_S: Final = 0.05


class Load(Struct, frozen=True, kw_only=True):
    """
    What came of one round of one side.

    Args:
        requests: Those that were answered as wanted.
        errors: Those that were not.
        seconds: From the first to the last.
        cpu_s: Processor time of the server, all its processes together.
        p50_s: Half of the requests took at most so long.
        p99_s: Of a hundred, ninety-nine did.
    """

    requests: int
    errors: int
    seconds: float
    cpu_s: float
    p50_s: float = 0.0
    p99_s: float = 0.0


Side: TypeAlias = Callable[[float], Load]
"""Puts its server under load for so many seconds."""


class LoadPair(Struct, frozen=True, kw_only=True):
    """
    Two sides that are put under the same load.

    Args:
        ours: Ours.
        peer: The peer's.
        answers: Gives what ours and the peer's answer to the same requests, to be compared.
        note: What was found out while preparing, for the table.
        unit: What is counted.
        close: Ends what was started for the row.
    """

    ours: Side
    peer: Side
    answers: Callable[[], tuple[Any, Any]]
    note: str = ""
    unit: str = "requests"
    close: Callable[[], object] = lambda: None

    def measure(self, effort: Effort) -> Measured:
        """
        Both in turns, warmed up.

        Raises:
            Failed: Something was not answered as it should be.
        """
        for side in (self.ours, self.peer):
            side(min(WARM_UP_S, effort.load_s))
        rounds = [
            (self.ours(effort.load_s), self.peer(effort.load_s)) for _ in range(effort.load_rounds)
        ]
        ours, peer = [mine for mine, _ in rounds], [theirs for _, theirs in rounds]
        for name, loads in (("ours", ours), ("the peer", peer)):
            _check(name, loads)
        ratios = [_wall(mine) / _wall(theirs) for mine, theirs in rounds]
        low, _, high = quantiles(ratios, n=4, method="inclusive")
        return Measured(
            ours_s=median(map(_wall, ours)),
            peer_s=median(map(_wall, peer)),
            ratio=median(ratios),
            low=low,
            high=high,
            rounds=len(rounds),
            cpu_ratio=_cpu_ratio(rounds),
            note="; ".join(filter(None, (self._rates(ours, peer), _latencies(ours, peer)))),
        )

    def _rates(self, ours: Sequence[Load], peer: Sequence[Load]) -> str:
        mine, theirs = (1 / median(map(_wall, loads)) for loads in (ours, peer))
        told = f"{mine:,.0f} / {theirs:,.0f} {self.unit}/s"
        if not all(load.cpu_s for load in (*ours, *peer)):
            return told
        mine, theirs = (1 / median(map(_cpu, loads)) for loads in (ours, peer))
        return f"{told}, {mine:,.0f} / {theirs:,.0f} a second of processor time"


def _check(name: str, loads: Sequence[Load]) -> None:
    errors = sum(load.errors for load in loads)
    if errors:
        raise Failed(f"{name} did not answer {errors} requests as it should")
    if not all(load.requests for load in loads):
        raise Failed(f"{name} answered nothing")


def _wall(load: Load) -> float:
    """Seconds of a request, as many side by side as there are."""
    return load.seconds / load.requests


def _cpu(load: Load) -> float:
    """Seconds of processor time of a request."""
    return load.cpu_s / load.requests


def _cpu_ratio(rounds: Sequence[tuple[Load, Load]]) -> float | None:
    """None where the rounds were too short for the clock of the system."""
    ratios = [_cpu(mine) / _cpu(theirs) for mine, theirs in rounds if mine.cpu_s and theirs.cpu_s]
    return median(ratios) if ratios else None


def _latencies(ours: Sequence[Load], peer: Sequence[Load]) -> str:
    if not any(load.p50_s for load in (*ours, *peer)):
        return ""
    middle, slow = (
        [f"{1e3 * median(times):.1f}" for times in both]
        for both in (
            [[load.p50_s for load in loads] for loads in (ours, peer)],
            [[load.p99_s for load in loads] for loads in (ours, peer)],
        )
    )
    told = f"p50 {' / '.join(middle)} ms, p99 {' / '.join(slow)} ms"
    return f"{told}, the aim is below {1e3 * P99_AIM_S:g}"
