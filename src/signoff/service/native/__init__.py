"""The native API: contracts, verdicts one by one and in bulk, and what describes them."""

from __future__ import annotations

from signoff.service.native.part import NativePart

__all__ = ["NativePart"]
