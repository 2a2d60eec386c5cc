"""
A remote verifier service, as an operator configures it.

It keeps the address and the names of the variables that hold secrets.  Their
values are read when a question is asked, and stand in no message and no report.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from ipaddress import ip_address
from typing import Final, Protocol
from urllib.parse import SplitResult, urlsplit

from msgspec import Struct

from signoff.errors import NotGiven, NotInstalled

__all__ = [
    "MAX_REPLY_BYTES",
    "MAX_TIMEOUT_S",
    "Service",
    "can_be_sent",
    "is_header_name",
    "variable",
]

MAX_REPLY_BYTES: Final = 65_536
MAX_TIMEOUT_S: Final = 600.0
MAX_TEXT: Final = 4_096

_VARIABLE: Final = re.compile(r"env:([A-Za-z_][A-Za-z0-9_]*)")
_TOKEN: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
# A message that had these from elsewhere too would not be read as it is meant.
_FRAMING: Final = (
    "accept",
    "accept-encoding",
    "connection",
    "content-encoding",
    "content-length",
    "content-type",
    "expect",
    "host",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
)


def variable(text: str) -> str:
    """The name in ``env:NAME``, which stands for an environment variable's value; else ``""``."""
    found = _VARIABLE.fullmatch(text)
    return found[1] if found else ""


def is_header_name(text: str) -> bool:
    """The text has the form of the name of an HTTP header."""
    return _TOKEN.fullmatch(text) is not None


def can_be_sent(value: object) -> bool:
    """The value is a text that may stand in a header: printable ASCII, no blanks around it."""
    return (
        isinstance(value, str)
        and 0 < len(value) <= MAX_TEXT
        and value.isascii()
        and value.isprintable()
        and value.strip() == value
    )


class Posting(Protocol):
    """What sends the questions."""

    def post(
        self,
        body: bytes,
        headers: list[tuple[str, str]],
        *,
        timeout_s: float,
        max_bytes: int,
    ) -> bytes:
        """The body of the answer."""
        ...


class Service(Struct, frozen=True, kw_only=True, dict=True):
    """
    Where a remote verifier service is asked, and how.

    Args:
        url: Where questions are posted: https, or http on this machine.
        timeout_s: Seconds for everything from the look-up of the name to the last byte.
        headers: Sent along; ``env:VAR`` stands for the value of a variable when asked.
        allow_http: Lets the URL be plain http beyond this machine.
        max_bytes: Largest reply.

    Raises:
        ValueError: A field is not what it must be; says which, without its value.
    """

    url: str
    timeout_s: float = 10.0
    headers: Mapping[str, str] = {}
    allow_http: bool = False
    max_bytes: int = MAX_REPLY_BYTES

    def __post_init__(self) -> None:
        for fault in _faults(self):
            raise ValueError(fault)

    def __repr__(self) -> str:
        # Query and headers may hold what nobody else is to read.
        return f"Service({self._parts.scheme}://{self._parts.netloc})"

    def ask(self, body: bytes) -> bytes:
        """
        The reply to a JSON text.

        Raises:
            NoAnswer: Nobody answered in time, or only with a status from 500 up.
            BadAnswer: Another status than 200, a redirect too, or no proper HTTP.
            NotGiven: A variable that a header needs has no value, or one that cannot be sent.
            NotInstalled: h11 is absent.
        """
        return self.client.post(
            body, [*self._headers()], timeout_s=self.timeout_s, max_bytes=self.max_bytes
        )

    @cached_property
    def client(self) -> Posting:
        """
        What asks this service and keeps connections to it.

        Raises:
            NotInstalled: h11 is absent.
        """
        try:
            # Sockets, TLS and h11, which is an extra.
            from signoff.exchange import Client, Endpoint
        except ImportError as exc:
            if exc.name != "h11":
                raise
            raise NotInstalled("remote", "h11", "http") from exc
        parts = self._parts
        tls = parts.scheme == "https"
        endpoint = Endpoint(
            host=parts.hostname or "",
            port=parts.port or (443 if tls else 80),
            target=(parts.path or "/") + (f"?{parts.query}" if parts.query else ""),
            tls=tls,
            only_loopback=not tls and not self.allow_http,
        )
        return Client(endpoint)

    @property
    def _parts(self) -> SplitResult:
        return urlsplit(self.url)

    def _headers(self) -> Iterator[tuple[str, str]]:
        for name, written in self.headers.items():
            named = variable(written)
            value = os.environ.get(named, "") if named else written
            if named and not value:
                raise NotGiven(f"the environment variable {named} has no value")
            if not can_be_sent(value):
                raise NotGiven(f"the value of the header {name} cannot be sent")
            yield name, value


def _faults(service: Service) -> Iterator[str]:
    """What is wrong, without the values: they may be secret."""
    yield from _faults_of_url(service.url, allow_http=service.allow_http)
    if not 0 < service.timeout_s <= MAX_TIMEOUT_S:
        yield f"timeout_s must be number of seconds, more than 0, at most {MAX_TIMEOUT_S:g}"
    if not 1 <= service.max_bytes <= MAX_REPLY_BYTES:
        yield f"max_bytes must be integer, 1 to {MAX_REPLY_BYTES}"
    for name, value in service.headers.items():
        if not is_header_name(name):
            yield "headers has a name that is none"
        elif name.lower() in _FRAMING:
            yield f"headers must not have {name}, which every message has or none"
        elif not can_be_sent(value):
            yield f"headers.{name} must be text of printable ASCII characters"


def _faults_of_url(url: str, *, allow_http: bool) -> Iterator[str]:
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        yield "url cannot be read"
        return
    if not (url.isascii() and url.isprintable() and " " not in url and len(url) <= MAX_TEXT):
        yield "url must be printable ASCII without spaces"
    elif parts.scheme not in {"http", "https"} or not parts.hostname or port == 0:
        yield "url must be https://HOST/PATH or http://HOST/PATH"
    elif "@" in parts.netloc:
        yield "url must not hold a user or password; send a header"
    elif parts.fragment:
        yield "url must not have a fragment"
    elif parts.scheme == "http" and not allow_http and not _is_this_machine(parts.hostname):
        yield "url must be https, or allow_http must be true"


def _is_this_machine(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
