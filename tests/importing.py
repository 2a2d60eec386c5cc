"""Modules that a test writes and imports, forgotten when it ends."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

HOUSE = """\
from signoff import Registry, failed, from_function, passed, verifier


@verifier
def greets(*, word: str = "hello"):
    '''The output has the word.'''

    def check(subject):
        return passed("there") if word in subject.value() else failed("not there", at="")

    return check


def no_params(output, params):
    return {"pass": output == "hello"}


polite = from_function("polite", "Polite.", no_params)
both = [greets, polite]
registry = Registry(both)
nobody = []
number = 3


def agrees(value, args):
    return True


def vectors(texts):
    return [[1.0, 0.0] for _ in texts]
"""


@contextmanager
def forgotten(folder: Path) -> Iterator[None]:
    """The search path as it was, and no module of the folder, when the block ends."""
    before = list(sys.path)
    try:
        yield
    finally:
        sys.path[:] = before
        for name, module in list(sys.modules.items()):
            if str(getattr(module, "__file__", None) or "").startswith(str(folder)):
                del sys.modules[name]


def install(
    folder: Path, entry_points: str, *, name: str = "house-checks", version: str = "1.0"
) -> None:
    """Write what pip leaves of a distribution whose modules are in the folder."""
    info = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir(parents=True, exist_ok=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    (info / "entry_points.txt").write_text(f"[signoff.verifiers]\n{entry_points}\n")
