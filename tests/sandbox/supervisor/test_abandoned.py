from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from signoff.sandbox.supervisor.abandoned import folder_name, remove_abandoned


def test_folders_of_the_dead_are_removed_and_no_others(tmp_path: Path) -> None:
    dead = subprocess.Popen([sys.executable, "-c", "pass"])
    dead.wait()
    gone = folder_name(dead.pid, "00ff")
    kept = {
        folder_name(os.getpid(), "00ff"),
        gone.replace("signoff-", "signoff-1"),  # of another space of process numbers
        f"signoff-{dead.pid}",
        "signoff-x-y-z",
        "other",
    }
    for name in (gone, *kept):
        (tmp_path / name / "inner").mkdir(parents=True)
    remove_abandoned(str(tmp_path))

    assert kept == {path.name for path in tmp_path.iterdir()}
