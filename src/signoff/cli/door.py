"""The door: which exit code a verdict comes to, and what ``--strict`` makes of a warning."""

from __future__ import annotations

from typing import Final

import click

from signoff.cli.exits import Exit
from signoff.model import Contract, Report
from signoff.status import Outcome, Status

__all__ = ["ending", "strict_option", "warned"]

_CODES: Final = {
    Outcome.PASSED: Exit.DONE,
    Outcome.INCONCLUSIVE: Exit.INCONCLUSIVE,
    Outcome.FAILED: Exit.FAILED,
}

strict_option = click.option(
    "--strict",
    is_flag=True,
    help="Count a warning of a required criterion as failure; no result is changed.",
)


def warned(report: Report, contract: Contract) -> tuple[str, ...]:
    """Ids of the required criteria that hold with a warning, in contract order."""
    required = {criterion.id for criterion in contract.criteria if criterion.required}
    return tuple(
        result.criterion
        for result in report.results
        if result.finding.status is Status.WARN and result.criterion in required
    )


def ending(report: Report, contract: Contract, *, strict: bool) -> Exit:
    """The exit code for a report."""
    code = _CODES[report.verdict.outcome]
    if code is Exit.DONE and strict and warned(report, contract):
        return Exit.FAILED
    return code
