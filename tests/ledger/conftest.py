"""A fresh place for a ledger, in each of the two databases."""

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
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a ledger may be, with nothing there yet."""
    if request.param == "sqlite":
        return str(tmp_path / "ledger.sqlite")
    dsn: str = request.getfixturevalue("server").fresh()
    return dsn
