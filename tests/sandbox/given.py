"""What isolation this machine can give, found out without signoff; so that none is lost unseen."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final, NoReturn

import pytest

from signoff.model import Isolation

NAMESPACES: Final = (
    *("--ro-bind", "/", "/", "--unshare-all", "--cap-drop", "ALL", "--new-session"),
    *("--proc", "/proc", "--dev", "/dev"),
)
LANDLOCK_CREATE_RULESET: Final = 444
VERSION: Final = 1
FILTERS: Final = Path("/proc/sys/kernel/seccomp/actions_avail")


def absent(level: Isolation, why: str) -> NoReturn:
    """Ends the test that needs a level; not as skipped where CI runs it and the level can be had."""
    if os.environ.get("CI") == "true" and can_give(level):
        pytest.fail(f"this machine can give {level}, and signoff does not: {why}", pytrace=False)
    pytest.skip(f"this machine does not give {level}: {why}")


def can_give(level: Isolation) -> bool:
    """True when the system does by itself what a level is made of."""
    if level == "L3":
        return makes_namespaces()
    if level == "L2":
        return landlock_version() >= 1 and FILTERS.exists()
    return True


def makes_namespaces() -> bool:
    """True when bubblewrap runs a program in namespaces of its own."""
    bubblewrap = shutil.which("bwrap")
    if sys.platform != "linux" or bubblewrap is None:
        return False
    argv = [bubblewrap, *NAMESPACES, "true"]
    return not subprocess.run(argv, capture_output=True, timeout=60, check=False).returncode


def landlock_version() -> int:
    """The version of Landlock; less than 1 where there is none, or it may not be used."""
    if sys.platform != "linux":
        return 0
    asked = map(ctypes.c_long, (LANDLOCK_CREATE_RULESET, 0, 0, VERSION))
    return int(ctypes.CDLL(None).syscall(*asked))
