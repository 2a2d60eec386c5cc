"""A database is opened, migrated and written as it must be, or refused in a sentence."""

from __future__ import annotations

import os
import sqlite3
import sys
import threading
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from signoff.errors import DatabaseUnusable, NotInstalled
from signoff.ledger import open_ledger
from signoff.ledger.database import Database, Migration, open_database
from signoff.ledger.postgres import is_dsn
from signoff.ledger.statement import insertions
from tests.ledger import sample_ledger as sample
from tests.ledger.postgres_server import Server
from tests.ledger.sample_ledger import note, table, tamper

FIRST = Migration(
    number=1,
    name="things",
    statements=("CREATE TABLE things (name TEXT NOT NULL PRIMARY KEY, size {integer})",),
)
SECOND = Migration(
    number=2, name="bytes", statements=("ALTER TABLE things ADD COLUMN data {bytes}",)
)
BROKEN = Migration(
    number=2,
    name="broken",
    statements=("ALTER TABLE things ADD COLUMN more TEXT", "CREATE TABLE things (name TEXT)"),
)


# -- migrations --


def test_migrations_run_once_each_and_in_order(place: str) -> None:
    for _ in range(2):
        with open_database(place) as database:
            database.migrate("things", (FIRST,))
    with open_database(place) as database:
        database.migrate("things", (FIRST, SECOND))
        with database.writing("things") as transaction:
            transaction.insert("things", ("name", "size", "data"), [("a", 2**40, b"\0x")])

    assert [("things", 1, "things"), ("things", 2, "bytes")] == table(
        place, "SELECT component, number, name FROM signoff_schema ORDER BY number"
    )
    assert [("a", 2**40, b"\0x")] == table(place, "SELECT name, size, data FROM things")


def test_migration_that_fails_leaves_nothing(place: str) -> None:
    with open_database(place) as database:
        database.migrate("things", (FIRST,))
        with pytest.raises(DatabaseUnusable, match="already exists"):
            database.migrate("things", (FIRST, BROKEN))
        database.migrate("things", (FIRST, SECOND))

    assert [] == table(place, "SELECT data FROM things")


def test_components_do_not_know_each_other(place: str) -> None:
    sample.filled(place)
    with open_database(place) as database:
        database.migrate("things", (FIRST, SECOND))
    with sample.ledger(place) as ledger:
        assert ledger.verify().intact


def test_newer_schema_is_refused_by_name(place: str) -> None:
    sample.filled(place)
    tamper(place, "INSERT INTO signoff_schema VALUES ('ledger', 2, 'what is to come')")

    for may_write in (True, False):
        with pytest.raises(DatabaseUnusable, match=r"has ledger schema 2, .* up to 1; use a newer"):
            open_ledger(place, may_write=may_write)


def test_reader_does_not_migrate(place: str) -> None:
    with open_database(place) as database:
        database.migrate("things", (FIRST,))
    with open_database(place, may_write=False) as database:
        with pytest.raises(DatabaseUnusable, match=r"has things schema 1, .* to 2 by opening"):
            database.migrate("things", (FIRST, SECOND))
        with pytest.raises(DatabaseUnusable, match="holds no ledger"):
            database.migrate("ledger", (FIRST,))


def test_many_begin_at_once(place: str) -> None:
    errors: list[Exception] = []

    def work() -> None:
        try:
            with sample.ledger(place) as ledger:
                ledger.append(note())
        except Exception as exc:
            errors.append(exc)

    threads = [threading.Thread(target=work) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert [] == errors
    with sample.ledger(place) as ledger:
        assert (12, True) == (ledger.verify().events, ledger.verify().intact)


# -- transactions --


def put(database: Database, *names: str, error: Exception | None = None) -> None:
    with database.writing("things") as transaction:
        for name in names:
            assert 1 == transaction.run("INSERT INTO things (name) VALUES (?)", (name,))
        if error:
            raise error


def test_what_raises_inside_leaves_nothing(place: str) -> None:
    with open_database(place) as database:
        database.migrate("things", (FIRST,))
        with pytest.raises(KeyError):
            put(database, "a", error=KeyError())
        with pytest.raises(DatabaseUnusable, match=r"(?i)unique"):
            put(database, "b", "b")
        put(database, "c")
        with database.reading() as transaction:
            assert [("c",)] == transaction.rows("SELECT name FROM things")


def test_writer_who_waits_too_long_is_told(place: str) -> None:
    sample.filled(place)
    with (
        sample.ledger(place) as first,
        sample.ledger(place, timeout_s=0.05) as second,
        first._database.writing("ledger_events"),
        pytest.raises(DatabaseUnusable, match=r"others have been writing for more than 0\.05 s"),
    ):
        second.append(note())
    with sample.ledger(place) as ledger:
        assert 7 == ledger.head().seq


def test_reader_waits_for_nobody(place: str) -> None:
    sample.filled(place)
    with (
        sample.ledger(place) as first,
        sample.ledger(place, timeout_s=0.05, may_write=False) as second,
        first._database.writing("ledger_events"),
    ):
        assert second.verify().intact


def test_reader_leaves_nothing_beside_the_file_and_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    with sample.ledger(str(path)) as writer:
        writer.append(note(a=1))
    before = path.read_bytes()
    with sample.ledger(str(path), may_write=False) as reader:
        assert 1 == len([*reader.events()])
        with pytest.raises(DatabaseUnusable, match="opened for reading only"):
            reader.append(note(b=1))

    assert [path] == [*tmp_path.iterdir()]
    assert before == path.read_bytes()


def test_reader_cannot_write_by_a_statement_either(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    with open_database(path) as database:
        database.migrate("things", (FIRST,))
    with (
        open_database(path, may_write=False) as database,
        pytest.raises(DatabaseUnusable, match="read-only"),
        database.reading() as transaction,
    ):
        transaction.run("INSERT INTO things VALUES ('a', 1)")

    assert [] == table(str(path), "SELECT name FROM things")


def test_reader_that_ends_takes_no_log_away_from_a_writer(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    with sample.ledger(str(path)) as writer:
        writer.append(note(a=1))
        with sample.ledger(str(path), may_write=False) as reader:
            assert 1 == len([*reader.events()])
        writer.append(note(b=1))
    with sample.ledger(str(path), may_write=False) as reader:
        assert 2 == len([*reader.events()])
    assert [path] == [*tmp_path.iterdir()]


def test_log_that_a_killed_writer_left_is_read_and_stays(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    kept = tmp_path / "kept"
    kept.mkdir()
    with sample.ledger(str(path)) as writer:
        writer.append(note(a=1))
        for one in (path, path.with_name("ledger.sqlite-wal")):
            (kept / one.name).write_bytes(one.read_bytes())
    log = kept / "ledger.sqlite-wal"
    before = log.read_bytes()
    with sample.ledger(str(kept / "ledger.sqlite"), may_write=False) as reader:
        assert 1 == len([*reader.events()])

    assert before == log.read_bytes() != b""


def test_many_rows_go_into_few_statements() -> None:
    rows = [(number, "x") for number in range(203)]
    made = [*insertions("things", ("size", "name"), rows)]

    assert [64, 64, 64, 8, 2, 1] == [sql.count("(?, ?)") for sql, _ in made]
    assert [value for row in rows for value in row] == [v for _, values in made for v in values]
    assert [] == [*insertions("things", ("size",), [])]


# -- SQLite --


def test_sqlite_flushes_each_commit(tmp_path: Path) -> None:
    with sample.ledger(str(tmp_path / "a" / "b" / "ledger.sqlite")) as ledger:
        connection = ledger._database._connection
        with ledger._database.reading():
            settings = [
                connection.rows(f"PRAGMA {name}")[0][0] for name in ("journal_mode", "synchronous")
            ]

    assert ["wal", 2] == settings


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"not a database, but long enough to be looked at" * 3, "of another kind"),
        (b"SQLite format 3\0" + b"\xff" * 4000, "of another kind|damaged"),
    ],
)
@pytest.mark.parametrize("may_write", [True, False])
def test_other_file_is_refused_and_left_alone(
    tmp_path: Path, content: bytes, problem: str, may_write: bool
) -> None:
    path = tmp_path / "ledger.sqlite"
    path.write_bytes(content)

    with pytest.raises(DatabaseUnusable, match=problem):
        open_ledger(path, may_write=may_write)
    assert content == path.read_bytes()


def test_database_of_another_program_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "app.sqlite"
    with closing(sqlite3.connect(path)) as file:
        file.execute("CREATE TABLE users (name TEXT)")
    before = path.read_bytes()

    with pytest.raises(DatabaseUnusable, match="is the database of another program"):
        open_ledger(path)
    assert before == path.read_bytes()


def test_table_of_another_program_on_a_server_is_named_with_a_way_out(server: Server) -> None:
    place = server.fresh()
    tamper(place, "CREATE TABLE things (oid CHAR(26))")

    with open_database(place) as database, pytest.raises(DatabaseUnusable) as found:
        database.migrate("things", (FIRST,))

    assert [(None,)] == table(place, "SELECT to_regclass('signoff_schema')")
    assert str(found.value).endswith(
        '/postgres: relation "things" already exists, and is not of signoff; name another'
        " database, or by ?options=-csearch_path%3DNAME another schema of this one"
    )


def test_damaged_ledger_is_refused_or_found_out(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    sample.filled(str(path))
    whole = path.read_bytes()
    found = set()
    for page in range(len(whole) // 4096):
        path.write_bytes(whole[: page * 4096] + b"\x55" * 4096 + whole[(page + 1) * 4096 :])
        try:
            with open_ledger(path) as ledger:
                found.add(ledger.verify().intact)
        except DatabaseUnusable:
            found.add(False)
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DatabaseUnusable, match="damaged"), open_ledger(path) as ledger:
        ledger.verify()

    assert False in found


def test_place_that_is_no_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "file").touch()
    for place, problem in (
        (str(tmp_path), "is no regular file"),
        (str(tmp_path / "pipe"), "is no regular file"),
        (str(tmp_path / "file" / "ledger"), "is a file, not a folder|not a directory"),
        ("", "no file can have this name"),
        ("a\0b", "no file can have this name"),
        ("mysql://root:geheim@h/x", r"^mysql://\.\.\.: must be"),
    ):
        with pytest.raises(DatabaseUnusable, match=problem):
            open_ledger(place)


def test_absent_ledger_is_not_made_for_reading(tmp_path: Path) -> None:
    with pytest.raises(DatabaseUnusable, match="no such file"):
        open_ledger(tmp_path / "ledger.sqlite", may_write=False)
    assert [] == [*tmp_path.iterdir()]


@pytest.mark.parametrize("name", ["a b?c#d%20é", "file:x", "-", "\udcff.sqlite"])
def test_any_name_of_a_file_will_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    sample.filled(name)

    assert [name] == [path.name for path in tmp_path.iterdir()]
    with open_ledger(name, may_write=False) as ledger:
        assert 7 == ledger.head().seq


@pytest.mark.parametrize("what", ["moved", "replaced"])
def test_file_that_was_moved_or_replaced_keeps_nothing_more(tmp_path: Path, what: str) -> None:
    path = tmp_path / "ledger.sqlite"
    with sample.ledger(str(path)) as ledger:
        ledger.append(note())
        path.rename(tmp_path / "old")
        if what == "replaced":
            path.write_bytes((tmp_path / "old").read_bytes())

        with pytest.raises(DatabaseUnusable, match="was moved or replaced while it was in use"):
            ledger.append(note())


# -- PostgreSQL --


@pytest.mark.parametrize(
    "dsn",
    [
        "postgresql://u:ge/heim@h/x",
        "postgresql://u:ge@heim@h/x",
        "postgresql://u:ge?heim@h/x",
        "postgresql://u:ge%zzheim@h/x",
        "postgresql://u@h/x?nosuch=geheim",
        "postgresql://u:geheim@127.0.0.1:1/x",
        "postgres://u:geheim@127.0.0.1:99999/x",
        "postgresql://u@127.0.0.1:1/x?password=geheim",
    ],
)
def test_password_is_in_no_text(dsn: str) -> None:
    with pytest.raises(DatabaseUnusable) as caught:
        open_ledger(dsn)

    exc: BaseException | None = caught.value
    while exc is not None and not exc.__suppress_context__:
        assert "heim" not in str(exc)
        exc = exc.__cause__ or exc.__context__
    assert "heim" not in str(caught.value)
    assert str(caught.value).startswith("postgresql://")


def test_name_of_a_ledger_has_no_password(server: Server) -> None:
    with open_ledger(server.fresh()) as ledger:
        assert "geheim" not in ledger.name
        assert f"{server.folder}" in ledger.name


def test_without_psycopg_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)

    with pytest.raises(NotInstalled, match=r"install signoff\[postgres\]"):
        open_ledger("postgresql:///x")


def test_commit_waits_for_the_disk_whatever_the_role_says(server: Server) -> None:
    dsn = server.fresh()
    with psycopg.connect(dsn) as connection:
        connection.execute("ALTER ROLE postgres SET synchronous_commit = off")
    try:
        with sample.ledger(dsn) as ledger, ledger._database.writing("ledger_events") as transaction:
            assert [("on",)] == transaction.rows("SHOW synchronous_commit")
    finally:
        with psycopg.connect(dsn) as connection:
            connection.execute("ALTER ROLE postgres RESET synchronous_commit")


def test_level_that_waits_for_more_is_left(server: Server) -> None:
    dsn = server.fresh() + "%20-csynchronous_commit%3Dremote_apply"
    with sample.ledger(dsn) as ledger, ledger._database.writing("ledger_events") as transaction:
        assert [("remote_apply",)] == transaction.rows("SHOW synchronous_commit")


def test_server_that_flushes_nothing_is_refused(server: Server) -> None:
    dsn = server.fresh()
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("ALTER SYSTEM SET fsync = off")
        connection.execute("SELECT pg_reload_conf()")
        try:
            with closing(psycopg.connect(dsn)) as other:
                while other.execute("SHOW fsync").fetchone() != ("off",):
                    other.rollback()
            with pytest.raises(DatabaseUnusable, match="the server has fsync off"):
                open_ledger(dsn)
        finally:
            connection.execute("ALTER SYSTEM RESET fsync")
            connection.execute("SELECT pg_reload_conf()")
            with closing(psycopg.connect(dsn)) as other:
                while other.execute("SHOW fsync").fetchone() != ("on",):
                    other.rollback()


def test_lost_connection_is_told_and_made_anew(server: Server) -> None:
    dsn = server.fresh()
    with sample.ledger(dsn) as ledger:
        ledger.append(note(a=1))
        with psycopg.connect(dsn) as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
        with pytest.raises(DatabaseUnusable):
            ledger.append(note(a=2))
        ledger.append(note(a=3))

        assert [1, 3] == [event.data["a"] for event in ledger.events()]


def test_what_a_server_acknowledged_outlives_its_crash(server: Server) -> None:
    dsn = server.fresh()
    ledger = sample.ledger(dsn)
    head = ledger.record(sample.GOOD, sample.GOOD_BYTES)
    server.crash()
    server.start()

    with sample.ledger(dsn) as again:
        assert again.verify(head).intact
    ledger.close()


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        ("postgresql://h/x", True),
        ("postgres://", True),
        ("postgresql:x", False),
        ("a/postgresql://b", False),
    ],
)
def test_dsn_is_told_from_a_file(place: str, expected: bool) -> None:
    assert expected is is_dsn(place)
