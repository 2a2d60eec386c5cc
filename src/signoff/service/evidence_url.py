"""
What a stranger's URL asks for, and whether an operator allowed that host.

A URL is read by one strict grammar, a part of RFC 3986: what two programs could
read in two ways is refused instead of mended.  Whether a host may be *reached* is
no question of text; ``signoff.service.addresses`` answers it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from ipaddress import IPv6Address
from socket import AF_INET6, inet_ntop
from typing import Final

from msgspec import Struct

__all__ = ["HostRule", "Place", "allowing", "host_rule", "place_of", "rest_below"]

MAX_URL: Final = 4_096
MAX_HOST: Final = 253
ANY_HOST: Final = "*"

_LABEL: Final = "[A-Za-z0-9_][A-Za-z0-9_-]{0,62}"
_HOST: Final = rf"\[[0-9A-Fa-f:.]{{2,45}}\]|{_LABEL}(?:\.{_LABEL})*"
_URL: Final = re.compile(
    rf"(?P<scheme>https?)://(?P<host>{_HOST})(?P<port>:[0-9]{{1,5}})?(?P<target>[/?][!-~]*)?",
    re.IGNORECASE,
)
_RULE: Final = re.compile(
    rf"(?:(?P<scheme>https?)://)?(?P<host>\*|{_HOST})(?P<port>:[0-9]{{1,5}})?", re.IGNORECASE
)
_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]{0,31}):")
_PORTS: Final = {True: 443, False: 80}


class Place(Struct, frozen=True, kw_only=True):
    """
    Where a URL leads to.

    Args:
        host: In lower case, without brackets; an IPv6 address in its shortest form.
        port: The one that is named, or that of the scheme.
        tls: The scheme is https.
        target: Path and query, at least ``/``; without the fragment, which is never sent.
    """

    host: str
    port: int
    tls: bool
    target: str


class HostRule(Struct, frozen=True, kw_only=True):
    """
    A host that an operator allows.

    Args:
        host: As in ``Place``, or ``*`` for every host with public addresses.
        port: The only port; None for that of the scheme.
        http: Plain http is allowed too.
    """

    host: str
    port: int | None = None
    http: bool = False

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = "" if self.port is None else f":{self.port}"
        return f"{'http://' if self.http else ''}{host}{port}"

    @property
    def is_named(self) -> bool:
        """It is about one host."""
        return self.host != ANY_HOST

    def allows(self, place: Place) -> bool:
        """Host, port and scheme are this rule's."""
        if self.is_named and self.host != place.host:
            return False
        if not (place.tls or self.http):
            return False
        return place.port == (_PORTS[place.tls] if self.port is None else self.port)


def host_rule(text: str) -> HostRule:
    """
    The rule that ``HOST``, ``HOST:PORT``, ``http://HOST``, ``http://HOST:PORT`` or ``*`` states.

    Raises:
        ValueError: It is none of these; says why in one sentence.
    """
    found = _RULE.fullmatch(text)
    if found is None:
        raise ValueError(
            f"{text[:80]!r} is no host, expected HOST, HOST:PORT, http://HOST[:PORT] or *"
        )
    plain = (found["scheme"] or "").lower() == "http"
    if found["host"] == ANY_HOST and (plain or found["port"]):
        raise ValueError("* allows https on port 443 alone; name the host for anything else")
    port = None if found["port"] is None else _port(found["port"])
    return HostRule(host=_host(found["host"]), port=port, http=plain)


def place_of(url: str) -> Place:
    """
    Where a URL leads to.

    Raises:
        ValueError: It may not be asked for; says why in one sentence, without quoting it.
    """
    if not url:
        raise ValueError("the uri is empty")
    if len(url) > MAX_URL or not (url.isascii() and url.isprintable()) or " " in url:
        raise ValueError(f"the uri is not at most {MAX_URL} printable ASCII characters")
    url = url.partition("#")[0]
    scheme = _SCHEME.match(url)
    if scheme is None or scheme[1].lower() not in {"http", "https"}:
        named = "no scheme" if scheme is None else f"the scheme {scheme[1].lower()}"
        raise ValueError(f"the uri has {named}, expected https")
    found = _URL.fullmatch(url)
    if found is None:
        authority = re.split(r"[/?\\]", url.partition("://")[2], maxsplit=1)[0]
        fault = "user information" if "@" in authority else "no host and port that can be read"
        raise ValueError(f"the uri has {fault}")
    tls = found["scheme"].lower() == "https"
    port = _PORTS[tls] if found["port"] is None else _port(found["port"])
    target = found["target"] or "/"
    if target.startswith("?"):
        target = f"/{target}"
    return Place(host=_host(found["host"]), port=port, tls=tls, target=target)


def allowing(place: Place, rules: Iterable[HostRule]) -> HostRule | None:
    """The rule that allows a place, before ``*`` one that names its host; None without any."""
    matching = [rule for rule in rules if rule.allows(place)]
    return min(matching, key=lambda rule: not rule.is_named, default=None)


def rest_below(base: Place, place: Place) -> str | None:
    """What the path of a place adds to that of a base, without the query; None elsewhere."""
    if (base.host, base.port, base.tls) != (place.host, place.port, place.tls):
        return None
    above = base.target.partition("?")[0].rstrip("/") + "/"
    path = place.target.partition("?")[0]
    return path.removeprefix(above) if path.startswith(above) else None


def _host(text: str) -> str:
    if text.startswith("["):
        try:
            return inet_ntop(AF_INET6, IPv6Address(text[1:-1]).packed)
        except ValueError:
            raise ValueError("the host in brackets is no IPv6 address") from None
    if len(text) > MAX_HOST:
        raise ValueError(f"the host has more than {MAX_HOST} characters")
    return text.lower()


def _port(text: str) -> int:
    port = int(text[1:])
    if not 1 <= port <= 65_535:
        raise ValueError("the port is not 1 to 65535")
    return port
