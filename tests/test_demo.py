"""``make demo`` shows what it says, and leaves nothing behind."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.test_docs import ROOT, Session

# It starts a dozen processes, one of them a service.
pytestmark = pytest.mark.long


def test_demo_shows_passes_failures_code_an_image_and_a_service(tmp_path: Path) -> None:
    session = Session(tmp_path)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    session.env["TMPDIR"] = str(scratch)
    shown = session.run(str(ROOT / "demo" / "run.sh"))

    assert 0 == session.exit_code, shown
    assert [0, 0, 1, 0, 1, 0, 0, 0, 1, 0, 0, 3] == [
        int(line.split()[-1].rstrip(")")) for line in shown.splitlines() if "(exit code" in line
    ]
    assert "2 passed, 0 skipped" in shown
    assert "fail  tests    no_report: exit 0" in shown
    assert "fail  program  " in shown
    assert "dominant=#2b8a3e" in shown
    assert "5 words, at most 8" in shown
    assert [] == [*scratch.iterdir()]
