"""
The registry of OIDs: which objects there are, and what became of them.

It mints every OID, in one transaction with the object that gets it, so that two
who ask for one stable key at the same time get one OID.  An OID never changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final, Self

import msgspec

from signoff.dialects.scc.verdict import utc_text
from signoff.errors import RegistryRefused
from signoff.jsonvalue import JSON, shown
from signoff.ledger.database import Database, Transaction
from signoff.scc.oid_object import (
    CHANGEABLE,
    MAX_TEXT,
    NULLABLE,
    Issued,
    NewObject,
    OidEvent,
    OidObject,
    changed,
    require_fields,
)
from signoff.scc.registry_schema import COLUMNS, COMPONENT, EVENT_COLUMNS, MIGRATIONS, SELECT
from signoff.scc.ulid import is_oid, mint_oid

__all__ = ["OidRegistry"]

BATCH: Final = 400


def _now() -> datetime:
    return datetime.now(UTC)


class OidRegistry:
    """
    The registry in a database; a context manager that closes it.

    Every method raises ``DatabaseUnusable`` where the database cannot be used.

    Args:
        database: Where it is; this object owns it.
        clock: The time of what is recorded; it orders nothing.
        mint: Makes a new OID for a time.
    """

    def __init__(
        self,
        database: Database,
        *,
        clock: Callable[[], datetime] = _now,
        mint: Callable[[datetime], str] = mint_oid,
    ) -> None:
        self._database = database
        self._clock = clock
        self._mint = mint
        ready = False
        try:
            database.migrate(COMPONENT, MIGRATIONS)
            ready = True
        finally:
            if not ready:
                database.close()

    @property
    def name(self) -> str:
        """Where it is, without any password."""
        return self._database.name

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the connection."""
        self._database.close()

    def issue(self, new: NewObject) -> Issued:
        """
        An OID for an object.

        Raises:
            RegistryRefused: A field is wrong, or an active object has the path already.
        """
        return self.issue_all((new,))[0]

    def issue_all(self, many: Sequence[NewObject]) -> tuple[Issued, ...]:
        """
        An OID for each of the objects, all of them or none.

        Raises:
            RegistryRefused: As ``issue``.
        """
        for new in many:
            require_fields(new)
        with self._database.writing("objects") as transaction:
            known = _known_keys(transaction, many)
            fresh = [new for new in many if new.stable_key not in known]
            minted = self._minted(transaction, len(fresh))
            issued = dict(known)
            rows: list[tuple[str, NewObject]] = []
            answers: list[Issued] = []
            for new in many:
                if new.stable_key in issued:
                    answers.append(Issued(oid=issued[new.stable_key], issued=False))
                    continue
                oid = minted.pop()
                rows.append((oid, new))
                answers.append(Issued(oid=oid, issued=True))
                if new.stable_key:
                    issued[new.stable_key] = oid
            self._insert(transaction, rows, {})
        return tuple(answers)

    def adopt(self, oid: str, new: NewObject) -> Issued:
        """
        Register an object under the OID that its file has: it was minted by another copy.

        Raises:
            RegistryRefused: As ``issue``; or the OID is no OID, or that of another object.
        """
        return self.adopt_all({oid: new})[0]

    def adopt_all(self, many: Mapping[str, NewObject]) -> tuple[Issued, ...]:
        """
        Register objects under the OIDs that their files have, all of them or none.

        Raises:
            RegistryRefused: As ``adopt``.
        """
        for oid, new in many.items():
            require_fields(new)
            if not is_oid(oid):
                raise RegistryRefused(f'"{shown(oid)}" is no OID')
        with self._database.writing("objects") as transaction:
            known = {one.oid: one for b in _batches(sorted(many)) for one in _among(transaction, b)}
            for oid, one in known.items():
                if one.path != many[oid].path:
                    raise RegistryRefused(f"{oid} is that of {shown(one.path)}")
            fresh = [(oid, new) for oid, new in many.items() if oid not in known]
            self._insert(transaction, fresh, {"adopted": True})
        return tuple(Issued(oid=oid, issued=oid not in known) for oid in many)

    def seal(self, digests: Mapping[str, str]) -> None:
        """
        Record the digests of objects that were issued before they were written, all or none.

        Args:
            digests: 64 hex digits by OID.

        Raises:
            RegistryRefused: An OID is not registered, or has another digest already.
        """
        with self._database.writing("objects") as transaction:
            for batch in _batches(sorted(digests)):
                found = {one.oid: one for one in _among(transaction, batch)}
                for oid in batch:
                    if oid not in found:
                        raise RegistryRefused(f'"{shown(oid)}" is not registered')
                    if found[oid].sha256 not in {"", digests[oid]}:
                        raise RegistryRefused(f"{oid} has another digest")
                    if not found[oid].sha256:
                        sql = "UPDATE objects SET sha256 = ? WHERE oid = ?"
                        transaction.run(sql, (digests[oid], oid))

    def find(self, oid: str) -> OidObject | None:
        """The object of an OID, None where there is none."""
        with self._database.reading() as transaction:
            return _object(transaction, oid)

    def find_all(self, oids: Sequence[str]) -> dict[str, OidObject]:
        """The objects of those OIDs that are registered."""
        with self._database.reading() as transaction:
            return {
                found.oid: found
                for batch in _batches(sorted({*oids}))
                for found in _among(transaction, batch)
            }

    def find_key(self, stable_key: str) -> OidObject | None:
        """The object of a stable key, None where there is none."""
        with self._database.reading() as transaction:
            return next(iter(_objects(transaction, "stable_key = ?", (stable_key,))), None)

    def active_paths(self) -> list[tuple[str, str]]:
        """The path and OID of every active object."""
        with self._database.reading() as transaction:
            rows = transaction.rows("SELECT path, oid FROM objects WHERE status = 'active'")
            return sorted((path, oid) for path, oid in rows)

    def events(self, oid: str) -> tuple[OidEvent, ...]:
        """What happened to an OID, in the order of the event ids."""
        sql = (
            "SELECT event_id, oid, kind, payload, created_at FROM oid_events WHERE oid = ?"
            " ORDER BY created_at, event_id"
        )
        with self._database.reading() as transaction:
            return tuple(
                OidEvent(
                    event_id=id_,
                    oid=of,
                    kind=kind,
                    payload=msgspec.json.decode(payload),
                    created_at=created,
                )
                for id_, of, kind, payload, created in transaction.rows(sql, (oid,))
            )

    def migrate(
        self, oid: str, changes: Mapping[str, JSON], *, reason: str, actor: str
    ) -> OidObject:
        """
        The object after a change of its fields; the OID stays, and an event says why.

        Args:
            oid: Of the object.
            changes: New values by field, of ``CHANGEABLE``.
            reason: Why.
            actor: Who.

        Raises:
            RegistryRefused: There is no such object, no change, no reason, or a field is wrong.
        """
        for name, text in (("reason", reason), ("actor", actor)):
            if not text.strip() or len(text) > MAX_TEXT:
                raise RegistryRefused(f"{name} must be a non-empty text")
        with self._database.writing("objects") as transaction:
            before = _object(transaction, oid)
            if before is None:
                raise RegistryRefused(f'"{shown(oid)}" is not registered')
            after = changed(before, changes)
            differing = [n for n in CHANGEABLE if getattr(before, n) != getattr(after, n)]
            if not differing:
                raise RegistryRefused(f"{oid} would not change")
            require_fields(after)
            _require_registered(transaction, after)
            if after.status == "active":
                _require_free(transaction, [(oid, after)])
            return self._store(transaction, before, after, differing, (reason, actor))

    def _store(
        self,
        transaction: Transaction,
        before: OidObject,
        after: OidObject,
        differing: list[str],
        why: tuple[str, str],
    ) -> OidObject:
        moment = self._clock()
        after = msgspec.structs.replace(after, updated_at=utc_text(moment))
        names = (*differing, "updated_at")
        sets = ", ".join(f"{name} = ?" for name in names)
        values = [_cell(after, name) for name in names]
        transaction.run(f"UPDATE objects SET {sets} WHERE oid = ?", (*values, after.oid))  # noqa: S608  our own columns
        payload = {
            "from": {name: getattr(before, name) for name in differing},
            "to": {name: getattr(after, name) for name in differing},
            "reason": why[0],
            "actor": why[1],
        }
        event = self._event(after.oid, "MIGRATED", payload, moment)
        transaction.insert("oid_events", EVENT_COLUMNS, [event])
        return after

    def _minted(self, transaction: Transaction, count: int) -> list[str]:
        """New OIDs, none of which is registered; one that was is told as an event."""
        found: set[str] = set()
        while len(found) < count:
            moment = self._clock()
            batch = [self._mint(moment) for _ in range(min(BATCH, count - len(found)))]
            sql = f"SELECT oid FROM objects WHERE oid IN ({_marks(batch)})"  # noqa: S608  marks alone
            taken = {oid for (oid,) in transaction.rows(sql, batch)} | (found & {*batch})
            events = [self._event(o, "COLLISION", {"minted": o}, moment) for o in sorted(taken)]
            transaction.insert("oid_events", EVENT_COLUMNS, events)
            found |= {*batch} - taken
        return sorted(found)

    def _insert(
        self,
        transaction: Transaction,
        rows: Sequence[tuple[str, NewObject]],
        payload: Mapping[str, JSON],
    ) -> None:
        _require_free(transaction, [row for row in rows if row[1].status == "active"])
        moment = self._clock()
        now = utc_text(moment)
        transaction.insert("objects", COLUMNS, [_row(oid, new, now) for oid, new in rows])
        events = [
            self._event(oid, "ISSUED", {"path": new.path, **payload}, moment) for oid, new in rows
        ]
        transaction.insert("oid_events", EVENT_COLUMNS, events)

    def _event(
        self, oid: str, kind: str, payload: Mapping[str, Any], moment: datetime
    ) -> tuple[str, ...]:
        encoded = msgspec.json.encode(payload).decode()
        # Not by the registry's own mint, which may give what was given before.
        return (mint_oid(moment), oid, kind, encoded, utc_text(moment))


def _row(oid: str, new: NewObject, now: str) -> tuple[Any, ...]:
    fields = msgspec.structs.asdict(new)
    made = OidObject(**fields, oid=oid, created_at=now, updated_at=now)
    return tuple(_cell(made, name) for name in COLUMNS)


def _cell(one: OidObject, name: str) -> str | None:
    value = getattr(one, name)
    if name == "tags":
        return msgspec.json.encode(value).decode()
    text: str = value
    return None if name in NULLABLE and not text else text


def _objects(transaction: Transaction, where: str, values: Sequence[str]) -> Iterator[OidObject]:
    for row in transaction.rows(f"{SELECT} WHERE {where}", values):
        fields: dict[str, Any] = {
            name: "" if value is None else value for name, value in zip(COLUMNS, row, strict=True)
        }
        fields["tags"] = tuple(msgspec.json.decode(fields["tags"]))
        yield OidObject(**fields)


def _object(transaction: Transaction, oid: str) -> OidObject | None:
    return next(_objects(transaction, "oid = ?", (oid,)), None)


def _among(transaction: Transaction, oids: Sequence[str]) -> Iterator[OidObject]:
    return _objects(transaction, f"oid IN ({_marks(oids)})", oids)


def _known_keys(transaction: Transaction, many: Sequence[NewObject]) -> dict[str, str]:
    keys = sorted({new.stable_key for new in many if new.stable_key})
    return {
        key: oid
        for batch in _batches(keys)
        for key, oid in transaction.rows(
            f"SELECT stable_key, oid FROM objects WHERE stable_key IN ({_marks(batch)})",  # noqa: S608  marks alone
            batch,
        )
    }


def _require_free(transaction: Transaction, rows: Sequence[tuple[str, NewObject]]) -> None:
    """No active object of another OID has one of the paths."""
    owners: dict[str, str] = {}
    for oid, new in rows:
        if new.path in owners:
            raise RegistryRefused(f"{shown(new.path)} is given twice")
        owners[new.path] = oid
    for batch in _batches(sorted(owners)):
        sql = f"SELECT path, oid FROM objects WHERE status = 'active' AND path IN ({_marks(batch)})"  # noqa: S608  marks alone
        for path, oid in transaction.rows(sql, batch):
            if oid != owners[path]:
                raise RegistryRefused(f"{shown(path)} is the path of {oid}, which is active")


def _require_registered(transaction: Transaction, one: OidObject) -> None:
    for name in ("replaced_by", "derived_from"):
        oid = getattr(one, name)
        if oid and _object(transaction, oid) is None:
            raise RegistryRefused(f'{name} "{shown(oid)}" is not registered')


def _batches(items: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(items), BATCH):
        yield items[start : start + BATCH]


def _marks(items: Sequence[str]) -> str:
    return ", ".join("?" * len(items))
