"""The vectors of conformance/scc."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from signoff.strictjson import loads

FOLDER = Path(__file__).resolve().parents[3] / "conformance" / "scc"


def document(name: str) -> dict[str, Any]:
    """A file of vectors."""
    found: Any = loads((FOLDER / name).read_bytes())
    assert isinstance(found, dict)
    return found


def cases(name: str) -> list[Any]:
    """Its cases, each as a parameter with its description as id."""
    found = document(name)["cases"]
    assert found
    return [pytest.param(case, id=f"{i}: {case['description']}") for i, case in enumerate(found)]
