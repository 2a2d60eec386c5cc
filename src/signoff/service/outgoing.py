"""What is on its way to a client, and whether the client takes it."""

from __future__ import annotations

import asyncio
import socket
import struct
from contextlib import suppress
from time import monotonic
from typing import Final

__all__ = ["Outgoing"]

# Larger bodies are not copied behind their heads.
MAX_JOINED: Final = 64 * 1024
# A stream that writes this much lets everything else run before it goes on.
MAX_UNYIELDED: Final = 64 * 1024

# On closing, do not wait and do not send what is left.
_RESET: Final = struct.pack("ii", 1, 0)


class Outgoing:
    """
    The sending side of one connection.

    Attributes:
        blocked: The client has to take more before anything else is sent.
        gone: There is nobody to send to any more.
    """

    __slots__ = (
        "_takers",
        "_taking_since",
        "_transport",
        "_unsent",
        "_unyielded",
        "blocked",
        "gone",
    )

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._takers: list[asyncio.Future[None]] = []
        self._taking_since = 0.0
        self._unsent = self._unyielded = 0
        self.blocked = self.gone = False

    def send(self, data: bytes) -> None:
        """Send a piece of a stream."""
        self._unyielded += len(data)
        if not self.gone:
            self._transport.write(data)

    def send_reply(self, head: bytes, body: bytes) -> None:
        """Send a whole reply."""
        if len(body) <= MAX_JOINED:
            self._transport.write(head + body)
        else:
            self._transport.write(head)
            self._transport.write(body)

    def cut(self) -> None:
        """
        End the connection so that the client cannot take what it got for everything.

        A reset says so also where the end of the connection is the end of the reply.
        """
        if not self.gone:
            connected = self._transport.get_extra_info("socket")
            with suppress(OSError):
                connected.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
            self._transport.abort()

    async def drained(self) -> None:
        """
        Return when the client has kept up, and the others have had their turn.

        Raises:
            ConnectionResetError: There is nobody to send to any more.
        """
        if self._unyielded >= MAX_UNYIELDED:
            self._unyielded = 0
            await asyncio.sleep(0)
        if self.blocked and not self.gone:
            taker = asyncio.get_running_loop().create_future()
            self._takers.append(taker)
            await taker
        if self.gone:
            raise ConnectionResetError("the client is gone")

    def block(self) -> None:
        """Know that the client does not take what was sent."""
        self.blocked = True
        self.watch()

    def unblock(self) -> None:
        """Know that the client has kept up."""
        self.blocked = False
        self._release(None)

    def lose(self) -> None:
        """Know that there is nobody any more."""
        self.gone = True
        self._release(ConnectionResetError("the client is gone"))

    def watch(self) -> None:
        """Begin to look whether the client takes anything."""
        self._taking_since = monotonic()
        self._unsent = self._transport.get_write_buffer_size()

    def unsent(self) -> int:
        """Bytes that the client has yet to take."""
        return self._transport.get_write_buffer_size()

    def stuck(self, now: float, limit_s: float) -> bool:
        """The client has taken nothing of what there is for it since ``limit_s``."""
        unsent = self._transport.get_write_buffer_size()
        if unsent < self._unsent:
            self._unsent, self._taking_since = unsent, now
        return unsent > 0 and now - self._taking_since > limit_s

    def _release(self, fault: Exception | None) -> None:
        takers, self._takers = self._takers, []
        for taker in takers:
            if taker.done():
                continue
            if fault is None:
                taker.set_result(None)
            else:
                taker.set_exception(fault)
