"""What tests of commands share: a marked sandbox, and a look at what is left of its processes."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from signoff.sandbox import Sandbox
from signoff.sandbox.command import Command, Completed, Ended, Limits

MARK = "SIGNOFF_TEST_MARK"
LATEST_S = 0.5


class Marked:
    """Runs Python in a sandbox; every process that comes of it carries a mark."""

    def __init__(self, sandbox: Sandbox, mark: str) -> None:
        self.sandbox = sandbox
        self.mark = mark

    def run(self, program: str, *arguments: str, timeout_s: float = 30, **about: Any) -> Completed:
        limits = {name: about.pop(name) for name in Limits.__struct_fields__ if name in about}
        command = Command(
            argv=(sys.executable, "-c", program, *arguments),
            env={MARK: self.mark, **about.pop("env", {})},
            limits=Limits(timeout_s=timeout_s, **limits),
            **about,
        )
        return self.sandbox.run(command)

    def timed(self, program: str, *arguments: str, **about: Any) -> tuple[Completed, float]:
        begin = time.monotonic()
        done = self.run(program, *arguments, **about)
        return done, time.monotonic() - begin

    def timely(self, program: str, *, timeout_s: float, **about: Any) -> tuple[Completed, float]:
        """The first of three runs that is ended in time: others may keep the machine busy."""
        for _ in range(3):
            done, took_s = self.timed(program, timeout_s=timeout_s, **about)
            if took_s < timeout_s + LATEST_S and done.ended is not Ended.BROKEN:
                break
            eventually(lambda: not self.left())
        return done, took_s

    def left(self) -> list[int]:
        return marked(self.mark)


def marked(mark: str) -> list[int]:
    """Every process with a mark in its environment, on the whole machine."""
    line, found = f"{MARK}={mark}".encode(), list[int]()
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            if line in path.read_bytes().split(b"\0"):
                found.append(int(path.parent.name))
        except OSError:
            continue
    return found


def eventually(claim: Callable[[], bool], within_s: float = 5.0) -> bool:
    """True as soon as a claim holds; other processes take a moment to do what they do."""
    until = time.monotonic() + within_s
    while not claim():
        if time.monotonic() > until:
            return False
        os.sched_yield()
    return True
