"""
What the results of a contract rest on: the weakest of what was found out about each command.

A chain is as strong as its weakest link, so a report says the lowest level under
which any command ran, and the least of what shows that it did what it was to do.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct

from signoff.jsonvalue import shown
from signoff.model import ASSURANCES, Assurance, Isolation, Report, Result

__all__ = ["Backing", "backing", "backing_faults"]


class Backing(Struct, frozen=True, kw_only=True):
    """
    What results rest on; empty where no command was started.

    Args:
        isolation: The lowest level under which a command ran.
        assurance: The weakest of what shows that the commands did what they were to do.
        missing: What the levels should give and the machine does not, each once.
    """

    isolation: Isolation | None = None
    assurance: Assurance | None = None
    missing: tuple[str, ...] = ()


NOTHING = Backing()


def backing(results: Iterable[Result]) -> Backing:
    """What some results rest on, whatever their status."""
    findings = [one.finding for one in results if one.finding.isolation is not None]
    if not findings:
        return NOTHING
    said = (found.assurance for found in findings)
    # One that does not say is worth no more than an exit code.
    assurances = [ASSURANCES[0] if one is None else one for one in said]
    return Backing(
        isolation=min(found.isolation for found in findings if found.isolation is not None),
        assurance=min(assurances, key=ASSURANCES.index),
        missing=tuple(dict.fromkeys(text for found in findings for text in found.missing)),
    )


def backing_faults(report: Report, level: Isolation | None) -> Iterator[str]:
    """
    What a report says of its commands that cannot be so.

    Args:
        report: What to look at.
        level: The lowest isolation that its contract wants, None for the lowest there is.
    """
    said = Backing(isolation=report.isolation, assurance=report.assurance, missing=report.missing)
    if said != backing(report.results):
        yield "isolation, assurance and missing do not follow from the results"
    lowest = max(level or "L1", "L1")
    for result in report.results:
        isolation = result.finding.isolation
        if isolation is not None and isolation < lowest and result.finding.status.holds:
            yield f'result "{shown(result.criterion)}" holds below the isolation that is wanted'
