"""Who descends from a process is found out, and ended, whatever programs call themselves."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from signoff.sandbox.supervisor import kinship
from signoff.sandbox.supervisor.kinship import (
    Process,
    can_go_on,
    can_see,
    descendants,
    end_all,
    is_alive,
    reap,
    threads_of_user,
)
from tests.sandbox.attacks import eventually

pytestmark = pytest.mark.skipif(not can_see(), reason="the system lists no processes")
FAMILY = "sleep 60 & echo $!; wait"


@contextmanager
def family() -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """A shell in a session of its own, and the number of the child that it has."""
    with subprocess.Popen(
        ["sh", "-c", FAMILY], stdout=subprocess.PIPE, start_new_session=True
    ) as shell:
        assert shell.stdout is not None
        child = int(shell.stdout.readline())
        try:
            yield shell, child
        finally:
            for pid in (child, shell.pid):
                if is_alive(pid):
                    os.kill(pid, signal.SIGKILL)


def test_children_of_children_descend_and_the_process_itself_does_not() -> None:
    with family() as (shell, child):
        found = {process.pid: process.parent for process in descendants(os.getpid())}

        assert (os.getpid(), shell.pid) == (found[shell.pid], found[child])
        assert os.getpid() not in found
        assert [child] == [process.pid for process in descendants(shell.pid)]


def test_what_descends_from_the_spared_is_spared() -> None:
    with family() as (shell, child):
        found = {p.pid for p in descendants(os.getpid(), lambda pid: pid == shell.pid)}

        assert not found & {shell.pid, child}


def test_a_program_cannot_pass_for_another_by_its_name(tmp_path: Path) -> None:
    """The system puts the name of a program before what it says of it."""
    program = tmp_path / "x) Z 1 1 (y"
    program.write_text("#!/bin/sh\nread line\n")
    program.chmod(0o755)
    with subprocess.Popen([program], stdin=subprocess.PIPE) as started:
        listed = Path(f"/proc/{started.pid}/stat")

        assert eventually(lambda: b"x) Z 1 1 (y" in listed.read_bytes())
        (found,) = [one for one in descendants(os.getpid()) if one.pid == started.pid]

        assert (os.getpid(), os.getpgrp(), True) == (found.parent, found.group, found.runs)
        assert is_alive(started.pid)


def test_what_is_stopped_lives_and_cannot_go_on_and_what_has_ended_does_neither() -> None:
    with subprocess.Popen(["sleep", "60"]) as one:
        assert (True, True) == (is_alive(one.pid), can_go_on(one.pid))

        one.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, one.pid, os.WSTOPPED | os.WNOWAIT)
        stopped = (is_alive(one.pid), can_go_on(one.pid))
        one.kill()
        os.waitid(os.P_PID, one.pid, os.WEXITED | os.WNOWAIT)

        assert (True, False) == stopped
        assert (False, False) == (is_alive(one.pid), can_go_on(one.pid))
    assert (False, False) == (is_alive(one.pid), can_go_on(one.pid))


def test_all_that_descends_is_ended_and_noted() -> None:
    noted = dict[int, int]()
    with family() as (shell, child):
        ended = end_all(
            noted.__setitem__, time.monotonic() + 30, spared=lambda pid: pid != shell.pid
        )

        assert ended
        assert signal.SIGKILL == os.WTERMSIG(noted[shell.pid])
        assert eventually(lambda: not is_alive(child))


def test_the_spared_live() -> None:
    with family() as (shell, child):
        ended = end_all(lambda *_: None, time.monotonic() + 30, spared=lambda _: True)

        assert (True, True, True) == (ended, is_alive(shell.pid), is_alive(child))


def test_ending_is_given_up_in_time_with_a_blow_struck_each_time() -> None:
    struck = list[int]()
    with family() as (shell, child):
        ended = end_all(
            lambda *_: None, 0, strike=lambda: struck.append(1), spared=lambda p: p != shell.pid
        )

        assert (False, [1]) == (ended, struck)
        assert -signal.SIGKILL == shell.wait()
        assert eventually(lambda: not is_alive(child))


def test_children_that_have_ended_are_taken_leave_of() -> None:
    noted = dict[int, int]()
    with subprocess.Popen(["sh", "-c", "exit 3"]) as one:
        os.waitid(os.P_PID, one.pid, os.WEXITED | os.WNOWAIT)
        reap(noted.__setitem__)

        assert 3 == os.waitstatus_to_exitcode(noted[one.pid])


def test_nobody_is_left_where_there_are_no_children(monkeypatch: pytest.MonkeyPatch) -> None:
    def childless(*_: int) -> tuple[int, int]:
        raise ChildProcessError

    monkeypatch.setattr(os, "waitpid", childless)

    assert not reap(lambda *_: None)
    assert end_all(lambda *_: None, 0)


def test_nothing_is_known_where_processes_are_not_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    """To end all is then claimed by nobody."""

    def refused(path: str) -> list[str]:
        raise PermissionError(path)

    monkeypatch.setattr(os, "listdir", refused)
    monkeypatch.setattr(os.path, "exists", lambda _: False)
    monkeypatch.setattr(os, "waitpid", lambda *_: (0, 0))

    assert [] == descendants(os.getpid())
    assert not end_all(lambda *_: None, time.monotonic() + 30)
    assert 0 == threads_of_user()


def test_threads_of_all_processes_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that has just ended has none."""
    own = Process(os.getpid(), os.getppid(), os.getpgrp(), b"R")
    monkeypatch.setattr(kinship, "_processes", lambda: iter([own, own._replace(pid=2**22 + 1)]))
    go = threading.Event()
    before = threads_of_user()
    threads = [threading.Thread(target=go.wait) for _ in range(5)]
    for thread in threads:
        thread.start()
    during = threads_of_user()
    go.set()
    for thread in threads:
        thread.join()

    assert 5 == during - before


def test_threads_of_others_are_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    own = Process(os.getpid(), os.getppid(), os.getpgrp(), b"R")
    monkeypatch.setattr(kinship, "_processes", lambda: iter([own]))
    monkeypatch.setattr(os, "geteuid", lambda: 2**31)

    assert 0 == threads_of_user()


def test_a_process_that_ends_while_it_is_looked_at_is_not_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def gone(*_: int) -> bytes:
        raise ProcessLookupError

    monkeypatch.setattr(os, "read", gone)

    assert not is_alive(os.getpid())
