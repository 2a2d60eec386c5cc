"""Refusals as bodies: RFC 9457, at most two kibibytes, and little of what the client sent."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Final

import msgspec

from signoff.service.message import Problem, Response

__all__ = ["MEDIA_TYPE", "busy", "excerpt", "internal", "problem_response"]

MEDIA_TYPE: Final = "application/problem+json"
MAX_BYTES: Final = 2048
MAX_DETAIL: Final = 700
MAX_POINTER: Final = 200
MAX_EXCERPT: Final = 200

_encode: Final = msgspec.json.Encoder(enc_hook=str).encode


def problem_response(problem: Problem, request_id: str) -> Response:
    """The reply that a problem is; what makes it too long is left out from the end."""
    members: dict[str, object] = {
        "type": "about:blank",
        "title": title(problem.status),
        "status": problem.status,
        "detail": _cut(_plain(problem.detail), MAX_DETAIL),
        "code": problem.code,
    }
    if problem.pointer is not None:
        members["pointer"] = _cut(_plain(problem.pointer), MAX_POINTER)
    members["request_id"] = request_id
    return Response(
        problem.status, _within_limit(members, problem.errors), MEDIA_TYPE, problem.headers
    )


def internal() -> Problem:
    """What a client learns of a fault in the server: that there was one."""
    return Problem(500, "internal", "the server failed to answer; its log says more by request_id")


def busy() -> Problem:
    """What a client learns that should come again."""
    return Problem(
        503, "busy", "too many requests are being answered", headers=(("Retry-After", "1"),)
    )


def excerpt(text: str) -> str:
    """What may be quoted of a request: at most 200 characters, all of them printable."""
    shown = "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text)
    return _cut(shown, MAX_EXCERPT)


def title(status: int) -> str:
    """The phrase of a status; ``""`` for one that has none."""
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return ""


def _within_limit(members: dict[str, object], errors: object) -> bytes:
    body = _encode(members)
    kept: list[Mapping[str, object]] = []
    if isinstance(errors, (list, tuple)):
        for error in errors:
            kept.append(error)
            longer = _encode({**members, "errors": kept})
            if len(longer) > MAX_BYTES:
                break
            body = longer
    if len(body) <= MAX_BYTES:
        return body
    # Escapes may make six bytes of a character, so it is the bytes that decide.
    detail = str(members["detail"])
    return _within_limit({**members, "detail": _cut(detail, len(detail) // 2)}, ())


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: max(limit - 1, 0)] + "…"


def _plain(text: str) -> str:
    """The text with lone surrogates, which no reply can carry, replaced."""
    return text.encode("utf-8", "replace").decode()
