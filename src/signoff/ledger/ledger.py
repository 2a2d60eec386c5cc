"""
The ledger: verdicts that were reached and events that happened, kept so that they last.

What was acknowledged lasts, in the order of its numbers; whoever changes it
afterwards breaks the chain of its lines.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final, Self

from msgspec import Struct

from signoff.errors import DatabaseUnusable, LedgerCorrupt
from signoff.jsonvalue import JSON
from signoff.ledger import schema
from signoff.ledger.audit import Audit, audit
from signoff.ledger.database import TIMEOUT_S, Database, Transaction, open_database
from signoff.ledger.group import Group, NotWritten
from signoff.ledger.kept import (
    ANNOUNCED,
    MAX_REPORT_BYTES,
    KeptVerdict,
    announcement,
    as_bytes,
    kept,
    row_of,
)
from signoff.ledger.line import FIRST_PREV, Draft, Event, Head, digest_of, draft, read_line
from signoff.model import Report
from signoff.status import Outcome

__all__ = ["VERIFIED", "Ledger", "Note", "open_ledger"]

VERIFIED: Final = "signoff.verify"
PAGE: Final = 200
MAX_SEQ: Final = 2**62
NOTHING: Final = Head(seq=0, digest=FIRST_PREV)


class Note(Struct, frozen=True, kw_only=True):
    """
    An event to be recorded.

    Args:
        type: What happened, such as ``openspec.lock``.
        contract_id: Id of the contract that it is about.
        signature: Digest of the locked contract, or the signature of a foreign one.
        data: What else is to be known, as JSON.
    """

    type: str
    contract_id: str
    signature: str
    data: dict[str, Any] = {}


class _Entry(Struct, frozen=True):
    """Events that are recorded together; the verdict, if there is one, is that of the first."""

    drafts: tuple[Draft, ...]
    verdict: tuple[Any, ...] | None = None


class Ledger:
    """
    Verdicts and events, kept in order; a context manager that closes it.

    Threads and processes may record at the same time.  Those of one process that
    wait are written together.

    Args:
        database: Where it is kept; owned by this object.
        clock: Gives the time of day; it orders nothing.
    """

    def __init__(self, database: Database, *, clock: Callable[[], datetime]) -> None:
        self._database = database
        self._clock = clock
        self._group: Group[_Entry, tuple[Head, ...]] = Group(self._write)
        # The last place that was acknowledged: what stands there must still stand there.
        self._known = NOTHING
        self.name = database.name

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End it; what was acknowledged lasts without this."""
        self._database.close()

    def record(
        self,
        report: Report,
        written: bytes,
        *,
        subject: str = "",
        run: str = "",
        type: str = VERIFIED,
        signature: str | None = None,
        data: Mapping[str, JSON] | None = None,
        also: Sequence[Note] = (),
    ) -> Head:
        """
        Keep a verdict with its event; both last when this returns.

        Args:
            report: What was found out.
            written: The report as it was written; its digest is what the event vouches for.
            subject: Name for all verdicts of one task, so that they are found together.
            run: Where the run directory is.
            type: Of the event.
            signature: Of the event, where the contract is a foreign one with a signature of its
                own; its digest when None.
            data: What the event says besides outcome and digests.
            also: Events that follow it, in the same transaction.

        Returns:
            The place of its event.

        Raises:
            DatabaseUnusable: It cannot be written; it was not kept.
            LedgerCorrupt: What was acknowledged before is no longer there.
            ValueError: Something of it cannot be kept.
        """
        if len(written) > MAX_REPORT_BYTES:
            raise ValueError(f"a report is larger than {MAX_REPORT_BYTES} bytes")
        _require_texts(subject=subject, run=run)
        row = row_of(report, written, subject=subject, run=run)
        verdict = draft(
            type,
            contract_id=report.contract_id,
            signature=report.contract_digest if signature is None else signature,
            data=announcement(row, subject=subject, run=run, more=data or {}),
            at=self._clock(),
        )
        return self._submit((verdict, *self._drafts(also)), row)[0]

    def append(self, *notes: Note) -> tuple[Head, ...]:
        """
        Keep events, all or none; they last when this returns.

        Raises:
            DatabaseUnusable: They cannot be written.
            LedgerCorrupt: What was acknowledged before is no longer there.
            ValueError: One of them cannot be kept, or is that of a verdict.
        """
        return self._submit(self._drafts(notes), None) if notes else ()

    def head(self) -> Head:
        """The last event's place; number 0 while there is none."""
        with self._database.reading() as transaction:
            return _last(transaction)

    def verdicts(
        self,
        *,
        contract: str | None = None,
        outcome: Outcome | None = None,
        subject: str | None = None,
        since: int = 1,
        last: int | None = None,
    ) -> Iterator[KeptVerdict]:
        """
        The verdicts that were recorded, in the order of their numbers.

        Args:
            contract: Only those under the contract of that id.
            outcome: Only those that came to that.
            subject: Only those that were recorded under that name.
            since: Only those from that number on.
            last: Only so many of them, from the end.

        Raises:
            DatabaseUnusable: It cannot be read.
            LedgerCorrupt: A verdict is not what was recorded.
        """
        wanted = {"contract_id": contract, "outcome": outcome and outcome.value, "subject": subject}
        chosen = {f"v.{name} = ?": value for name, value in wanted.items() if value is not None}
        if not all(map(_is_kept_text, chosen.values())):
            return
        if last is not None:
            with self._database.reading() as transaction:
                found = _verdicts(transaction, chosen, since, min(last, MAX_SEQ), order="DESC")
            yield from map(_kept, reversed(found))
            return
        while True:
            with self._database.reading() as transaction:
                page = _verdicts(transaction, chosen, since, PAGE, order="ASC")
            yield from map(_kept, page)
            if len(page) < PAGE:
                return
            since = page[-1][1] + 1

    def verdict(self, seq: int) -> KeptVerdict | None:
        """The verdict of an event; None when there is none of that number."""
        with self._database.reading() as transaction:
            rows = _verdicts(transaction, {}, seq, 1, order="ASC")
        return _kept(rows[0]) if rows and rows[0][1] == seq else None

    def lines(self, *, since: int = 1) -> Iterator[bytes]:
        """
        The lines of all events, as they are, in the order of their numbers.

        Raises:
            DatabaseUnusable: They cannot be read.
        """
        with self._database.reading() as transaction:
            end = _last(transaction).seq
        while True:
            with self._database.reading() as transaction:
                page = transaction.rows(schema.LINES, (min(since, MAX_SEQ), end, PAGE))
            yield from (as_bytes(line) for _, line in page)
            if len(page) < PAGE:
                return
            since = page[-1][0] + 1

    def events(self, *, since: int = 1) -> Iterator[Event]:
        """
        All events, in the order of their numbers.

        Raises:
            DatabaseUnusable: They cannot be read.
            LedgerCorrupt: A line is no event.
        """
        for seq, line in enumerate(self.lines(since=since), max(since, 1)):
            yield _event(line, seq)

    def verify(self, *heads: Head) -> Audit:
        """
        Hash everything anew, and say what is not as it was written.

        Args:
            heads: What was kept elsewhere; they must still be where they were.

        Raises:
            DatabaseUnusable: It cannot be read.
        """
        with self._database.reading() as transaction:
            end = _last(transaction).seq
            orphans = transaction.rows(schema.ORPHANS, (PAGE,))
        return audit(self._rows(end), heads, [seq for (seq,) in orphans])

    def _rows(self, end: int) -> Iterator[tuple[tuple[Any, ...], tuple[Any, ...] | None]]:
        after = -MAX_SEQ
        while True:
            with self._database.reading() as transaction:
                page = transaction.rows(schema.ROWS, (after, end, PAGE))
            yield from ((row[:6], None if row[6] is None else row[6:]) for row in page)
            if len(page) < PAGE:
                return
            after = page[-1][0]

    def _drafts(self, notes: Sequence[Note]) -> tuple[Draft, ...]:
        for note in notes:
            if ANNOUNCED in note.data:
                raise ValueError(f"data of an event without a verdict may not hold {ANNOUNCED}")
        return tuple(map(self._draft, notes))

    def _draft(self, note: Note) -> Draft:
        return draft(
            note.type,
            contract_id=note.contract_id,
            signature=note.signature,
            data=note.data,
            at=self._clock(),
        )

    def _submit(
        self, drafts: tuple[Draft, ...], verdict: tuple[Any, ...] | None
    ) -> tuple[Head, ...]:
        self._database.require_own_process()
        try:
            return self._group.submit(_Entry(drafts, verdict))
        except NotWritten as exc:
            raise DatabaseUnusable(f"{self.name}: {exc}; whether it was kept is not known") from exc

    def _write(self, take: Callable[[], Sequence[_Entry]]) -> list[tuple[Head, ...]]:
        """Put entries in line, each event after the one before."""
        events: list[tuple[Any, ...]] = []
        verdicts: list[tuple[Any, ...]] = []
        answers: list[tuple[Head, ...]] = []
        with self._database.writing(schema.EVENTS) as transaction:
            head = _last(transaction)
            self._require_continued(transaction, head)
            for entry in take():
                if entry.verdict is not None:
                    verdicts.append((head.seq + 1, *entry.verdict))
                heads: list[Head] = []
                for one in entry.drafts:
                    line = one.line(head.seq + 1, head.digest)
                    head = Head(seq=head.seq + 1, digest=digest_of(line))
                    events.append(
                        (head.seq, one.at, one.type, one.contract_id, one.signature, line)
                    )
                    heads.append(head)
                answers.append(tuple(heads))
            transaction.insert(schema.EVENTS, schema.EVENT_COLUMNS, events)
            transaction.insert(schema.VERDICTS, schema.VERDICT_COLUMNS, verdicts)
        self._known = head
        return answers

    def _require_continued(self, transaction: Transaction, head: Head) -> None:
        """What this ledger acknowledged last is still where it was."""
        known = self._known
        if head == known or known.seq == 0:
            return
        rows = transaction.rows(schema.LINE, (known.seq,))
        if [known.digest] != [digest_of(as_bytes(line)) for (line,) in rows]:
            raise LedgerCorrupt(
                f"{self.name} no longer holds what was acknowledged; it was cut or replaced",
                seq=known.seq,
            )


def open_ledger(
    place: str | os.PathLike[str],
    *,
    clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    timeout_s: float = TIMEOUT_S,
    may_write: bool = True,
) -> Ledger:
    """
    The ledger at a place.

    Args:
        place: A file, made with its folders if need be; or ``postgresql://...``.
        clock: Gives the time of day; it orders nothing.
        timeout_s: How long to wait while others write.
        may_write: False to change nothing; then it must be there.

    Raises:
        DatabaseUnusable: It cannot be opened, is something else, or of a newer signoff.
        NotInstalled: It is in PostgreSQL, and psycopg is absent.
    """
    database = open_database(place, timeout_s=timeout_s, may_write=may_write)
    done = False
    try:
        database.migrate(schema.COMPONENT, schema.MIGRATIONS)
        done = True
        return Ledger(database, clock=clock)
    finally:
        if not done:
            database.close()


def _last(transaction: Transaction) -> Head:
    for seq, line in transaction.rows(schema.LAST):
        return Head(seq=seq, digest=digest_of(as_bytes(line)))
    return NOTHING


def _verdicts(
    transaction: Transaction, chosen: Mapping[str, str], since: int, count: int, *, order: str
) -> list[tuple[Any, ...]]:
    condition = " AND ".join([*chosen, "v.seq >= ?"])
    sql = schema.CHOSEN.format(condition=condition, order=order)
    return transaction.rows(sql, (*chosen.values(), min(since, MAX_SEQ), count))


def _kept(row: tuple[Any, ...]) -> KeptVerdict:
    return kept(_event(as_bytes(row[0]), row[1]), row[1:])


def _event(line: bytes, seq: int) -> Event:
    try:
        event = read_line(line)
    except ValueError as exc:
        raise LedgerCorrupt(str(exc), seq=seq) from exc
    if event.seq != seq:
        raise LedgerCorrupt(f"the line says that it is {event.seq}", seq=seq)
    return event


def _require_texts(**texts: str) -> None:
    for name, text in texts.items():
        if not _is_kept_text(text):
            raise ValueError(
                f"{name} is no text that can be kept: null character or lone surrogate"
            )


def _is_kept_text(text: str) -> bool:
    try:
        return b"\0" not in text.encode()
    except UnicodeEncodeError:
        return False
