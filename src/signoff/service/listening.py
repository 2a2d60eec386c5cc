"""The socket that a server listens on, and how connections are taken from it."""

from __future__ import annotations

import asyncio
import errno
import socket
import stat
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, Final

from signoff.service.settings import CannotServe, Settings

__all__ = ["Acceptor", "close_listener", "listener_of", "url_of"]

BACKLOG: Final = 2048
UNIX: Final = "unix:"
# How long nobody is let in when there are no more descriptors.
FULL_PAUSE_S: Final = 0.1
# How long a connection is left to a worker that has fewer.
LEFT_S: Final = 0.003
_FULL: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})


def listener_of(settings: Settings) -> socket.socket:
    """
    A bound socket that listens.

    Raises:
        CannotServe: The address is taken, not ours, or no address.
    """
    host = settings.host
    where = host if host.startswith(UNIX) else f"{host}:{settings.port}"
    try:
        if host.startswith(UNIX):
            return _unix_listener(host.removeprefix(UNIX))
        family, kind, protocol, _, address = socket.getaddrinfo(
            host.strip("[]"), settings.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        return _listening(socket.socket(family, kind, protocol), address)
    except OSError as exc:
        raise CannotServe(f"cannot listen on {where}: {exc.strerror or exc}") from exc
    except (OverflowError, UnicodeError) as exc:
        raise CannotServe(f"cannot listen on {where}: {exc}") from exc


def close_listener(listener: socket.socket, settings: Settings) -> None:
    """Listen no more; a socket in the file system is removed."""
    listener.close()
    if settings.host.startswith(UNIX):
        Path(settings.host.removeprefix(UNIX)).unlink(missing_ok=True)


def url_of(listener: socket.socket) -> str:
    """Where clients on this machine find the server."""
    name = listener.getsockname()
    if isinstance(name, str):
        return UNIX + name
    host, port = name[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


class Acceptor:
    """
    Takes connections one at a time, so that workers with one socket share them evenly.

    All workers hear of each connection, and the system wakes them in an order of its
    own.  One that has more than another leaves it to the other for a moment.

    Args:
        loop: Says when there is one.
        listener: Shared by all workers.
        connect: Makes the protocol of a connection.
        has_more: Another worker has fewer connections.
        say: Tells that there are no more descriptors.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        listener: socket.socket,
        connect: Callable[[], asyncio.Protocol],
        *,
        has_more: Callable[[], bool],
        say: Callable[[str], None],
    ) -> None:
        self._loop = loop
        self._listener = listener
        self._connect = connect
        self._has_more = has_more
        self._say = say
        self._tasks: set[asyncio.Task[None]] = set()
        self._stopped = False

    def start(self) -> None:
        """Take connections from now on."""
        self._read(self._accept_or_leave)

    async def stop(self) -> None:
        """Take those that are connected already, and then no more."""
        self._stopped = True
        self._loop.remove_reader(self._listener.fileno())
        while self._accept():
            pass
        if self._tasks:
            await asyncio.wait(self._tasks)

    def _read(self, accept: Callable[[], object]) -> None:
        if not self._stopped:
            self._loop.add_reader(self._listener.fileno(), accept)

    def _pause(self, pause_s: float, accept: Callable[[], object]) -> None:
        self._loop.remove_reader(self._listener.fileno())
        self._loop.call_later(pause_s, self._read, accept)

    def _accept_or_leave(self) -> None:
        if self._has_more():
            self._pause(LEFT_S, self._accept_left)
        else:
            self._accept()

    def _accept_left(self) -> None:
        """Take what another has left lying, and leave the next one to it again."""
        self._read(self._accept_or_leave)
        self._accept()

    def _accept(self) -> bool:
        """Take one connection; False where there is none."""
        try:
            accepted, _ = self._listener.accept()
        except (BlockingIOError, InterruptedError, ConnectionAbortedError):
            return False
        except OSError as exc:
            if exc.errno in _FULL:
                self._pause(FULL_PAUSE_S, self._accept_or_leave)
                self._say("no_descriptors")
            return False
        accepted.setblocking(False)
        if accepted.family != socket.AF_UNIX:
            with suppress(OSError):
                accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        task = self._loop.create_task(self._attach(accepted))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return True

    async def _attach(self, accepted: socket.socket) -> None:
        try:
            await self._loop.connect_accepted_socket(self._connect, accepted)
        except OSError:  # the client is gone again
            accepted.close()


def _listening(made: socket.socket, address: Any) -> socket.socket:
    with ExitStack() as unless_bound:
        unless_bound.callback(made.close)
        if made.family != socket.AF_UNIX:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(address)
        made.listen(BACKLOG)
        made.setblocking(False)
        unless_bound.pop_all()
    return made


def _unix_listener(path: str) -> socket.socket:
    """A socket in the file system, for its owner and group; one that nobody hears is replaced."""
    with suppress(FileNotFoundError):
        if stat.S_ISSOCK(Path(path).stat().st_mode) and not _heard(path):
            Path(path).unlink()
    listener = _listening(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM), path)
    Path(path).chmod(0o660)
    return listener


def _heard(path: str) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asking:
        try:
            asking.connect(path)
        except ConnectionRefusedError:
            return False
        return True
