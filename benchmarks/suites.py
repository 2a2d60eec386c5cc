"""Runs of a small test suite as a check, against pytest as a person starts it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Final

from benchmarks.row import Pair, Row, Unavailable
from benchmarks.timing import calling
from signoff import PROBES
from signoff.model import Subject
from signoff.registry import Powers
from signoff.sandbox import Sandbox

__all__ = ["ROWS"]

PYTEST: Final = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests")
BARE: Final = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
GOOD: Final = "def test_one():\n    assert 1 + 1 == 2\n\n\ndef test_two():\n    pass\n"
BAD: Final = GOOD.replace("== 2", "== 3")


def _pair(env: Mapping[str, str], *, warm: bool) -> Pair:
    if find_spec("pytest") is None:
        raise Unavailable("pytest is not installed")
    folder = TemporaryDirectory(prefix="signoff-bench-")
    good, bad = (_suite(Path(folder.name) / name, text) for name, text in (("g", GOOD), ("b", BAD)))
    sandbox = Sandbox(level="L1", warm=warm)

    def close() -> None:
        sandbox.close()
        folder.cleanup()

    return Pair(
        ours=calling(_holds, sandbox, good, clock=perf_counter),
        peer=calling(_passes, good, env, clock=perf_counter),
        answers=lambda: (
            [_holds(sandbox, suite) for suite in (good, bad)],
            [_passes(suite, env) for suite in (good, bad)],
        ),
        close=close,
    )


def _suite(folder: Path, text: str) -> Path:
    (folder / "tests").mkdir(parents=True)
    (folder / "tests" / "test_a.py").write_text(text, "utf-8")
    return folder


def _holds(sandbox: Sandbox, workspace: Path) -> bool:
    verifier = PROBES.get("pytest")
    assert verifier is not None
    powers = Powers(sandbox=sandbox, workspace=workspace, python=sys.executable)
    return verifier.bind({"args": ["tests"]}, powers)(Subject()).status.holds


def _passes(workspace: Path, env: Mapping[str, str]) -> bool:
    done = subprocess.run(
        PYTEST, cwd=workspace, env={**os.environ, **env}, capture_output=True, check=False
    )
    return done.returncode == 0


ROWS: Final = (
    Row(
        name="tests-warm",
        ours="pytest check, --trust warm",
        peer="python -m pytest",
        prepare=partial(_pair, {}, warm=True),
        aim=0.2,
        note="two tests and the canaries; the peer loads the plug-ins that are installed",
    ),
    Row(
        name="tests-warm-bare",
        ours="pytest check, --trust warm",
        peer="python -m pytest, no plug-ins",
        prepare=partial(_pair, BARE, warm=True),
    ),
    Row(
        name="tests-cold",
        ours="pytest check, L1",
        peer="python -m pytest, no plug-ins",
        prepare=partial(_pair, BARE, warm=False),
        note="with the canaries and the report",
    ),
)
