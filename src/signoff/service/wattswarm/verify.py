"""
``POST /verify``: a question is read, bound, judged and answered.

Most questions are answered at once.  Those that refer to evidence elsewhere, or whose
schema or size takes long, are answered by a task, which goes on when the client is
gone: a retry finds it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from functools import partial
from hashlib import sha256
from threading import Event
from typing import Final, Protocol, TypeVar

from msgspec import Struct

from signoff.contract import lock
from signoff.dialects.wattswarm.checks import registry
from signoff.dialects.wattswarm.codes import Judged, codes_of, status_of
from signoff.dialects.wattswarm.evidence import MAX_REFERENCES, Fetched, Reference, reference_of
from signoff.dialects.wattswarm.facts import Facts
from signoff.dialects.wattswarm.policies import CROSSCHECK, BindingInvalid, Form, bind
from signoff.dialects.wattswarm.reply import Identity, Replying, Wording, checks_text
from signoff.dialects.wattswarm.request import (
    ReceivedPolicy,
    VerifyRequest,
    WrongShape,
    kept_by_size,
    read_verify,
)
from signoff.dialects.wattswarm.schema import OutputSchema
from signoff.dialects.wattswarm.translation import (
    EvidenceMode,
    Scope,
    contract_of,
    is_settled,
    notes_of,
    scope_of,
    subject_of,
)
from signoff.engine import Engine, attempt
from signoff.errors import JSONError
from signoff.model import Finding, Report, Result, Subject
from signoff.plan import Plan
from signoff.registry import Check
from signoff.service.message import Problem, Request, Response
from signoff.service.wattswarm.reply_cache import Given, ReplyCache
from signoff.status import Outcome, Status

__all__ = ["Fetching", "Record", "Verifying"]

LIMIT_S: Final = 20.0
MAX_TASKS: Final = 128
MAX_QUICK_BODY: Final = 16 * 2**10
KEPT_S: Final = 600.0
KEPT_OPEN_S: Final = 60.0
OPEN: Final = Outcome.INCONCLUSIVE.value
BUSY: Final = (("Retry-After", "1"),)
NOT_FETCHED: Final = "references were not fetched, since a failure is certain"

Answer = TypeVar("Answer")
Record = Callable[[Report, VerifyRequest], None]
"""Keeps a verdict; called in a thread.  Where it raises, nothing is answered that was not kept."""


class Fetching(Protocol):
    """What fetches evidence."""

    async def fetch_all(self, references: Sequence[Reference]) -> Mapping[Reference, Fetched]:
        """What came of each reference; never raises for what is at the other end."""
        ...


class Case(Struct, kw_only=True):
    """
    Everything about a question that does not depend on its candidate.

    Args:
        form: The reading of the wire.
        plan: What to judge by.
        checks: Those of the plan.
        notes: What is odd about the parameters.
        is_fixed: All passes are worded alike, and have the same score.
        usual: How a pass is worded, with findings of one and what is told of these.
    """

    form: Form
    plan: Plan
    checks: tuple[Check, ...]
    notes: tuple[str, ...]
    is_fixed: bool
    usual: tuple[Wording, list[Finding], str] | None = None


class Verifying:
    """
    The handler.

    Args:
        identity: Who answers.
        threads: Where schemas that take long are judged, and verdicts recorded.
        fetcher: What fetches references; None where none is ever fetched.
        extra_hashes: Further hashes that the operator's network admits, by policy id.
        record: Keeps each verdict before it is answered.
        replies: Those that were given lately.
        limit_s: Seconds within which a task has to answer.
    """

    def __init__(
        self,
        identity: Identity,
        *,
        threads: Executor,
        fetcher: Fetching | None = None,
        extra_hashes: Mapping[str, frozenset[str]] | None = None,
        record: Record | None = None,
        replies: ReplyCache | None = None,
        limit_s: float = LIMIT_S,
    ) -> None:
        self._evidence = identity.evidence
        self._replying = Replying(identity)
        self._threads = threads
        self._fetcher = fetcher
        self._extra_hashes = extra_hashes or {}
        self._record = record
        self._replies = replies or ReplyCache()
        self._limit_s = limit_s
        self._engine = Engine(registry())
        self._tasks: dict[bytes, asyncio.Task[Given]] = {}
        self._kept_case = kept_by_size(self._new_case, _weight)

    def __call__(self, request: Request) -> Response | Awaitable[Response]:
        """
        The answer, at once where it is quick.

        Raises:
            Problem: The question cannot be judged.
        """
        key = sha256(request.body).digest()
        given = self._replies.get(key)
        if given is None:
            running = self._tasks.get(key)
            if running is not None:
                return _answer(running, request)
            if len(request.body) > MAX_QUICK_BODY:
                return _answer(self._start(key, request.body), request)
            question = _read(request.body)
            may_fetch = self._may_fetch(question)
            case = self._case(question, with_refs=not may_fetch)
            if may_fetch or self._waits(question, len(request.body)):
                return _answer(self._start(key, question), request)
            given = self._given(case, Facts(question))
            self._keep(key, given)
        request.notes.update(given.notes)
        return given.response

    async def close(self) -> None:
        """End the tasks for which nobody waits any more."""
        tasks = [*self._tasks.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _may_fetch(self, question: VerifyRequest) -> bool:
        """References are fetched unless a failure turns out to be certain."""
        return (
            bool(question.evidence_refs)
            and self._evidence is not EvidenceMode.OFF
            and not self._is_missing(question)
        )

    def _is_missing(self, question: VerifyRequest) -> bool:
        """There is nothing to be judged."""
        return question.output is None and self._evidence is EvidenceMode.REQUIRED

    def _waits(self, question: VerifyRequest, size: int) -> bool:
        """Somebody has to wait for the answer, who must not be the loop."""
        if self._record is not None:
            return True
        schema, output = question.schema, question.output
        if question.policy.binding.policy_id == CROSSCHECK:  # the outputs of peers are judged, too
            return not (schema.is_quick(size) or self._is_missing(question))
        return not (
            schema.is_quick(len(question.canonical))
            or self._is_missing(question)
            or schema.minimal_refusal(output) is not None  # nobody asks further
        )

    def _case(self, question: VerifyRequest, *, with_refs: bool) -> Case:
        scope = scope_of(question, with_refs=with_refs)
        try:
            return self._kept_case(question.policy, question.schema, scope)
        except BindingInvalid as exc:
            raise Problem(400, exc.code, str(exc), pointer=exc.pointer) from exc

    def _new_case(self, policy: ReceivedPolicy, schema: OutputSchema, scope: Scope) -> Case:
        form = bind(policy.binding, self._extra_hashes)
        mode = self._evidence
        contract = contract_of(policy.binding, form, schema.digest, mode, scope)
        plan = self._engine.prepare(lock(contract, self._engine.registry))
        return Case(
            form=form,
            plan=plan,
            checks=tuple(bound.check for bound in plan.bound),
            notes=notes_of(policy.binding),
            is_fixed=form is Form.KERNEL or policy.binding.policy_id != CROSSCHECK,
        )

    def _given(self, case: Case, facts: Facts, *notes: str) -> Given:
        subject = subject_of(facts)
        passes = _passes(case.checks, subject)
        if passes is None:
            results, verdict = self._engine.judge(case.plan, subject)
            findings = [one.finding for one in results]
            return self._reply(case, facts, findings, verdict.outcome, notes)
        if facts.request.evidence_refs or not case.is_fixed:
            return self._reply(case, facts, passes, Outcome.PASSED, notes)
        if case.usual is None:
            wording = self._wording(case, facts, passes, Outcome.PASSED, notes)
            case.usual = wording, passes, checks_text(case.plan.criteria, passes)
        wording, before, checks = case.usual
        if passes != before:
            checks = checks_text(case.plan.criteria, passes)
        return _filled(wording, facts, checks)

    def _reply(
        self,
        case: Case,
        facts: Facts,
        findings: Sequence[Finding],
        outcome: Outcome,
        notes: tuple[str, ...],
    ) -> Given:
        wording = self._wording(case, facts, findings, outcome, notes)
        return _filled(wording, facts, checks_text(case.plan.criteria, findings))

    def _wording(
        self,
        case: Case,
        facts: Facts,
        findings: Sequence[Finding],
        outcome: Outcome,
        notes: tuple[str, ...],
    ) -> Wording:
        judged = Judged(
            form=case.form,
            criteria=case.plan.criteria,
            findings=tuple(findings),
            outcome=outcome,
            notes=(*case.notes, *facts.schema_notes, *notes),
        )
        return self._replying.wording(facts, judged)

    def _keep(self, key: bytes, given: Given) -> None:
        self._replies.put(key, given, KEPT_OPEN_S if given.notes["outcome"] == OPEN else KEPT_S)

    def _start(self, key: bytes, question: VerifyRequest | bytes) -> asyncio.Task[Given]:
        """A task that answers, and that nobody's leaving ends."""
        if len(self._tasks) >= MAX_TASKS:
            raise Problem(503, "busy", "too many requests are being judged", headers=BUSY)
        task = asyncio.get_running_loop().create_task(self._within_limit(question))
        self._tasks[key] = task

        def end(task: asyncio.Task[Given]) -> None:
            del self._tasks[key]
            # Where everybody has left, nobody else asks for the exception.
            if not task.cancelled() and task.exception() is None:
                self._keep(key, task.result())

        task.add_done_callback(end)
        return task

    async def _within_limit(self, question: VerifyRequest | bytes) -> Given:
        stopped = Event()
        try:
            async with asyncio.timeout(self._limit_s):
                if isinstance(question, bytes):
                    question = await self._in_thread(partial(_read, question))
                return await self._judged(Facts(question, is_stopped=stopped.is_set))
        except TimeoutError:
            detail = f"the request was not judged within {self._limit_s:g} s"
            raise Problem(500, "internal", detail) from None
        finally:
            stopped.set()

    async def _judged(self, facts: Facts) -> Given:
        question = facts.request
        notes: tuple[str, ...] = ()
        if self._may_fetch(question):
            if await self._in_thread(partial(self._is_certain, facts)):
                notes = (NOT_FETCHED,)
            else:
                facts = facts.with_fetched(await self._fetch(question))
        return await self._in_thread(partial(self._last, facts, notes))

    async def _fetch(self, question: VerifyRequest) -> Mapping[Reference, Fetched]:
        if self._fetcher is None or len(question.evidence_refs) > MAX_REFERENCES:
            return {}
        return await self._fetcher.fetch_all([*map(reference_of, question.evidence_refs)])

    def _is_certain(self, facts: Facts) -> bool:
        """The verdict is a failure, whatever references hold."""
        case = self._case(facts.request, with_refs=False)
        results, _ = self._engine.judge(case.plan, subject_of(facts))
        pairs = zip(case.plan.criteria, results, strict=True)
        return any(
            criterion.required
            and is_settled(criterion.id, case.form)
            and _is_failure(criterion.id, result)
            for criterion, result in pairs
        )

    def _last(self, facts: Facts, notes: tuple[str, ...]) -> Given:
        """The verdict that is answered; it is recorded before, where that is wanted."""
        case = self._case(facts.request, with_refs=not notes)
        if self._record is None:
            return self._given(case, facts, *notes)
        report = self._engine.verify(case.plan, subject_of(facts))
        findings = [one.finding for one in report.results]
        given = self._reply(case, facts, findings, report.verdict.outcome, notes)
        self._record(report, facts.request)
        return given

    async def _in_thread(self, work: Callable[[], Answer]) -> Answer:
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)


def _weight(policy: ReceivedPolicy, schema: OutputSchema, _: Scope) -> int:
    return max(len(policy.canonical), schema.size)


def _passes(checks: Iterable[Check], subject: Subject) -> list[Finding] | None:
    """
    What the checks find, if every one of them passes without more ado.

    None where the engine has to say what the findings mean.
    """
    findings = []
    for check in checks:
        finding = attempt(check, subject)
        if type(finding) is not Finding or finding.status is not Status.PASS:
            return None
        findings.append(finding)
    return findings


def _filled(wording: Wording, facts: Facts, checks: str) -> Given:
    return Given(Response(200, wording.filled(facts, checks)), wording.told)


def _is_failure(criterion_id: str, result: Result) -> bool:
    status, codes = result.finding.status, codes_of(criterion_id, result.finding)
    return not status.holds and status_of(status.outcome, codes) is Outcome.FAILED


def _read(body: bytes) -> VerifyRequest:
    try:
        return read_verify(body)
    except JSONError as exc:
        raise Problem(400, "bad_json", str(exc)) from exc
    except WrongShape as exc:
        raise Problem(422, "wrong_shape", str(exc), pointer=exc.pointer) from exc


async def _answer(task: asyncio.Task[Given], request: Request) -> Response:
    given = await asyncio.shield(task)
    request.notes.update(given.notes)
    return given.response
