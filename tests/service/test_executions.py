"""What is asked more than once and done once, in one process and in several."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from signoff.service.executions import Answered, Executions
from signoff.service.executions_table import ExecutionsTable, Found, State
from signoff.service.message import Problem
from tests.cli.streams import environment

KEY = ("execute", "task", "execution", "attempt")
WAIT_S = 20.0


class Clock:
    """A clock that stands still until it is told otherwise."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


class Work:
    """Counts its runs; each waits until it may end."""

    def __init__(self, *answers: bytes | Exception) -> None:
        self.runs = 0
        self.begun = asyncio.Event()
        self.may_end = asyncio.Event()
        self._answers = answers or (b"done",)

    async def __call__(self) -> bytes:
        self.runs += 1
        self.begun.set()
        await self.may_end.wait()
        answer = self._answers[min(self.runs, len(self._answers)) - 1]
        if isinstance(answer, Exception):
            raise answer
        return answer

    def free(self) -> Work:
        """Waits for nobody."""
        self.may_end.set()
        return self


def played(scene: Callable[[Executions], Awaitable[None]], folder: Path, **more: Any) -> None:
    """A scene with executions below a folder."""

    async def play() -> None:
        executions = Executions(folder, **more)
        try:
            await scene(executions)
        finally:
            await executions.close()

    asyncio.run(play())


def ask(
    executions: Executions,
    work: Callable[[], Awaitable[bytes]],
    *,
    key: tuple[str, ...] = KEY,
    digest: str = "d",
    patience_s: float = WAIT_S,
) -> Awaitable[Answered]:
    return executions.answer(key, digest, work, patience_s=patience_s)


def test_second_question_gets_the_first_answer_without_a_run(tmp_path: Path) -> None:
    async def scene(executions: Executions) -> None:
        work = Work().free()
        first, second = await ask(executions, work), await ask(executions, work)

        assert (b"done", False) == (first.body, first.again)
        assert (b"done", True) == (second.body, second.again)
        assert 1 == work.runs

    played(scene, tmp_path)


def modes(folder: Path) -> set[int]:
    return {path.stat().st_mode & 0o777 for path in folder.glob("executions*")}


def test_answers_are_nobody_elses_to_read(tmp_path: Path) -> None:
    async def scene(executions: Executions) -> None:
        await ask(executions, Work().free())

        assert {0o600} == modes(tmp_path)

    before = os.umask(0)
    try:
        played(scene, tmp_path)
    finally:
        os.umask(before)


def test_questions_at_the_same_time_share_one_run(tmp_path: Path) -> None:
    async def scene(executions: Executions) -> None:
        work = Work()
        asked = [asyncio.ensure_future(ask(executions, work)) for _ in range(5)]
        await work.begun.wait()
        work.may_end.set()

        assert [b"done"] * 5 == [one.body for one in await asyncio.gather(*asked)]
        assert 1 == work.runs

    played(scene, tmp_path)


def test_other_keys_have_other_runs(tmp_path: Path) -> None:
    """And no two keys are confused by how their parts are joined."""

    async def scene(executions: Executions) -> None:
        work = Work().free()
        for key in (("a", "bc"), ("ab", "c"), ("a", "b", "c"), ('a","b', "c")):
            await ask(executions, work, key=key)

        assert 4 == work.runs

    played(scene, tmp_path)


@pytest.mark.parametrize("is_done", [False, True])
def test_something_else_under_the_same_key_is_a_conflict(is_done: bool, tmp_path: Path) -> None:
    async def scene(executions: Executions) -> None:
        work = Work()
        running = asyncio.ensure_future(ask(executions, work))
        await work.begun.wait()
        if is_done:
            work.may_end.set()
            await running
        with pytest.raises(Problem) as refused:
            await ask(executions, work, digest="other")
        work.may_end.set()
        await running

        assert (409, "execution_conflict") == (refused.value.status, refused.value.code)
        assert 1 == work.runs

    played(scene, tmp_path)


def test_failure_is_told_to_who_waited_and_not_kept(tmp_path: Path) -> None:
    async def scene(executions: Executions) -> None:
        work = Work(Problem(502, "executor_failed", "why"), b"done")
        asked = [asyncio.ensure_future(ask(executions, work)) for _ in range(3)]
        await work.begun.wait()
        work.may_end.set()
        failures = await asyncio.gather(*asked, return_exceptions=True)

        assert ["executor_failed"] * 3 == [getattr(one, "code", "") for one in failures]
        assert 1 == work.runs
        assert b"done" == (await ask(executions, work, digest="even another")).body

    played(scene, tmp_path)


def test_exception_that_is_no_problem_is_not_kept_either(tmp_path: Path) -> None:
    async def scene(executions: Executions) -> None:
        work = Work(ValueError("odd"), b"done").free()
        with pytest.raises(ValueError, match="odd"):
            await ask(executions, work)

        assert b"done" == (await ask(executions, work)).body

    played(scene, tmp_path)


def test_run_goes_on_when_who_asked_is_gone(tmp_path: Path) -> None:
    async def scene(executions: Executions) -> None:
        work = Work()
        gone = asyncio.ensure_future(ask(executions, work))
        await work.begun.wait()
        gone.cancel()
        await asyncio.gather(gone, return_exceptions=True)
        back = asyncio.ensure_future(ask(executions, work))
        work.may_end.set()

        assert b"done" == (await back).body
        assert 1 == work.runs

    played(scene, tmp_path)


def test_answer_outlasts_the_process(tmp_path: Path) -> None:
    work = Work().free()
    answers: list[bytes] = []

    async def scene(executions: Executions) -> None:
        answers.append((await ask(executions, work)).body)

    played(scene, tmp_path)
    played(scene, tmp_path)

    assert [b"done", b"done"] == answers
    assert 1 == work.runs


def test_answer_is_kept_a_day_and_no_longer(tmp_path: Path) -> None:
    clock = Clock()

    async def scene(executions: Executions) -> None:
        work = Work().free()
        await ask(executions, work)
        clock.now += 24 * 3600 - 2
        await ask(executions, work)
        assert 1 == work.runs

        clock.now += 3
        await ask(executions, work, digest="another by now")
        assert 2 == work.runs

    played(scene, tmp_path, clock=clock)


@pytest.mark.parametrize("limits", [{"max_entries": 2}, {"max_bytes": 20}])
def test_what_is_kept_is_bounded_and_nothing_is_given_up_for_more(
    limits: dict[str, int], tmp_path: Path
) -> None:
    clock = Clock()

    async def scene(executions: Executions) -> None:
        work = Work(b"0123456789").free()
        for name in ("a", "b"):
            await ask(executions, work, key=(name,))
        with pytest.raises(Problem) as refused:
            await ask(executions, work, key=("c",))

        assert (503, "store_full") == (refused.value.status, refused.value.code)
        assert (await ask(executions, work, key=("a",))).again

        clock.now += 25 * 3600
        for name in ("c", "d"):
            await ask(executions, work, key=(name,))
        assert 4 == work.runs

    played(scene, tmp_path, clock=clock, **limits)


# -- several processes --

WORKER = """
import asyncio, sys, time
from pathlib import Path
from signoff.service.executions import Executions
from signoff.service.message import Problem

folder, runs, gate, digest = Path(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3]), sys.argv[4]

async def run():
    with runs.open("a") as file:
        file.write("run\\n")
    while not gate.exists():
        await asyncio.sleep(0.005)
    if gate.read_text() == "fail":
        raise Problem(502, "executor_failed", "why")
    return gate.read_bytes()

async def main():
    executions = Executions(folder)
    print("ready", flush=True)
    sys.stdin.readline()
    try:
        key = ("execute", "task", "execution", "attempt")
        answered = await executions.answer(key, digest, run, patience_s=20.0)
        print(answered.body.decode(), answered.again, flush=True)
    except Problem as exc:
        print(exc.status, exc.code, flush=True)
    finally:
        await executions.close()

asyncio.run(main())
"""


class Workers:
    """Processes that share a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.runs = folder / "runs"
        self.gate = folder / "gate"
        self.started: list[subprocess.Popen[str]] = []

    def start(self, digest: str = "d") -> subprocess.Popen[str]:
        """A worker that has not asked yet."""
        argv = [sys.executable, "-c", WORKER, str(self.folder / "state"), str(self.runs)]
        process = subprocess.Popen(
            [*argv, str(self.gate), digest],
            env=environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.started.append(process)
        assert process.stdout is not None
        assert "ready\n" == process.stdout.readline()
        return process

    def await_runs(self, count: int) -> None:
        until = monotonic() + WAIT_S
        while self.count() < count:
            assert monotonic() < until

    def count(self) -> int:
        return len(self.runs.read_text().splitlines()) if self.runs.exists() else 0


def has_asked(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()


def said(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


@pytest.fixture
def workers(tmp_path: Path) -> Iterator[Workers]:
    with _stopped(Workers(tmp_path)) as made:
        yield made


@contextmanager
def _stopped(workers: Workers) -> Iterator[Workers]:
    try:
        yield workers
    finally:
        for process in workers.started:
            process.kill()
            process.communicate()


def test_workers_that_are_asked_at_once_share_one_run(workers: Workers) -> None:
    """Acceptance row 20: simultaneous duplicates, one run."""
    asked = [workers.start() for _ in range(3)]
    for process in asked:
        has_asked(process)
    workers.await_runs(1)
    workers.gate.write_text("answer")

    assert ["answer False", "answer True", "answer True"] == sorted(map(said, asked))
    assert 1 == workers.count()


def test_worker_that_is_asked_something_else_refuses(workers: Workers) -> None:
    first, other = workers.start(), workers.start("other")
    has_asked(first)
    workers.await_runs(1)
    has_asked(other)

    assert "409 execution_conflict" == said(other)


def test_failure_is_told_in_other_workers_to_those_alone_who_waited(tmp_path: Path) -> None:
    one, other = (table(tmp_path, name) for name in ("one", "other"))
    assert Found(state=State.MINE, run="one") == one.claim("id", "d", "")
    assert Found(state=State.RUNNING, run="one") == other.claim("id", "d", "")
    assert not other.look("id", "one")
    one.settle("id", "one", b"why", failed=True)

    assert other.look("id", "one")
    assert Found(state=State.FAILED, run="one", answer=b"why") == other.claim("id", "d", "one")
    assert Found(state=State.MINE, run="other") == other.claim("id", "d", "")
    assert Found(state=State.RUNNING, run="other") == one.claim("id", "d", "one")
    one.close()
    other.close()


def test_late_run_does_not_overwrite_that_which_took_over(tmp_path: Path) -> None:
    one, other = (table(tmp_path, name) for name in ("one", "other"))
    one.claim("id", "d", "")
    one.close()
    assert Found(state=State.MINE, run="other") == other.claim("id", "d", "")
    other.settle("id", "one", b"late", failed=False)
    other.settle("id", "other", b"done", failed=False)

    third = table(tmp_path, "third")
    assert Found(state=State.DONE, run="other", answer=b"done") == third.claim("id", "d", "")
    third.close()
    other.close()


def table(folder: Path, run: str) -> ExecutionsTable:
    """The table as one worker sees it, whose runs all have one name."""
    return ExecutionsTable(folder, clock=Clock(), new_run=lambda: run)


def test_run_of_a_worker_that_was_killed_is_taken_over(workers: Workers) -> None:
    first, second = workers.start(), workers.start()
    has_asked(first)
    workers.await_runs(1)
    has_asked(second)
    os.kill(first.pid, signal.SIGKILL)
    first.wait()
    workers.await_runs(2)
    workers.gate.write_text("answer")

    assert "answer False" == said(second)


def test_run_of_a_dead_worker_conflicts_with_nothing(workers: Workers) -> None:
    first, other = workers.start(), workers.start("other")
    has_asked(first)
    workers.await_runs(1)
    os.kill(first.pid, signal.SIGKILL)
    first.wait()
    has_asked(other)
    workers.await_runs(2)
    workers.gate.write_text("answer")

    assert "answer False" == said(other)


def test_files_of_dead_owners_are_removed(workers: Workers) -> None:
    first = workers.start()
    os.kill(first.pid, signal.SIGKILL)
    first.wait()
    owners = workers.folder / "state" / "owners"
    before = {path.name for path in owners.iterdir()}
    workers.start()

    assert 1 == len(before)
    assert before.isdisjoint(path.name for path in owners.iterdir())


def test_worker_that_waits_too_long_says_that_it_timed_out(tmp_path: Path) -> None:
    theirs = table(tmp_path, "theirs")

    async def scene(executions: Executions) -> None:
        work = Work().free()
        with pytest.raises(Problem) as refused:
            await ask(executions, work, patience_s=0.1)

        assert (504, "executor_timeout") == (refused.value.status, refused.value.code)
        assert "timed out" in refused.value.detail
        assert 0 == work.runs

    theirs.claim(sha256(json.dumps([*KEY]).encode()).hexdigest(), "d", "")
    played(scene, tmp_path, clock=Clock())
    theirs.close()
