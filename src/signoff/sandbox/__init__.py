"""How a command runs: contained, limited, its output captured, nothing of it left behind."""

from __future__ import annotations
