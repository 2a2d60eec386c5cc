"""
PROBES: the checks that touch the world, one module each.

A module of this folder holds one verifier of the same name, and is imported when
it is first asked for.  A probe can do nothing until an operator gives it powers;
without the means it needs it answers that it was not given them.
"""

from __future__ import annotations

from functools import partial
from importlib import import_module
from pkgutil import iter_modules

from signoff.registry import Registry, Verifier

__all__ = ["PROBES"]


def _verifier(name: str) -> Verifier:
    found: Verifier = getattr(import_module(f"{__name__}.{name}"), name)
    return found


PROBES = Registry({one.name: partial(_verifier, one.name) for one in iter_modules(__path__)})
