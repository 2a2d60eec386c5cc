"""A fresh place for a registry, in each of the two databases, and a workspace."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from signoff.sandbox import Sandbox
from tests.ledger.postgres_server import server
from tests.scc.run_world import World, world

__all__ = ["server"]


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str | Path:
    """Where a registry may be, with nothing there yet."""
    if request.param == "sqlite":
        return tmp_path / "registry" / "oids.sqlite3"
    dsn: str = request.getfixturevalue("server").fresh()
    return dsn


@pytest.fixture(scope="session")
def sandbox() -> Iterator[Sandbox]:
    """What runs the commands of checks."""
    with Sandbox(min_isolation="L0") as running:
        yield running


@pytest.fixture(scope="session")
def initialised(tmp_path_factory: pytest.TempPathFactory, sandbox: Sandbox) -> Path:
    """A workspace to copy."""
    root = tmp_path_factory.mktemp("initialised")
    world(root, sandbox)
    return root


@pytest.fixture
def repo(tmp_path: Path, initialised: Path, sandbox: Sandbox) -> World:
    """An initialised workspace of one test."""
    root = tmp_path / "repo"
    shutil.copytree(initialised, root, symlinks=True)
    return World(root, sandbox)
