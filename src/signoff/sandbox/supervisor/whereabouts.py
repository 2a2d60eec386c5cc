"""Where a program will be found inside, told by the same errors with which executing it fails."""

from __future__ import annotations

import errno
import os

from signoff.sandbox.supervisor.launch import Launch

__all__ = ["find_program"]


def find_program(launch: Launch, workspace: str | None) -> None:
    """
    Returns when there is such a program and it may be executed.

    Raises:
        OSError: As ``execve`` would.
    """
    program = launch.argv[0]
    if b"/" in program:
        _judge(os.path.join(os.fsencode(launch.cwd), _seen(program, launch, workspace)))
        return
    denied: OSError | None = None
    for folder in launch.search:
        try:
            _judge(_seen(folder, launch, workspace) + b"/" + program)
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


def _judge(path: bytes) -> None:
    os.stat(path)
    if not os.path.isfile(path) or not os.access(path, os.X_OK):
        raise PermissionError(errno.EACCES, "")
