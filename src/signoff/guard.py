"""
What a check gave back, held to its type: nothing a check returns is taken on trust.

The engine catches what a check raises; this module turns that, and whatever
else came back, into a finding.  What foreign code hands over is looked at only
through ``type``, which it cannot overrule.
"""

from __future__ import annotations

import copy
import sys
from typing import TypeGuard

import msgspec
from msgspec.structs import replace

from signoff.canonical import canonical_bytes, require_json
from signoff.errors import NotJudged
from signoff.jsonvalue import JSON, is_number, parse_pointer, shown
from signoff.model import Evidence, Finding, Subject
from signoff.registry import Check
from signoff.status import Cause, Status

__all__ = ["always", "apart", "broken", "found_by", "has_bytes", "message_of", "text_of"]

MAX_DETAIL = 4_096
MAX_SCORE = sys.float_info.max


def broken(detail: str, cause: Cause = Cause.VERIFIER_BROKE) -> Finding:
    """The check is broken; the work was not judged."""
    return Finding(status=Status.ERROR, detail=detail, cause=cause)


def always(finding: Finding) -> Check:
    """A check that answers the same whatever it is asked."""
    return lambda _: finding


def apart(check: Check) -> Check:
    """
    A foreign check that gets a subject of its own.

    All but the output, which the engine watches: copying that would cost too much.
    """

    def check_apart(subject: Subject) -> Finding:
        facts = {"input": subject.input, "tools": subject.tools}
        return check(replace(subject, **copy.deepcopy(facts)))

    return check_apart


def found_by(answer: object, *, own: bool) -> Finding:
    """
    The finding in what a check returned or raised.

    Args:
        answer: What it returned, or the exception.
        own: The check is one of signoff's own, and is looked at less closely.
    """
    if type(answer) is NotJudged:
        answer = vars(answer).get("finding")
    if not _is_finding(answer) or not (own or _can_be_kept(answer)):
        return broken("Verifier returned no finding.")
    if own:
        return answer
    # Under what a command ran is known to those alone who start it with signoff's own means.
    unproven = {"isolation": None, "assurance": None, "missing": ()}
    return replace(answer, detail=shown(answer.detail, MAX_DETAIL), **unproven)


def message_of(exc: BaseException, text: object) -> str:
    """What is told of an exception: what ``str`` made of it, else the name of its type."""
    name: str = type.__dict__["__name__"].__get__(type(exc))
    return f"Verifier threw: {shown(text if type(text) is str and text else name)}"


def text_of(exc: BaseException) -> object:
    """What ``str`` makes of an exception; None when that raises too."""
    try:
        return str(exc)
    except Exception:  # noqa: BLE001  its author may do anything there
        return None


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
        and (found.score is None or (is_number(found.score) and abs(found.score) <= MAX_SCORE))
    )


def _can_be_kept(found: Finding) -> bool:
    """The rest of a foreign finding has its types too, and decodes as what it was encoded from."""
    try:
        if found.at is not None:
            parse_pointer(found.at)
        require_json(found.data)
        msgspec.json.decode(msgspec.json.encode(found), type=Finding)
    except (AttributeError, TypeError, ValueError, RecursionError, msgspec.MsgspecError):
        return False
    return (
        found.status is not Status.SKIPPED
        and type(found.evidence) is tuple
        and all(type(entry) is Evidence for entry in found.evidence)
    )
