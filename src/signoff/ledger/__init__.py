"""Verdicts and events, kept so that they last: in SQLite by default, in PostgreSQL by DSN."""

from __future__ import annotations

from signoff.ledger.audit import Audit, Fault
from signoff.ledger.kept import KeptVerdict
from signoff.ledger.ledger import Ledger, Note, open_ledger
from signoff.ledger.line import Event, Head

__all__ = ["Audit", "Event", "Fault", "Head", "KeptVerdict", "Ledger", "Note", "open_ledger"]
