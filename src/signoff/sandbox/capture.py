"""What a command prints, in bounded memory: the beginning, the end, how much, and its digest."""

from __future__ import annotations

from collections import deque
from hashlib import sha256

from signoff.sandbox.command import Captured

__all__ = ["Capture"]


class Capture:
    """
    Takes what was printed, as it comes.

    Args:
        head_bytes: Bytes kept from the beginning.
        tail_bytes: Bytes kept from the end.
    """

    def __init__(self, head_bytes: int, tail_bytes: int) -> None:
        self.size = 0
        self._head = bytearray()
        self._head_bytes = head_bytes
        self._tail = deque[bytes]()
        self._tail_bytes = tail_bytes
        self._in_tail = 0
        self._digest = sha256()

    def take(self, data: bytes) -> None:
        """The next bytes."""
        self.size += len(data)
        self._digest.update(data)
        room = self._head_bytes - len(self._head)
        if room > 0:
            self._head += data[:room]
            data = data[room:]
        if data and self._tail_bytes:
            self._tail.append(data)
            self._in_tail += len(data)
            while self._in_tail - len(self._tail[0]) >= self._tail_bytes:
                self._in_tail -= len(self._tail.popleft())

    def captured(self) -> Captured:
        """All that was taken."""
        tail = b"".join(self._tail)
        tail = tail[max(0, len(tail) - self._tail_bytes) :]
        digest = f"sha256:{self._digest.hexdigest()}"
        return Captured(head=bytes(self._head), tail=tail, size=self.size, digest=digest)
