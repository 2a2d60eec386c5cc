"""Calls to propose that have to wait for their turn."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import pytest

from signoff.executors import Executed
from signoff.jsonvalue import JSON
from signoff.service.evidence_store import OwnEvidence
from signoff.service.executions import Executions
from signoff.service.message import Problem, Request, Response
from signoff.service.wattswarm.capabilities import Capabilities
from signoff.service.wattswarm.execute import Proposer
from signoff.service.wattswarm.places import Places
from tests.service.calls import call


class Held:
    """An executor that answers when the test lets it."""

    name = "held"

    def __init__(self) -> None:
        self.runs = 0
        self.deadlines: list[float] = []
        self.begun = Event()
        self.may_end = Event()

    def prepare(self) -> None:
        """Nothing is needed."""

    def run(self, request: JSON, deadline_s: float) -> Executed:
        self.runs += 1
        self.deadlines.append(deadline_s)
        self.begun.set()
        assert self.may_end.wait(20)
        return Executed(output="done")

    def close(self) -> None:
        self.may_end.set()


Scene = Callable[[Proposer, Held], Awaitable[None]]


def played(
    scene: Scene, folder: Path, *, at_work: int = 1, waiting: int = 8, timeout_s: float = 20.0
) -> None:
    async def play() -> None:
        held, executions = Held(), Executions(folder)
        with ThreadPoolExecutor(4) as threads:
            proposer = Proposer(
                capabilities=Capabilities(),
                executor=held,
                executions=executions,
                evidence=OwnEvidence(folder),
                threads=threads,
                public_url="http://h/",
                timeout_s=timeout_s,
                places=Places(at_work, waiting),
            )
            try:
                await scene(proposer, held)
            finally:
                held.close()
                await executions.close()

    asyncio.run(play())


def asked(proposer: Proposer, *, time_ms: int = 0) -> asyncio.Future[Response]:
    body = json.dumps(call({}, time_ms=time_ms)).encode()
    return asyncio.ensure_future(proposer.answer(Request(method="POST", body=body)))


async def begun(held: Held) -> None:
    await asyncio.to_thread(held.begun.wait, 20)


def test_call_that_waits_for_its_turn_is_answered_in_time_all_the_same(tmp_path: Path) -> None:
    async def scene(proposer: Proposer, held: Held) -> None:
        first = asked(proposer)
        await begun(held)
        with pytest.raises(Problem) as refused:
            await asked(proposer, time_ms=100)
        held.may_end.set()

        assert (504, "executor_timeout") == (refused.value.status, refused.value.code)
        assert "timed out" in refused.value.detail
        assert 200 == (await first).status
        assert 1 == held.runs

    played(scene, tmp_path)


def test_turn_comes_when_another_has_ended(tmp_path: Path) -> None:
    async def scene(proposer: Proposer, held: Held) -> None:
        calls = [asked(proposer) for _ in range(4)]
        await begun(held)
        held.may_end.set()

        assert [200] * 4 == [reply.status for reply in await asyncio.gather(*calls)]

    played(scene, tmp_path)


def test_call_beyond_those_that_may_wait_is_refused_at_once_and_others_come_later(
    tmp_path: Path,
) -> None:
    async def scene(proposer: Proposer, held: Held) -> None:
        calls = [asked(proposer) for _ in range(3)]
        await begun(held)
        with pytest.raises(Problem) as refused:
            await asked(proposer)
        held.may_end.set()

        assert (503, "busy") == (refused.value.status, refused.value.code)
        assert (("Retry-After", "1"),) == refused.value.headers
        assert [200] * 3 == [reply.status for reply in await asyncio.gather(*calls)]
        assert 200 == (await asked(proposer)).status

    played(scene, tmp_path, waiting=2)


@pytest.mark.parametrize(
    ("time_ms", "timeout_s", "expected"), [(0, 7.0, 7.0), (3_000, 7.0, 3.0), (9_000, 7.0, 7.0)]
)
def test_deadline_is_the_lesser_of_the_two_and_no_budget_is_none(
    time_ms: int, timeout_s: float, expected: float, tmp_path: Path
) -> None:
    async def scene(proposer: Proposer, held: Held) -> None:
        held.may_end.set()
        await asked(proposer, time_ms=time_ms)

        assert expected - 2 < held.deadlines[0] <= expected

    played(scene, tmp_path, timeout_s=timeout_s)


def test_slash_at_the_end_of_the_public_url_is_not_doubled(tmp_path: Path) -> None:
    async def scene(proposer: Proposer, held: Held) -> None:
        held.may_end.set()
        reply = json.loads((await asked(proposer)).body)

        assert reply["evidence_refs"][0]["uri"].startswith("http://h/evidence/")

    played(scene, tmp_path)
