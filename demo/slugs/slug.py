"""Titles as they stand in the addresses of pages."""

from __future__ import annotations


def slug(title: str) -> str:
    """The words in small letters, joined by hyphens."""
    return "-".join(title.lower().split())
