"""Checks of invoices."""

from __future__ import annotations

from invoice_checks.total_agrees import total_agrees

__all__ = ["VERIFIERS", "total_agrees"]

VERIFIERS = (total_agrees,)
