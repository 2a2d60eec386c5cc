"""The supervisor runs without site-packages, so it imports nothing from there."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator

import pytest

from tests.architecture import modules

OWN = "signoff.sandbox.supervisor"
SUPERVISOR = {
    name: text for name, text in modules().items() if name.startswith("sandbox.supervisor")
}


def imported(text: str) -> Iterator[str]:
    """Names of the modules that a module imports, anywhere in it."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""


@pytest.mark.parametrize("name", SUPERVISOR)
def test_supervisor_imports_the_standard_library_and_itself(name: str) -> None:
    foreign = [
        one
        for one in imported(SUPERVISOR[name])
        if one.split(".")[0] not in sys.stdlib_module_names and not one.startswith(OWN)
    ]

    assert [] == foreign
