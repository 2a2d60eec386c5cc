"""
PROBES: the checks that touch the world, one module each.

A probe can do nothing until an operator gives it powers; without the means it
needs it answers that it was not given them.
"""

from __future__ import annotations

from signoff.registry import Registry

__all__ = ["PROBES"]

PROBES = Registry()
