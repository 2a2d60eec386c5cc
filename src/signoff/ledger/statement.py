"""What the two databases share: how a transaction begins, and how many rows are inserted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import chain
from typing import Any, Final, Literal, TypeAlias

__all__ = ["VERSIONS", "Mode", "insertions"]

Mode: TypeAlias = Literal["read", "write", "migrate"]
"""A transaction reads one state, or is alone in writing a table, or in changing the schema."""

VERSIONS: Final = "signoff_schema"
MAX_ROWS: Final = 64


def insertions(
    table: str, columns: tuple[str, ...], rows: Sequence[Sequence[Any]]
) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """
    Statements that insert rows, many with each, and their values.

    A statement by itself would let go of the interpreter once for each row, and
    wait for it as often among all the threads that wait to write.  The numbers of
    rows are powers of two, so that few statements are ever prepared.
    """
    at = 0
    while at < len(rows):
        count = min(MAX_ROWS, 1 << ((len(rows) - at).bit_length() - 1))
        yield _insertion(table, columns, count), tuple(chain(*rows[at : at + count]))
        at += count


@lru_cache(maxsize=64)
def _insertion(table: str, columns: tuple[str, ...], count: int) -> str:
    row = f"({', '.join('?' for _ in columns)})"
    values = ", ".join(row for _ in range(count))
    return f"INSERT INTO {table} ({', '.join(columns)}) VALUES {values}"  # noqa: S608  names of ours
