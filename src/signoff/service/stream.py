"""A body that arrives by pieces, and is held up while too many of them wait."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Final

__all__ = ["StreamBody"]

HIGH_WATER: Final = 256 * 1024


class StreamBody:
    """
    The body of a request by pieces.

    Attributes:
        on_room: Called when there is room again after there was none.
    """

    def __init__(self) -> None:
        self._pieces: deque[bytes] = deque()
        self._size = 0
        self._complete = False
        self._fault: Exception | None = None
        self._reader: asyncio.Future[None] | None = None
        self.on_room: Callable[[], None] | None = None

    @property
    def full(self) -> bool:
        """No more is wanted for now."""
        return self._size >= HIGH_WATER

    @property
    def wanted(self) -> bool:
        """Somebody waits for the next piece."""
        return self._reader is not None

    @property
    def complete(self) -> bool:
        """Everything has come."""
        return self._complete

    def feed(self, data: bytes) -> None:
        """Take a piece."""
        self._pieces.append(data)
        self._size += len(data)
        self._wake()

    def end(self) -> None:
        """Know that everything has come."""
        self._complete = True
        self._wake()

    def fail(self, fault: Exception) -> None:
        """Know that nothing will come any more, and why."""
        if not self._complete and self._fault is None:
            self._fault = fault
            self._wake()

    async def read(self) -> bytes:
        """
        The next piece; ``b""`` when the body has ended.

        Raises:
            Problem: It came too late, or was no HTTP.
            ConnectionError: The client is gone.
        """
        while not self._pieces:
            if self._fault is not None:
                raise self._fault
            if self._complete:
                return b""
            self._reader = asyncio.get_running_loop().create_future()
            try:
                await self._reader
            finally:
                self._reader = None
        piece = self._pieces.popleft()
        was_full = self.full
        self._size -= len(piece)
        if was_full and not self.full and self.on_room is not None:
            self.on_room()
        return piece

    def _wake(self) -> None:
        if self._reader is not None and not self._reader.done():
            self._reader.set_result(None)
