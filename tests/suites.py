"""Small test suites on the disk, and what a check says of them."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from signoff.evidence import MemoryStore
from signoff.model import Finding, Subject
from signoff.probes import PROBES
from signoff.registry import Powers
from signoff.sandbox import Sandbox

__all__ = ["PASSING", "digest_of", "found", "write"]

PASSING = "def test_one():\n    assert 1 + 1 == 2\n\n\ndef test_two():\n    assert True\n"


def write(folder: Path, files: Mapping[str, str]) -> Path:
    """Make the files below the folder."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")
    return folder


def found(
    sandbox: Sandbox, verifier: str, workspace: Path, *, store: Any = None, **params: Any
) -> Finding:
    """What a check says of a workspace."""
    check = PROBES.get(verifier)
    assert check is not None
    powers = Powers(sandbox=sandbox, workspace=workspace, store=store or MemoryStore())
    return check.bind(params, powers)(Subject())


def digest_of(text: str) -> str:
    """The digest of a text as a file."""
    return f"sha256:{sha256(text.encode()).hexdigest()}"
