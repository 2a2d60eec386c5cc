"""
``POST /v1/verify/batch``: many outputs under one contract, a line each, in their order.

What has arrived is judged slice by slice, and between two slices the loop turns to
other connections.  The next piece is read only when the answers to the last one were
taken, so neither side can make the other hold more than a few pieces.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from time import perf_counter
from typing import Final
from urllib.parse import parse_qsl

from signoff.jsonlines import proven_lines
from signoff.jsonvalue import JSON, shown
from signoff.model import Subject
from signoff.service.message import BodyReader, Problem, ReplyWriter, Request
from signoff.service.native.judging import Judge, Judging
from signoff.service.native.keeper import Keeper
from signoff.service.native.lines import (
    Answer,
    Line,
    LineFault,
    LineSource,
    Summary,
    encode_answers,
    settled,
)
from signoff.service.native.plans import Plans
from signoff.service.native.question import (
    MAX_ID,
    question_of,
    read_body,
    read_object,
    subject_of,
)
from signoff.service.worker import Worker
from signoff.status import Outcome

__all__ = ["NDJSON", "Batch"]

NDJSON: Final = "application/x-ndjson"
SLICE_LINES: Final = 256
SLICE_BYTES: Final = 64 * 2**10
SLICE_WORK: Final = 400_000
"""Bytes times evaluations for each; as ``judging`` has it for one request."""
TOLD_BYTES: Final = 64 * 2**10
TURN_S: Final = 0.005
AT_A_TIME: Final = 16
"""Lines of one batch whose checks wait for something at the same time."""
_DETAILS: Final = frozenset({"outcome", "report"})


class Batch:
    """
    Answers batches.

    Args:
        worker: What it runs in.
        plans: Gives the judge of a contract.
        judging: Gives verdicts.
        keeper: Keeps them.
    """

    def __init__(self, worker: Worker, plans: Plans, judging: Judging, keeper: Keeper) -> None:
        self._worker = worker
        self._plans = plans
        self._judging = judging
        self._keeper = keeper

    async def answer(self, request: Request, body: BodyReader, reply: ReplyWriter) -> None:
        """Judge every line that comes."""
        asked = _asked(request.query)
        judge = await self._judge(asked["contract"])
        max_line = min(self._worker.settings.max_body, self._judging.limits.max_bytes)
        job = _Job(
            judging=self._judging,
            judge=judge,
            keeper=self._keeper,
            whole=asked.get("detail") == "report",
            max_line=max_line,
        )
        source = LineSource(body, max_line=max_line)
        summary = Summary(contract=judge.plan.locked.digest)
        reply.start(200, NDJSON)
        try:
            while lines := await source.next():
                await self._answer(job, lines, summary, reply)
            await reply.write(summary.encoded())
        finally:
            self._note(request, summary)

    def _note(self, request: Request, summary: Summary) -> None:
        """What was judged, also where the client went before its end."""
        request.notes |= {"contract": summary.contract, "lines": summary.lines}
        for outcome in ("passed", "inconclusive", "failed"):
            count = getattr(summary, outcome)
            self._worker.metrics.count("signoff_verdicts", count, outcome=outcome)

    async def _judge(self, digest: str) -> Judge:
        known = self._plans.known(digest)
        if known is not None:
            return known
        loop = self._worker.loop
        return await loop.run_in_executor(self._worker.threads, self._plans.of_digest, digest)

    async def _answer(
        self, job: _Job, lines: list[Line], summary: Summary, reply: ReplyWriter
    ) -> None:
        turn = perf_counter()
        told = bytearray()
        longest = max(len(line) for line in lines if line is not None) if any(lines) else 0
        quick = job.is_quick(longest)
        for some in _slices(lines, job.at_a_time(longest, quick=quick)):
            if quick:
                answers = job.answers(some, summary.lines)
            else:
                answers = await self._elsewhere(job, some, summary.lines)
            summary.count(answers)
            told += encode_answers(answers)
            late = perf_counter() - turn > TURN_S
            if late or len(told) > TOLD_BYTES:
                await reply.write(bytes(told))
                told.clear()
            if late:
                await asyncio.sleep(0)
                turn = perf_counter()
        if told:
            await reply.write(bytes(told))

    async def _elsewhere(self, job: _Job, lines: list[Line], before: int) -> list[Answer]:
        """The answers, from threads: from one, or from several among whom lines are dealt out."""
        loop, threads = self._worker.loop, self._worker.threads
        if not job.waits:
            return await loop.run_in_executor(threads, job.answers, lines, before)
        count = min(AT_A_TIME, len(lines))
        shares = await asyncio.gather(
            *(
                loop.run_in_executor(threads, job.share, lines, before, first, count)
                for first in range(count)
            )
        )
        return [shares[at % count][at // count] for at in range(len(lines))]


class _Job:
    """What all lines of one batch have in common."""

    def __init__(
        self, *, judging: Judging, judge: Judge, keeper: Keeper, whole: bool, max_line: int
    ) -> None:
        self._judging = judging
        self._judge = judge
        self._keeper = keeper
        self._whole = whole
        self._limits = read_object(judging.limits)
        self._max_line = max_line
        self._depth = judging.limits.max_depth
        self._reports = whole or keeper.keeps
        self.waits = judge.weight is None or keeper.keeps

    def is_quick(self, longest: int) -> bool:
        """Lines of so many bytes at the most are answered without keeping anybody waiting."""
        return not self.waits and self._judge.is_quick(longest)

    def at_a_time(self, longest: int, *, quick: bool) -> int:
        """How many lines of so many bytes at the most are judged in one turn, or by one thread."""
        size = longest + 1
        count = max(1, min(SLICE_LINES, SLICE_BYTES // size))
        if not quick:
            return count
        return max(1, min(count, SLICE_WORK // ((self._judge.weight or 1) * size)))

    def answers(self, lines: list[Line], before: int) -> list[Answer]:
        """The answer to each line, of which so many came before."""
        texts = [line for line in lines if line is not None]
        values = proven_lines(texts, limits=self._limits) if len(texts) == len(lines) else None
        if values is None:
            return [self._alone(line, number) for number, line in enumerate(lines, before + 1)]
        if self._reports:
            return [self._answer(one, number) for number, (one,) in enumerate(values, before + 1)]
        holds, depth = self._judge.holds, self._depth
        answers = []
        for number, (value,) in enumerate(values, before + 1):
            # What most lines are: an output with an id or without, and nothing else.
            if type(value) is dict and "output" in value and len(value) == 1 + ("id" in value):
                id_ = value.get("id")
                if (id_ is None or (type(id_) is str and 0 < len(id_) <= MAX_ID)) and holds(
                    Subject(output=value["output"], output_depth=depth)
                ):
                    answers.append(Answer(line=number, id=id_, outcome=Outcome.PASSED))
                    continue
            answers.append(self._answer(value, number))
        return answers

    def share(self, lines: list[Line], before: int, first: int, step: int) -> list[Answer]:
        """The answers to every so many of the lines, from the first of them on."""
        return [self._alone(lines[at], before + at + 1) for at in range(first, len(lines), step)]

    def _alone(self, line: Line, number: int) -> Answer:
        """The answer to a line that is read by itself."""
        if line is None:
            detail = f"the line is longer than {self._max_line} bytes"
            return Answer(line=number, error=LineFault(code="too_large", detail=detail))
        try:
            value = read_body(line, self._limits, what="the line")
        except Problem as problem:
            return Answer(line=number, error=LineFault.of(problem))
        return self._answer(value, number)

    def _answer(self, value: JSON, number: int) -> Answer:
        try:
            question = question_of(value, contract=False)
        except Problem as problem:
            return Answer(line=number, id=_id(value), error=LineFault.of(problem))
        id_ = question.id
        subject = subject_of(question, depth=self._depth, digested=self._reports)
        if self._reports:
            return self._reported(number, id_, subject)
        _, verdict = self._judging.verdict(self._judge, subject)
        return Answer(
            line=number,
            id=id_,
            outcome=verdict.outcome,
            cause=verdict.cause,
            blockers=verdict.blockers,
        )

    def _reported(self, number: int, id_: str | int | None, subject: Subject) -> Answer:
        report = self._judging.report(self._judge, subject)
        try:
            self._keeper.keep(report, name=id_)
        except Problem as problem:
            return Answer(line=number, id=id_, error=LineFault.of(problem))
        verdict = report.verdict
        if not self._whole:
            return Answer(
                line=number,
                id=id_,
                outcome=verdict.outcome,
                cause=verdict.cause,
                blockers=verdict.blockers,
            )
        return Answer(line=number, id=id_, outcome=verdict.outcome, report=settled(report))


def _asked(query: str) -> Mapping[str, str]:
    """
    What the query says.

    Raises:
        Problem: It is not what it may be.
    """
    try:
        pairs = parse_qsl(query, keep_blank_values=True, strict_parsing=bool(query))
    except ValueError as exc:
        raise _wrong("the query is not made of names and values") from exc
    asked = dict(pairs)
    if len(asked) < len(pairs):
        raise _wrong("a name stands in the query more than once")
    for name in asked:
        if name not in {"contract", "detail"}:
            raise _wrong(f"{shown(name)} is not a parameter of a batch")
    if "contract" not in asked:
        raise _wrong("contract is required: the digest of a contract that is kept")
    if asked.get("detail", "outcome") not in _DETAILS:
        raise _wrong("detail must be outcome or report")
    return asked


def _wrong(detail: str) -> Problem:
    return Problem(422, "wrong_shape", detail)


def _id(value: JSON) -> str | int | None:
    """What the client calls a line, where that can be sent back."""
    id_ = value.get("id") if type(value) is dict else None
    return id_ if type(id_) is int or (type(id_) is str and 0 < len(id_) <= MAX_ID) else None


def _slices(lines: list[Line], count: int) -> Iterator[list[Line]]:
    """The lines in their order, so many at a time."""
    for start in range(0, len(lines), count):
        yield lines[start : start + count]
