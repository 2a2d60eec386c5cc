"""Progress: one line on a person's terminal, once something takes long, gone when it ends."""

from __future__ import annotations

from threading import Event, Thread
from time import monotonic
from typing import Final, Self

from signoff.cli.terminal import Screen
from signoff.jsonvalue import shown

__all__ = ["Progress"]

PATIENCE_S: Final = 0.5
TICK_S: Final = 0.2
CLEAR: Final = "\r\x1b[K"
MAX_TEXT: Final = 60


class Progress:
    """
    Says what is being done, while a ``with`` lasts; silent where nobody looks.

    Args:
        screen: Standard error.
        text: What is being done, such as ``reading standard input``.
    """

    def __init__(self, screen: Screen, text: str) -> None:
        self.text = text
        self._screen = screen
        self._done = Event()
        looked_at = screen.is_terminal and not screen.is_dumb
        self._thread = Thread(target=self._tell, daemon=True) if looked_at else None

    def __enter__(self) -> Self:
        if self._thread is not None:
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        if self._thread is not None:
            self._thread.join()

    def _tell(self) -> None:
        begin = monotonic()
        if self._done.wait(PATIENCE_S):
            return
        while True:
            line = f"{shown(self.text, MAX_TEXT)} ({monotonic() - begin:.0f} s)"
            self._screen.write(f"{CLEAR}{self._screen.paint(line, 'quiet')}")
            self._screen.flush()
            if self._done.wait(TICK_S):
                self._screen.write(CLEAR)
                self._screen.flush()
                return
