"""
The lines of a batch: cut out of a body that arrives in pieces, and answered one by one.

A line that cannot be used is an answer like any other, and the next one is read.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec
from msgspec import UNSET, Struct, UnsetType

from signoff.model import Report
from signoff.service.message import BodyReader, Problem
from signoff.status import Cause, Outcome

__all__ = [
    "Answer",
    "Line",
    "LineFault",
    "LineSource",
    "Summary",
    "encode_answers",
    "settled",
]

_encode: Final = msgspec.json.Encoder()


class LineFault(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """
    Why a line has no verdict.

    Args:
        code: A word that programs compare.
        detail: What is wrong, expected and got.
        pointer: Where in the line's value; None where it has none.
    """

    code: str
    detail: str
    pointer: str | None = None

    @classmethod
    def of(cls, problem: Problem) -> LineFault:
        """The fault of one line, where a whole request would be refused."""
        return cls(code=problem.code, detail=problem.detail, pointer=problem.pointer)


class Answer(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """
    What a line comes to: an outcome, or a fault.

    Args:
        line: Its number, from 1.
        id: What the client calls it.
        outcome: Passed, inconclusive or failed.
        cause: Cause of the first of the worst blockers.
        blockers: Ids of the required criteria that do not hold.
        report: The whole report, where it was asked for.
        error: Why there is no verdict.
    """

    line: int
    id: str | int | None = None
    outcome: Outcome | UnsetType = UNSET
    cause: Cause | None = None
    blockers: tuple[str, ...] = ()
    report: Report | UnsetType = UNSET
    error: LineFault | UnsetType = UNSET


class Summary(Struct, kw_only=True):
    """
    The last line: a stream that does not end with it was cut.

    Args:
        contract: Digest of the contract.
        lines: How many there were.
        passed: How many of them came to that.
        inconclusive: Likewise.
        failed: Likewise.
        errors: How many have no verdict.
    """

    contract: str
    lines: int = 0
    passed: int = 0
    inconclusive: int = 0
    failed: int = 0
    errors: int = 0

    def count(self, answers: list[Answer]) -> None:
        """Add the answers to the next lines."""
        passed = failed = inconclusive = 0
        for answer in answers:
            outcome = answer.outcome
            if outcome is Outcome.PASSED:
                passed += 1
            elif outcome is Outcome.FAILED:
                failed += 1
            elif outcome is Outcome.INCONCLUSIVE:
                inconclusive += 1
        self.lines += len(answers)
        self.passed += passed
        self.failed += failed
        self.inconclusive += inconclusive
        self.errors += len(answers) - passed - failed - inconclusive

    def encoded(self) -> bytes:
        """The line itself."""
        return _encode.encode(self) + b"\n"


def encode_answers(answers: list[Answer]) -> bytes:
    """The lines of some answers."""
    data: bytes = _encode.encode_lines(answers)
    return data


Line = bytes | None
"""A line; None stands for one that is longer than lines may be, whose bytes are gone."""


class LineSource:
    """
    The lines of a body, as many at a time as have arrived.

    Args:
        body: Gives the body by pieces.
        max_line: Bytes that a line may have, without its end.
    """

    def __init__(self, body: BodyReader, *, max_line: int) -> None:
        self._body = body
        self._max_line = max_line
        self._rest = bytearray()
        self._skipping = False

    async def next(self) -> list[Line]:
        """
        The next lines; ``[]`` when there are no more.

        Raises:
            Problem: As the body.
            ConnectionError: Likewise.
        """
        while True:
            piece = await self._body.read()
            if not piece:
                return self._last()
            lines = self._add(piece)
            if lines:
                return lines

    def _add(self, piece: bytes) -> list[Line]:
        end = piece.rfind(b"\n")
        if end < 0:
            self._hold(piece)
            return []
        first, *others = piece[:end].split(b"\n")
        lines = [self._ended(first), *others]
        if len(piece) > self._max_line:
            lines = [*map(self._checked, lines)]
        self._hold(piece[end + 1 :])
        return lines

    def _ended(self, piece: bytes) -> Line:
        """The line that this is the end of."""
        skipping, self._skipping = self._skipping, False
        self._rest += piece
        line = bytes(self._rest)
        self._rest.clear()
        return None if skipping else self._checked(line)

    def _checked(self, line: Line) -> Line:
        return line if line is None or len(line) <= self._max_line else None

    def _hold(self, piece: bytes) -> None:
        if not self._skipping:
            self._rest += piece
            self._skipping = len(self._rest) > self._max_line
        if self._skipping:
            self._rest.clear()

    def _last(self) -> list[Line]:
        if not (self._rest or self._skipping):
            return []
        return [self._ended(b"")]


def settled(report: Any) -> Any:
    """The report as it will be read: its numbers as its types have them."""
    return msgspec.json.decode(msgspec.json.encode(report), type=type(report))
