"""
STDLIB: the checks that are pure functions of the subject, one module each.

A module of this folder holds one verifier of the same name; adding the file is
all that it takes to add the verifier.
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from signoff.registry import Registry, Verifier

__all__ = ["STDLIB"]


def _verifier(name: str) -> Verifier:
    found = getattr(import_module(f"{__name__}.{name}"), name)
    assert isinstance(found, Verifier), name
    return found


STDLIB = Registry(_verifier(module.name) for module in iter_modules(__path__))
