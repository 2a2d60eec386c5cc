"""Runs of pytest inside of tests see nothing of the run that they are in."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _no_outer_run(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PYTEST_ADDOPTS", "PYTEST_PLUGINS", "COV_CORE_SOURCE", "COVERAGE_PROCESS_START"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # they take most of its time
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
