"""The two tables of the registry: objects, and what happened to their OIDs."""

from __future__ import annotations

from typing import Final

from signoff.ledger.database import Migration

__all__ = ["COLUMNS", "COMPONENT", "EVENT_COLUMNS", "MIGRATIONS", "SELECT"]

COMPONENT: Final = "scc_oids"

COLUMNS: Final = (
    "oid", "path", "kind", "layer", "primary_unit", "tags", "status", "sha256", "derived_from",
    "replaced_by", "stable_key", "hint", "created_at", "updated_at",
)  # fmt: skip
MIGRATIONS: Final = (
    Migration(
        number=1,
        name="objects and their events",
        statements=(
            (
                "CREATE TABLE objects (oid TEXT PRIMARY KEY, path TEXT NOT NULL,"
                " kind TEXT NOT NULL, layer TEXT NOT NULL, primary_unit TEXT NOT NULL,"
                " tags TEXT NOT NULL,"
                " status TEXT NOT NULL, sha256 TEXT, derived_from TEXT, replaced_by TEXT,"
                " stable_key TEXT, hint TEXT, created_at TEXT NOT NULL, updated_at TEXT NOT NULL)"
            ),
            "CREATE UNIQUE INDEX objects_stable_key ON objects (stable_key)",
            "CREATE UNIQUE INDEX objects_active_path ON objects (path) WHERE status = 'active'",
            (
                "CREATE TABLE oid_events (event_id TEXT PRIMARY KEY, oid TEXT NOT NULL,"
                " kind TEXT NOT NULL, payload TEXT NOT NULL, created_at TEXT NOT NULL)"
            ),
            "CREATE INDEX oid_events_oid ON oid_events (oid)",
        ),
    ),
)

SELECT: Final = f"SELECT {', '.join(COLUMNS)} FROM objects"  # noqa: S608  our own columns
EVENT_COLUMNS: Final = ("event_id", "oid", "kind", "payload", "created_at")
