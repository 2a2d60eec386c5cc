"""Verdicts that last, each acknowledged: ours against inserts written by hand."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from queue import Empty, SimpleQueue
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any, Final

from benchmarks.row import Pair, Row, Unavailable
from benchmarks.samples import FIVE, contract, output
from benchmarks.timing import Timed, calling
from signoff import STDLIB, Engine, Subject, lock
from signoff.canonical import digest_bytes
from signoff.ledger import Ledger, open_ledger
from signoff.record import encode_report
from tests.ledger import postgres_server

__all__ = ["ROWS"]

WRITERS: Final = 64
# Of each writer in one call: once, where all begin together and wait for the last of them;
# and several times, so that most of them come back while others are written.
STEADY: Final = 4
BATCH: Final = 512
SETTINGS: Final = ("PRAGMA journal_mode = WAL", "PRAGMA synchronous = FULL")
# The tables of the ledger, and a line of the length of its lines: the same bytes to be kept.
EVENT: Final = "INSERT INTO ledger_events VALUES (?, ?, ?, ?, ?, ?)"
VERDICT: Final = f"INSERT INTO ledger_verdicts VALUES ({', '.join('?' * 13)})"
LINE: Final = b"x" * 480


class Sample:
    """A report of five criteria, and what a row by hand holds of it."""

    def __init__(self) -> None:
        self.report = Engine(STDLIB).verify(lock(contract(*FIVE), STDLIB), Subject(output=output()))
        self.written = encode_report(self.report)
        facts = self.report
        when = datetime.now(UTC).isoformat()
        self.event = (when, "signoff.verify", facts.contract_id, facts.contract_digest, LINE)
        self.verdict = (
            *(facts.contract_id, facts.contract_digest, facts.output_digest, "passed", None, "[]"),
            *(None, None, "task", "", digest_bytes(self.written), self.written),
        )

    def record(self, ledger: Ledger) -> None:
        ledger.record(self.report, self.written, subject="task")


class ByHand:
    """Rows inserted into SQLite as directly as Python can, one transaction for those at hand."""

    def __init__(self, path: Path, sample: Sample) -> None:
        open_ledger(path).close()
        self._file = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        for setting in SETTINGS:
            self._file.execute(setting)
        self._sample = sample
        self.seq = 0
        self.close = self._file.close

    def write(self, count: int = 1) -> None:
        seqs = range(self.seq + 1, self.seq + count + 1)
        self._file.execute("BEGIN IMMEDIATE")
        self._file.executemany(EVENT, [(seq, *self._sample.event) for seq in seqs])
        self._file.executemany(VERDICT, [(seq, *self._sample.verdict) for seq in seqs])
        self._file.execute("COMMIT")
        self.seq += count

    def count(self) -> int:
        ((found,),) = self._file.execute("SELECT COUNT(*) FROM ledger_verdicts").fetchall()
        return int(found)


class Queue:
    """One thread writes what others have put into a queue, and tells each when it lasts."""

    def __init__(self, write: Callable[[int], None]) -> None:
        self._write = write
        self._asked: SimpleQueue[Any] = SimpleQueue()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def submit(self) -> None:
        done = threading.Lock()
        done.acquire()
        self._asked.put(done)
        done.acquire()

    def close(self) -> None:
        self._asked.put(None)
        self._thread.join()

    def _serve(self) -> None:
        while (first := self._asked.get()) is not None:
            batch = [first]
            try:
                while len(batch) < BATCH:
                    batch.append(self._asked.get_nowait())
            except Empty:
                pass
            self._write(len(batch))
            for done in batch:
                done.release()


class Server:
    """A PostgreSQL server with the tables of a ledger, and single inserts into them."""

    def __init__(self, sample: Sample) -> None:
        why = postgres_server.missing()
        if why:
            raise Unavailable(why)
        import psycopg  # the extra "postgres"

        self._server = postgres_server.Server()
        self.ledger_dsn, self.peer_dsn = self._server.fresh(), self._server.fresh()
        open_ledger(self.peer_dsn).close()
        self._open: Callable[[], Any] = lambda: psycopg.connect(self.peer_dsn, autocommit=True)
        self._sample, self._lock, self._seq = sample, threading.Lock(), 0
        self._connections = threading.local()
        self.all: list[Any] = []

    def write(self) -> None:
        """One transaction for each verdict, on a connection for each thread."""
        connection = getattr(self._connections, "one", None)
        if connection is None:
            connection = self._connections.one = self._open()
            self.all.append(connection)
        with self._lock:
            self._seq += 1
            seq = self._seq
        with connection.transaction():
            connection.execute(EVENT.replace("?", "%s"), (seq, *self._sample.event))
            connection.execute(VERDICT.replace("?", "%s"), (seq, *self._sample.verdict))

    def count(self) -> int:
        with self._open() as connection:
            ((found,),) = connection.execute("SELECT COUNT(*) FROM ledger_verdicts").fetchall()
        return int(found)

    def close(self) -> None:
        for connection in self.all:
            connection.close()
        self._server.close()


class Crowd:
    """So many threads that each do the same so many times; they stay between the rounds."""

    def __init__(self, work: Callable[[], object], times: int) -> None:
        self._work, self._times, self._loops, self._ends = work, times, 0, False
        self._barrier = threading.Barrier(WRITERS + 1)
        for _ in range(WRITERS):
            threading.Thread(target=self._serve, daemon=True).start()

    def __call__(self, loops: int) -> float:
        self._loops = loops
        begin = perf_counter()
        self._barrier.wait()
        self._barrier.wait()
        return perf_counter() - begin

    def close(self) -> None:
        self._ends = True
        self._barrier.wait()

    def _serve(self) -> None:
        while True:
            self._barrier.wait()
            if self._ends:
                return
            for _ in range(self._loops * self._times):
                self._work()
            self._barrier.wait()


def _pair(*, writers: int, times: int, ours: str, peer: str) -> Pair:
    stack = ExitStack()
    folder = Path(stack.enter_context(TemporaryDirectory(prefix="signoff-bench-")))
    sample = Sample()
    server = None
    if "postgres" in {ours, peer}:
        server = Server(sample)
        stack.callback(server.close)
    place = server.ledger_dsn if server and ours == "postgres" else folder / "ledger.sqlite"
    ledger = stack.enter_context(open_ledger(place))
    theirs: Callable[[], object]
    if server and peer == "postgres":
        theirs, count = server.write, server.count
    else:
        by_hand = ByHand(folder / "peer.sqlite", sample)
        stack.callback(by_hand.close)
        theirs, count = by_hand.write, by_hand.count
        if writers > 1:
            queue = Queue(by_hand.write)
            stack.callback(queue.close)
            theirs = queue.submit
    timed = [
        _timed(work, writers, times, stack) for work in (lambda: sample.record(ledger), theirs)
    ]

    def answers() -> tuple[int, int]:
        before = ledger.verify().verdicts, count()
        for one in timed:
            one(2)
        return ledger.verify().verdicts - before[0], count() - before[1]

    return Pair(ours=timed[0], peer=timed[1], answers=answers, close=stack.close)


def _timed(work: Callable[[], object], writers: int, times: int, stack: ExitStack) -> Timed:
    if writers == 1:
        return calling(work, clock=perf_counter)
    crowd = Crowd(work, times)
    stack.callback(crowd.close)
    return crowd


def _row(
    name: str, ours: str, peer: str, *, writers: int, times: int = 1, aim: float | None = None
) -> Row:
    kinds = {"sqlite": "SQLite", "postgres": "PostgreSQL"}
    many = f"{writers} writers" if writers > 1 else "one writer"
    how = "grouped by hand" if writers > 1 and peer == "sqlite" else "single transactions"
    return Row(
        name=name,
        ours=f"ledger in {kinds[ours]}, {many}",
        peer=f"rows inserted into {kinds[peer]}, {how}",
        prepare=lambda: _pair(writers=writers, times=times, ours=ours, peer=peer),
        aim=aim,
        note=f"{writers * times} durable verdicts a call",
    )


ROWS: Final = (
    _row("ledger-one", "sqlite", "sqlite", writers=1, aim=1.43),
    _row("ledger-64", "sqlite", "sqlite", writers=WRITERS, aim=1.43),
    _row("ledger-64-steady", "sqlite", "sqlite", writers=WRITERS, times=STEADY, aim=1.43),
    _row("ledger-one-inserts", "sqlite", "postgres", writers=1),
    _row("ledger-64-inserts", "sqlite", "postgres", writers=WRITERS),
    _row("ledger-postgres-one", "postgres", "postgres", writers=1),
    _row("ledger-postgres-64", "postgres", "postgres", writers=WRITERS),
)
