"""What happens between fork and exec: the child makes itself what the command will be."""

from __future__ import annotations

import errno
import os
import resource
import signal
from fcntl import F_DUPFD_CLOEXEC, fcntl
from typing import Any, Final, NoReturn

from signoff.sandbox.supervisor.launch import Free, Launch, NotStarted
from signoff.sandbox.supervisor.standing import be_as

__all__ = ["become"]

HIGHEST_HANDLE: Final = 2**20
LOOK_ON: Final = {errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENAMETOOLONG, errno.ESTALE}
STANDARD: Final = (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def become(
    launch: Launch,
    confinement: Free,
    handles: tuple[int, int, int],
    report: int,
) -> NoReturn:
    """
    Becomes the command; on failure says why on ``report`` and ends.

    Args:
        launch: What to execute.
        confinement: Takes part right before.
        handles: Standard input, output and error.
        report: Handle that closes itself when the program is executed.
    """
    try:
        report = _settle(handles, launch.pass_handles, report)
        if launch.standing is not None:
            be_as(launch.standing)
        os.chdir(launch.cwd)
        _limit(launch.request["limits"])
        confinement.enter(launch)
        _execute(launch)
    except NotStarted as exc:
        os.write(report, f"{exc.ended} {exc.reason}".encode("utf-8", "replace"))
    except OSError as exc:
        os.write(report, f"{exc.errno or 0}".encode())
    except Exception as exc:  # noqa: BLE001 - whatever it is, signoff must hear of it
        os.write(
            report, f"broken cannot start the command: {exc!r:.200}".encode("ascii", "replace")
        )
    finally:
        os._exit(127)


def _settle(handles: tuple[int, int, int], kept: list[int], report: int) -> int:
    """A session of its own, the three standard handles, and no other but those to be kept."""
    os.setsid()
    for standard in STANDARD:
        signal.signal(standard, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    os.umask(0o022)
    # first out of the way: each of them may have the number that another is to get
    floor = max((2, *kept)) + 1
    moved = [_above(handle, floor) for handle in (*handles, report)]
    for number, handle in enumerate(moved[:3]):
        os.dup2(handle, number, inheritable=True)
    start = 3
    for handle in sorted({*kept, moved[3]}):
        os.closerange(start, handle)
        start = handle + 1
    os.closerange(start, HIGHEST_HANDLE)
    for handle in kept:
        os.set_inheritable(handle, True)
    return moved[3]


def _above(handle: int, floor: int) -> int:
    return fcntl(handle, F_DUPFD_CLOEXEC, floor)


def _limit(limits: dict[str, Any]) -> None:
    _set(resource.RLIMIT_CORE, 0)
    _set(resource.RLIMIT_FSIZE, limits["file_bytes"])
    _set(resource.RLIMIT_NOFILE, limits["open_files"])
    if (count := limits.get("user_processes")) is not None:
        _set(resource.RLIMIT_NPROC, count)
    if (size := limits.get("address_bytes")) is not None:
        _set(resource.RLIMIT_AS, size)


def _set(kind: int, limit: int) -> None:
    _, hard = resource.getrlimit(kind)
    if hard != resource.RLIM_INFINITY:
        limit = min(limit, hard)
    resource.setrlimit(kind, (limit, limit))


def _execute(launch: Launch) -> NoReturn:
    program = launch.argv[0]
    if b"/" in program:
        os.execve(program, launch.argv, launch.env)
    denied: OSError | None = None
    for folder in launch.search:
        try:
            os.execve(folder + b"/" + program, launch.argv, launch.env)
        except OSError as exc:
            if exc.errno == errno.EACCES:
                denied = exc
            elif exc.errno not in LOOK_ON:
                raise
    raise denied or FileNotFoundError(errno.ENOENT, "")
