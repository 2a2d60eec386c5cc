"""
The lines of a ledger: one event each, in canonical JSON, each with the digest of the one before.

A line that was changed, removed, inserted or moved breaks the chain at a number
that can be named.  Nothing here touches a database: an exported ledger can be
checked by these functions alone.

Source: OpenSpec, event log: ``{seq, at, type, contractId, signature, data, prev}``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any, Final

import msgspec
from msgspec import Struct

from signoff.canonical import canonical_bytes, canonical_bytes_unchecked
from signoff.errors import JSONError
from signoff.jsonlimits import MAX_DEPTH
from signoff.jsonvalue import JSON, shown
from signoff.strictjson import Limits, loads_canonical

__all__ = [
    "FIRST_PREV",
    "MAX_LINE_BYTES",
    "Draft",
    "Event",
    "Head",
    "broken",
    "digest_of",
    "draft",
    "read_line",
    "time_text",
    "unlike",
]

FIRST_PREV: Final = "0" * 64
MAX_LINE_BYTES: Final = 2**20
_LIMITS: Final = Limits(max_bytes=MAX_LINE_BYTES, max_depth=MAX_DEPTH)
# Room for the number and the digest, which are not known when a line is drafted.
_RESERVE: Final = 128
_text: Final = msgspec.json.Encoder().encode
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", re.ASCII)
_HEX: Final = re.compile(r"[0-9a-f]{64}")


class Event(
    Struct,
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
    rename={"contract_id": "contractId"},
):
    """
    What one line says.

    Args:
        seq: 1 for the first, one more for each that follows.
        at: Time of day when it was handed in, UTC with milliseconds; orders nothing.
        type: What happened, such as ``signoff.verify``.
        contract_id: Id of the contract that it is about.
        signature: Digest of the locked contract, or the signature of a foreign one.
        data: What else is to be known.
        prev: SHA-256 of the bytes of the line before, in hexadecimal; 64 zeros at first.
    """

    seq: int
    at: str
    type: str
    contract_id: str
    signature: str
    data: dict[str, Any]
    prev: str


class Head(Struct, frozen=True, kw_only=True):
    """
    A place in a chain; kept elsewhere it shows later whether the tail was cut.

    Args:
        seq: Number of the line; 0 where there is none yet.
        digest: SHA-256 of its bytes in hexadecimal; 64 zeros where there is none.
    """

    seq: int
    digest: str

    def __str__(self) -> str:
        return f"{self.seq}:{self.digest}"

    @classmethod
    def parse(cls, text: str) -> Head:
        """
        The head that ``str`` has written.

        Raises:
            ValueError: It is not of that form.
        """
        number, _, digest = text.partition(":")
        if not (
            number.isascii() and number.isdigit() and len(number) < 19 and _HEX.fullmatch(digest)
        ):
            raise ValueError(
                f'a head must be SEQ:HEX with 64 hexadecimal digits, got "{shown(text)}"'
            )
        return cls(seq=int(number), digest=digest)


class Draft(Struct, frozen=True, kw_only=True):
    """An event before it has a number: its line but for ``prev`` and ``seq``."""

    at: str
    type: str
    contract_id: str
    signature: str
    before: bytes
    after: bytes

    def line(self, seq: int, prev: str) -> bytes:
        """The line with that number, after the one with that digest."""
        return b'%b"prev":"%b","seq":%d,%b' % (self.before, prev.encode(), seq, self.after)


def draft(
    type: str, *, contract_id: str, signature: str, data: Mapping[str, JSON], at: datetime
) -> Draft:
    """
    An event that is ready to be put in line.

    Raises:
        ValueError: It is not JSON, is too large, or a text holds what no database keeps.
    """
    for name, text in (("type", type), ("contract_id", contract_id), ("signature", signature)):
        if "\0" in text:
            raise ValueError(f"{name} holds a null character")
    if not type:
        raise ValueError("type is empty")
    when = time_text(at)
    plain = all(isinstance(key, str) for key in data) and all(
        isinstance(value, str | None) for value in data.values()
    )
    facts = canonical_bytes_unchecked(dict(data)) if plain else canonical_bytes(dict(data))
    before = b'{"at":"%b","contractId":%b,"data":%b,' % (when.encode(), _text(contract_id), facts)
    after = b'"signature":%b,"type":%b}' % (_text(signature), _text(type))
    if len(before) + len(after) + _RESERVE > MAX_LINE_BYTES:
        raise ValueError(f"an event is larger than {MAX_LINE_BYTES} bytes")
    made = Draft(
        at=when,
        type=type,
        contract_id=contract_id,
        signature=signature,
        before=before,
        after=after,
    )
    if not plain:
        read_line(
            made.line(1, FIRST_PREV)
        )  # deep or long numbers: what is written must be readable
    return made


def time_text(when: datetime) -> str:
    """UTC with milliseconds, such as ``2026-02-09T00:00:00.000Z``."""
    utc = when if when.tzinfo is UTC else when.astimezone(UTC)
    return f"{utc.isoformat(timespec='milliseconds')[:-6]}Z"


def digest_of(line: bytes) -> str:
    """What the next line has as ``prev``."""
    return sha256(line).hexdigest()


def read_line(line: bytes) -> Event:
    """
    The event in a line, which is written as it must be, to the byte.

    Raises:
        ValueError: It is not; says what is wrong.
    """
    try:
        value, canonical = loads_canonical(line, limits=_LIMITS)
        event = msgspec.convert(value, Event)
    except (JSONError, msgspec.ValidationError) as exc:
        raise ValueError(f"the line is no event: {shown(str(exc))}") from exc
    if canonical != line:
        raise ValueError("the line is not canonical JSON")
    if not _TIME.fullmatch(event.at):
        raise ValueError(f'at must be UTC with milliseconds, got "{shown(event.at)}"')
    return event


def broken(lines: Iterable[bytes]) -> Iterator[tuple[int, str]]:
    """
    Where and how lines are not the chain that was written; nothing when they are.

    What follows a fault is judged as if the line before were right, so that each
    fault is told once.
    """
    head = Head(seq=0, digest=FIRST_PREV)
    for line in lines:
        expected = head.seq + 1
        try:
            event = read_line(line)
        except ValueError as exc:
            yield expected, str(exc)
            head = Head(seq=expected, digest=digest_of(line))
            continue
        if event.seq != expected:
            yield expected, f"seq must be {expected}, got {event.seq}"
        elif event.prev != head.digest:
            yield expected, unlike(head)
        head = Head(seq=event.seq, digest=digest_of(line))


def unlike(head: Head) -> str:
    """What is wrong with a line whose ``prev`` is not that of the line before it."""
    if head.seq == 0:
        return "prev must be 64 zeros, for it is the first line"
    return f"prev is not the digest of line {head.seq}: one of the two was changed"
