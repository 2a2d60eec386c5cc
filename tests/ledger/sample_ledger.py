"""Verdicts to record, and the database behind a ledger to tamper with."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg

from signoff.ledger import Ledger, Note, open_ledger
from signoff.ledger.postgres import is_dsn
from signoff.model import Report
from signoff.record import encode_report, subject_of
from tests import sample_run as sample

WHEN = datetime(2026, 5, 4, 3, 2, 1, 987654, tzinfo=UTC)
LOCKED = sample.locked()


class Clock:
    """Goes on by a second at each look, or back by a day when it is told to."""

    def __init__(self) -> None:
        self.now = WHEN

    def __call__(self) -> datetime:
        self.now += timedelta(seconds=1)
        return self.now


def ledger(place: str, **options: Any) -> Ledger:
    return open_ledger(place, clock=Clock(), **options)


def report(output: bytes = sample.GOOD) -> Report:
    return sample.timeless(sample.engine().verify(LOCKED, subject_of(output)))


GOOD, BAD = report(), report(sample.BAD)
GOOD_BYTES, BAD_BYTES = encode_report(GOOD), encode_report(BAD)


def note(**data: Any) -> Note:
    return Note(type="test.note", contract_id="sample", signature=LOCKED.digest, data=data)


def filled(place: str) -> None:
    """Seven events: a note, and verdicts of two tasks, good and bad in turn, one with a note."""
    with ledger(place) as opened:
        opened.append(note(first=True))
        for number in range(5):
            good = number % 2 == 0
            opened.record(
                GOOD if good else BAD,
                GOOD_BYTES if good else BAD_BYTES,
                subject="T1" if number < 3 else "T2",
                run=f"/runs/{number}",
                also=[note(number=number)] if number == 4 else [],
            )


def tamper(place: str, *statements: str, values: tuple[Any, ...] = ()) -> None:
    """What someone does who may write the database."""
    if is_dsn(place):
        with psycopg.connect(place) as connection:
            for statement in statements:
                connection.execute(statement.replace("?", "%s"), values)
        return
    with closing(sqlite3.connect(place, isolation_level=None)) as file:
        for statement in statements:
            file.execute(statement, values)


def table(place: str, query: str) -> list[tuple[Any, ...]]:
    """The rows of a query, past the ledger."""
    if is_dsn(place):
        with psycopg.connect(place) as connection:
            return connection.execute(query).fetchall()
    with closing(sqlite3.connect(place)) as file:
        return file.execute(query).fetchall()
