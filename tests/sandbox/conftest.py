from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest

from signoff.model import Isolation
from signoff.sandbox import Sandbox
from tests.sandbox.attacks import Marked
from tests.sandbox.confined import need
from tests.sandbox.ordinary_user import NOBODY, OrdinaryUser, folder_of_nobody, ordinary_user


@pytest.fixture(params=["L1", "L2", "L3"], scope="session")
def level(request: pytest.FixtureRequest) -> Isolation:
    found: Isolation = request.param
    need(found)
    return found


@pytest.fixture
def marked(level: Isolation) -> Iterator[Marked]:
    """A sandbox at each level that this machine gives."""
    with Sandbox(level=level) as sandbox:
        sandbox.survey()  # what takes time only once
        yield Marked(sandbox, secrets.token_hex(8))


@pytest.fixture
def plain() -> Iterator[Marked]:
    """A sandbox at the level that every machine gives."""
    with Sandbox(level="L1") as sandbox:
        sandbox.survey()
        yield Marked(sandbox, secrets.token_hex(8))


@pytest.fixture(scope="session")
def nobody() -> Iterator[OrdinaryUser]:
    """Someone without any privileges, where root runs the tests."""
    with ordinary_user() as user:
        yield user


@pytest.fixture
def unprivileged(tmp_path: Path) -> Iterator[Path]:
    """A folder of somebody whom the system can refuse something, who runs the test."""
    if os.geteuid():
        yield tmp_path
        return
    with folder_of_nobody() as folder:
        os.setegid(NOBODY)
        os.seteuid(NOBODY)
        try:
            yield folder
        finally:
            os.seteuid(0)
            os.setegid(0)
