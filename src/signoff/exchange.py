"""
One HTTP question and its answer, ended by one deadline from the name to the last byte.

Nothing is taken from the environment but the certificates that the system trusts:
no proxies, credentials or cookies from where nobody looked.  No redirect is followed.
"""

from __future__ import annotations

import socket
import ssl
import weakref
from collections import deque
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import partial
from ipaddress import ip_address
from typing import Final

import h11
from msgspec import Struct

from signoff.connection import Address, Connection, Deadline, Stale, connected, looked_up
from signoff.errors import BadAnswer, NoAnswer

__all__ = ["Client", "Deadline", "Endpoint", "Reply", "get"]

MAX_AROUND_BYTES: Final = 65_536
MAX_PIECES: Final = 20_000
_AROUND: Final = 4
_MAX_IDLE: Final = 8


class Endpoint(Struct, frozen=True, kw_only=True):
    """
    Where questions are posted.

    Args:
        host: Name or address, without brackets.
        port: TCP port.
        target: Path and query.
        tls: Encrypted, and the server proves its name.
        only_loopback: Nothing but this machine is connected to, whatever the name leads to.
    """

    host: str
    port: int
    target: str
    tls: bool
    only_loopback: bool

    @property
    def authority(self) -> str:
        """Host and port, as the header Host has them."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == (443 if self.tls else 80) else f"{host}:{self.port}"


class Client:
    """
    Asks one endpoint; connections are kept for the next question, and threads may share it.

    Args:
        endpoint: Where to ask.
    """

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._tls = ssl.create_default_context() if endpoint.tls else None
        self._idle: deque[Connection] = deque()
        weakref.finalize(self, _close_all, self._idle)

    def post(
        self,
        body: bytes,
        headers: Iterable[tuple[str, str]],
        *,
        timeout_s: float,
        max_bytes: int,
    ) -> bytes:
        """
        The body of the answer to a POST of JSON, whose status is 200.

        Args:
            body: What is sent.
            headers: Headers beside those that every such request has.
            timeout_s: Seconds for everything together.
            max_bytes: A larger body is refused.

        Raises:
            NoAnswer: Nobody answered, or only with a status from 500 up; ``late`` when
                the time ran out.
            BadAnswer: Another status, or what HTTP does not allow.
        """
        deadline = Deadline(timeout_s)
        message = [
            ("Host", self._endpoint.authority),
            ("Content-Type", "application/json"),
            ("Content-Length", str(len(body))),
            ("Accept", "application/json"),
            ("Accept-Encoding", "identity"),
            *headers,
        ]
        kept = self._kept()
        if kept is not None:
            with suppress(Stale):
                return self._asked(kept, message, body, deadline, max_bytes)
        fresh = self._fresh(deadline)
        try:
            return self._asked(fresh, message, body, deadline, max_bytes)
        except Stale:
            raise NoAnswer("closed the connection before it answered") from None

    def close(self) -> None:
        """Close the connections that are kept."""
        _close_all(self._idle)

    def _kept(self) -> Connection | None:
        while True:
            try:
                kept = self._idle.pop()
            except IndexError:
                return None
            if kept.is_usable():
                return kept
            kept.close()

    def _fresh(self, deadline: Deadline) -> Connection:
        addresses = _addresses(self._endpoint, deadline)
        host = self._endpoint.host
        return Connection(connected(addresses, deadline, tls=self._tls, host=host))

    def _asked(
        self,
        connection: Connection,
        headers: list[tuple[str, str]],
        body: bytes,
        deadline: Deadline,
        max_bytes: int,
    ) -> bytes:
        keep = False
        try:
            target = self._endpoint.target
            connection.send(_request("POST", target, headers), body, deadline)
            answer = _plain_answer(connection, deadline, max_bytes)
            keep = connection.is_done() and len(self._idle) < _MAX_IDLE
        finally:
            if keep:
                self._idle.append(connection)
            else:
                connection.close()
        return answer


class Reply(Struct, frozen=True, kw_only=True):
    """
    What came of a GET.

    Args:
        status: 200 to 599.
        encoded: The body is not sent as it is.
        body: Of a plain answer with the status 200, cut after the bytes that were asked
            for; otherwise empty, and not read.
    """

    status: int
    encoded: bool
    body: bytes


def get(
    endpoint: Endpoint,
    addresses: Sequence[Address],
    headers: Iterable[tuple[str, str]],
    deadline: Deadline,
    *,
    tls: ssl.SSLContext | None,
    max_bytes: int,
) -> Reply:
    """
    The answer to a GET, asked on a connection of its own and of an address already chosen.

    Args:
        endpoint: Whom to ask, and for what; its name is not looked up.
        addresses: What may be connected to; nothing else is.
        headers: Headers beside Host and Accept-Encoding.
        deadline: When everything has ended.
        tls: What secures the connection, of an endpoint that has it.
        max_bytes: Where a body is cut.

    Raises:
        NoAnswer: Nobody answered; ``late`` when the time ran out.
        BadAnswer: What HTTP does not allow, or far more around the body than in it.
    """
    secured = tls if endpoint.tls else None
    opened = connected(addresses, deadline, tls=secured, host=endpoint.host, exactly=True)
    connection = Connection(opened)
    message = [("Host", endpoint.authority), ("Accept-Encoding", "identity"), *headers]
    try:
        connection.send(_request("GET", endpoint.target, message), b"", deadline)
        head = connection.head(deadline)
        encoded = _is_encoded(head)
        wanted = head.status_code == 200 and not encoded
        body = _cut_body(connection, deadline, max_bytes) if wanted else b""
    except Stale:
        raise NoAnswer("closed the connection before it answered") from None
    finally:
        connection.close()
    return Reply(status=head.status_code, encoded=encoded, body=body)


def _request(method: str, target: str, headers: list[tuple[str, str]]) -> h11.Request:
    return h11.Request(method=method, target=target, headers=headers)


def _plain_answer(connection: Connection, deadline: Deadline, max_bytes: int) -> bytes:
    """The whole body, after a head that says 200."""
    _require_plain(connection.head(deadline), max_bytes)
    body = bytearray()
    for piece in connection.pieces(deadline):
        body += piece
        if len(body) > max_bytes:
            raise BadAnswer(f"larger than {max_bytes} bytes")
    return bytes(body)


def _require_plain(head: h11.Response, max_bytes: int) -> None:
    if head.status_code >= 500:
        raise NoAnswer(f"status {head.status_code}")
    if head.status_code != 200:
        raise BadAnswer(f"status {head.status_code}, expected 200")
    if _is_encoded(head):
        raise BadAnswer("an encoded body")
    for name, value in head.headers:
        if name == b"content-length" and int(value) > max_bytes:
            raise BadAnswer(f"larger than {max_bytes} bytes")


def _cut_body(connection: Connection, deadline: Deadline, max_bytes: int) -> bytes:
    body = bytearray()
    for count, piece in enumerate(connection.pieces(deadline), start=1):
        body += piece
        if len(body) >= max_bytes:
            break
        # Each piece costs time that no deadline sees, and many askers wait for one processor.
        if count >= MAX_PIECES:
            raise BadAnswer("its body in too many pieces")
        if connection.received > _AROUND * max_bytes + MAX_AROUND_BYTES:
            raise BadAnswer("far more around its body than in it")
    return bytes(body[:max_bytes])


def _is_encoded(head: h11.Response) -> bool:
    return any(
        name == b"content-encoding" and value.lower() != b"identity" for name, value in head.headers
    )


def _addresses(endpoint: Endpoint, deadline: Deadline) -> list[Address]:
    find = partial(socket.getaddrinfo, endpoint.host, endpoint.port, type=socket.SOCK_STREAM)
    try:
        found = find(flags=socket.AI_NUMERICHOST)
    except OSError:
        found = looked_up(find, deadline)
    addresses: list[Address] = [(family, address) for family, _, _, _, address in found]
    if endpoint.only_loopback and not all(_is_loopback(one[0]) for _, one in addresses):
        raise NoAnswer("is not on this machine, and may be asked only over https")
    return addresses


def _is_loopback(address: object) -> bool:
    try:
        return ip_address(str(address).partition("%")[0]).is_loopback
    except ValueError:
        return False


def _close_all(idle: deque[Connection]) -> None:
    with suppress(IndexError):
        while True:
            idle.pop().close()
