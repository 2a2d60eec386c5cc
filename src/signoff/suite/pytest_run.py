"""One run of pytest: what is laid out for it in a private folder, and what it leaves there."""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from secrets import token_hex
from typing import Any, Final

import msgspec
from msgspec import Struct

from signoff.document import read_bytes
from signoff.errors import DocumentError
from signoff.sandbox.command import Command, Limits
from signoff.suite.judging import Canaries
from signoff.suite.report_file import ReportFile, report_file

__all__ = [
    "LAUNCHER",
    "NO_PYTEST",
    "Layout",
    "Observed",
    "command_of",
    "laid_out",
    "python_for",
]

LAUNCHER: Final = Path(__file__).with_name("launcher.py")
NO_PYTEST: Final = 69
PRIVATE: Final = "{private}"
MAX_FACTS_BYTES: Final = 2**20
# Nothing but pytest's own plug-ins, and no module of the current folder.
ENVIRONMENT: Final = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONSAFEPATH": "1"}
# What every run imports first, for a process that does so once for all of them.
PRELOAD: Final = """\
import email.parser, faulthandler, importlib, json, pathlib, pdb
import pytest, _pytest._argcomplete, _pytest.config
for name in _pytest.config.default_plugins:
    importlib.import_module("_pytest." + name)
"""


class Observed(Struct, frozen=True, kw_only=True):
    """
    What was seen of a run from inside, where the code under test is too.

    Args:
        collected: Tests that were found.
        deselected: Those of them that were left out.
        turned: Ids of tests that raised and are reported as passed.
        hooks: What the workspace brings to change how pytest works, as ``file: hook``.
    """

    collected: int
    deselected: int
    turned: tuple[str, ...]
    hooks: tuple[str, ...]


class Layout(Struct, frozen=True, kw_only=True):
    """
    The private folder of one run.

    Args:
        folder: Absolute path; nothing but the run's own files is in it.
        canaries: Their names, or None.
    """

    folder: str
    canaries: Canaries | None

    @property
    def outbox(self) -> str:
        """The part of it that the run may write."""
        return os.path.join(self.folder, "out")  # noqa: PTH118  a text, like all paths of commands

    @property
    def spec(self) -> str:
        """What is to be run."""
        return os.path.join(self.folder, "spec.json")  # noqa: PTH118  likewise

    def report(self) -> ReportFile | None:
        """What the run wrote as its report; None when it wrote none."""
        return report_file("report.xml", self.outbox)

    def observed(self) -> Observed | None:
        """What was seen of the run from inside; None when it did not come to its end."""
        try:
            data = read_bytes("facts.json", max_bytes=MAX_FACTS_BYTES, folder=self.outbox)
            return msgspec.json.decode(data, type=Observed)
        except (DocumentError, msgspec.MsgspecError, ValueError):
            return None

    def told(self, argv: tuple[str, ...]) -> tuple[str, ...]:
        """A command line without the folder's random name."""
        return tuple(item.replace(self.folder, PRIVATE) for item in argv)


@contextmanager
def laid_out(scratch: str, *, with_canaries: bool) -> Iterator[Layout]:
    """A private folder below another, removed at the end."""
    folder = tempfile.mkdtemp(prefix="tests-", dir=scratch)
    try:
        layout = Layout(folder=folder, canaries=_canaries() if with_canaries else None)
        Path(layout.outbox).mkdir()
        (Path(folder) / "launcher.py").write_bytes(LAUNCHER.read_bytes())
        if layout.canaries is not None:
            _canary_file(layout).write_text(_canary_text(layout.canaries), "utf-8")
        yield layout
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def command_of(
    layout: Layout,
    *,
    python: str,
    args: tuple[str, ...],
    workspace: str,
    cwd: str,
    network: bool,
    limits: Limits,
) -> Command:
    """The command that runs the tests; what it is to do is written down in the folder."""
    depth = len(Path(cwd).parts)
    spec: dict[str, Any] = {
        "args": list(args),
        "root": "/".join([".", *[".."] * depth]),
        "report": f"{layout.outbox}/report.xml",
        "facts": f"{layout.outbox}/facts.json",
        "bytecode": f"{layout.outbox}/bytecode",
        "canary": "" if layout.canaries is None else str(_canary_file(layout)),
    }
    Path(layout.spec).write_text(json.dumps(spec), "utf-8")
    return Command(
        argv=(python, f"{layout.folder}/launcher.py", layout.spec),
        workspace=workspace,
        cwd=cwd,
        env=ENVIRONMENT,
        network=network,
        readable=(layout.folder,),
        writable=(layout.outbox,),
        limits=limits,
        preload=PRELOAD,
    )


def python_for(named: str | None) -> str:
    """The Python that runs tests: the one named, our own if it has pytest, else ``python3``."""
    if named is not None:
        return named
    if sys.executable and find_spec("pytest") is not None:
        return sys.executable
    return shutil.which("python3") or "python3"


def _canaries() -> Canaries:
    return Canaries(passes=f"test_{token_hex(8)}", fails=f"test_{token_hex(8)}")


def _canary_file(layout: Layout) -> Path:
    assert layout.canaries is not None
    return Path(layout.folder) / f"{layout.canaries.passes[:12]}.py"


def _canary_text(canaries: Canaries) -> str:
    # Without a traceback, which pytest would look for through all modules.
    fails = "pytest.fail('this test must fail, and be reported so', pytrace=False)"
    return (
        f"import pytest\n\n\ndef {canaries.passes}():\n    pass\n\n\n"
        f"def {canaries.fails}():\n    {fails}\n"
    )
