"""
The head of a request, and everything that it alone decides.

Path, method, ``Origin``, token, content type, content encoding and stated size are
judged in this order, before a byte of the body is wanted.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from copy import copy
from typing import Final

from signoff.service.auth import Tokens
from signoff.service.message import NO_PARAMS, Problem
from signoff.service.routing import BoundRoute, Router

__all__ = ["Gate", "Head", "too_large"]

Headers = Mapping[bytes, bytes]

CHANGING: Final = frozenset({"POST", "PUT", "PATCH", "DELETE"})
WITH_BODY: Final = frozenset({"POST", "PUT", "PATCH"})
_OWN_ID: Final = re.compile(rb"[A-Za-z0-9._-]{1,64}")
_JSON: Final = re.compile(rb"application/(?:json|[a-z0-9!#$&^_.-]+\+json)")
_ABSOLUTE: Final = re.compile(r"(?i)https?://[^/?#]*")


class Head:
    """
    One request without its body.

    Attributes:
        length: Bytes of the body, as stated; 0 for none, -1 for a body in chunks.
        keep_alive: Another request may follow.
        modern: HTTP/1.1.
        expects: The client waits for leave to send its body.
        own_id: The client's own ``X-Request-Id``, where it will do.
        route: Who answers; None where it is refused before that is known.
        refusal: Why it is not answered.
        broken: What follows cannot be told from it, so the connection has to end.
    """

    __slots__ = (
        "broken",
        "expects",
        "headers",
        "keep_alive",
        "length",
        "method",
        "modern",
        "own_id",
        "params",
        "path",
        "query",
        "refusal",
        "route",
    )

    def __init__(self, method: str, target: str, headers: Headers) -> None:
        self.method = method
        self.path, _, self.query = _path(target).partition("?")
        self.headers = headers
        own_id = headers.get(b"x-request-id", b"")
        self.own_id = own_id.decode() if _OWN_ID.fullmatch(own_id) else ""
        self.params: Mapping[str, str] = NO_PARAMS
        self.length = 0
        self.keep_alive = False
        self.modern = True
        self.expects = False
        self.route: BoundRoute | None = None
        self.refusal: Problem | None = None
        self.broken = False

    def refused(self, problem: Problem | None) -> Head:
        """The same head, refused after all, as the last of its connection."""
        refused = copy(self)
        refused.refusal, refused.keep_alive = problem, False
        return refused


class Gate:
    """
    What lets a request in, or says why not.

    Args:
        router: Every route.
        tokens: Those that are accepted; every route is open where there are none.
    """

    def __init__(self, router: Router, tokens: Tokens) -> None:
        self._router = router
        self._tokens = tokens

    def judge(
        self, method: str, target: str, headers: Headers, *, version: str, keep_alive: bool
    ) -> Head:
        """The head with its route, or with the reason why it has none."""
        head = Head(method, target, headers)
        head.keep_alive = keep_alive
        head.modern = version == "1.1"
        head.length = -1 if b"transfer-encoding" in headers else _length(headers)
        head.expects = head.modern and headers.get(b"expect", b"").lower() == b"100-continue"
        fault = _fault(headers, version)
        if fault:
            head.refusal, head.broken = Problem(400, "bad_request", fault), True
            return head
        try:
            head.route, head.params = self._router.find(method, head.path)
            self._check(head, head.route)
        except Problem as problem:
            head.refusal = problem
        return head

    def _check(self, head: Head, route: BoundRoute) -> None:
        headers = head.headers
        if head.method in CHANGING and b"origin" in headers:
            raise Problem(403, "origin_refused", "requests made by web pages are not answered")
        if route.token:
            self._tokens.check(headers.get(b"authorization"))
        if head.method in WITH_BODY and route.media_types is not None:
            _check_type(headers.get(b"content-type", b""), route.media_types)
        if headers.get(b"content-encoding", b"identity").strip().lower() not in {b"", b"identity"}:
            raise Problem(
                415, "unsupported_media_type", "a body with a content encoding is not read"
            )
        if route.stream is None and head.length > route.max_body:
            raise too_large(route)


def too_large(route: BoundRoute) -> Problem:
    """The refusal of a body that is longer than its route allows."""
    return Problem(413, "too_large", f"the body is longer than {route.max_body} bytes")


def _path(target: str) -> str:
    """The path and query of a target; also of one that names the server, as for a proxy."""
    if target.startswith("/"):
        return target
    named = _ABSOLUTE.match(target)
    if named is None:
        return target
    rest = target[named.end() :]
    return rest if rest.startswith("/") else "/" + rest


def _fault(headers: Headers, version: str) -> str:
    """What makes a request none that may be answered; ``""`` for nothing."""
    if version not in {"1.0", "1.1"}:
        return "only HTTP/1.0 and HTTP/1.1 are spoken here"
    if version == "1.0" and b"transfer-encoding" in headers:
        return "HTTP/1.0 knows no transfer encoding"  # who passed it on may have read no chunks
    if headers.get(b"transfer-encoding", b"chunked").strip().lower() != b"chunked":
        return "no transfer encoding but chunked is read"
    host = headers.get(b"host")
    if host is None:
        return "a request has to name its host" if version == "1.1" else ""
    # A comma is what joins two of them; none may stand in a name or an address.
    if b"," in host or any(char in host for char in b"/?#@ \t\\"):
        return "a request has to name one host"
    return ""


def _length(headers: Headers) -> int:
    # The parser has seen to it that this is a number, and the only one.
    return int(headers.get(b"content-length", b"0"))


def _check_type(stated: bytes, types: tuple[str, ...]) -> None:
    found = stated.partition(b";")[0].strip().lower()
    if _JSON.fullmatch(found) or found.decode("latin-1") in types:
        return
    wanted = " or ".join(("application/json", *types))
    raise Problem(415, "unsupported_media_type", f"the content type has to be {wanted}")
