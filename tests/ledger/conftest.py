"""A fresh place for a ledger, in each of the two databases."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ledger.postgres_server import server

__all__ = ["place", "server"]


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a ledger may be, with nothing there yet."""
    if request.param == "sqlite":
        return str(tmp_path / "ledger.sqlite")
    dsn: str = request.getfixturevalue("server").fresh()
    return dsn
