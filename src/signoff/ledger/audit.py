"""
Whether a ledger is what was written: every line, every column, every report, hashed anew.

What no ledger can show by itself is that its end was cut off, or that all of it
was written anew; a head that was kept elsewhere shows both.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from msgspec import Struct

from signoff.ledger.kept import ANNOUNCED, as_bytes, faults
from signoff.ledger.line import FIRST_PREV, Event, Head, digest_of, read_line, unlike

__all__ = ["Audit", "Fault", "audit"]

MAX_FAULTS: Final = 1_000


class Fault(Struct, frozen=True, kw_only=True):
    """
    One thing that is not as it was written.

    Args:
        seq: Number of the event where it shows.
        message: What is wrong, without a full stop.
    """

    seq: int
    message: str

    def __str__(self) -> str:
        return f"seq {self.seq}: {self.message}"


class Audit(Struct, frozen=True, kw_only=True):
    """
    What was found.

    Args:
        events: How many events there are.
        verdicts: How many of them have a verdict.
        head: The last of them; keep it elsewhere.
        faults: What is wrong, the first wrong number first; at most a thousand.
    """

    events: int
    verdicts: int
    head: Head
    faults: tuple[Fault, ...]

    @property
    def intact(self) -> bool:
        """True only if nothing is wrong."""
        return not self.faults


def audit(
    rows: Iterable[tuple[tuple[Any, ...], tuple[Any, ...] | None]],
    heads: Iterable[Head],
    orphans: Iterable[int],
) -> Audit:
    """
    Judge all rows of a ledger, in the order of their numbers.

    Args:
        rows: Of each event ``(seq, at, type, contract_id, signature, line)``, and of its verdict
            the values of ``COLUMNS``, None where there is none.
        heads: What was kept elsewhere.
        orphans: Numbers of verdicts without an event.
    """
    kept = {head.seq: head.digest for head in heads if head != Head(seq=0, digest=FIRST_PREV)}
    last, events, verdicts = Head(seq=0, digest=FIRST_PREV), 0, 0
    found = [Fault(seq=seq, message="there is a verdict without an event") for seq in orphans]
    for row, verdict in rows:
        line = as_bytes(row[5])
        events, verdicts = events + 1, verdicts + (verdict is not None)
        seq = row[0]
        if len(found) < MAX_FAULTS:
            found += (Fault(seq=at, message=text) for at, text in _faults(row, line, verdict, last))
        last = Head(seq=seq, digest=digest_of(line))
        if kept.pop(seq, last.digest) != last.digest:
            found.append(Fault(seq=seq, message="the line is not that of the head that was given"))
    for seq in sorted(kept):
        text = f"is missing: a head was given for it, and the ledger ends at {last.seq}"
        found.append(Fault(seq=seq, message=text))
    ordered = tuple(sorted(found, key=lambda fault: fault.seq))
    return Audit(events=events, verdicts=verdicts, head=last, faults=ordered)


def _faults(
    row: tuple[Any, ...], line: bytes, verdict: tuple[Any, ...] | None, last: Head
) -> Iterator[tuple[int, str]]:
    seq = row[0]
    if seq != last.seq + 1:
        yield last.seq + 1, f"is missing; the next is {seq}"
    try:
        event = read_line(line)
    except ValueError as exc:
        yield seq, str(exc)
        return
    columns = (event.seq, event.at, event.type, event.contract_id, event.signature)
    for name, in_line, in_row in zip(
        ("seq", "at", "type", "contract_id", "signature"), columns, row[:5], strict=True
    ):
        if in_line != in_row:
            yield seq, f"{name} of the row is not that of its line"
    if seq == last.seq + 1 and event.prev != last.digest:
        yield seq, unlike(last)
    for text in _verdict_faults(event, verdict):
        yield seq, text


def _verdict_faults(event: Event, verdict: tuple[Any, ...] | None) -> Iterator[str]:
    if verdict is None:
        if ANNOUNCED in event.data:
            yield "its verdict is missing"
    elif ANNOUNCED not in event.data:
        yield "there is a verdict that it does not speak of"
    else:
        yield from faults(event, verdict)
