"""
A connection that speaks HTTP/1.1, whose every wait is cut to what is left of one deadline.

The usual clients time each operation by itself, so that a server which sends a
byte now and then is waited for without end.  Here h11 reads and writes the
messages, and nothing is taken from the environment but the certificates that the
system trusts.
"""

from __future__ import annotations

import os
import queue
import select
import socket
import ssl
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from ipaddress import ip_address
from time import monotonic
from typing import Any, Final, NoReturn

import h11

from signoff.errors import BadAnswer, NoAnswer

__all__ = ["Address", "Connection", "Deadline", "Stale", "connected", "looked_up"]

MAX_HEAD_BYTES: Final = 16_384
MAX_INTERIM: Final = 8
_PIECE: Final = 262_144

Address = tuple[socket.AddressFamily, Any]


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


class Stale(Exception):
    """The connection ended before a byte of the answer."""


class Connection:
    """
    A connected socket and what HTTP says of it; used by one thread at a time.

    Args:
        connected: The socket, which this object closes.
    """

    __slots__ = ("_http", "_pid", "_socket", "received")

    def __init__(self, connected: socket.socket) -> None:
        self._socket = connected
        self._http = h11.Connection(h11.CLIENT, max_incomplete_event_size=MAX_HEAD_BYTES)
        self._pid = os.getpid()
        self.received = 0
        """Bytes of the answer so far, with all that frames it."""

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
        self.received = 0
        return True

    def close(self) -> None:
        """Close the socket."""
        with suppress(OSError):
            self._socket.close()

    def send(self, request: h11.Request, body: bytes, deadline: Deadline) -> None:
        """
        Send a whole request.

        Raises:
            NoAnswer: It was not taken, or not in time.
            Stale: The connection had ended.
        """
        head = self._http.send(request) or b""
        rest = self._http.send(h11.Data(data=body)) or b""
        end = self._http.send(h11.EndOfMessage()) or b""
        unsent = memoryview(head + rest + end)
        while unsent:
            self._socket.settimeout(deadline.left())
            unsent = unsent[self._told(partial(self._socket.send, unsent[:_PIECE])) :]

    def head(self, deadline: Deadline) -> h11.Response:
        """
        The head of the answer, after the few interim ones that may come before it.

        Raises:
            NoAnswer: It did not come, or not in time.
            BadAnswer: What came is not HTTP.
            Stale: The connection ended before a byte of it.
        """
        for _ in range(MAX_INTERIM + 1):
            event = self._event(deadline, MAX_HEAD_BYTES)
            if isinstance(event, h11.Response):
                if event.http_version not in {b"1.0", b"1.1"}:
                    raise BadAnswer("no HTTP")
                return event
        raise BadAnswer("one interim answer after the other")

    def pieces(self, deadline: Deadline) -> Iterator[bytes]:
        """
        The body by the pieces in which it arrives, each with at least one byte.

        Raises:
            NoAnswer: It ended too early, or not in time.
            BadAnswer: What came is not HTTP.
        """
        while not isinstance(event := self._event(deadline, _PIECE), h11.EndOfMessage):
            if isinstance(event, h11.Data) and event.data:
                yield bytes(event.data)

    def _event(self, deadline: Deadline, most: int) -> object:
        while True:
            left = deadline.left()
            try:
                event = self._http.next_event()
            except h11.RemoteProtocolError as exc:
                if self.received and self._http.trailing_data[1]:
                    raise NoAnswer("closed the connection within its answer") from exc
                raise BadAnswer("no HTTP") from exc
            if event is not h11.NEED_DATA:
                return event
            self._socket.settimeout(left)
            data = self._told(partial(self._socket.recv, most))
            if not data and not self.received:
                raise Stale
            self.received += len(data)
            self._http.receive_data(data)

    def _told(self, call: Callable[[], Any]) -> Any:
        """What a call of the socket gives; how it failed, in our words."""
        try:
            return call()
        except TimeoutError:
            _late()
        except OSError as exc:
            if not self.received and isinstance(exc, ConnectionError | ssl.SSLEOFError):
                raise Stale from exc
            raise NoAnswer(_reason(exc)) from exc


def looked_up(find: Callable[[], list[Any]], deadline: Deadline) -> list[Any]:
    """
    What a look-up finds in time; it cannot be stopped, so one that hangs is left behind.

    Raises:
        NoAnswer: It failed, or was late.
    """
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


def connected(
    addresses: Sequence[Address],
    deadline: Deadline,
    *,
    tls: ssl.SSLContext | None,
    host: str,
    exactly: bool = False,
) -> socket.socket:
    """
    A socket connected to the first address that answers.

    Args:
        addresses: In the order in which they are tried.
        deadline: The time for all of them.
        tls: What secures the connection, None for a plain one.
        host: The name that the certificate must have.
        exactly: The other end must say that it is that address, and end what it sends
            with a farewell, so that a connection that was cut is no complete answer.

    Raises:
        NoAnswer: There is none, or not in time.
    """
    failure = "has no address"
    for position, (family, address) in enumerate(addresses):
        # One address that swallows everything must not eat the time of the others.
        share = deadline.left() / (len(addresses) - position)
        try:
            opened = _opened(family, address, share, exactly=exactly)
            if tls is None:
                return opened
            return _secured(opened, tls, host, deadline, lenient=not exactly)
        except OSError as exc:
            failure = _reason(exc)
    deadline.left()
    raise NoAnswer(failure)


def _opened(
    family: socket.AddressFamily, address: Any, timeout_s: float, *, exactly: bool
) -> socket.socket:
    opened = socket.socket(family, socket.SOCK_STREAM)
    done = False
    try:
        opened.settimeout(timeout_s)
        opened.connect(address)
        if exactly and _bare(opened.getpeername()) != _bare(address):
            raise OSError(0, "is connected to another address than was asked for")
        opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        done = True
    finally:
        if not done:
            opened.close()
    return opened


def _secured(
    opened: socket.socket, tls: ssl.SSLContext, host: str, deadline: Deadline, *, lenient: bool
) -> socket.socket:
    with opened:  # what TLS wraps is taken out of it, so this closes only what failed
        opened.settimeout(deadline.left())
        return tls.wrap_socket(opened, server_hostname=host, suppress_ragged_eofs=lenient)


def _bare(address: Any) -> object:
    return ip_address(str(address[0]).partition("%")[0]), address[1]


def _reason(exc: OSError) -> str:
    if isinstance(exc, ssl.SSLCertVerificationError):
        return "its certificate is not trusted"
    if isinstance(exc, ssl.SSLEOFError):
        return "closed the connection too early"
    if isinstance(exc, ssl.SSLError):
        return "no TLS"
    return (exc.strerror or "cannot be reached").lower()


def _late() -> NoReturn:
    raise NoAnswer("too late", late=True)
