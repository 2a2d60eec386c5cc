"""What the tests of the command line share: a folder to work in, and a plain environment."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.calling import BAD, CONTRACT, GOOD, call, wrote


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "CLICOLOR_FORCE", "TERM", "SIGNOFF_DEBUG"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with a contract, its lock file, a good output and a bad one."""
    monkeypatch.chdir(tmp_path)
    wrote(tmp_path, "contract.yaml", CONTRACT)
    wrote(tmp_path, "good.json", GOOD)
    wrote(tmp_path, "bad.json", BAD)
    assert 0 == call("lock", "contract.yaml").code
    return tmp_path
