"""
Rows: one measurement each, of ours against a named peer.

A row is prepared only when it is asked for, so that one whose peer is not there
costs the others nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Struct

from benchmarks.timing import Timed

__all__ = ["Pair", "Row", "Unavailable"]


class Unavailable(Exception):
    """The row cannot be timed here; the message says why."""


class Pair(Struct, frozen=True, kw_only=True):
    """
    Two sides that do the same work.

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
    prepare: Callable[[], Pair]
    aim: float | None = None
    note: str = ""
