"""A refusal because of a document, with the place of everything that is wrong in it."""

from __future__ import annotations

from collections.abc import Iterable

from signoff.cli.exits import Refusal
from signoff.errors import Fault

__all__ = ["FaultyDocument"]


class FaultyDocument(Refusal):
    """
    A document cannot be used.

    Args:
        message: What cannot be done with it.
        faults: Each fault, with its place.
        source: Name of the document.
        next_step: What to do about it.
    """

    def __init__(
        self, message: str, *, faults: Iterable[Fault], source: str, next_step: str = ""
    ) -> None:
        super().__init__(message, next_step=next_step)
        self.faults = tuple(faults)
        self.source = source
