"""The keeper is ended whatever state it is in, and says what became of it."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest

from signoff.sandbox import keeper as keeping
from signoff.sandbox.keeper import Keeper, KeeperBroken
from signoff.sandbox.supervisor.kinship import descendants, is_alive
from tests.sandbox.attacks import eventually

HANGS = "import subprocess, time; subprocess.Popen(['sleep', '60']); time.sleep(60)"


@pytest.fixture
def folder(tmp_path: Path) -> str:
    return str(tmp_path / "kept")


def test_one_that_was_killed_takes_nothing_on(folder: str) -> None:
    keeper = Keeper(folder)
    keeper.wait_until_ready()
    os.kill(keeper.pid, signal.SIGKILL)

    assert eventually(keeper.has_ended)
    with pytest.raises(KeeperBroken, match=r"^the keeper of commands has ended$"):
        keeper.hand([0])
    keeper.let_go()


def test_one_that_says_nothing_is_not_waited_for(folder: str) -> None:
    """What it said when it gave up is asked for; it has not given up."""
    keeper = Keeper(folder, python=sys.executable, preload=HANGS)
    try:
        assert "the keeper of commands has ended" == keeper.complaint()
    finally:
        keeper.kill()
        keeper.let_go()


def test_one_whose_folder_cannot_be_made_says_why(tmp_path: Path) -> None:
    keeper = Keeper(str(tmp_path / "no" / "kept"))
    with pytest.raises(KeeperBroken, match=r"has ended: No such file or directory: .*/no/kept$"):
        keeper.wait_until_ready()
    keeper.close()


def test_closing_twice_does_nothing_more(folder: str) -> None:
    keeper = Keeper(folder)
    keeper.wait_until_ready()
    keeper.close()
    keeper.close()

    assert keeper.has_ended()
    assert not Path(folder).exists()


def test_one_that_does_not_end_is_killed_with_all_that_it_started(
    folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    keeper = Keeper(folder, python=sys.executable, preload=HANGS)
    assert eventually(lambda: bool(descendants(keeper.pid)), 60)
    (started,) = descendants(keeper.pid)
    monkeypatch.setattr(keeping, "CLOSING_S", 0)
    keeper.close()

    assert keeper.has_ended()
    assert not is_alive(keeper.pid)
    assert eventually(lambda: not is_alive(started.pid))


def test_one_that_somebody_else_has_waited_for_has_ended(folder: str) -> None:
    keeper = Keeper(folder)
    keeper.wait_until_ready()
    os.kill(keeper.pid, signal.SIGKILL)
    os.waitpid(keeper.pid, 0)

    assert keeper.has_ended()
    keeper.let_go()
