"""The process that answers: made ready, told to stop, and finished in peace."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from time import monotonic
from typing import Final

from msgspec import Struct

from signoff.errors import NotInstalled
from signoff.service.access_log import AccessLog, LineWriter
from signoff.service.auth import Tokens
from signoff.service.exposition import preload
from signoff.service.head import Gate
from signoff.service.journal import Journal
from signoff.service.listening import Acceptor
from signoff.service.message import Part
from signoff.service.metrics import Board, Metrics
from signoff.service.routing import Router
from signoff.service.settings import Settings
from signoff.service.shared import Shared
from signoff.service.tracing import Tracing, is_wanted, tracing_of
from signoff.service.worker import Worker

__all__ = ["MakeParts", "Post", "need_parser", "work"]

MakeParts = Callable[[Worker], Sequence[Part]]

# How long a connection that asks nothing is kept when the server ends: a request that is
# on its way still finds somebody.
GRACE_S: Final = 1.0
SWEEPS_PER_LIMIT: Final = 8
SWEEP_S: Final = (0.02, 1.0)


class Post(Struct, frozen=True, kw_only=True):
    """
    What a process needs to answer.

    Args:
        index: Which of the workers it is.
        settings: Of the whole server.
        listener: Where clients connect; shared by all workers.
        board: The metrics of all workers.
        make_parts: What is served.
        parent: A descriptor that ends when the parent does; None where there is no parent.
    """

    index: int
    settings: Settings
    listener: socket.socket
    board: Board
    make_parts: MakeParts
    parent: int | None = None


def need_parser() -> None:
    """
    Return if there is something that reads HTTP.

    Raises:
        NotInstalled: httptools is absent.
    """
    try:
        import httptools  # noqa: F401 only whether it is there
    except ImportError as exc:
        raise NotInstalled("a server", "httptools", "service") from exc


def work(post: Post, ready: Callable[[], None]) -> None:
    """Answer until told to stop, and return when everything that was accepted is answered."""
    with asyncio.Runner(loop_factory=_new_loop) as runner:
        runner.run(_work(post, ready))


def _new_loop() -> asyncio.AbstractEventLoop:
    """The loop of uvloop, where it is installed."""
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()


async def _work(post: Post, ready: Callable[[], None]) -> None:
    loop = asyncio.get_running_loop()
    settings = post.settings
    stop = _told_to_stop(loop, post.parent)
    writer = LineWriter()
    log = AccessLog(writer, worker=post.index, insecure=settings.insecure)
    metrics = Metrics(post.board, post.index)
    threads = ThreadPoolExecutor(settings.threads, thread_name_prefix="signoff")
    worker = Worker(
        post.index, settings, loop=loop, threads=threads, metrics=metrics, access_log=log
    )
    started: list[Part] = []
    tracing: Tracing | None = None
    journal = Journal(loop, metrics, log if settings.log else None)
    try:
        parts = post.make_parts(worker)
        router = Router(
            (route for part in parts for route in part.routes), max_body=settings.max_body
        )
        tracing = _traced(router, worker)
        for part in parts:
            await part.start()
            started.append(part)
        loop.run_in_executor(threads, preload)
        shared = Shared(worker, Gate(router, Tokens(settings.tokens)), journal)
        await _answer(post, shared, stop, ready)
    finally:
        for part in reversed(started):
            with suppress(asyncio.CancelledError):
                await part.stop()
        journal.tell()
        worker.log("stopped")
        if tracing is not None:
            tracing.stop()
        threads.shutdown(wait=False, cancel_futures=True)
        writer.close()


def _traced(router: Router, worker: Worker) -> Tracing | None:
    """
    Spans for every route, where somebody wants them.

    Raises:
        NotInstalled: The settings ask for spans, and OpenTelemetry is absent.
    """
    if not (worker.settings.tracing or is_wanted()):
        return None
    try:
        tracing = tracing_of()
    except NotInstalled as exc:
        if worker.settings.tracing:
            raise
        worker.log("not_traced", "warning", why=str(exc))
        return None
    for route in router.routes():
        tracing.trace(route)
    return tracing


async def _answer(
    post: Post, shared: Shared, stop: asyncio.Event, ready: Callable[[], None]
) -> None:
    # It imports httptools, which is not everywhere.
    from signoff.service.protocol import Connection

    worker = shared.worker
    acceptor = Acceptor(
        shared.loop,
        post.listener,
        lambda: Connection(shared),
        has_more=worker.metrics.has_more,
        say=lambda event: worker.log(event, "error"),
    )
    sweeper = shared.loop.create_task(_sweep(shared))
    acceptor.start()
    worker.log("ready")
    ready()
    await stop.wait()
    worker.log("stopping", connections=len(shared.connections), in_progress=shared.crowd.running)
    worker.draining = shared.draining = True
    await acceptor.stop()
    post.listener.close()
    await _drain(shared)
    sweeper.cancel()


async def _drain(shared: Shared) -> None:
    """Have everything answered that was accepted, as far as the time goes."""
    began = monotonic()
    until = began + shared.settings.drain_s
    grace = began + min(GRACE_S, shared.settings.drain_s)
    while shared.connections or shared.tasks:
        now = monotonic()
        if now >= until:
            break
        if now >= grace:
            for connection in tuple(shared.connections):
                connection.drain()
        await asyncio.sleep(0.01)
    shared.crowd.abandon()
    for connection in tuple(shared.connections):
        connection.abort()
    for task in tuple(shared.tasks):
        task.cancel()
    if shared.tasks:
        await asyncio.wait(shared.tasks, timeout=1.0)


async def _sweep(shared: Shared) -> None:
    """Keep the time limits of all connections, each to an eighth of it."""
    settings = shared.settings
    limits = (
        settings.head_timeout_s,
        settings.body_timeout_s,
        settings.idle_timeout_s,
        settings.write_timeout_s,
    )
    every = min(max(min(limits) / SWEEPS_PER_LIMIT, SWEEP_S[0]), SWEEP_S[1])
    metrics = shared.worker.metrics
    while True:
        await asyncio.sleep(every)
        now = monotonic()
        for connection in tuple(shared.connections):
            connection.sweep(now)
        metrics.gauge("signoff_http_connections", len(shared.connections))
        metrics.gauge("signoff_http_in_progress", shared.crowd.running)
        metrics.gauge("signoff_http_waiting", shared.crowd.waiting)


def _told_to_stop(loop: asyncio.AbstractEventLoop, parent: int | None) -> asyncio.Event:
    """Set by the first signal, or by the end of the parent."""
    stop = asyncio.Event()
    if parent is None:
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, _stop_or_exit, stop, number)
        return stop
    # The parent hears the same signals and decides: one that was sent to all of us counts once.
    loop.add_signal_handler(signal.SIGTERM, stop.set)
    loop.add_signal_handler(signal.SIGINT, lambda: None)

    def orphaned() -> None:
        loop.remove_reader(parent)
        stop.set()

    loop.add_reader(parent, orphaned)
    return stop


def _stop_or_exit(stop: asyncio.Event, number: int) -> None:
    if stop.is_set():
        os._exit(128 + number)
    stop.set()
