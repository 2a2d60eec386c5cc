"""
``events.jsonl``: what happened to a task, one line each, with the digest of the line before.

A line that was changed or removed breaks the chain; that the last one was removed
shows from what the ledger knows of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from hashlib import sha256
from typing import Any, Final

import msgspec

from signoff.canonical import canonical_bytes
from signoff.dialects.scc.shape import LIMITS
from signoff.errors import JSONError
from signoff.jsonvalue import shown
from signoff.scc.ulid import mint_oid
from signoff.strictjson import loads

__all__ = ["FIRST", "event_line", "faults", "read_events"]

FIRST: Final = "0" * 64
KINDS: Final = (
    "TASK_QUEUED", "TASK_STARTED", "TASK_PRODUCED", "TASK_VERIFIED", "TASK_DONE", "TASK_DLQ",
)  # fmt: skip


def event_line(
    kind: str, *, run_id: str, seq: int, prev: str, at: datetime, fields: Mapping[str, Any]
) -> bytes:
    """
    One line, with its end.

    Args:
        kind: One of ``KINDS``.
        run_id: Of which run.
        seq: 1 for the first line of the file.
        prev: Digest of the line before, ``FIRST`` for the first.
        at: When; its event_id is made of it.
        fields: Whatever else it says.
    """
    if kind not in KINDS:
        raise ValueError(f'"{shown(kind)}" is no kind of event')
    own: dict[str, Any] = {
        "event_id": mint_oid(at),
        "kind": kind,
        "run_id": run_id,
        "seq": seq,
        "prev_sha256": prev,
    }
    return canonical_bytes({**fields, **own}) + b"\n"


def digest_of_line(line: bytes) -> str:
    """What the next line has as ``prev_sha256``."""
    return sha256(line.rstrip(b"\n")).hexdigest()


def faults(lines: Iterable[bytes], *, last: str = "") -> Iterator[str]:
    """
    How lines are not the chain that was written; nothing when they are.

    Args:
        lines: As they are in the file.
        last: Digest that the last one must have, ``""`` where nobody knows.
    """
    prev, number = FIRST, 0
    for number, line in enumerate(lines, 1):
        try:
            value = loads(line, limits=LIMITS)
        except JSONError as exc:
            value = None
            yield f"line {number} is not strict JSON: {exc}"
        if isinstance(value, dict):
            if value.get("seq") != number:
                yield f"line {number} has another number"
            if value.get("prev_sha256") != prev:
                yield f"line {number} does not follow the line before it"
        prev = digest_of_line(line)
    if last and prev != last:
        yield "the last line is not the one that was written last"


def read_events(data: bytes) -> list[dict[str, Any]]:
    """The events of a file that has no faults."""
    return [msgspec.json.decode(line) for line in data.splitlines()]
