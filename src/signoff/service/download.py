"""
One piece of evidence from where a stranger says that it is, over a socket of our own.

A name is looked up once, and every address that it leads to must be one that may be
reached; then one of these addresses is connected to, and nothing else.  No redirect
is followed, no proxy taken, nothing sent along, and there is one deadline for all.
"""

from __future__ import annotations

import socket
import ssl
from collections.abc import Callable, Sequence
from threading import BoundedSemaphore
from typing import Final

from signoff._version import __version__
from signoff.connection import Address, Deadline, looked_up
from signoff.dialects.wattswarm.evidence import Fetched
from signoff.errors import BadAnswer, NoAnswer
from signoff.exchange import Endpoint, Reply, get
from signoff.service.addresses import Network, address_of, may_be_reached
from signoff.service.evidence_url import Place
from signoff.status import Cause

__all__ = ["Downloader", "Resolve", "system_addresses"]

MAX_LOOK_UPS: Final = 64
MAX_TRIED: Final = 8
_DENIED: Final = frozenset({401, 403, 407})
_ABSENT: Final = frozenset({404, 410})
_HEADERS: Final = (("User-Agent", f"signoff/{__version__}"),)

Resolve = Callable[[str, int], Sequence[Address]]


def system_addresses(host: str, port: int) -> Sequence[Address]:
    """
    The addresses of a host, as the system knows them; ``127.1`` and ``0x7f000001`` are hosts too.

    Raises:
        OSError: There are none.
    """
    # As bytes a name is taken as it stands; a text would be folded first, and dots made of others.
    found = socket.getaddrinfo(host.encode("ascii"), port, type=socket.SOCK_STREAM)
    return [(family, address) for family, _, _, _, address in found]


class Downloader:
    """
    Downloads for strangers; threads may share it.

    Args:
        networks: May be connected to besides public addresses, for hosts that are named.
        resolve: What a host and port lead to; raises ``OSError`` for nothing.
    """

    def __init__(
        self, *, networks: tuple[Network, ...] = (), resolve: Resolve = system_addresses
    ) -> None:
        self._networks = networks
        self._resolve = resolve
        self._tls = ssl.create_default_context()
        # A look-up cannot be ended, only left behind: so many may be on their way, no more.
        self._look_ups = BoundedSemaphore(MAX_LOOK_UPS)

    def download(self, place: Place, *, max_bytes: int, named: bool, seconds: float) -> Fetched:
        """
        The bytes that are there, cut after one more than ``max_bytes``; or why there are none.

        Args:
            place: Where to ask; whether its host is allowed was decided before.
            max_bytes: More than this is too much.
            named: The operator named the host; otherwise only public addresses will do.
            seconds: For everything, from the look-up to the last byte.
        """
        deadline = Deadline(seconds)
        endpoint = Endpoint(
            host=place.host,
            port=place.port,
            target=place.target,
            tls=place.tls,
            only_loopback=False,
        )
        try:
            networks = self._networks if named else ()
            addresses = self._addresses(place, networks, deadline)
            reply = get(
                endpoint,
                addresses,
                _HEADERS,
                deadline,
                tls=self._tls,
                max_bytes=max_bytes + 1,
            )
        except NoAnswer as exc:
            if exc.late:
                return Fetched(cause=Cause.EVIDENCE_TIMED_OUT, detail="the time for it ran out")
            return _unreachable(str(exc))
        except BadAnswer as exc:
            return _unreachable(str(exc))
        return _outcome(reply)

    def _addresses(
        self, place: Place, networks: tuple[Network, ...], deadline: Deadline
    ) -> Sequence[Address]:
        """What may be connected to; a mixed answer is somebody's trick, and none of it will do."""
        found = self._looked_up(place, deadline)
        if not found or not all(_may_be_reached(one, networks) for one in found):
            # Not told apart, so that nobody learns from us which inner names there are.
            raise NoAnswer("the host has no address that may be connected to")
        return found[:MAX_TRIED]

    def _looked_up(self, place: Place, deadline: Deadline) -> Sequence[Address]:
        """What the host leads to; a name that leads nowhere leads to no address."""
        if not self._look_ups.acquire(timeout=deadline.left()):
            raise NoAnswer("too many look-ups are on their way", late=True)

        def look() -> list[Address]:
            try:
                return [*self._resolve(place.host, place.port)]
            finally:
                self._look_ups.release()

        try:
            return looked_up(look, deadline)
        except NoAnswer as exc:
            if exc.late:
                raise
            return ()
        except RuntimeError as exc:  # no thread could be started, so nothing gives it back
            self._look_ups.release()
            raise NoAnswer("the host cannot be looked up now") from exc


def _may_be_reached(found: Address, networks: tuple[Network, ...]) -> bool:
    family, address = found
    if family not in {socket.AF_INET, socket.AF_INET6}:
        return False
    try:
        return may_be_reached(address_of(address[0]), networks)
    except ValueError:
        return False


def _outcome(reply: Reply) -> Fetched:
    detail = f"status {reply.status}"
    if reply.status in _DENIED:
        return Fetched(cause=Cause.EVIDENCE_DENIED, detail=detail)
    if reply.status in _ABSENT:
        return Fetched(cause=Cause.EVIDENCE_MISSING, detail=detail)
    if reply.status != 200:
        return _unreachable(detail)
    if reply.encoded:
        return _unreachable("the reply is encoded")
    return Fetched(data=reply.body)


def _unreachable(detail: str) -> Fetched:
    return Fetched(cause=Cause.EVIDENCE_UNREACHABLE, detail=detail)
