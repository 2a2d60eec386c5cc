"""What all connections of a worker share."""

from __future__ import annotations

import asyncio
import itertools
import os
import traceback
from collections.abc import Coroutine, Iterator
from pathlib import Path
from typing import Any, Final, Protocol

from signoff.interrupt import is_from_a_person
from signoff.service.crowd import Crowd
from signoff.service.head import Gate, Head
from signoff.service.journal import Journal
from signoff.service.message import Problem, Request, Response
from signoff.service.problem import internal, problem_response
from signoff.service.reply import ReplyHeads
from signoff.service.settings import Settings
from signoff.service.worker import Worker

__all__ = ["KnownHeads", "Shared", "Swept"]

MAX_HEADS: Final = 512
MAX_HEAD_BYTES: Final = 1024


class Swept(Protocol):
    """A connection, as the sweep and the end of the server see it."""

    def sweep(self, now: float) -> None:
        """Keep the time limits."""
        ...

    def drain(self) -> None:
        """Close if no request is under way."""
        ...

    def abort(self) -> None:
        """Close at once."""
        ...


class Shared:
    """
    What every connection looks at.

    Args:
        worker: The process.
        gate: Lets requests in.
        journal: Is told of every answer.
    """

    def __init__(self, worker: Worker, gate: Gate, journal: Journal) -> None:
        settings: Settings = worker.settings
        self.worker = worker
        self.settings = settings
        self.loop: asyncio.AbstractEventLoop = worker.loop
        self.gate = gate
        self.note = journal.note
        self.reply_heads = ReplyHeads()
        self.crowd = Crowd(settings.in_progress, settings.queue)
        self.heads = KnownHeads()
        self.connections: set[Swept] = set()
        self.tasks: set[asyncio.Task[None]] = set()
        self.draining = False
        # Bytes of bodies that have not come in full yet.
        self.held_bytes = 0
        self.next_id = _ids().__next__

    def opened(self, connection: Swept) -> None:
        """Know of a connection."""
        self.connections.add(connection)
        self.worker.metrics.load(len(self.connections))

    def closed(self, connection: Swept) -> None:
        """Know that a connection is no more."""
        self.connections.discard(connection)
        self.worker.metrics.load(len(self.connections))

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        """Run something beside everything else, to its end."""
        task = self.loop.create_task(work)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    def failed(self, exc: BaseException, request: Request) -> Response:
        """
        The reply to a request whose handler raised; the log says where, but nothing of what.

        What ends the task, and a person's Ctrl-C, is raised again.  All else is answered for:
        a library in another language panics past ``Exception``, no request may end the
        server, and the client waits.
        """
        if isinstance(exc, asyncio.CancelledError) or is_from_a_person(exc):
            raise exc
        if isinstance(exc, Problem):
            request.notes.setdefault("problem", exc.code)
            return problem_response(exc, request.id)
        request.notes["problem"] = "internal"
        self.worker.log(
            "failed",
            "error",
            id=request.id,
            error=type(exc).__name__,
            at=_place(exc),
            chain=[type(cause).__name__ for cause in _causes(exc)],
        )
        return problem_response(internal(), request.id)


class KnownHeads:
    """
    Heads that were read before, by their bytes.

    A client that keeps its connection sends the same head again and again, and the
    same bytes mean the same: what the parser and the gate made of them is kept.
    Only whole heads of plain requests are, never one that was refused.
    """

    def __init__(self) -> None:
        self._kept: dict[bytes, Head] = {}
        self.get = self._kept.get

    def keep(self, raw: bytes, head: Head) -> None:
        """Remember what ``raw`` means, if that is the same for every request."""
        plain = (
            head.refusal is None
            and head.route is not None
            and head.route.stream is None
            and head.keep_alive
            and head.modern
            and not head.expects
            and head.length >= 0
            and not head.own_id
            and b"traceparent" not in head.headers
        )
        if plain and len(raw) <= MAX_HEAD_BYTES:
            if len(self._kept) >= MAX_HEADS:
                self._kept.clear()
            self._kept[raw] = head


def _ids() -> Iterator[str]:
    """Names of requests: no two of one server are the same, nor those of two starts."""
    start = os.urandom(6).hex()
    return (f"{start}-{number:x}" for number in itertools.count(1))


def _place(exc: BaseException) -> str:
    frames = traceback.extract_tb(exc.__traceback__)
    return f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""


def _causes(exc: BaseException) -> Iterator[BaseException]:
    cause = exc.__cause__ or exc.__context__
    for _ in range(8):
        if cause is None:
            return
        yield cause
        cause = cause.__cause__ or cause.__context__
