"""
A database that keeps what must last: SQLite in a file, or PostgreSQL, by the same statements.

Whatever has tables in it brings ``Migration``s and gets a ``Database``; statements
are written once, with ``?`` for each value and ``{integer}`` and ``{bytes}`` where a
migration names a type.  What a transaction wrote lasts when its ``with`` is left.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Final, Protocol, Self

from msgspec import Struct

from signoff.errors import DatabaseUnusable
from signoff.ledger.postgres import PostgresConnection, is_dsn
from signoff.ledger.sqlite import SqliteConnection
from signoff.ledger.statement import VERSIONS, Mode

__all__ = ["TIMEOUT_S", "Database", "Migration", "Transaction", "open_database"]

TIMEOUT_S: Final = 30.0

_CREATE: Final = (
    "CREATE TABLE IF NOT EXISTS signoff_schema (component TEXT NOT NULL,"
    " number INTEGER NOT NULL, name TEXT NOT NULL, PRIMARY KEY (component, number))"
)
_INSERT: Final = "INSERT INTO signoff_schema (component, number, name) VALUES (?, ?, ?)"
_NEWEST: Final = "SELECT MAX(number) FROM signoff_schema WHERE component = ?"


class Migration(Struct, frozen=True, kw_only=True):
    """
    One step of a schema; a step that was released never changes.

    Args:
        number: 1 for the first, one more for each that follows.
        name: What it brings, in a few words.
        statements: What is executed, all of it or nothing.
    """

    number: int
    name: str
    statements: tuple[str, ...]


class Transaction(Protocol):
    """What is done in one transaction."""

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """The rows of a query."""
        ...

    def run(self, sql: str, values: Sequence[Any] = ()) -> int:
        """Execute a statement; the number of rows that it changed."""
        ...

    def insert(self, table: str, columns: tuple[str, ...], rows: Sequence[Sequence[Any]]) -> None:
        """Insert rows, each with a value for each of these columns."""
        ...


class Connection(Transaction, Protocol):
    """One connection; every method raises ``DatabaseUnusable`` with the name in it."""

    name: str
    types: Mapping[str, str]

    def begin(self, mode: Mode, table: str) -> None:
        """Begin a transaction; only one at a time writes a table, or migrates."""
        ...

    def commit(self) -> None:
        """End it; what it wrote lasts."""
        ...

    def rollback(self) -> None:
        """End it as if it had not been; never raises."""
        ...

    def has_table(self, name: str) -> bool:
        """There is such a table."""
        ...

    def close(self) -> None:
        """Never raises."""
        ...


class Database:
    """
    A database whose schema is known; a context manager that closes it.

    Threads take turns.  A process that was forked may not use what its parent
    opened: it is refused, and opens it itself.

    Args:
        connection: The connection, which this object owns.
        may_write: False where it is only read.
    """

    def __init__(self, connection: Connection, *, may_write: bool = True) -> None:
        self._connection = connection
        self._lock = threading.Lock()
        self._process = os.getpid()
        self._open = True
        self.name = connection.name
        self.may_write = may_write

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the connection; twice does no harm."""
        if self._process != os.getpid():
            return
        with self._lock:
            if self._open:
                self._open = False
                self._connection.close()

    def writing(self, table: str) -> AbstractContextManager[Transaction]:
        """
        A transaction that is alone in writing a table, over all processes.

        Raises:
            DatabaseUnusable: It cannot be written; nothing of the transaction is kept, unless
                the connection was lost while it ended, when nobody knows.
        """
        if not self.may_write:
            raise DatabaseUnusable(f"{self.name}: was opened for reading only")
        return self._transaction("write", table)

    def reading(self) -> AbstractContextManager[Transaction]:
        """
        A transaction that sees one state of everything.

        Raises:
            DatabaseUnusable: It cannot be read.
        """
        return self._transaction("read", "")

    def migrate(self, component: str, migrations: Sequence[Migration]) -> None:
        """
        Bring the tables of a component to the last of its migrations.

        Raises:
            DatabaseUnusable: They are of a newer signoff, of an older one where nothing may be
                written, or cannot be written.
        """
        last = migrations[-1].number
        found = self._version(component)
        self._require_known(component, found, last)
        if found < last and not self.may_write:
            raise DatabaseUnusable(
                f"{self.name}: has {component} schema {found}, which must be brought to"
                f" {last} by opening it for writing once"
                if found
                else f"{self.name}: holds no {component}"
            )
        for migration in migrations[found:]:
            self._step(component, migration, last)

    def require_own_process(self) -> None:
        """
        Nothing, if this process opened it.

        Raises:
            DatabaseUnusable: It was opened before a fork.
        """
        if self._process != os.getpid():
            raise DatabaseUnusable(
                f"{self.name}: was opened before this process was forked; open it in this one"
            )

    def _transaction(self, mode: Mode, table: str) -> _Scope:
        self.require_own_process()
        return _Scope(self, mode, table)

    def _begin(self, mode: Mode, table: str) -> Transaction:
        self._lock.acquire()
        begun = False
        try:
            if not self._open:
                raise DatabaseUnusable(f"{self.name}: was closed")
            self._connection.begin(mode, table)
            begun = True
        finally:
            if not begun:
                if self._open:
                    self._connection.rollback()
                self._lock.release()
        return self._connection

    def _end(self, *, done: bool) -> None:
        committed = False
        try:
            if done:
                self._connection.commit()
                committed = True
        finally:
            if not committed:
                self._connection.rollback()
            self._lock.release()

    def _version(self, component: str) -> int:
        with self._transaction("read", "") as transaction:
            known = self._connection.has_table(VERSIONS)
            return _newest(transaction, component) if known else 0

    def _step(self, component: str, migration: Migration, last: int) -> None:
        with self._transaction("migrate", "") as transaction:
            transaction.run(_CREATE)
            found = _newest(transaction, component)
            self._require_known(component, found, last)
            if found >= migration.number:  # another process was quicker
                return
            for statement in migration.statements:
                transaction.run(statement.format(**self._connection.types))
            transaction.run(_INSERT, (component, migration.number, migration.name))

    def _require_known(self, component: str, found: int, last: int) -> None:
        if found > last:
            raise DatabaseUnusable(
                f"{self.name}: has {component} schema {found}, and this signoff knows it up to"
                f" {last}; use a newer signoff"
            )


class _Scope:
    """The connection for one thread, as long as a transaction lasts."""

    # No generator, for this is entered once for each verdict.

    __slots__ = ("_database", "_mode", "_table")

    def __init__(self, database: Database, mode: Mode, table: str) -> None:
        self._database = database
        self._mode: Mode = mode
        self._table = table

    def __enter__(self) -> Transaction:
        return self._database._begin(self._mode, self._table)  # noqa: SLF001  a part of it

    def __exit__(self, failed: object, *_: object) -> None:
        self._database._end(done=failed is None)  # noqa: SLF001  likewise


def open_database(
    place: str | os.PathLike[str], *, timeout_s: float = TIMEOUT_S, may_write: bool = True
) -> Database:
    """
    The database at a place.

    Args:
        place: A file for SQLite, made with its folders if need be; or ``postgresql://...``.
        timeout_s: How long to wait while others write.
        may_write: False to change nothing; then it must be there.

    Raises:
        DatabaseUnusable: It cannot be opened, or is something else.
        NotInstalled: It is in PostgreSQL, and psycopg is absent.
    """
    connection: Connection
    if isinstance(place, str) and is_dsn(place):
        connection = PostgresConnection(place, timeout_s=timeout_s, may_write=may_write)
    else:
        connection = SqliteConnection(os.fspath(place), timeout_s=timeout_s, may_write=may_write)
    return Database(connection, may_write=may_write)


def _newest(transaction: Transaction, component: str) -> int:
    ((found,),) = transaction.rows(_NEWEST, (component,))
    return found or 0
