"""
What a check gave back, held to its type: nothing a check returns is taken on trust.

The engine catches what a check raises; this module turns that, and whatever
else came back, into a finding.
"""

from __future__ import annotations

import math
from typing import TypeGuard

import msgspec

from signoff.canonical import canonical_bytes, require_json
from signoff.jsonvalue import JSON, is_number, shown
from signoff.model import Evidence, Finding
from signoff.registry import Check
from signoff.status import Cause, Status

__all__ = ["always", "broken", "has_bytes", "sound", "threw"]

MAX_DETAIL = 4_096


def broken(detail: str, cause: Cause = Cause.VERIFIER_BROKE) -> Finding:
    """The check is broken; the work was not judged."""
    return Finding(status=Status.ERROR, detail=detail, cause=cause)


def always(finding: Finding) -> Check:
    """A check that answers the same whatever it is asked."""
    return lambda _: finding


def threw(exc: BaseException, message: object) -> Finding:
    """What a check that raised comes to; ``message`` is what ``str`` made of the exception."""
    text = shown(message) if type(message) is str else ""
    return broken(f"Verifier threw: {text or type(exc).__name__}")


def sound(found: object, *, own: bool) -> Finding:
    """The finding, if it is one through and through; signoff's own checks are looked at less closely."""
    if not _is_finding(found) or not (own or _survives_encoding(found)):
        return broken("Verifier returned no finding.")
    if own:
        return found
    return msgspec.structs.replace(found, detail=shown(found.detail, MAX_DETAIL))


def has_bytes(output: JSON, canonical: bytes) -> bool:
    """The output is still JSON with these canonical bytes."""
    try:
        return canonical_bytes(output) == canonical
    except (TypeError, ValueError, RecursionError):
        return False


def _is_finding(found: object) -> TypeGuard[Finding]:
    return (
        type(found) is Finding
        and type(found.status) is Status
        and type(found.detail) is str
        and (found.cause is None or (type(found.cause) is Cause and not found.status.holds))
        and (found.score is None or (is_number(found.score) and math.isfinite(found.score)))
    )


def _survives_encoding(found: Finding) -> bool:
    """The finding decodes as what it was encoded from, so a report that holds it can be kept."""
    try:
        require_json(found.data)
        again = msgspec.json.decode(msgspec.json.encode(found), type=Finding)
    except (TypeError, ValueError, RecursionError, msgspec.MsgspecError):
        return False
    return again.status is found.status and all(type(one) is Evidence for one in found.evidence)
