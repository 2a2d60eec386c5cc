"""How a command runs: contained, limited, its output captured, nothing of it left behind."""

from __future__ import annotations

from signoff.sandbox.runner import Sandbox

__all__ = ["Sandbox"]
