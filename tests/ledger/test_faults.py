"""Killed at any moment, on a full disk, by many at once: nothing acknowledged is lost, nothing is torn."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PROGRAM = Path(__file__).with_name("interrupted_writers.py")


def attempt(*argv: str, within: tuple[str, ...] = ()) -> Any:
    done = subprocess.run(
        [*within, sys.executable, str(PROGRAM), *argv],
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])},
        capture_output=True,
        check=False,
        text=True,
        timeout=600,
    )
    assert 0 == done.returncode, done.stderr
    return json.loads(done.stdout)


@pytest.fixture
def small_disk(tmp_path: Path) -> tuple[str, ...]:
    """A command line that runs what follows where the folder is a disk of 256 KiB."""
    mount = f'mount -t tmpfs -o size=256k none "{tmp_path}" && exec "$@"'
    for unshare in (("unshare", "--mount"), ("unshare", "--user", "--map-root-user", "--mount")):
        within = (*unshare, "sh", "-c", mount, "sh")
        try:
            if not subprocess.run([*within, "true"], capture_output=True, check=False).returncode:
                return within
        except FileNotFoundError:
            break
    pytest.skip("this system lets nobody mount a disk of their own")


def test_kill_loses_nothing_acknowledged_and_breaks_nothing(place: str) -> None:
    found = attempt("kill", place, "12")

    assert [] == found["faults"]
    assert found["acknowledged"] == found["numbers"] >= 12
    assert found["acknowledged"] <= found["verdicts"] <= found["events"]


@pytest.mark.long
def test_many_kills_lose_nothing_acknowledged_and_break_nothing(place: str) -> None:
    found = attempt("kill", place, "200")

    assert [] == found["faults"]
    assert found["acknowledged"] == found["numbers"] >= 200


def test_sixty_four_writers_of_which_half_are_killed(place: str) -> None:
    found = attempt("many", place)

    assert [] == found["faults"]
    assert found["acknowledged"] == found["numbers"] >= 4 * 8 * 6


def test_full_disk_is_told_and_leaves_all_that_was_acknowledged(
    small_disk: tuple[str, ...], tmp_path: Path
) -> None:
    found = attempt("full", str(tmp_path / "ledger.sqlite"), within=small_disk)

    assert [] == found["faults"]
    assert found["acknowledged"] == found["numbers"] > 0
    assert any("no space left on the disk" in text for text in found["refused"])


def test_files_that_may_not_grow_are_told_and_leave_all_that_was_acknowledged(
    tmp_path: Path,
) -> None:
    found = attempt("size", str(tmp_path / "ledger.sqlite"))

    assert [] == found["faults"]
    assert found["acknowledged"] == found["numbers"] > 7
    assert len(found["refused"]) >= 6


def test_read_only_disk_is_told_and_can_be_read(
    small_disk: tuple[str, ...], tmp_path: Path
) -> None:
    found = attempt("frozen", str(tmp_path / "ledger.sqlite"), within=small_disk)
    told, read = found["refused"]

    assert [] == found["faults"]
    assert 3 == found["acknowledged"]
    assert "read-only" in told
    assert "and is read" == read
