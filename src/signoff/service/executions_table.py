"""The table of what was asked to be done once: who is at it, and what came of it."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from enum import Enum
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from signoff.errors import StoreFull
from signoff.ledger.database import Migration, Transaction, open_database
from signoff.service.owners import Owner, is_alive

__all__ = ["ExecutionsTable", "Found", "State"]

KEPT_S: Final = 24 * 3600.0
FAILED_KEPT_S: Final = 120.0
"""How long those who wait may learn of a failure; nobody else does."""
MAX_BYTES: Final = 2**30
MAX_ENTRIES: Final = 1_000_000
PURGED: Final = 64
TIMEOUT_S: Final = 10.0

COMPONENT: Final = "executions"
TABLE: Final = "executions"
_TABLE: Final = """
CREATE TABLE executions (
  id TEXT NOT NULL PRIMARY KEY,
  digest TEXT NOT NULL,
  state TEXT NOT NULL,
  owner TEXT NOT NULL,
  run TEXT NOT NULL,
  expires {integer} NOT NULL,
  answer {bytes} NOT NULL
)"""
_TOTAL: Final = """
CREATE TABLE executions_total (entries {integer} NOT NULL, size {integer} NOT NULL)"""
MIGRATIONS: Final = (
    Migration(
        number=1,
        name="executions",
        statements=(
            _TABLE,
            "CREATE INDEX executions_expires ON executions (expires)",
            _TOTAL,
            "INSERT INTO executions_total (entries, size) VALUES (0, 0)",
        ),
    ),
)
_FIND: Final = "SELECT digest, state, owner, run, expires, answer FROM executions WHERE id = ?"
_REMOVE: Final = "DELETE FROM executions WHERE id = ?"
_INSERT: Final = (
    "INSERT INTO executions (id, digest, state, owner, run, expires, answer)"
    " VALUES (?, ?, ?, ?, ?, ?, ?)"
)
_SETTLE: Final = "UPDATE executions SET state = ?, expires = ?, answer = ? WHERE id = ? AND run = ?"
_EXPIRED: Final = "SELECT id, LENGTH(answer) FROM executions WHERE expires <= ? LIMIT ?"
_TOTALS: Final = "SELECT entries, size FROM executions_total"
_ADD: Final = "UPDATE executions_total SET entries = entries + ?, size = size + ?"


class State(Enum):
    """What is known of something that was asked."""

    MINE = "mine"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CONFLICT = "conflict"


class Found(Struct, frozen=True, kw_only=True):
    """
    What is known of something that was asked.

    Args:
        state: ``MINE`` where whoever asks is to do it.
        run: The run that is at it, or was.
        answer: What came of it, once that is known.
    """

    state: State
    run: str = ""
    answer: bytes = b""


class _Row(Struct, frozen=True):
    digest: str
    state: str
    owner: str
    run: str
    expires: int
    answer: bytes


class ExecutionsTable:
    """
    What all processes that share a folder know; threads may share this object.

    Args:
        state_dir: The folder.
        clock: Seconds since 1970.
        new_run: Gives a name that no other run has.
        kept_s: How long an answer is kept.
        max_bytes: Of all answers together.
        max_entries: How many there may be.

    Raises:
        DatabaseUnusable: It cannot be opened.
        OSError: The folder cannot be used.
    """

    def __init__(
        self,
        state_dir: Path,
        *,
        clock: Callable[[], float],
        new_run: Callable[[], str],
        kept_s: float = KEPT_S,
        max_bytes: int = MAX_BYTES,
        max_entries: int = MAX_ENTRIES,
    ) -> None:
        self._clock = clock
        self._new_run = new_run
        self._kept_s = kept_s
        self._max_bytes = max_bytes
        self._max_entries = max_entries
        self._owners = state_dir / "owners"
        self._owner = Owner(self._owners)
        place = state_dir / "executions.sqlite"
        _make_private(place)
        self._database = open_database(place, timeout_s=TIMEOUT_S)
        self._database.migrate(COMPONENT, MIGRATIONS)

    def close(self) -> None:
        """Let go; what this process was at is free for others."""
        self._database.close()
        self._owner.close()

    def claim(self, id_: str, digest: str, waited_for: str) -> Found:
        """
        What is known, or the run that whoever asks is now at.

        A failure is told only to those who waited for the run that failed.

        Args:
            id_: What was asked to be done once.
            digest: Of everything that was asked.
            waited_for: The run for which whoever asks has waited; ``""`` for none.

        Raises:
            StoreFull: There is no room for one more.
            DatabaseUnusable: It cannot be read or written.
        """
        with self._database.writing(TABLE) as transaction:
            row = _row(transaction, id_)
            known = None if row is None else self._known(row, digest, waited_for)
            return known or self._claimed(transaction, id_, digest, row)

    def look(self, id_: str, run: str) -> bool:
        """The run is no longer at it, or nobody is left who could be."""
        with self._database.reading() as transaction:
            row = _row(transaction, id_)
        return row is None or row.run != run or row.state != "running" or not self._is_at_it(row)

    def settle(self, id_: str, run: str, answer: bytes, *, failed: bool) -> None:
        """
        Keep what came of a run, or for a short while that it failed.

        Raises:
            DatabaseUnusable: It cannot be written.
        """
        kept_s = FAILED_KEPT_S if failed else self._kept_s
        expires = int(self._clock() + kept_s)
        with self._database.writing(TABLE) as transaction:
            state = "failed" if failed else "done"
            if transaction.run(_SETTLE, (state, expires, answer, id_, run)):
                transaction.run(_ADD, (0, len(answer)))

    def _known(self, row: _Row, digest: str, waited_for: str) -> Found | None:
        """What a row says; None where whoever asks is to do it."""
        if row.expires <= self._clock():
            return None
        if row.state == "failed":
            mine = row.run == waited_for and row.digest == digest
            return Found(state=State.FAILED, run=row.run, answer=row.answer) if mine else None
        if row.state == "running" and not self._is_at_it(row):
            return None
        if row.digest != digest:
            return Found(state=State.CONFLICT)
        state = State.RUNNING if row.state == "running" else State.DONE
        return Found(state=state, run=row.run, answer=row.answer)

    def _claimed(self, transaction: Transaction, id_: str, digest: str, row: _Row | None) -> Found:
        if row is not None:
            transaction.run(_REMOVE, (id_,))
            transaction.run(_ADD, (-1, -len(row.answer)))
        self._purge(transaction)
        ((entries, size),) = transaction.rows(_TOTALS)
        if entries >= self._max_entries or size >= self._max_bytes:
            raise StoreFull(f"{entries} answers of {size} bytes are kept, no more fit")
        run, expires = self._new_run(), int(self._clock() + self._kept_s)
        transaction.run(_INSERT, (id_, digest, "running", self._owner.name, run, expires, b""))
        transaction.run(_ADD, (1, 0))
        return Found(state=State.MINE, run=run)

    def _purge(self, transaction: Transaction) -> None:
        """A few of those whose time is over: more than are added, so that none stay."""
        expired = transaction.rows(_EXPIRED, (int(self._clock()), PURGED))
        for id_, size in expired:
            transaction.run(_REMOVE, (id_,))
            transaction.run(_ADD, (-1, -size))

    def _is_at_it(self, row: _Row) -> bool:
        # Nobody asks for what this process itself is at: see ``Executions``.
        return row.owner != self._owner.name and is_alive(self._owners, row.owner)


def _row(transaction: Transaction, id_: str) -> _Row | None:
    rows: list[tuple[Any, ...]] = transaction.rows(_FIND, (id_,))
    return _Row(*rows[0]) if rows else None


def _make_private(place: Path) -> None:
    """
    Make the file where there is none: answers are nobody else's to read.

    What SQLite puts beside a file has the file's mode.  One that exists is left alone, because
    to close it would end the locks that this process has on it.
    """
    with suppress(FileExistsError):
        os.close(os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
