"""
Rows: one measurement each, of ours against a named peer.

A row is prepared only when it is asked for, so that one whose peer is not there
costs the others nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from msgspec import Struct

from benchmarks.timing import Effort, Measured, Timed, measure

__all__ = ["Failed", "Pair", "Row", "Sides", "Unavailable"]


class Unavailable(Exception):
    """The row cannot be timed here; the message says why."""


class Failed(Exception):
    """A side did not do what was timed; the message says what it did."""


class Sides(Protocol):
    """Two sides that do the same work."""

    @property
    def answers(self) -> Callable[[], tuple[Any, Any]]:
        """Gives what ours and the peer's make of the same things, to be compared."""
        ...

    @property
    def note(self) -> str:
        """What was found out while preparing, for the table."""
        ...

    @property
    def close(self) -> Callable[[], object]:
        """Ends what was started for the row."""
        ...

    def measure(self, effort: Effort) -> Measured:
        """
        Both in turns.

        Raises:
            Failed: A side did something else.
        """
        ...


class Pair(Struct, frozen=True, kw_only=True):
    """
    Two sides that are called, and timed.

    Args:
        ours: Ours.
        peer: The peer's.
        answers: Gives what ours and the peer's make of the same things, to be compared.
        note: What was found out while preparing, for the table.
        close: Ends what was started for the row.
    """

    ours: Timed
    peer: Timed
    answers: Callable[[], tuple[Any, Any]]
    note: str = ""
    close: Callable[[], object] = lambda: None

    def measure(self, effort: Effort) -> Measured:
        """Both in turns."""
        return measure(self.ours, self.peer, effort)


class Row(Struct, frozen=True, kw_only=True):
    """
    One measurement.

    Args:
        name: What it is called on the command line.
        ours: What of ours is timed.
        peer: What it is timed against.
        prepare: Makes both sides, to be closed in the end; raises ``Unavailable``.
        aim: Highest ratio that is good enough; None where there is no aim.
        note: What a reader must know to judge the ratio.
    """

    name: str
    ours: str
    peer: str
    prepare: Callable[[], Sides]
    aim: float | None = None
    note: str = ""
