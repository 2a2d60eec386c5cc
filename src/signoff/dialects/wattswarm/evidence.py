"""The evidence of a candidate: what it refers to, and what came of looking."""

from __future__ import annotations

from msgspec import Struct

from signoff.status import Cause

__all__ = ["Fetched", "Reference"]


class Reference(Struct, frozen=True, kw_only=True):
    """
    Bytes that somebody says are elsewhere; equal references are one.

    Args:
        uri: Where they are said to be.
        digest: ``sha256:`` and the hex digest that they must have.
        size_bytes: How many they must be.
    """

    uri: str
    digest: str
    size_bytes: int


class Fetched(Struct, frozen=True, kw_only=True):
    """
    What came of fetching a reference.

    Args:
        data: The bytes, whose length and digest are those of the reference; None without them.
        cause: Why they could not be had, None when they were.
        detail: What happened, in one line.
    """

    data: bytes | None = None
    cause: Cause | None = None
    detail: str = ""
