"""
What is asked more than once and done once, by whichever worker is asked first.

Those who ask the same while it is done wait for the one answer, in this process or
in another; so does whoever lost the connection and asks again.  A failure is told
to those who waited and then forgotten, and what a dead worker was at is begun anew.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import time
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import msgspec

from signoff.errors import StoreFull
from signoff.service.executions_table import ExecutionsTable, Found, State
from signoff.service.message import Problem

__all__ = ["Answered", "Executions"]

FIRST_WAIT_S: Final = 0.02
LONGEST_WAIT_S: Final = 0.25
STOPPING_S: Final = 5.0

Run = Callable[[], Awaitable[bytes]]


class Answered(msgspec.Struct, frozen=True, kw_only=True):
    """
    An answer.

    Args:
        body: What was answered.
        again: It had been asked before.
    """

    body: bytes
    again: bool


class Executions:
    """
    What is to be done once, for one worker; used on its event loop.

    Args:
        state_dir: Folder that all workers share.
        clock: Seconds since 1970.
        limits: ``kept_s``, ``max_bytes`` and ``max_entries`` of the table.

    Raises:
        DatabaseUnusable: The table cannot be opened.
        OSError: The folder cannot be used.
    """

    def __init__(
        self, state_dir: Path, *, clock: Callable[[], float] = time.time, **limits: Any
    ) -> None:
        self._table = ExecutionsTable(
            state_dir, clock=clock, new_run=lambda: secrets.token_hex(16), **limits
        )
        # The database lets one thread in at a time anyway.
        self._thread = ThreadPoolExecutor(1, "signoff-executions")
        self._running = dict[str, tuple[str, asyncio.Task[Answered]]]()

    async def answer(
        self, key: Sequence[str], digest: str, run: Run, *, patience_s: float
    ) -> Answered:
        """
        The one answer to what is asked under a key.

        The run goes on when whoever asked is gone.

        Args:
            key: Names it.
            digest: Of everything that is asked.
            run: Does it; a ``Problem`` that it raises is told to all who wait.
            patience_s: How long to wait for another worker.

        Raises:
            Problem: It failed; or 409, something else is asked under this key; or 503,
                there is no room; or 504, another worker has been at it for too long.
            DatabaseUnusable: What is shared cannot be read or written.
        """
        id_ = sha256(json.dumps([*key]).encode()).hexdigest()
        running = self._running.get(id_)
        if running is not None:
            if running[0] != digest:
                raise _conflict()
            answered = await asyncio.shield(running[1])
            return Answered(body=answered.body, again=True)
        task = asyncio.ensure_future(self._settled(id_, digest, run, patience_s))
        self._running[id_] = (digest, task)
        task.add_done_callback(lambda done: self._forget(id_, done))
        return await asyncio.shield(task)

    async def close(self) -> None:
        """Wait a moment for what is being done, which somebody else should have ended."""
        tasks = [task for _, task in self._running.values()]
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=STOPPING_S)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)
        self._thread.shutdown(wait=True)
        self._table.close()

    def _forget(self, id_: str, done: asyncio.Task[Answered]) -> None:
        self._running.pop(id_, None)
        if not done.cancelled():
            done.exception()  # whoever asked may be gone, and then nobody looks at it

    async def _settled(self, id_: str, digest: str, run: Run, patience_s: float) -> Answered:
        until = time.monotonic() + patience_s
        waited_for = ""
        while True:
            found = await self._claimed(id_, digest, waited_for)
            if found.state is State.MINE:
                return Answered(body=await self._done(id_, found.run, run), again=False)
            if found.state is State.DONE:
                return Answered(body=found.answer, again=True)
            if found.state is State.CONFLICT:
                raise _conflict()
            if found.state is State.FAILED:
                raise _problem(found.answer)
            waited_for = found.run
            await self._waited(id_, waited_for, until)

    async def _claimed(self, id_: str, digest: str, waited_for: str) -> Found:
        try:
            found: Found = await self._apart(self._table.claim, id_, digest, waited_for)
            return found
        except StoreFull as exc:
            raise Problem(503, "store_full", str(exc)) from exc

    async def _done(self, id_: str, run_id: str, run: Run) -> bytes:
        answer, failed = _failure(500, "internal", "the run ended without an answer"), True
        try:
            answer, failed = await run(), False
        except Problem as exc:
            answer = _failure(exc.status, exc.code, exc.detail)
            raise
        finally:
            await self._apart(self._settle, id_, run_id, answer, failed)
        return answer

    def _settle(self, id_: str, run_id: str, answer: bytes, failed: bool) -> None:  # noqa: FBT001  called by position, by a thread
        self._table.settle(id_, run_id, answer, failed=failed)

    async def _waited(self, id_: str, run_id: str, until: float) -> None:
        """Returns when it is worth another look."""
        wait_s = FIRST_WAIT_S
        while not await self._apart(self._table.look, id_, run_id):
            if time.monotonic() > until:
                raise Problem(
                    504, "executor_timeout", "waiting for another run of this request timed out"
                )
            await asyncio.sleep(wait_s)
            wait_s = min(wait_s * 1.5, LONGEST_WAIT_S)

    async def _apart(self, call: Callable[..., Any], *args: object) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._thread, call, *args)


def _conflict() -> Problem:
    told = "something else was asked before under the same ids"
    return Problem(409, "execution_conflict", told)


def _failure(status: int, code: str, detail: str) -> bytes:
    return json.dumps([status, code, detail]).encode()


def _problem(answer: bytes) -> Problem:
    status, code, detail = json.loads(answer)
    return Problem(status, code, detail)
