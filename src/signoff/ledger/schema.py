"""The tables of a ledger, as the steps that make them, and the statements that use them."""

from __future__ import annotations

from typing import Final

from signoff.ledger.database import Migration
from signoff.ledger.kept import COLUMNS

__all__ = ["COMPONENT", "EVENTS", "MIGRATIONS"]

COMPONENT: Final = "ledger"
EVENTS: Final = "ledger_events"
EVENT_COLUMNS: Final = ("seq", "at", "type", "contract_id", "signature", "line")
VERDICTS: Final = "ledger_verdicts"
VERDICT_COLUMNS: Final = COLUMNS
_EVENTS: Final = """
CREATE TABLE ledger_events (
  seq {integer} NOT NULL PRIMARY KEY,
  at TEXT NOT NULL,
  type TEXT NOT NULL,
  contract_id TEXT NOT NULL,
  signature TEXT NOT NULL,
  line {bytes} NOT NULL
)"""
_VERDICTS: Final = """
CREATE TABLE ledger_verdicts (
  seq {integer} NOT NULL PRIMARY KEY REFERENCES ledger_events (seq),
  contract_id TEXT NOT NULL,
  contract_digest TEXT NOT NULL,
  output_digest TEXT,
  outcome TEXT NOT NULL,
  cause TEXT,
  blockers TEXT NOT NULL,
  isolation TEXT,
  assurance TEXT,
  subject TEXT NOT NULL,
  run TEXT NOT NULL,
  report_digest TEXT NOT NULL,
  report {bytes} NOT NULL
)"""
MIGRATIONS: Final = (
    Migration(
        number=1,
        name="events and verdicts",
        statements=(
            _EVENTS,
            _VERDICTS,
            "CREATE INDEX ledger_verdicts_contract ON ledger_verdicts (contract_id, seq)",
            "CREATE INDEX ledger_verdicts_subject ON ledger_verdicts (subject, seq)",
        ),
    ),
)

_VERDICT: Final = ", ".join(f"v.{name}" for name in COLUMNS)

LAST: Final = "SELECT seq, line FROM ledger_events ORDER BY seq DESC LIMIT 1"
LINE: Final = "SELECT line FROM ledger_events WHERE seq = ?"
LINES: Final = (
    "SELECT seq, line FROM ledger_events WHERE seq >= ? AND seq <= ? ORDER BY seq LIMIT ?"
)
ROWS: Final = (
    "SELECT e.seq, e.at, e.type, e.contract_id, e.signature, e.line,"  # noqa: S608  names of ours
    f" {_VERDICT} FROM ledger_events e LEFT JOIN ledger_verdicts v ON v.seq = e.seq"
    " WHERE e.seq > ? AND e.seq <= ? ORDER BY e.seq LIMIT ?"
)
ORPHANS: Final = (
    "SELECT seq FROM ledger_verdicts v WHERE NOT EXISTS"
    " (SELECT 1 FROM ledger_events e WHERE e.seq = v.seq) ORDER BY seq LIMIT ?"
)
CHOSEN: Final = (
    f"SELECT e.line, {_VERDICT} FROM ledger_verdicts v"  # noqa: S608  names of ours
    " JOIN ledger_events e ON e.seq = v.seq WHERE {condition} ORDER BY v.seq {order} LIMIT ?"
)
