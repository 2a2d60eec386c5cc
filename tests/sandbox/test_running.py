"""What signoff makes of a guardian that does not do as it should."""

from __future__ import annotations

import fcntl
import os
import resource
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from socket import MSG_PEEK, socket
from threading import Event, Thread
from typing import Any, cast

import pytest

from signoff.sandbox.command import Command, Ended, Limits
from signoff.sandbox.keeper import Keeper
from signoff.sandbox.running import PIPE_BYTES, Running, _input, _widen, signal_name
from signoff.sandbox.supervisor.wire import send_handles
from tests.sandbox.attacks import Marked

ENDED = b'{"ended":"exited","exit_code":7}\n'
Guardian = Callable[[socket], None]


class Scripted:
    """
    Stands where a keeper does, with a guardian that does as a test says.

    Args:
        folder: For what is temporary.
        guardian: Gets its end of the channel.
        at_once: It is done before signoff says its first word.
    """

    def __init__(self, folder: Path, guardian: Guardian, *, at_once: bool) -> None:
        self.folder = str(folder)
        self._guardian = guardian
        self._at_once = at_once
        self._thread: Thread | None = None

    def hand(self, handles: list[int]) -> None:
        channel = socket(fileno=os.dup(handles[0]))
        self._thread = Thread(target=self._guard, args=[channel])
        self._thread.start()
        if self._at_once:
            self._thread.join()

    def _guard(self, channel: socket) -> None:
        with channel:
            self._guardian(channel)

    def has_ended(self) -> bool:
        return True

    def join(self) -> None:
        if self._thread is not None:
            self._thread.join()


@contextmanager
def running(
    folder: Path, guardian: Guardian, *, at_once: bool = False, **request: Any
) -> Iterator[Running]:
    keeper = Scripted(folder, guardian, at_once=at_once)
    asked = {"folder": str(folder), **request}
    yield Running(cast("Keeper", keeper), asked, b"", Limits(timeout_s=60))
    keeper.join()


def read_all(channel: socket) -> None:
    while channel.recv(2**16):
        pass


@pytest.mark.parametrize(
    "said", [b"{\n", b"\xff\n", b'{"ended":"flew"}\n', b"[]\n", b'{"exit_code":0}\n']
)
def test_nonsense_is_no_end(tmp_path: Path, said: bytes) -> None:
    with running(tmp_path, lambda channel: channel.sendall(said)) as one:
        answer, _, _ = one.run()

    assert (Ended.BROKEN, "its guardian answered nonsense") == (answer.ended, answer.reason)
    assert answer.passing


def test_an_answer_may_come_in_pieces_and_one_handle_is_kept(tmp_path: Path) -> None:
    """Nothing that came with it is left open."""
    kept, other = os.pipe(), os.pipe()

    def guardian(channel: socket) -> None:
        send_handles(channel, ENDED[:10], [kept[1], other[1]])
        channel.sendall(ENDED[10:])

    with running(tmp_path, guardian, at_once=True) as one:
        answer, _, _ = one.run()
    os.close(kept[1])
    os.close(other[1])
    os.set_blocking(kept[0], False)

    assert (Ended.EXITED, 7) == (answer.ended, answer.exit_code)
    assert b"" == os.read(other[0], 1)
    with pytest.raises(BlockingIOError):
        os.read(kept[0], 1)
    assert one.handed_back is not None
    os.close(one.handed_back)
    assert b"" == os.read(kept[0], 1)
    os.close(kept[0])
    os.close(other[0])


def test_an_answer_is_heard_though_the_request_was_not(tmp_path: Path) -> None:
    """It is too large to be sent at once, and nobody reads it."""
    null = os.open(os.devnull, os.O_RDONLY)
    done = Event()

    def guardian(channel: socket) -> None:
        send_handles(channel, ENDED[:10], [null])
        channel.sendall(ENDED[10:])
        done.wait()

    with running(tmp_path, guardian, argv=[bytes(20_000_000)]) as one:
        answer, _, _ = one.run()
        done.set()
    os.close(null)
    assert one.handed_back is not None
    os.close(one.handed_back)

    assert (Ended.EXITED, 7) == (answer.ended, answer.exit_code)


def test_an_answer_is_heard_of_a_guardian_that_has_gone(tmp_path: Path) -> None:
    with running(tmp_path, lambda channel: channel.sendall(ENDED), at_once=True) as one:
        answer, _, _ = one.run()

    assert (Ended.EXITED, 7) == (answer.ended, answer.exit_code)


def test_a_guardian_that_goes_with_the_request_unread_has_said_nothing(tmp_path: Path) -> None:
    def guardian(channel: socket) -> None:
        channel.recv(1, MSG_PEEK)

    with running(tmp_path, guardian) as one:
        answer, _, _ = one.run()

    assert (Ended.BROKEN, True) == (answer.ended, answer.passing)
    assert "its guardian ended without a word" == answer.reason


def test_an_endless_answer_is_nonsense(tmp_path: Path) -> None:
    """A guardian is of signoff, yet what it answers is bounded."""

    def guardian(channel: socket) -> None:
        try:
            while True:
                channel.send(bytes(2**16))
        except OSError:
            return

    with running(tmp_path, guardian) as one:
        answer, _, _ = one.run()

    assert Ended.BROKEN is answer.ended


def test_what_was_cancelled_before_it_began_is_cancelled(tmp_path: Path) -> None:
    with running(tmp_path, read_all) as one:
        one.cancel()
        answer, out, err = one.run()

    assert Ended.CANCELLED is answer.ended
    assert (0, 0) == (out.size, err.size)


def test_the_standard_input_is_a_file_without_a_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the system has none in memory."""
    monkeypatch.delattr(os, "memfd_create", raising=False)
    handle = _input(b"text", str(tmp_path))

    assert [] == [*tmp_path.iterdir()]
    assert b"text" == os.read(handle, 10)
    assert not os.get_inheritable(handle)
    os.close(handle)


def test_a_standard_input_that_cannot_be_written_leaves_nothing_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(os, "memfd_create", raising=False)
    before = sum(1 for _ in Path("/dev/fd").iterdir())
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, hard))
    try:
        with pytest.raises(OSError, match="too large"):
            _input(bytes(100), str(tmp_path))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    assert before == sum(1 for _ in Path("/dev/fd").iterdir())
    assert [] == [*tmp_path.iterdir()]


def test_more_room_is_a_wish() -> None:
    reader, writer = os.pipe()
    _widen(writer)
    if hasattr(fcntl, "F_GETPIPE_SZ"):
        assert PIPE_BYTES >= fcntl.fcntl(writer, fcntl.F_GETPIPE_SZ) >= 2**16
    os.close(reader)
    os.close(writer)
    null = os.open(os.devnull, os.O_RDONLY)
    _widen(null)
    os.close(null)


def test_a_signal_without_a_name_has_its_number() -> None:
    assert ("SIGSEGV", "SIG50") == (signal_name(11), signal_name(50))


def test_a_command_is_not_run_without_handles(plain: Marked) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, hard))
    try:
        done = plain.sandbox.run(Command(argv=("true",)))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))

    assert (Ended.BROKEN, True) == (done.ended, done.passing)
    assert "cannot run a command: Too many open files" == done.reason
    assert 0 == plain.sandbox.run(Command(argv=("true",))).exit_code
