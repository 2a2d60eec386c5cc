"""The levels for a user without any privileges, where root runs the tests."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from signoff.model import Isolation
from tests.sandbox.confined import LEVELS, content, is_root, need, workspace
from tests.sandbox.ordinary_user import NOBODY, OrdinaryUser, folder_of_nobody

PROGRAM = """\
import json, os, sys
from pathlib import Path
from signoff.sandbox import Sandbox
from signoff.sandbox.command import Command, Limits
level, work, *argv = sys.argv[1:]
with Sandbox(level=level) as sandbox:
    command = Command(argv=tuple(argv), workspace=work, limits=Limits(timeout_s=30))
    with sandbox.run(command) as done:
        print(json.dumps({
            "ended": done.ended.value, "exit_code": done.exit_code, "level": done.isolation,
            "out": done.stdout.head.decode(), "err": done.stderr.head.decode(),
            "reason": done.reason, "overlay": "/fd/" in (done.workspace or ""),
            "left": sorted(os.listdir(done.workspace)) if done.workspace else None,
        }))
"""

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="the levels are Linux's"),
    pytest.mark.skipif(not is_root(), reason="every other test runs as an ordinary user then"),
]


@pytest.fixture
def work() -> Iterator[Path]:
    """A workspace of nobody's, at a place where nobody may go."""
    with folder_of_nobody() as folder:
        made = workspace(folder)
        for path in (made, *made.rglob("*")):
            os.chown(path, NOBODY, NOBODY)
        yield made


def ran(user: OrdinaryUser, level: Isolation, work: Path, *argv: str) -> Any:
    """How a command ended that nobody has run."""
    need(level)
    done = user.run(PROGRAM, level, str(work), *argv)
    assert 0 == done.returncode, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("level", LEVELS)
def test_command_runs_as_the_user_on_a_workspace_of_its_own(
    level: Isolation, nobody: OrdinaryUser, work: Path
) -> None:
    program = "id -u; rm -r inner; mkdir inner; echo x > file; echo y > new"
    done = ran(nobody, level, work, "sh", "-c", program)

    assert ("exited", 0, level) == (done["ended"], done["exit_code"], done["level"]), done
    assert f"{NOBODY}\n" == done["out"]
    assert ["file", "inner", "new"] == done["left"]
    assert (level == "L3") is done["overlay"]
    assert {"file": "as it was", "inner/deep": "deep"} == content(work)


def test_workspace_with_files_of_other_groups_is_copied(nobody: OrdinaryUser, work: Path) -> None:
    os.chown(work / "inner" / "deep", NOBODY, 0)
    done = ran(nobody, "L3", work, "sh", "-c", "rm -r inner && echo x > file")

    assert (0, ["file"], False) == (done["exit_code"], done["left"], done["overlay"]), done


@pytest.mark.parametrize("level", ["L3", "L2"])
def test_privileges_cannot_be_gained(level: Isolation, nobody: OrdinaryUser, work: Path) -> None:
    program = "grep -E 'CapPrm|NoNewPrivs|Seccomp:' /proc/self/status; unshare -U true; mount"
    done = ran(nobody, level, work, "sh", "-c", program)

    assert ["0000000000000000", "1", "2"] == done["out"].split()[1:6:2]
    assert "ot permitted" in done["err"]


@pytest.mark.parametrize("level", ["L3", "L2"])
def test_environment_of_the_same_user_is_not_read(
    level: Isolation, nobody: OrdinaryUser, work: Path
) -> None:
    with subprocess.Popen(
        ["sleep", "60"], user=NOBODY, group=NOBODY, env={**os.environ, "TOKEN": "9f1c-secret"}
    ) as bystander:
        try:
            done = ran(
                nobody, level, work, "sh", "-c", f"cat /proc/{bystander.pid}/environ; echo end"
            )
        finally:
            bystander.kill()

    assert "end\n" == done["out"]
