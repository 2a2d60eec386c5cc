"""A verifier service that the operator configured says that the output holds."""

from __future__ import annotations

import sys
from typing import Annotated, Any

from msgspec import Struct

from signoff.canonical import canonical_bytes
from signoff.errors import BadAnswer, JSONError, NoAnswer, NotGiven, ParamsError
from signoff.jsonvalue import JSON, is_number, parse_pointer, shown
from signoff.model import Finding, Subject
from signoff.params import Pointer, text
from signoff.registry import Check, Powers, reads, verifier
from signoff.remote_service import Service
from signoff.status import Cause, Status
from signoff.strictjson import Limits, loads

MAX_DEPTH = 16
MEMBERS = {"pass", "details", "score"}


class Reply(Struct, frozen=True, kw_only=True):
    """What a service says: whether it holds, why, and how well."""

    holds: bool
    details: str
    score: float | None


@verifier
def remote(
    *,
    service: Annotated[str, text("name", least=1)],
    params: dict[str, Any] | None = None,
    path: Pointer = "",
    powers: Powers,
    criterion: str,
) -> Check:
    """
    A remote verifier service says that the value at ``path`` holds.

    The service is sent ``{"output", "params", "criterion"}`` by POST and replies
    ``{"pass": boolean, "details"?: string, "score"?: number}`` with status 200; any
    other answer is an error.  A service that does not answer in time leaves it open.

    In a contract, params are such as
    ``{"service": "words", "params": {"max_words": 8}, "path": "/summary"}``

    Args:
        service: Name of a service that the operator configured.
        params: Passed on to the service; an empty object when absent.
        path: RFC 6901 pointer to the value; the whole output when empty.

    Source: spec "The standard library of checks", 3.16.
    """
    asked = _configured(service, powers)
    name = shown(service)
    question: dict[str, JSON] = {"params": {} if params is None else params, "criterion": criterion}

    def check(subject: Subject) -> Finding:
        body = canonical_bytes({"output": subject.value(path), **question})
        try:
            reply = _reply(asked.ask(body))
        except NoAnswer as exc:
            cause = Cause.EVIDENCE_TIMED_OUT if exc.late else Cause.EVIDENCE_UNREACHABLE
            return _open(Status.INCONCLUSIVE, f'Service "{name}" did not answer.', cause, exc)
        except BadAnswer as exc:
            detail = f'Service "{name}" answered nonsense.'
            return _open(Status.ERROR, detail, Cause.VERIFIER_BROKE, exc)
        except NotGiven as exc:
            detail = f"remote was not given the means: {exc}"
            return Finding(status=Status.ERROR, detail=detail, cause=Cause.NOT_INSTALLED)
        return Finding(
            status=Status.PASS if reply.holds else Status.FAIL,
            detail=shown(reply.details) or f'Service "{name}" {_verb(reply)}.',
            at=None if reply.holds else path,
            score=reply.score,
        )

    return reads(check, parse_pointer(path))


def _configured(name: str, powers: Powers) -> Service:
    found = powers.services.get(name)
    if found is None:
        raise ParamsError(f'no service named "{shown(name)}"', where="/service")
    if not isinstance(found, Service):
        raise TypeError(f"powers.services must hold Service, got {type(found).__name__}")
    _ = found.client  # so that a missing package is a fault of the contract
    return found


def _open(status: Status, detail: str, cause: Cause, exc: Exception) -> Finding:
    return Finding(status=status, detail=detail, cause=cause, data={"reason": str(exc)})


def _verb(reply: Reply) -> str:
    return "passed" if reply.holds else "failed"


def _reply(data: bytes) -> Reply:
    try:
        found = loads(data, limits=Limits(max_depth=MAX_DEPTH))
    except JSONError as exc:
        raise BadAnswer("no strict JSON") from exc
    if type(found) is not dict or not found.keys() <= MEMBERS:
        raise BadAnswer("another object than pass, details and score")
    holds, details = found.get("pass"), found.get("details", "")
    if type(holds) is not bool:
        raise BadAnswer("pass must be boolean")
    if type(details) is not str:
        raise BadAnswer("details must be string")
    return Reply(holds=holds, details=details, score=_score(found))


def _score(found: dict[str, JSON]) -> float | None:
    if "score" not in found:
        return None
    score = found["score"]
    # A larger integer has no place among the doubles that a report holds.
    if not is_number(score) or not abs(score) <= sys.float_info.max:
        raise BadAnswer("score must be a finite number")
    return float(score)
