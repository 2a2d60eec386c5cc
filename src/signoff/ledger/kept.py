"""A verdict as a ledger keeps it, and whether its columns say what its report and its line say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec
from msgspec import Struct

from signoff.canonical import digest_bytes
from signoff.errors import LedgerCorrupt
from signoff.jsonvalue import JSON, shown
from signoff.ledger.line import Event
from signoff.model import Isolation, Report
from signoff.status import Cause, Outcome

__all__ = [
    "ANNOUNCED",
    "COLUMNS",
    "MAX_REPORT_BYTES",
    "KeptVerdict",
    "announcement",
    "as_bytes",
    "faults",
    "kept",
    "row_of",
]

# An event whose data has this key has a verdict beside it, and no other event has one.
ANNOUNCED: Final = "reportDigest"
MAX_REPORT_BYTES: Final = 64 * 2**20


class KeptVerdict(Struct, frozen=True, kw_only=True):
    """
    A verdict in a ledger.

    Args:
        seq: Number of the event that it was recorded with.
        at: Time of day when it was recorded, UTC; orders nothing.
        contract_id: Id of the contract.
        contract_digest: Digest of the locked contract.
        output_digest: Digest of the output's canonical form; None without output.
        outcome: Passed, inconclusive or failed.
        cause: Cause of the first of the worst blockers, or None.
        blockers: Ids of the required criteria that do not hold, in contract order.
        isolation: Level under which commands ran; None when none was started.
        assurance: What the isolation and the reports behind it are worth; None likewise.
        subject: Name under which it was recorded, such as a task; ``""`` without one.
        run: Where the run directory was; ``""`` without one.
        report_digest: Digest of the report's bytes.
        report: The report, as it was written.
    """

    seq: int
    at: str
    contract_id: str
    contract_digest: str
    output_digest: str | None
    outcome: Outcome
    cause: Cause | None
    blockers: tuple[str, ...]
    isolation: Isolation | None
    assurance: str | None
    subject: str
    run: str
    report_digest: str
    report: bytes


# Those of the table, in its order; the time is that of the event.
COLUMNS: Final = tuple(name for name in KeptVerdict.__struct_fields__ if name != "at")


def announcement(
    row: tuple[Any, ...], *, subject: str, run: str, more: Mapping[str, JSON]
) -> dict[str, JSON]:
    """What the line of a verdict says of it, so that no column can be changed without notice."""
    facts: dict[str, JSON] = {"outcome": row[3], "outputDigest": row[2], ANNOUNCED: row[-2]}
    if subject:
        facts["subject"] = subject
    if run:
        facts["run"] = run
    if not more:
        return facts
    taken = sorted({*facts, "subject", "run"} & more.keys())
    if taken:
        raise ValueError(f"data of a verdict's event may not hold {', '.join(taken)}")
    return {**more, **facts}


def row_of(report: Report, written: bytes, *, subject: str, run: str) -> tuple[Any, ...]:
    """The values of ``COLUMNS`` after the number."""
    verdict = report.verdict
    return (
        report.contract_id,
        report.contract_digest,
        report.output_digest,
        verdict.outcome.value,
        verdict.cause.value if verdict.cause is not None else None,
        msgspec.json.encode(verdict.blockers).decode() if verdict.blockers else "[]",
        report.isolation,
        report.assurance,
        subject,
        run,
        digest_bytes(written),
        written,
    )


def as_bytes(value: object) -> bytes:
    """The bytes in a column; none where it holds something else, which then has no digest."""
    return value if isinstance(value, bytes) else b""


def kept(event: Event, row: tuple[Any, ...]) -> KeptVerdict:
    """
    The verdict of an event, which says what its line and its report say.

    Raises:
        LedgerCorrupt: It does not.
    """
    for fault in faults(event, row):
        raise LedgerCorrupt(fault, seq=event.seq)
    found = dict(zip(COLUMNS, row, strict=True))
    found["at"], found["blockers"] = event.at, msgspec.json.decode(found["blockers"])
    return msgspec.convert(found, KeptVerdict, builtin_types=(bytes,))


def faults(event: Event, row: tuple[Any, ...]) -> Iterator[str]:
    """What a row says otherwise than its line and its report; nothing when all agree."""
    found = dict(zip(COLUMNS, row, strict=True))
    written, data = as_bytes(found["report"]), event.data
    if digest_bytes(written) != data.get(ANNOUNCED):
        yield "the report is not the one that was recorded"
        return
    try:
        report = msgspec.json.decode(written, type=Report)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as exc:
        yield f"the report cannot be read: {shown(str(exc))}"
        return
    said = {"subject": data.get("subject", ""), "run": data.get("run", "")}
    expected = dict(zip(COLUMNS[1:], row_of(report, written, **said), strict=True))
    for name in COLUMNS[1:]:
        if name != "report" and found[name] != expected[name]:
            yield f"{name} of the verdict is not what was recorded"
    lines = (
        ("contract_id", event.contract_id, report.contract_id),
        ("outcome", data.get("outcome"), report.verdict.outcome.value),
        ("outputDigest", data.get("outputDigest"), report.output_digest),
    )
    for name, in_line, in_report in lines:
        if in_line != in_report:
            yield f"{name} of the event is not that of the report"
