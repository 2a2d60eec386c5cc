"""Verdicts into a ledger, where there is one: none is told that was not kept."""

from __future__ import annotations

from signoff.errors import DatabaseUnusable, LedgerCorrupt
from signoff.ledger import Ledger
from signoff.model import Report
from signoff.record import encode_report
from signoff.service.message import Problem

__all__ = ["Keeper"]


class Keeper:
    """
    Keeps verdicts; without a ledger it keeps nothing.

    Args:
        ledger: Where they are kept.
    """

    def __init__(self, ledger: Ledger | None) -> None:
        self._ledger = ledger

    @property
    def keeps(self) -> bool:
        """There is a ledger; keeping a verdict waits for the disk."""
        return self._ledger is not None

    def keep(self, report: Report, *, name: str | int | None) -> bytes:
        """
        The report as it is written; it is in the ledger when this returns.

        Args:
            report: What was found out.
            name: The subject's name in the ledger.

        Raises:
            Problem: It could not be kept.
        """
        written = encode_report(report)
        if self._ledger is None:
            return written
        try:
            self._ledger.record(report, written, subject="" if name is None else str(name))
        except (DatabaseUnusable, LedgerCorrupt) as exc:
            raise Problem(503, "ledger_unusable", f"the verdict was not kept: {exc}") from exc
        except ValueError as exc:
            raise Problem(422, "wrong_shape", f"the verdict was not kept: {exc}") from exc
        return written

    def require_reachable(self) -> None:
        """
        Nothing, if the ledger can be read.

        Raises:
            Problem: It cannot.
        """
        if self._ledger is None:
            return
        try:
            self._ledger.head()
        except (DatabaseUnusable, LedgerCorrupt) as exc:
            raise Problem(503, "ledger_unusable", str(exc)) from exc

    def close(self) -> None:
        """End it; what was kept lasts without this."""
        if self._ledger is not None:
            self._ledger.close()
