"""Commands as the sandbox runs them, against the same without one."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from hashlib import sha256
from itertools import repeat
from time import perf_counter
from typing import Final

from benchmarks.row import Pair, Row, Unavailable
from benchmarks.timing import Timed, calling
from signoff.model import Isolation
from signoff.sandbox import Sandbox
from signoff.sandbox.command import Command, Ended, Limits

__all__ = ["ROWS"]

NOTHING: Final = "true"
MANY: Final = 200
JOBS: Final = 2
PRINTED: Final = 200_000_000
PRINT: Final = f"""import os
left, block = {PRINTED}, bytes(1_000_000)
while left:
    left -= os.write(1, block[:left])"""
WRAPPED: Final = (
    "bwrap", "--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL",
    "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp",
)  # fmt: skip


def _run(sandbox: Sandbox, program: str = NOTHING) -> int | None:
    with sandbox.run(Command(argv=(program,))) as done:
        return done.exit_code


def _plainly(*argv: str) -> int:
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    return done.returncode


def _sandbox(level: Isolation) -> Sandbox:
    """A sandbox at a level, that has run something."""
    sandbox = Sandbox(level=level)
    done = sandbox.run(Command(argv=(NOTHING,)))
    if done.ended is not Ended.EXITED:
        sandbox.close()
        raise Unavailable(done.reason)
    return sandbox


def _one(level: Isolation, peer: tuple[str, ...] = ()) -> Pair:
    if peer and shutil.which(peer[0]) is None:
        raise Unavailable(f"{peer[0]} is not installed")
    sandbox = _sandbox(level)
    return Pair(
        ours=calling(_run, sandbox, clock=perf_counter),
        peer=calling(_plainly, *peer, NOTHING, clock=perf_counter),
        answers=lambda: (
            [_run(sandbox, program) for program in ("true", "false")],
            [_plainly(*peer, program) for program in ("true", "false")],
        ),
        close=sandbox.close,
    )


def _many(level: Isolation) -> Pair:
    sandbox = _sandbox(level)
    return Pair(
        ours=_side_by_side(lambda _: _run(sandbox)),
        peer=_side_by_side(lambda _: _plainly(NOTHING)),
        answers=lambda: (_run(sandbox), _plainly(NOTHING)),
        close=sandbox.close,
    )


def _side_by_side(run: Callable[[int], object]) -> Timed:
    def timed(loops: int) -> float:
        begin = perf_counter()
        for _ in repeat(None, loops):
            with ThreadPoolExecutor(JOBS) as pool:
                list(pool.map(run, range(MANY)))
        return perf_counter() - begin

    return timed


def _captured(sandbox: Sandbox) -> str:
    command = Command(argv=(sys.executable, "-c", PRINT), limits=Limits(output_bytes=2 * PRINTED))
    return sandbox.run(command).stdout.digest


def _kept() -> str:
    done = subprocess.run([sys.executable, "-c", PRINT], capture_output=True, check=True)
    return f"sha256:{sha256(done.stdout).hexdigest()}"


def _growth(sandbox: Sandbox) -> float:
    """Mebibytes that a process of its own grows by when it captures."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        _captured(sandbox)
        sandbox.close()
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        os.write(writer, str(grown / 1_024).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        said = pipe.read()
    os.waitpid(child, 0)
    return float(said)


def _capture() -> Pair:
    sandbox = _sandbox("L1")
    return Pair(
        ours=calling(_captured, sandbox, clock=perf_counter),
        peer=calling(_kept, clock=perf_counter),
        answers=lambda: (_captured(sandbox), _kept()),
        note=f"ours grows by {_growth(sandbox):.0f} MiB, the aim is below 64",
        close=sandbox.close,
    )


ROWS: Final = (
    Row(
        name="command-L1",
        ours="Sandbox.run of true, L1",
        peer="subprocess.run",
        prepare=partial(_one, "L1"),
    ),
    Row(
        name="command-L3",
        ours="Sandbox.run of true, L3",
        peer="subprocess.run",
        prepare=partial(_one, "L3"),
    ),
    Row(
        name="command-bwrap",
        ours="Sandbox.run of true, L3",
        peer="bwrap with everything unshared",
        prepare=partial(_one, "L3", WRAPPED),
        aim=3,
    ),
    Row(
        name="commands-200-L1",
        ours="200 commands, 2 at a time, L1",
        peer="subprocess.run",
        prepare=partial(_many, "L1"),
    ),
    Row(
        name="commands-200-L3",
        ours="200 commands, 2 at a time, L3",
        peer="subprocess.run",
        prepare=partial(_many, "L3"),
    ),
    Row(
        name="capture",
        ours="200 MB of output, head and tail kept",
        peer="subprocess.run, all kept, and hashed",
        prepare=_capture,
    ),
)
