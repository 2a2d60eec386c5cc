"""
Runs that are ended in the middle: a program of its own, because it kills itself.

    killed_runs.py WORKSPACE step N        SIGKILL at the N-th step of a run
    killed_runs.py WORKSPACE call N        SIGKILL at the N-th call that changes a disk
    killed_runs.py WORKSPACE size BYTES    no file may grow beyond so many bytes
    killed_runs.py WORKSPACE whole 0       nothing happens to it

It prints how many steps or calls there were, and how the run ended, when it gets that far.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from signoff.errors import SignoffError
from signoff.sandbox import Sandbox
from tests.scc.run_world import World

CALLS = ("replace", "rename", "unlink", "mkdir", "fsync", "write", "rmdir")


class Bomb:
    """Kills this process when it is asked for the N-th time; 0 for never."""

    def __init__(self, number: int) -> None:
        self.left = number
        self.count = 0

    def __call__(self, *_: object) -> None:
        self.count += 1
        if self.count == self.left:
            os.kill(os.getpid(), signal.SIGKILL)


def laid(bomb: Bomb, owner: int) -> None:
    """Every call that changes a disk asks the bomb first, in this process alone."""
    for name in CALLS:
        original: Callable[..., Any] = getattr(os, name)

        def call(*args: Any, _original: Callable[..., Any] = original, **more: Any) -> Any:
            if os.getpid() == owner:
                bomb()
            return _original(*args, **more)

        setattr(os, name, call)


def main() -> None:
    root, how, number = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    bomb = Bomb(number if how in {"step", "call"} else 0)
    with Sandbox(min_isolation="L0") as sandbox:
        world = World(root, sandbox)
        if how == "size":
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (number, number))
        if how == "call":
            laid(bomb, os.getpid())
        try:
            ended = world.run(on_step=bomb if how == "step" else lambda _: None)
            said = ended.verdict
        except (OSError, SignoffError) as exc:
            said = f"unwritten: {type(exc).__name__}"
    sys.stdout.write(json.dumps({"count": bomb.count, "said": said}) + "\n")


if __name__ == "__main__":
    main()
