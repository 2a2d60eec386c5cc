"""
One HTTP question and its answer, ended by one deadline from the name to the last byte.

The usual clients time each operation by itself, so that a server which sends a
byte now and then is waited for without end, and they take proxies, credentials
and cookies from where nobody looked.  Here h11 reads and writes the messages,
every wait is cut to what is left of the deadline, nothing is taken from the
environment but the certificates that the system trusts, and no redirect is followed.
"""

from __future__ import annotations

import os
import queue
import select
import socket
import ssl
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from ipaddress import ip_address
from time import monotonic
from typing import Any, Final, NoReturn

import h11
from msgspec import Struct

from signoff.errors import BadAnswer, NoAnswer

__all__ = ["Client", "Deadline", "Endpoint"]

MAX_HEAD_BYTES: Final = 16_384
_PIECE: Final = 65_536
_MAX_IDLE: Final = 8

Address = tuple[socket.AddressFamily, Any]


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


class Deadline:
    """An instant of the monotonic clock, by which everything has ended."""

    __slots__ = ("_at",)

    def __init__(self, seconds: float) -> None:
        self._at = monotonic() + seconds

    def left(self) -> float:
        """
        The seconds that are left, more than 0.

        Raises:
            NoAnswer: There are none.
        """
        left = self._at - monotonic()
        if left <= 0:
            _late()
        return left


class Client:
    """
    Asks one endpoint; connections are kept for the next question, and threads may share it.

    Args:
        endpoint: Where to ask.
    """

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._tls = ssl.create_default_context() if endpoint.tls else None
        self._idle: deque[_Connection] = deque()
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
            with suppress(_Stale):
                return self._asked(kept, message, body, deadline, max_bytes)
        fresh = _Connection(_connected(self._endpoint, self._tls, deadline))
        try:
            return self._asked(fresh, message, body, deadline, max_bytes)
        except _Stale:
            raise NoAnswer("closed the connection before it answered") from None

    def close(self) -> None:
        """Close the connections that are kept."""
        _close_all(self._idle)

    def _kept(self) -> _Connection | None:
        while True:
            try:
                kept = self._idle.pop()
            except IndexError:
                return None
            if kept.is_usable():
                return kept
            kept.close()

    def _asked(
        self,
        connection: _Connection,
        headers: list[tuple[str, str]],
        body: bytes,
        deadline: Deadline,
        max_bytes: int,
    ) -> bytes:
        keep = False
        try:
            connection.send(self._endpoint.target, headers, body, deadline)
            answer = connection.answer(deadline, max_bytes)
            keep = connection.is_done() and len(self._idle) < _MAX_IDLE
        finally:
            if keep:
                self._idle.append(connection)
            else:
                connection.close()
        return answer


class _Stale(Exception):
    """The connection ended before a byte of the answer."""


class _Connection:
    """A connected socket and what HTTP says of it; used by one thread at a time."""

    __slots__ = ("_http", "_pid", "_received", "_socket")

    def __init__(self, connected: socket.socket) -> None:
        self._socket = connected
        self._http = h11.Connection(h11.CLIENT, max_incomplete_event_size=MAX_HEAD_BYTES)
        self._received = False
        self._pid = os.getpid()

    def is_usable(self) -> bool:
        """Another question may be asked: same process, not closed, nothing unasked-for sent."""
        if self._pid != os.getpid():
            return False  # a fork shares the socket, and answers would go to either
        if isinstance(self._socket, ssl.SSLSocket) and self._socket.pending():
            return False
        poll = select.poll()
        poll.register(self._socket, select.POLLIN)
        return not poll.poll(0)

    def is_done(self) -> bool:
        """Question and answer are complete, and nothing follows; ready for the next ones."""
        finished = self._http.our_state is h11.DONE and self._http.their_state is h11.DONE
        if not finished or self._http.trailing_data != (b"", False):
            return False
        self._http.start_next_cycle()
        self._received = False
        return True

    def close(self) -> None:
        """Close the socket."""
        with suppress(OSError):
            self._socket.close()

    def send(
        self, target: str, headers: list[tuple[str, str]], body: bytes, deadline: Deadline
    ) -> None:
        request = h11.Request(method="POST", target=target, headers=headers)
        head = self._http.send(request) or b""
        rest = self._http.send(h11.Data(data=body)) or b""
        end = self._http.send(h11.EndOfMessage()) or b""
        unsent = memoryview(head + rest + end)
        while unsent:
            self._socket.settimeout(deadline.left())
            unsent = unsent[self._told(partial(self._socket.send, unsent[:_PIECE])) :]

    def answer(self, deadline: Deadline, max_bytes: int) -> bytes:
        """The body, after a head that says 200."""
        pieces: list[bytes] = []
        size = 0
        while True:
            event = self._event(deadline)
            if isinstance(event, h11.Response):
                _require_plain(event, max_bytes)
            elif isinstance(event, h11.Data):
                pieces.append(bytes(event.data))
                size += len(event.data)
                if size > max_bytes:
                    raise BadAnswer(f"larger than {max_bytes} bytes")
            elif isinstance(event, h11.EndOfMessage):
                return b"".join(pieces)

    def _event(self, deadline: Deadline) -> object:
        while True:
            left = deadline.left()
            try:
                event = self._http.next_event()
            except h11.RemoteProtocolError as exc:
                if self._received and self._http.trailing_data[1]:
                    raise NoAnswer("closed the connection within its answer") from exc
                raise BadAnswer("no HTTP") from exc
            if event is not h11.NEED_DATA:
                return event
            self._socket.settimeout(left)
            data = self._told(partial(self._socket.recv, _PIECE))
            if not data and not self._received:
                raise _Stale
            self._received = True
            self._http.receive_data(data)

    def _told(self, call: Callable[[], Any]) -> Any:
        """What a call of the socket gives; how it failed, in our words."""
        try:
            return call()
        except TimeoutError:
            _late()
        except OSError as exc:
            if not self._received and isinstance(exc, ConnectionError | ssl.SSLEOFError):
                raise _Stale from exc
            raise NoAnswer(_reason(exc)) from exc


def _require_plain(head: h11.Response, max_bytes: int) -> None:
    if head.http_version not in {b"1.0", b"1.1"}:
        raise BadAnswer("no HTTP")
    if head.status_code >= 500:
        raise NoAnswer(f"status {head.status_code}")
    if head.status_code != 200:
        raise BadAnswer(f"status {head.status_code}, expected 200")
    for name, value in head.headers:
        if name == b"content-encoding" and value.lower() != b"identity":
            raise BadAnswer("an encoded body")
        if name == b"content-length" and int(value) > max_bytes:
            raise BadAnswer(f"larger than {max_bytes} bytes")


def _connected(endpoint: Endpoint, tls: ssl.SSLContext | None, deadline: Deadline) -> socket.socket:
    addresses = _addresses(endpoint, deadline)
    failure = "has no address"
    for position, (family, address) in enumerate(addresses):
        # One address that swallows everything must not eat the time of the others.
        share = deadline.left() / (len(addresses) - position)
        try:
            opened = _opened(family, address, share)
            return opened if tls is None else _secured(opened, tls, endpoint.host, deadline)
        except OSError as exc:
            failure = _reason(exc)
    deadline.left()
    raise NoAnswer(failure)


def _opened(family: socket.AddressFamily, address: Any, timeout_s: float) -> socket.socket:
    opened = socket.socket(family, socket.SOCK_STREAM)
    done = False
    try:
        opened.settimeout(timeout_s)
        opened.connect(address)
        opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        done = True
    finally:
        if not done:
            opened.close()
    return opened


def _secured(
    opened: socket.socket, tls: ssl.SSLContext, host: str, deadline: Deadline
) -> socket.socket:
    with opened:  # what TLS wraps is taken out of it, so this closes only what failed
        opened.settimeout(deadline.left())
        return tls.wrap_socket(opened, server_hostname=host)


def _addresses(endpoint: Endpoint, deadline: Deadline) -> list[Address]:
    find = partial(socket.getaddrinfo, endpoint.host, endpoint.port, type=socket.SOCK_STREAM)
    try:
        found = find(flags=socket.AI_NUMERICHOST)
    except OSError:
        found = _within(find, deadline)
    addresses: list[Address] = [(family, address) for family, _, _, _, address in found]
    if endpoint.only_loopback and not all(_is_loopback(one[0]) for _, one in addresses):
        raise NoAnswer("is not on this machine, and may be asked only over https")
    return addresses


def _within(find: Callable[[], list[Any]], deadline: Deadline) -> list[Any]:
    """What a look-up finds in time; it cannot be stopped, so one that hangs is left behind."""
    found: queue.SimpleQueue[list[Any] | OSError] = queue.SimpleQueue()

    def look() -> None:
        try:
            found.put(find())
        except (OSError, UnicodeError) as exc:
            found.put(OSError(str(exc)))

    threading.Thread(target=look, name="signoff-look-up", daemon=True).start()
    try:
        answer = found.get(timeout=deadline.left())
    except queue.Empty:
        _late()
    if isinstance(answer, OSError):
        raise NoAnswer("has no address") from answer
    return answer


def _is_loopback(address: object) -> bool:
    try:
        return ip_address(str(address).partition("%")[0]).is_loopback
    except ValueError:
        return False


def _reason(exc: OSError) -> str:
    if isinstance(exc, ssl.SSLCertVerificationError):
        return "its certificate is not trusted"
    if isinstance(exc, ssl.SSLError):
        return "no TLS"
    return (exc.strerror or "cannot be reached").lower()


def _late() -> NoReturn:
    raise NoAnswer("too late", late=True)


def _close_all(idle: deque[_Connection]) -> None:
    with suppress(IndexError):
        while True:
            idle.pop().close()
