"""A fresh place for a registry, in each of the two databases, and a workspace."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.ledger import postgres_server
from tests.ledger.postgres_server import Server


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """A PostgreSQL server."""
    why = postgres_server.missing()
    if why:
        pytest.skip(why)
    running = Server()
    yield running
    running.close()


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str | Path:
    """Where a registry may be, with nothing there yet."""
    if request.param == "sqlite":
        return tmp_path / "registry" / "oids.sqlite3"
    dsn: str = request.getfixturevalue("server").fresh()
    return dsn
