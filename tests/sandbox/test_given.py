"""Whether a level that is missing makes a test skip, or fail."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from signoff.model import Isolation
from tests.sandbox.confined import LEVELS, lacks
from tests.sandbox.given import absent, can_give, landlock_version

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the levels are Linux's")


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder in which programs are looked for."""
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


def bubblewrap(folder: Path, exit_code: int) -> None:
    """Puts a bubblewrap there that only ends."""
    program = folder / "bwrap"
    program.write_text(f"#!/bin/sh\nexit {exit_code}\n")
    program.chmod(0o755)


def ended(level: Isolation) -> str:
    """How a test ends for which a level is missing, and what is said."""
    try:
        absent(level, "it is broken")
    except (pytest.fail.Exception, pytest.skip.Exception) as exc:
        return f"{type(exc).__name__}: {exc.msg}"


FAILED = "Failed: this machine can give {}, and signoff does not: it is broken"
SKIPPED = "Skipped: this machine does not give {}: it is broken"


@pytest.mark.parametrize(
    ("ci", "exit_code", "expected"),
    [("true", 0, FAILED), ("true", 1, SKIPPED), ("", 0, SKIPPED), ("false", 0, SKIPPED)],
)
def test_missing_namespaces_fail_in_ci_where_bubblewrap_makes_them(
    programs: Path, monkeypatch: pytest.MonkeyPatch, ci: str, exit_code: int, expected: str
) -> None:
    bubblewrap(programs, exit_code)
    monkeypatch.setenv("CI", ci)

    assert expected.format("L3") == ended("L3")


def test_missing_bubblewrap_skips_in_ci_too(
    programs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CI", "true")

    assert not [*programs.iterdir()]
    assert SKIPPED.format("L3") == ended("L3")


def test_missing_landlock_fails_in_ci_where_the_kernel_has_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CI", "true")

    assert (FAILED if landlock_version() >= 1 else SKIPPED).format("L2") == ended("L2")


def test_lowest_level_fails_in_ci_wherever_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")
    assert FAILED.format("L1") == ended("L1")

    monkeypatch.delenv("CI")
    assert SKIPPED.format("L1") == ended("L1")


@pytest.mark.parametrize("level", LEVELS)
def test_every_level_that_this_machine_can_give_is_had(level: Isolation) -> None:
    assert not (can_give(level) and lacks(level)), lacks(level)
