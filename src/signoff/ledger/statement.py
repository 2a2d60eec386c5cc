"""What the two databases share: how a transaction begins, and the table of schema versions."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

__all__ = ["VERSIONS", "Mode"]

Mode: TypeAlias = Literal["read", "write", "migrate"]
"""A transaction reads one state, or is alone in writing a table, or in changing the schema."""

VERSIONS: Final = "signoff_schema"
