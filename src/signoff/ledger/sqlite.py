"""
One connection to SQLite: a file that outlives a crash of the program and of the machine.

The write-ahead log is flushed at each commit (``synchronous=FULL``).  A process
that finds another one writing waits its turn.
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
import stat
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from signoff.errors import DatabaseUnusable
from signoff.folder import Folder, reason
from signoff.jsonvalue import shown
from signoff.ledger.statement import VERSIONS, Mode, insertions

__all__ = ["SqliteConnection"]

TYPES: Final = {"integer": "INTEGER", "bytes": "BLOB"}
_BEGIN: Final[Mapping[Mode, str]] = {
    "read": "BEGIN",
    "write": "BEGIN IMMEDIATE",
    "migrate": "BEGIN IMMEDIATE",
}
# By the primary code of SQLite, which is the low byte of the extended one.
_REASONS: Final = {
    sqlite3.SQLITE_FULL: "no space left on the disk",
    sqlite3.SQLITE_READONLY: "cannot be written (it or its folder is read-only)",
    sqlite3.SQLITE_CANTOPEN: "cannot be opened",
    sqlite3.SQLITE_NOTADB: "is a file of another kind, no SQLite database",
    sqlite3.SQLITE_CORRUPT: "is a damaged SQLite database",
}


class SqliteConnection:
    """
    A file of SQLite.

    Args:
        path: Where it is; made with its folders if need be.
        timeout_s: How long to wait while others write.
        may_write: False to change nothing; then it must be there.
    """

    def __init__(self, path: str, *, timeout_s: float, may_write: bool) -> None:
        self.name = shown(path)
        self.types: Mapping[str, str] = TYPES
        self._timeout_s = timeout_s
        self._changes = 0
        self._path = self._found(path)
        self._place = str(self._path)
        if may_write:
            self._open_to_write()
        else:
            self._open_to_read()

    def begin(self, mode: Mode, table: str) -> None:  # noqa: ARG002  SQLite locks the whole file
        """Begin a transaction; one that writes waits until it is the only one."""
        self._execute(_BEGIN[mode])

    def commit(self) -> None:
        """End it; what it wrote lasts, in the file that the name leads to."""
        wrote = self._connection.total_changes != self._changes
        self._execute("COMMIT")
        if wrote:
            self._changes = self._connection.total_changes
            self._require_in_place()

    def rollback(self) -> None:
        """End it as if it had not been; where that is not possible it was not."""
        with suppress(sqlite3.Error):
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """The rows of a query."""
        try:
            return self._connection.execute(sql, values).fetchall()
        except sqlite3.Error as exc:
            raise self._unusable(exc) from exc

    def run(self, sql: str, values: Sequence[Any] = ()) -> int:
        """Execute a statement; the number of rows that it changed."""
        return self._execute(sql, values).rowcount

    def insert(self, table: str, columns: tuple[str, ...], rows: Sequence[Sequence[Any]]) -> None:
        """Insert rows."""
        for sql, values in insertions(table, columns, rows):
            self._execute(sql, values)

    def has_table(self, name: str) -> bool:
        """There is such a table."""
        return bool(
            self.rows("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", (name,))
        )

    def close(self) -> None:
        """End the connection; the last one folds the write-ahead log into the file."""
        with suppress(sqlite3.Error):
            self._connection.close()

    def _found(self, path: str) -> Path:
        if "\0" in path or not path:
            raise DatabaseUnusable(f"{self.name or 'the place'}: no file can have this name")
        scheme = path.partition("://")[0]
        if scheme != path and scheme.isalnum():
            raise DatabaseUnusable(
                f"{shown(scheme)}://...: must be the name of a file, or begin with postgresql://"
            )
        return Path(path).absolute()

    def _open_to_write(self) -> None:
        try:
            # Its folder is locked while a new file is made ready, so that of all who begin
            # at once one does it and the others find it done.
            with Folder.open(self._path.parent.resolve(), create=True) as folder:
                fcntl.flock(folder.handle, fcntl.LOCK_EX)
                self._require_file()
                self._connect("mode=rwc", self._prepare)
                folder.sync()
        except OSError as exc:
            raise DatabaseUnusable(f"{self.name}: {reason(exc)}") from exc

    def _open_to_read(self) -> None:
        try:
            self._path.stat()
            self._require_file()
            # Where nothing can be written nobody writes, and the file alone is all there is.
            log = self._path.with_name(f"{self._path.name}-wal")
            if log.exists():
                self._connect("mode=ro", self._require_ours)
            elif os.access(self._path.parent, os.W_OK):
                # Only who may write can take away again the files that SQLite makes to read.
                self._connect("mode=rw", self._prepare_to_read)
            else:
                self._connect("mode=ro&immutable=1", self._require_ours)
        except OSError as exc:
            raise DatabaseUnusable(f"{self.name}: {reason(exc)}") from exc

    def _require_file(self) -> None:
        try:
            mode = self._path.stat().st_mode
        except FileNotFoundError:
            return
        if not stat.S_ISREG(mode):
            raise DatabaseUnusable(f"{self.name}: is no regular file")

    def _connect(self, options: str, ready: Callable[[], None]) -> None:
        try:
            self._connection = sqlite3.connect(
                f"{self._path.as_uri()}?{options}",
                uri=True,
                timeout=self._timeout_s,
                isolation_level=None,
                check_same_thread=False,
            )
        except sqlite3.Error as exc:
            raise self._unusable(exc) from exc
        done = False
        try:
            ready()
            self._changes = self._connection.total_changes
            self._identity = self._path.stat()
            done = True
        finally:
            if not done:
                self.close()

    def _prepare(self) -> None:
        self._require_ours()
        ((mode,),) = self.rows("PRAGMA journal_mode")
        if mode != "wal":
            ((mode,),) = self.rows("PRAGMA journal_mode = WAL")
        if mode != "wal":
            raise DatabaseUnusable(f"{self.name}: cannot have a write-ahead log where it is")
        self.run("PRAGMA synchronous = FULL")
        self.run("PRAGMA fullfsync = ON")  # macOS flushes to the disk only when told so

    def _prepare_to_read(self) -> None:
        self.run("PRAGMA query_only = ON")
        self._require_ours()

    def _require_ours(self) -> None:
        """It is empty, or has tables that we made: another program's file is left alone."""
        ((tables,),) = self.rows("SELECT COUNT(*) FROM sqlite_master")
        if tables and not self.has_table(VERSIONS):
            raise DatabaseUnusable(f"{self.name}: is the database of another program")

    def _require_in_place(self) -> None:
        """What was written is where others look for it, and in no file that was replaced."""
        try:
            kept = os.path.samestat(os.stat(self._place), self._identity)  # noqa: PTH116  at each commit
        except OSError:
            kept = False
        if not kept:
            raise DatabaseUnusable(f"{self.name}: was moved or replaced while it was in use")

    def _execute(self, sql: str, values: Sequence[Any] = ()) -> sqlite3.Cursor:
        try:
            return self._connection.execute(sql, values)
        except sqlite3.Error as exc:
            raise self._unusable(exc) from exc

    def _unusable(self, exc: sqlite3.Error) -> DatabaseUnusable:
        return DatabaseUnusable(f"{self.name}: {self._reason(exc)}")

    def _reason(self, exc: sqlite3.Error) -> str:
        code = getattr(exc, "sqlite_errorcode", 0) & 0xFF
        if code in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}:
            return f"others have been writing for more than {self._timeout_s:g} s"
        if code == sqlite3.SQLITE_CANTOPEN and not os.access(self._path.parent, os.W_OK):
            code = sqlite3.SQLITE_READONLY
        return _REASONS.get(code) or shown(str(exc).lower())
