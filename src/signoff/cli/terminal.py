"""
The three standard streams as a command sees them.

A screen knows whether a person looks at it, in which colours, and which
characters it can show.  A reader that went away is no error; a disk that is full
is one.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping
from typing import BinaryIO, Final, Protocol, TextIO

from signoff.cli.exits import Exit, Refusal

__all__ = ["ByteReader", "Screen", "Terminal"]

_STYLES: Final = {
    "good": "32",
    "bad": "1;31",
    "odd": "33",
    "quiet": "2",
    "strong": "1",
}


class ByteReader(Protocol):
    """What is asked of standard input."""

    def read(self, size: int = -1, /) -> bytes | None:
        """Up to ``size`` bytes."""
        ...


class Screen:
    """
    One output stream.

    Args:
        stream: Where the text goes; None for a closed stream, which takes anything.
        env: NO_COLOR, CLICOLOR_FORCE and TERM are looked up here.
        must_arrive: True when text that cannot be written is a failure of the command.
    """

    def __init__(
        self, stream: TextIO | None, env: Mapping[str, str], *, must_arrive: bool = False
    ) -> None:
        self._stream = stream
        self._must_arrive = must_arrive
        self.is_terminal = _is_terminal(stream)
        self.is_dumb = env.get("TERM") == "dumb"
        self.colours = _wants_colours(env, is_terminal=self.is_terminal and not self.is_dumb)
        self._encoding = getattr(stream, "encoding", None) or "utf-8"
        self.symbols = (self.is_terminal or self.colours) and self._can_show("✓✗·…")

    @property
    def is_lost(self) -> bool:
        """True when nothing that is written arrives any more."""
        return self._stream is None

    def line(self, text: str = "") -> None:
        """The text, on a line of its own."""
        self.write(f"{text}\n")

    def write(self, text: str) -> None:
        """The text; characters that the stream has no code for as escapes."""
        if not self._can_show(text):
            text = text.encode(self._encoding, "backslashreplace").decode(self._encoding)
        if self._stream is not None:
            try:
                self._stream.write(text)
            except (OSError, ValueError) as exc:
                self._lost(exc)

    def json(self, data: bytes) -> None:
        """A JSON document, UTF-8 whatever the stream's encoding is."""
        self.exactly(data + b"\n")

    def exactly(self, data: bytes) -> None:
        """The bytes of a text in UTF-8, whatever the stream's encoding is."""
        buffer: BinaryIO | None = getattr(self._stream, "buffer", None)
        if buffer is None:
            self.write(data.decode())
            return
        self.flush()
        try:
            buffer.write(data)
        except (OSError, ValueError) as exc:
            self._lost(exc)

    def paint(self, text: str, style: str) -> str:
        """The text in a style, where there are colours."""
        return f"\x1b[{_STYLES[style]}m{text}\x1b[0m" if self.colours and text else text

    def flush(self) -> None:
        """Everything that was written has left this process."""
        if self._stream is not None:
            try:
                self._stream.flush()
            except (OSError, ValueError) as exc:
                self._lost(exc)

    def _can_show(self, text: str) -> bool:
        try:
            text.encode(self._encoding)
        except UnicodeEncodeError:
            return False
        return True

    def _lost(self, exc: OSError | ValueError) -> None:
        stream, self._stream = self._stream, None
        _discard(stream)
        gone = isinstance(exc, BrokenPipeError | ValueError) or exc.errno == errno.EPIPE
        if self._must_arrive and not gone:
            reason = (getattr(exc, "strerror", None) or "unknown reason").lower()
            raise Refusal(
                f"standard output: cannot be written ({reason})",
                code=Exit.UNWRITTEN,
                next_step="make room or send the output elsewhere, and run this again",
            ) from exc


class Terminal:
    """
    What a command reads from and writes to.

    Args:
        stdin: Bytes; None when it is closed.
        stdout: Carries the answer.
        stderr: Carries notes, faults and progress.
        env: The environment.

    ``is_writing`` is set by a command while it puts its answer on disk, so that
    whatever stops it then is told as an answer that could not be written.
    """

    def __init__(
        self,
        stdin: ByteReader | None,
        stdout: TextIO | None,
        stderr: TextIO | None,
        env: Mapping[str, str],
    ) -> None:
        self.stdin = stdin
        self.out = Screen(stdout, env, must_arrive=True)
        self.err = Screen(stderr, env)
        self.env = env
        self.is_writing = False

    def note(self, text: str) -> None:
        """Something a person should know, which is not the answer."""
        self.err.line(f"{self.err.paint('note:', 'strong')} {text}")

    def flush(self) -> None:
        """Both streams are flushed."""
        self.err.flush()
        self.out.flush()


def _is_terminal(stream: TextIO | None) -> bool:
    try:
        return stream is not None and stream.isatty()
    except ValueError:  # it was closed
        return False


def _wants_colours(env: Mapping[str, str], *, is_terminal: bool) -> bool:
    if env.get("NO_COLOR"):
        return False
    return is_terminal or env.get("CLICOLOR_FORCE", "0") not in {"", "0"}


def _discard(stream: TextIO | None) -> None:
    """Let what is still buffered go nowhere, or the interpreter would complain of it at its end."""
    try:
        handle = stream.fileno() if stream is not None else -1
        if handle >= 0:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, handle)
            os.close(nowhere)
    except (OSError, ValueError):
        return
