"""
STDLIB: the checks that are pure functions of the subject, one module each.

A module of this folder holds one verifier of the same name; adding the file is
all that it takes to add the verifier.  It is imported when it is first asked for.
"""

from __future__ import annotations

from functools import partial
from importlib import import_module
from pkgutil import iter_modules

from signoff.registry import Registry, Verifier

__all__ = ["STDLIB"]


def _verifier(name: str) -> Verifier:
    found: Verifier = getattr(import_module(f"{__name__}.{name}"), name)
    return found


STDLIB = Registry({one.name: partial(_verifier, one.name) for one in iter_modules(__path__)})
