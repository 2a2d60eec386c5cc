"""
The bytes of a file, or one sentence that says why there are none.

Only regular files are read.  Opening never waits (a named pipe without a writer
would), a file that is too large is refused by its size before any of it is read,
and a name that must stay below a folder is opened so that no link leads it out.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable
from typing import Final, NoReturn, Protocol

from signoff.errors import DocumentError
from signoff.jsonvalue import shown

__all__ = ["Readable", "read_bytes", "read_stdin"]

_PIECE: Final = 2**20
_FLAGS: Final = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
_KINDS: Final = {
    stat.S_IFDIR: "is a folder, not a file",
    stat.S_IFIFO: "is a named pipe, not a file",
    stat.S_IFSOCK: "is a socket, not a file",
    stat.S_IFCHR: "is a device, not a file",
    stat.S_IFBLK: "is a device, not a file",
}
_REASONS: Final = {
    errno.ENOENT: "no such file",
    errno.ENOTDIR: "no such file",
    errno.EACCES: "permission denied",
    errno.EPERM: "permission denied",
    errno.EISDIR: _KINDS[stat.S_IFDIR],
    errno.ENXIO: _KINDS[stat.S_IFSOCK],
    errno.ENODEV: _KINDS[stat.S_IFCHR],
    errno.ELOOP: "links that lead to one another",
    errno.EXDEV: "leaves the folder",
    errno.ENAMETOOLONG: "the name is too long",
    errno.EMFILE: "too many files are open",
    errno.ENFILE: "too many files are open",
}


class Readable(Protocol):
    """A binary stream, such as ``sys.stdin.buffer``."""

    def read(self, size: int, /) -> bytes | None:
        """Up to ``size`` bytes; none at the end; None when there are none yet."""
        ...


def read_bytes(
    path: str | os.PathLike[str],
    *,
    max_bytes: int,
    folder: str | os.PathLike[str] | None = None,
) -> bytes:
    """
    The whole content of a regular file.

    Args:
        path: The file; relative to ``folder``, and below it, when one is given.
        max_bytes: A larger file is refused, by its size before it is read.
        folder: Where the file must be: an absolute path, ``..`` and links out are refused.

    Raises:
        DocumentError: One sentence that names the file, never with anything of its content.
    """
    name = shown(os.fspath(path))
    try:
        handle = _open(os.fspath(path), folder)
        try:
            return _content(handle, name, max_bytes)
        finally:
            os.close(handle)
    except OSError as exc:
        raise DocumentError(f"{name}: {_reason(exc)}") from exc
    except ValueError as exc:  # an embedded null, or a character that no file name can have
        raise DocumentError(f"{name}: no file can have this name") from exc


def read_stdin(stream: Readable, *, max_bytes: int) -> bytes:
    """
    All that standard input holds.

    Raises:
        DocumentError: It holds more than ``max_bytes``, is closed, or cannot be read.
    """
    name = "standard input"
    try:
        return _pieces(stream.read, name, max_bytes)
    except OSError as exc:
        raise DocumentError(f"{name}: {_reason(exc)}") from exc
    except ValueError as exc:
        raise DocumentError(f"{name}: is closed") from exc


def _open(path: str, folder: str | os.PathLike[str] | None) -> int:
    if folder is None:
        return os.open(path, _FLAGS)
    # Only here, because it brings ctypes, which most commands do without.
    from signoff.document.beneath import open_beneath

    return open_beneath(os.fspath(folder), path, _FLAGS)


def _content(handle: int, name: str, max_bytes: int) -> bytes:
    facts = os.fstat(handle)
    if not stat.S_ISREG(facts.st_mode):
        kind = _KINDS.get(stat.S_IFMT(facts.st_mode), "is not a regular file")
        raise DocumentError(f"{name}: {kind}")
    if facts.st_size > max_bytes:
        _refuse_size(name, max_bytes, facts.st_size)
    return _pieces(lambda size: os.read(handle, size), name, max_bytes)


def _pieces(read: Callable[[int], bytes | None], name: str, max_bytes: int) -> bytes:
    # The cap holds here too: a file can grow, and a stream does not say its size.
    pieces: list[bytes] = []
    left = max_bytes + 1
    while left > 0:
        piece = read(min(left, _PIECE))
        if piece is None:
            raise DocumentError(f"{name}: has nothing to read yet and does not wait")
        if not piece:
            return b"".join(pieces)
        pieces.append(piece)
        left -= len(piece)
    _refuse_size(name, max_bytes)


def _refuse_size(name: str, max_bytes: int, size: int | None = None) -> NoReturn:
    known = "" if size is None else f" ({size})"
    raise DocumentError(f"{name}: is larger than {max_bytes} bytes{known}")


def _reason(exc: OSError) -> str:
    known = _REASONS.get(exc.errno or 0)
    return known or f"cannot be read ({(exc.strerror or 'unknown reason').lower()})"
