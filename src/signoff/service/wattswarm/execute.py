"""
``POST /execute``: an executor works on a task, and what it gives is checked before it is proposed.

The same call gets the same answer, at whatever worker it arrives and whether or
not its first connection still stands.  Every reference in an answer can be fetched
from this server before the answer is sent.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from typing import Final, Protocol

from msgspec import Struct, field

from signoff.dialects.wattswarm.execution import (
    Proposal,
    ProposalRefused,
    execute_reply,
    execution_record,
    messages_of,
    proposal_of,
    request_digest,
)
from signoff.dialects.wattswarm.jsonform import canonical, loads
from signoff.dialects.wattswarm.request import (
    ArtifactRef,
    ExecuteRequest,
    Inline,
    WrongShape,
    read_execute,
)
from signoff.errors import JSONError, StoreFull
from signoff.executors import (
    Executed,
    Executor,
    ExecutorFault,
    ExecutorOutputInvalid,
    ExecutorTimedOut,
    Form,
)
from signoff.executors.choosing import ExecutorSettings
from signoff.model import Evidence
from signoff.service.executions import Executions
from signoff.service.message import Problem, Request, Response, Route
from signoff.service.wattswarm.capabilities import Capabilities
from signoff.service.wattswarm.places import Places

__all__ = ["EXECUTOR_SETTINGS", "Proposer", "execute_routes"]

JSON_MIME: Final = "application/json"
TIMEOUT_S: Final = 25.0
GRACE_S: Final = 2.0
RECORD_BYTES: Final = 4_096
"""Room that there must be for a record before anything is begun."""

EXECUTOR_SETTINGS: Final = ExecutorSettings(
    form=Form(dumps=canonical, loads=loads), messages=messages_of
)
"""How an executor is asked about a task of a kernel."""

_TIMED_OUT: Final = re.compile("timed out", re.IGNORECASE)

Log = Callable[..., None]


class Keeping(Protocol):
    """Where evidence is kept."""

    def put(self, data: bytes, *, media_type: str) -> Evidence:
        """Keep bytes; ``StoreFull`` when there is no room."""
        ...

    def require_room(self, size: int) -> None:
        """Nothing, if so much could be kept; else ``StoreFull``."""
        ...


class Proposer(Struct, frozen=True, kw_only=True):
    """
    Whoever proposes, and with what.

    Args:
        capabilities: What was promised.
        executor: Does the work; None where there is none.
        executions: Where answers are kept for those who ask again.
        evidence: Where evidence is kept.
        threads: Where executors are waited for.
        public_url: How peers reach this server, without a slash at the end.
        timeout_s: What an executor may take at most.
        log: Writes a line that is about no request: event, level, facts.
        clock: Seconds since 1970.
        places: Where executors work.
    """

    capabilities: Capabilities
    executor: Executor | None
    executions: Executions
    evidence: Keeping
    threads: ThreadPoolExecutor
    public_url: str
    timeout_s: float = TIMEOUT_S
    log: Log = lambda *_, **__: None
    clock: Callable[[], float] = time.time
    places: Places = field(default_factory=Places)

    async def answer(self, request: Request) -> Response:
        """
        The proposal for a call.

        Raises:
            Problem: There is none; only where time ran out it says that it timed out.
        """
        try:
            return await self._answered(request)
        except Problem as exc:
            if exc.status == 504:
                raise
            raise _without_the_words(exc) from exc

    async def _answered(self, request: Request) -> Response:
        call = _read(request.body)
        executor = self._require_able(call)
        until = time.monotonic() + self._seconds(call)
        key = (call.task_id, call.execution_id, call.attempt_id)

        async def run() -> bytes:
            await self.places.take(until)
            try:
                loop = asyncio.get_running_loop()
                run = _Run(self, executor, call, until, request.id)
                return await loop.run_in_executor(self.threads, run.reply)
            finally:
                self.places.give_back()

        answered = await self.executions.answer(
            ("execute", *key), request_digest(call), run, patience_s=self.timeout_s + GRACE_S
        )
        request.notes["outcome"] = "repeated" if answered.again else "proposed"
        return Response(200, answered.body)

    def _require_able(self, call: ExecuteRequest) -> Executor:
        if call.profile not in self.capabilities.profiles:
            raise Problem(400, "unsupported_profile", "profile is not one that was announced")
        if call.task_type not in self.capabilities.task_types:
            raise Problem(400, "unsupported_task_type", "task_type is not one that was announced")
        if self.executor is None:
            raise Problem(501, "no_executor", "this runtime has no executor, it only verifies")
        return self.executor

    def _seconds(self, call: ExecuteRequest) -> float:
        allowed_s = call.time_ms / 1_000
        return min(self.timeout_s, allowed_s) if allowed_s > 0 else self.timeout_s


def execute_routes(proposer: Proposer) -> tuple[Route, ...]:
    """What answers calls to propose."""
    return (Route(method="POST", path="/execute", handler=proposer.answer),)


class _Run:
    """One run of an executor, from its beginning to the answer; in a thread of its own."""

    def __init__(
        self,
        proposer: Proposer,
        executor: Executor,
        call: ExecuteRequest,
        until: float,
        request_id: str,
    ) -> None:
        self._proposer = proposer
        self._executor = executor
        self._call = call
        self._until = until
        self._request_id = request_id

    def reply(self) -> bytes:
        """
        The body of the answer; all that it refers to is kept by then.

        Raises:
            Problem: There is none.
        """
        try:
            self._proposer.evidence.require_room(RECORD_BYTES)
            started_at = self._now()
            executed = self._executed()
            proposal = self._proposal(executed)
            record = execution_record(
                self._call,
                proposal,
                executor=self._executor.name,
                started_at=started_at,
                finished_at=self._now(),
            )
            pieces = [(record, JSON_MIME), *((one.data, one.mime) for one in executed.evidence)]
            body = execute_reply(proposal, self._references(pieces))
            for data, mime in reversed(pieces):  # the record last: what it speaks of is there
                self._proposer.evidence.put(data, media_type=mime)
            return body
        except StoreFull as exc:
            raise Problem(503, "store_full", str(exc)) from exc
        except ProposalRefused as exc:
            raise self._failed(502, "executor_output_invalid", str(exc)) from exc

    def _executed(self) -> Executed:
        left = self._until - time.monotonic()
        try:
            if left <= 0:
                raise ExecutorTimedOut(self._executor.name, self._proposer.timeout_s)
            executed = self._executor.run(self._call.value, left)
        except ExecutorFault as exc:
            self._tell(exc.log)
            raise self._problem(exc) from exc
        self._tell(executed.log)
        return executed

    def _problem(self, exc: ExecutorFault) -> Problem:
        if isinstance(exc, ExecutorTimedOut):
            return self._failed(504, "executor_timeout", str(exc))
        invalid = isinstance(exc, ExecutorOutputInvalid)
        code = "executor_output_invalid" if invalid else "executor_failed"
        return self._failed(502, code, str(exc))

    def _proposal(self, executed: Executed) -> Proposal:
        inline = (Inline(mime=one.mime, content=one.content) for one in executed.inline)
        proposal = proposal_of(self._call, executed.output, inline)
        if proposal.has_unsafe:
            told = "the output holds a number that a kernel may read otherwise"
            self._proposer.log("unsafe_number", "warning", request=self._request_id, detail=told)
        return proposal

    def _references(self, pieces: list[tuple[bytes, str]]) -> Iterator[ArtifactRef]:
        created_at = self._now()
        for data, mime in pieces:
            digest = sha256(data).hexdigest()
            yield ArtifactRef(
                uri=f"{self._proposer.public_url.rstrip('/')}/evidence/{digest}",
                digest=f"sha256:{digest}",
                size_bytes=len(data),
                mime=mime,
                created_at=created_at,
                producer=self._proposer.capabilities.producer,
            )

    def _failed(self, status: int, code: str, detail: str) -> Problem:
        self._proposer.log("executor", "error", request=self._request_id, code=code, detail=detail)
        return Problem(status, code, detail)

    def _tell(self, log: bytes) -> None:
        """What the executor printed, for the operator alone."""
        text = log.decode("utf-8", "replace").strip()
        if text:
            self._proposer.log("executor_said", "info", request=self._request_id, text=text)

    def _now(self) -> int:
        return int(self._proposer.clock() * 1_000)


def _read(body: bytes) -> ExecuteRequest:
    try:
        return read_execute(body)
    except JSONError as exc:
        raise Problem(400, "bad_json", str(exc)) from exc
    except WrongShape as exc:
        raise Problem(422, "wrong_shape", str(exc), pointer=exc.pointer) from exc


def _without_the_words(exc: Problem) -> Problem:
    """The same, without words by which a kernel would take it for a matter of time."""
    return Problem(
        exc.status,
        exc.code,
        _TIMED_OUT.sub("exceeded its time", exc.detail),
        pointer=exc.pointer,
        headers=exc.headers,
    )
