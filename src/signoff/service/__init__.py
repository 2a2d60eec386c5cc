"""The HTTP server: one protocol of our own, and the parts that are served over it."""

from __future__ import annotations
