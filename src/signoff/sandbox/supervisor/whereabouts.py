"""Where a program will be found inside, told by the same errors with which executing it fails."""

from __future__ import annotations

import errno
import os
from typing import Final

from signoff.sandbox.supervisor.launch import Launch

__all__ = ["find_program"]

MAX_LINE: Final = 256
"""What the kernel reads of a script to find its interpreter."""


def find_program(launch: Launch, workspace: str | None) -> None:
    """
    Returns when there is such a program and it may be executed.

    Raises:
        OSError: As ``execve`` would.
    """
    program = launch.argv[0]
    if b"/" in program:
        _judge(program, launch, workspace)
        return
    denied: OSError | None = None
    for folder in launch.search:
        try:
            _judge(folder + b"/" + program, launch, workspace)
        except PermissionError as exc:
            denied = exc
        except OSError:
            continue
        else:
            return
    raise denied or FileNotFoundError(errno.ENOENT, "")


def _seen(path: bytes, launch: Launch, workspace: str | None) -> bytes:
    """A path inside as it is found from here: the workspace has been laid out elsewhere."""
    if workspace is None or launch.workspace is None:
        return path
    outer = os.fsencode(workspace)
    below = os.path.normpath(path)
    if below == outer or below.startswith(outer + b"/"):
        return os.fsencode(launch.workspace) + below[len(outer) :]
    return path


def _judge(path: bytes, launch: Launch, workspace: str | None) -> None:
    found = _check(path, launch, workspace)
    if interpreter := _interpreter(found):
        _check(interpreter, launch, workspace)


def _check(path: bytes, launch: Launch, workspace: str | None) -> bytes:
    found = os.path.join(os.fsencode(launch.cwd), _seen(path, launch, workspace))
    os.stat(found)
    if not os.path.isfile(found) or not os.access(found, os.X_OK):
        raise PermissionError(errno.EACCES, "")
    return found


def _interpreter(file: bytes) -> bytes | None:
    """The program that the first line of a script names."""
    try:
        handle = os.open(file, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None  # what may be executed need not be readable
    try:
        line = os.read(handle, MAX_LINE).partition(b"\n")[0]
    finally:
        os.close(handle)
    words = line[2:].split(None, 1) if line.startswith(b"#!") else []
    return words[0] if words else None
