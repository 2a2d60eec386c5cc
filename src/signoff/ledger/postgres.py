"""
One connection to PostgreSQL: a commit that is acknowledged is on the server's disk.

psycopg is imported where a connection is made (the extra ``postgres``).  The
password of a DSN is in no text that leaves this module.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from typing import Any, Final

from signoff.errors import DatabaseUnusable, NotInstalled
from signoff.jsonvalue import shown
from signoff.ledger.statement import Mode, insertions

__all__ = ["PostgresConnection", "is_dsn"]

TYPES: Final = {"integer": "BIGINT", "bytes": "BYTEA"}
SCHEMES: Final = ("postgresql://", "postgres://")
_BEGIN_READ: Final = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
_BEGIN_WRITE: Final = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"
# Two numbers of our own, the same in every process that changes a schema.
_MIGRATING: Final = "SELECT pg_advisory_xact_lock(1936287598, 1868981862)"
_HIDDEN: Final = "(hidden)"


def is_dsn(place: str) -> bool:
    """The place is a PostgreSQL server, and no file."""
    return place.startswith(SCHEMES)


class PostgresConnection:
    """
    A connection to a PostgreSQL server, made anew when it was lost.

    Args:
        dsn: ``postgresql://...``; what it leaves out comes from where libpq looks.
        timeout_s: How long to wait for a connection, and while others write.
        may_write: False to change nothing.
    """

    def __init__(self, dsn: str, *, timeout_s: float, may_write: bool) -> None:
        self.types: Mapping[str, str] = TYPES
        self._psycopg = _psycopg()
        self._dsn = dsn
        self._timeout_s = timeout_s
        self._facts = self._parsed(dsn)
        self.name = _name(self._facts)
        self._settings = ""
        self._connection = self._connected()
        if may_write:
            self._require_durable()

    def begin(self, mode: Mode, table: str) -> None:
        """Begin a transaction; one that writes waits until it is the only one on the table."""
        with self._told():
            if self._connection.closed:
                self._connection = self._connected()
            if mode == "read":
                self._connection.execute(_BEGIN_READ)
                return
            alone = f"LOCK TABLE {table} IN SHARE ROW EXCLUSIVE MODE" if table else _MIGRATING
            # One message to the server, so that waiting in turn costs one round trip.
            self._connection.execute(f"{_BEGIN_WRITE}; {self._settings} {alone}")

    def commit(self) -> None:
        """End it; what it wrote lasts."""
        with self._told():
            self._connection.execute("COMMIT")

    def rollback(self) -> None:
        """End it as if it had not been; a connection that is lost has done so already."""
        with suppress(self._psycopg.Error):
            self._connection.execute("ROLLBACK")

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """The rows of a query."""
        with self._told():
            found: list[tuple[Any, ...]] = self._execute(sql, values).fetchall()
            return found

    def run(self, sql: str, values: Sequence[Any] = ()) -> int:
        """Execute a statement; the number of rows that it changed."""
        with self._told():
            changed: int = self._execute(sql, values).rowcount
            return changed

    def insert(self, table: str, columns: tuple[str, ...], rows: Sequence[Sequence[Any]]) -> None:
        """Insert rows."""
        with self._told():
            for sql, values in insertions(table, columns, rows):
                self._execute(sql, values)

    def has_table(self, name: str) -> bool:
        """There is such a table, where names without a schema are looked for."""
        return self.rows("SELECT to_regclass(?) IS NOT NULL", (name,)) == [(True,)]

    def close(self) -> None:
        """End the connection."""
        with suppress(self._psycopg.Error):
            self._connection.close()

    def _execute(self, sql: str, values: Sequence[Any]) -> Any:
        return self._connection.execute(_translated(sql), values)

    def _parsed(self, dsn: str) -> dict[str, str]:
        from psycopg.conninfo import conninfo_to_dict  # the extra "postgres"

        try:
            found = {name: str(value) for name, value in conninfo_to_dict(dsn).items()}
        except self._psycopg.Error:
            found = {}
        # A password with a character that must be escaped ends up in the name of the host, the
        # port or the database; so does what libpq would say of it.
        sound = dsn.count("@") <= 1 and "@" not in "".join(re.split("[/?]", dsn)[3:])
        if not (found and sound and re.fullmatch("[0-9,]*", found.get("port", ""))):
            raise DatabaseUnusable(
                "postgresql://...: must be postgresql://user@host:port/database, with special"
                " characters of a password escaped as in a URL"
            )
        return found

    def _connected(self) -> Any:
        with self._told():
            connection = self._psycopg.connect(
                self._dsn,
                autocommit=True,
                connect_timeout=max(2, round(self._timeout_s)),
                application_name="signoff",
            )
        self._settings = f"SET LOCAL lock_timeout = {round(self._timeout_s * 1000)};"
        with self._told():
            ((level,),) = connection.execute("SHOW synchronous_commit").fetchall()
        # A level that waits for more than our own server's disk is left as it is.
        if level in {"off", "local"}:
            self._settings += " SET LOCAL synchronous_commit = on;"
        return connection

    def _require_durable(self) -> None:
        if self.rows("SHOW fsync") != [("on",)]:
            self.close()
            raise DatabaseUnusable(
                f"{self.name}: the server has fsync off, so that nothing it acknowledges must last"
            )

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except self._psycopg.errors.LockNotAvailable:
            raise DatabaseUnusable(
                f"{self.name}: others have been writing for more than {self._timeout_s:g} s"
            ) from None
        except self._psycopg.errors.DuplicateTable as exc:
            raise DatabaseUnusable(
                f"{self.name}: {self._reason(exc)}, and is not of signoff; name another database,"
                " or by ?options=-csearch_path%3DNAME another schema of this one"
            ) from None
        except self._psycopg.Error as exc:
            # Without the cause, whose text is the server's and may hold the password.
            raise DatabaseUnusable(f"{self.name}: {self._reason(exc)}") from None

    def _reason(self, exc: Exception) -> str:
        diagnosis = getattr(getattr(exc, "diag", None), "message_primary", None)
        said = " ".join((diagnosis or str(exc)).split())
        for secret in (self._facts.get("password"), self._dsn):
            if secret:
                said = said.replace(secret, _HIDDEN)
        return shown(said) or "the server cannot be used"


def _psycopg() -> Any:
    try:
        import psycopg  # the extra "postgres"
    except ImportError as exc:
        raise NotInstalled("a ledger in PostgreSQL", "psycopg", "postgres") from exc
    return psycopg


def _name(facts: Mapping[str, str]) -> str:
    """The place without what is secret."""
    user, host = facts.get("user", ""), facts.get("host", "")
    port = f":{facts['port']}" if "port" in facts else ""
    at = f"{user}@" if user else ""
    return shown(f"postgresql://{at}{host}{port}/{facts.get('dbname', '')}")


@lru_cache(maxsize=64)
def _translated(sql: str) -> str:
    return sql.replace("?", "%s")
