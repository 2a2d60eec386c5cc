"""How a refusal is told: lines for a person, one document for a program."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from signoff.cli.exits import Exit, Refusal
from signoff.cli.faulty import FaultyDocument
from signoff.cli.suggestion import did_you_mean, nearest
from signoff.cli.terminal import Screen
from signoff.errors import Fault
from signoff.jsonvalue import shown

__all__ = ["as_json", "as_lines"]

MAX_LINES: Final = 100
MAX_MESSAGE: Final = 1_000

_KINDS: Final = {
    Exit.FAILED: "refused",
    Exit.UNUSABLE: "unusable_request",
    Exit.UNWRITTEN: "not_written",
    Exit.INTERRUPTED: "interrupted",
}


def as_lines(refusal: Refusal, screen: Screen) -> Iterator[str]:
    """The faults with their places, the sentence, and what to do next."""
    if isinstance(refusal, FaultyDocument):
        yield from _fault_lines(refusal, screen)
    yield f"{screen.paint('signoff:', 'bad')} {shown(refusal.message, MAX_MESSAGE)}"
    if refusal.next_step:
        yield f"{screen.paint('next:', 'strong')} {shown(refusal.next_step, MAX_MESSAGE)}"


def as_json(refusal: Refusal) -> bytes:
    """``{"error": {...}}``, with every fault."""
    faulty = refusal if isinstance(refusal, FaultyDocument) else None
    error: dict[str, Any] = {
        "kind": _KINDS[refusal.code],
        "exit_code": int(refusal.code),
        "message": shown(refusal.message, MAX_MESSAGE),
        "next_step": refusal.next_step or None,
        "source": faulty.source if faulty else None,
        "faults": [_fault(fault) for fault in faulty.faults] if faulty else [],
    }
    return msgspec.json.format(msgspec.json.encode({"error": error}), indent=2)


def _fault_lines(refusal: FaultyDocument, screen: Screen) -> Iterator[str]:
    for fault in refusal.faults[:MAX_LINES]:
        question = did_you_mean(fault.got, fault.known) if fault.got else ""
        text = shown(f"{fault.message}{question}", MAX_MESSAGE)
        pointer = screen.paint(f" ({shown(fault.where)})", "quiet") if fault.where else ""
        yield f"{_place(refusal.source, fault)}: {text}{pointer}"
    if len(refusal.faults) > MAX_LINES:
        yield f"and {len(refusal.faults) - MAX_LINES} more; --json lists all of them"


def _place(source: str, fault: Fault) -> str:
    return f"{shown(source)}:{fault.line}:{fault.column}" if fault.line else shown(source)


def _fault(fault: Fault) -> dict[str, Any]:
    return {
        "pointer": fault.where,
        "line": fault.line or None,
        "column": fault.column or None,
        "message": fault.message,
        "did_you_mean": (nearest(fault.got, fault.known) if fault.got else "") or None,
    }
