"""The commands as whole processes, as multiples of an interpreter that does nothing."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import orjson

from benchmarks.row import Pair, Row, Unavailable
from benchmarks.samples import FIVE, bad_outputs, contract, output, require
from benchmarks.timing import Timed, starting
from signoff import STDLIB, encode_lock, lock

__all__ = ["ROWS"]

NOTHING: Final = (sys.executable, "-c", "pass")


def _command() -> list[str]:
    """The command as it is installed; from the tree, what the installed one consists of."""
    if find_spec("signoff.cli") is None:
        raise Unavailable("there is no command line")
    installed = Path(sys.executable).with_name("signoff")
    if installed.is_file():
        return [str(installed)]
    return [sys.executable, "-c", "import sys; from signoff.cli import main; sys.exit(main())"]


def _help() -> Pair:
    argv = [*_command(), "--help"]
    done = _run(argv)
    if done.returncode or b"verify" not in done.stdout:
        raise Unavailable("signoff --help does not work")
    return Pair(
        ours=starting(argv),
        peer=starting(NOTHING),
        answers=lambda: (_run(argv).returncode, _run(NOTHING).returncode),
    )


def _verify() -> Pair:
    require(*(verifier for _, verifier, _ in FIVE))
    folder = TemporaryDirectory(prefix="signoff-bench-")
    here = Path(folder.name)
    (here / "contract.lock.json").write_bytes(encode_lock(lock(contract(*FIVE), STDLIB)))
    (here / "output.json").write_bytes(orjson.dumps(output()))
    (here / "bad.json").write_bytes(orjson.dumps(bad_outputs()[0]))
    command = [*_command(), "verify", str(here / "contract.lock.json")]
    good, bad = [*command, str(here / "output.json")], [*command, str(here / "bad.json")]
    if b"count" not in _run(good).stdout:
        folder.cleanup()
        raise Unavailable("signoff verify does not work")
    return Pair(
        ours=starting(good),
        peer=starting(NOTHING),
        answers=lambda: ([_run(good).returncode, _run(bad).returncode], [0, 1]),
        close=folder.cleanup,
    )


def _run(argv: list[str] | tuple[str, ...]) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, check=False)


def _imports() -> Pair:
    return Pair(
        ours=_importing("signoff.engine"),
        peer=starting(NOTHING),
        answers=lambda: (0, _run([sys.executable, "-c", "import signoff.engine"]).returncode),
    )


def _importing(module: str) -> Timed:
    return starting([sys.executable, "-c", f"import {module}"])


ROWS: Final = (
    Row(
        name="start-engine",
        ours="python -c 'import signoff.engine'",
        peer="python -c pass",
        prepare=_imports,
    ),
    Row(
        name="start-help",
        ours="signoff --help",
        peer="python -c pass",
        prepare=_help,
        aim=6,
    ),
    Row(
        name="start-verify",
        ours="signoff verify, one file",
        peer="python -c pass",
        prepare=_verify,
        aim=10,
        note="five criteria",
    ),
)
