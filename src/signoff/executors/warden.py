"""
The program of a worker process, which calls one function for one request after the other.

It is two processes.  The first watches: whatever descends from it cannot leave, and
when signoff lets go, or the second one ends, it kills all of that and ends.  The
second one imports the function and calls it.  Signoff lets go by closing a pipe,
so that it may also be killed.

Handles: 0 is the pipe that signoff holds, 1 and 2 what is printed for people,
3 brings requests, 4 takes answers.  A message is one letter, a length and bytes.
"""

from __future__ import annotations

import json
import os
import select
import signal
import struct
import sys
import time
import traceback
from pathlib import Path
from typing import Any, Final, NoReturn

from signoff.errors import PluginError
from signoff.jsonvalue import shown
from signoff.plugins import Reference, function_at
from signoff.sandbox.supervisor.adoption import adopt_orphans
from signoff.sandbox.supervisor.kinship import end_all

__all__ = [
    "ANSWERS",
    "FAULT",
    "HEAD",
    "NOT_JSON",
    "READY",
    "REFUSED",
    "REPLY",
    "REQUESTS",
    "SIGNALLED",
    "TOO_LARGE",
    "main",
]

HEAD: Final = struct.Struct(">cQ")
READY, REFUSED = b"+", b"-"
REPLY, FAULT, NOT_JSON, TOO_LARGE = b"r", b"e", b"j", b"l"

REQUESTS: Final = 3
ANSWERS: Final = 4
ENDING_S: Final = 2.0
SIGNALLED: Final = 128


def main() -> NoReturn:
    """What the interpreter of a worker runs."""
    watch(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]))


def watch(reference: str, said: str, folder: str, max_bytes: int) -> NoReturn:
    """Starts the second process and stays until all has ended."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    adopt_orphans()
    woken, waking = os.pipe()
    os.set_blocking(waking, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(waking, warn_on_full_buffer=False)
    child = os.fork()
    if not child:
        _become_the_second((woken, waking))
        serve(reference, said, folder, max_bytes)
    os.close(REQUESTS)
    os.close(ANSWERS)
    status = _watched(child, woken)
    end_all(lambda *_: None, time.monotonic() + ENDING_S)
    os._exit(status)


def _become_the_second(handles: tuple[int, int]) -> None:
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD):
        signal.signal(number, signal.SIG_DFL)
    os.setsid()
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    for handle in (null, *handles):
        os.close(handle)
    for handle in (REQUESTS, ANSWERS):
        os.set_inheritable(handle, False)


def _watched(child: int, woken: int) -> int:
    """The exit code of the second process once it has ended, or 0 when signoff lets go."""
    poll = select.poll()
    poll.register(0, select.POLLIN)
    poll.register(woken, select.POLLIN)
    while True:
        ready = [handle for handle, _ in poll.poll()]
        if 0 in ready:
            return 0
        os.read(woken, 4_096)
        status = _reaped(child)
        if status is not None:
            return status


def _reaped(child: int) -> int | None:
    """Takes leave of whatever has ended; the exit code of the child if it was among them."""
    found = None
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return found if found is not None else 0
        if not pid:
            return found
        if pid == child:
            code = os.waitstatus_to_exitcode(status)
            found = SIGNALLED - code if code < 0 else code


def serve(reference: str, said: str, folder: str, max_bytes: int) -> NoReturn:
    """Imports the function, then answers until nobody asks any more."""
    try:
        function = function_at(Reference(name=reference, said=said, folder=Path(folder)))
    except PluginError as exc:
        _send(REFUSED, str(exc).encode())
        os._exit(0)
    _send(READY, b"")
    while True:
        _send(*_answer(function, json.loads(_request()), max_bytes))
        sys.stdout.flush()
        sys.stderr.flush()


def _answer(function: Any, request: Any, max_bytes: int) -> tuple[bytes, bytes]:
    try:
        answer = function(request)
    except (Exception, SystemExit) as exc:  # noqa: BLE001  whatever the operator's function raises is told
        traceback.print_exc()
        return FAULT, _told(exc).encode()
    try:
        reply = json.dumps(answer, allow_nan=False, separators=(",", ":")).encode()
    except (TypeError, ValueError, RecursionError) as exc:
        return NOT_JSON, _told(exc).encode()
    return (REPLY, reply) if len(reply) <= max_bytes else (TOO_LARGE, b"")


def _told(exc: BaseException) -> str:
    try:
        text = shown(str(exc))
    except Exception:  # noqa: BLE001  its author may do anything there
        text = ""
    return f"{type(exc).__name__}{f' ({text})' if text else ''}"


def _request() -> bytes:
    _, size = HEAD.unpack(_read(HEAD.size))
    return _read(size)


def _read(size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        piece = os.read(REQUESTS, size - len(data))
        if not piece:
            os._exit(0)
        data += piece
    return bytes(data)


def _send(kind: bytes, data: bytes) -> None:
    rest = memoryview(HEAD.pack(kind, len(data)) + data)
    while rest:
        rest = rest[os.write(ANSWERS, rest) :]
