"""``POST /v1/verify``: one output, one report, and status 200 for every verdict."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Final

from signoff.canonical import is_digest
from signoff.jsonvalue import JSON, json_type
from signoff.model import Report
from signoff.service.message import Problem, Request, Response
from signoff.service.native.judging import Judge, Judging
from signoff.service.native.keeper import Keeper
from signoff.service.native.plans import Plans, key_of
from signoff.service.native.question import (
    Question,
    question_of,
    read_body,
    read_object,
    subject_of,
)
from signoff.service.worker import Worker

__all__ = ["Verdicts"]

SMALL: Final = 16 * 2**10
"""Bytes of a request whose contract is looked up at once, though it was sent along."""
READ_AT_ONCE: Final = 64 * 2**10
"""Bytes of a request that is read at once: to say what is wrong with a large one takes seconds."""


class Verdicts:
    """
    Answers questions one by one.

    Args:
        worker: What it runs in.
        plans: Gives the judge of a contract.
        judging: Gives reports.
        keeper: Keeps them.
    """

    def __init__(self, worker: Worker, plans: Plans, judging: Judging, keeper: Keeper) -> None:
        self._worker = worker
        self._plans = plans
        self._judging = judging
        self._keeper = keeper
        self._limits = read_object(judging.limits)

    def post(self, request: Request) -> Response | Awaitable[Response]:
        """Judge what the body holds; at once where that is quick."""
        if len(request.body) > READ_AT_ONCE:
            return self._read_later(request)
        question = self._question(request.body)
        contract = question.contract
        named = _is_named(contract)
        judge = None
        if named or len(request.body) <= SMALL:
            judge = self._plans.known(contract if named else key_of(contract))
        if judge is None or self._keeper.keeps or not judge.is_quick(len(request.body)):
            return self._later(request, question, judge)
        report, body = self._judged(judge, question)
        return self._told(request, report, body)

    def _question(self, body: bytes) -> Question:
        return question_of(read_body(body, self._limits), contract=True)

    async def _later(self, request: Request, question: Question, judge: Judge | None) -> Response:
        loop, threads = self._worker.loop, self._worker.threads
        report, body = await loop.run_in_executor(threads, self._found, question, judge)
        return self._told(request, report, body)

    async def _read_later(self, request: Request) -> Response:
        loop, threads = self._worker.loop, self._worker.threads
        question = await loop.run_in_executor(threads, self._question, request.body)
        return await self._later(request, question, None)

    def _found(self, question: Question, judge: Judge | None) -> tuple[Report, bytes]:
        if judge is None:
            contract = question.contract
            named = _is_named(contract)
            judge = self._plans.of_digest(contract) if named else self._plans.of_document(contract)
        return self._judged(judge, question)

    def _judged(self, judge: Judge, question: Question) -> tuple[Report, bytes]:
        depth = self._judging.limits.max_depth
        report = self._judging.report(judge, subject_of(question, depth=depth, digested=True))
        return report, self._keeper.keep(report, name=question.id)

    def _told(self, request: Request, report: Report, body: bytes) -> Response:
        outcome = report.verdict.outcome.value
        request.notes |= {"contract": report.contract_digest, "outcome": outcome}
        self._worker.metrics.count("signoff_verdicts", outcome=outcome)
        return Response(200, body)


def _is_named(contract: JSON) -> bool:
    """
    The contract is named by its digest; otherwise it is a document.

    Raises:
        Problem: It is neither.
    """
    if is_digest(contract):
        return True
    if type(contract) is dict:
        return False
    got = "another string" if type(contract) is str else json_type(contract)
    detail = f"contract must be sha256: and 64 hexadecimal digits, or a document, got {got}"
    raise Problem(422, "wrong_shape", detail, pointer="/contract")
