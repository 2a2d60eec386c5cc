"""Proof before done: contracts that are locked, and verdicts that cannot pass by accident."""

from __future__ import annotations

from signoff._version import __version__

__all__ = ["__version__"]
