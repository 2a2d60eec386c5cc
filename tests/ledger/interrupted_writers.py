"""
Writers that are ended in the middle: a program of its own, because it forks and kills.

    interrupted_writers.py kill PLACE N     N kills of a writer with threads, at random moments
    interrupted_writers.py many PLACE       64 writers in 8 processes, half of them killed
    interrupted_writers.py full PLACE       PLACE is on a small disk: write until nothing goes
    interrupted_writers.py size PLACE       no file may grow beyond each of some sizes
    interrupted_writers.py frozen PLACE     PLACE is on a disk that can be made read-only

It prints one JSON line: what was acknowledged, what was refused, and what the ledger is then.
"""

from __future__ import annotations

import json
import os
import random
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from signoff.errors import DatabaseUnusable
from signoff.ledger import Head, open_ledger
from tests.ledger.sample_ledger import BAD, BAD_BYTES, GOOD, GOOD_BYTES, note


def tell(place: str, heads: list[Head], refused: list[str]) -> None:
    with open_ledger(place) as ledger:
        found = ledger.verify(*heads)
    facts = {
        "acknowledged": len(heads),
        "numbers": len({head.seq for head in heads}),
        "events": found.events,
        "verdicts": found.verdicts,
        "faults": [str(fault) for fault in found.faults],
        "refused": refused,
    }
    sys.stdout.write(json.dumps(facts) + "\n")


def child(work: Callable[[int], None]) -> tuple[int, int]:
    """A process that does some work, and the pipe on which it says what was acknowledged."""
    reader, writer = os.pipe()
    process = os.fork()
    if process:
        os.close(writer)
        return process, reader
    try:
        os.close(reader)
        work(writer)
    finally:
        os._exit(0)


def acknowledged(pipe: int) -> list[Head]:
    """Whole lines only: what was half said was not acknowledged."""
    with os.fdopen(pipe) as lines:
        return [Head.parse(line[:-1]) for line in lines if line.endswith("\n")]


def endless(place: str, pipe: int, threads: int) -> None:
    """Verdict after verdict; each is told when it lasts."""
    with open_ledger(place) as ledger:

        def write(number: int) -> None:
            while True:
                number += 1
                report, written = (GOOD, GOOD_BYTES) if number % 3 else (BAD, BAD_BYTES)
                head = ledger.record(report, written, also=[note(n=number)] * (number % 2))
                os.write(pipe, f"{head}\n".encode())

        for number in range(threads):
            threading.Thread(target=write, args=(number,), daemon=True).start()
        signal.pause()


def kill(place: str, kills: int) -> None:
    chance = random.Random(20260504)
    heads: list[Head] = []
    for number in range(kills):
        process, pipe = child(lambda out, n=number: endless(place, out, 1 + n % 8))  # type: ignore[misc]  # n is bound
        first = os.read(pipe, 67).decode()
        while not first.endswith("\n"):
            first += os.read(pipe, 1).decode()
        heads.append(Head.parse(first[:-1]))
        time.sleep(chance.uniform(0, 0.03))
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
        heads += acknowledged(pipe)
    tell(place, heads, [])


def many(place: str) -> None:
    def some(pipe: int) -> None:
        with open_ledger(place) as ledger:

            def write() -> None:
                for _ in range(6):
                    head = ledger.record(GOOD, GOOD_BYTES)
                    os.write(pipe, f"{head}\n".encode())

            threads = [threading.Thread(target=write) for _ in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()

    steady = [child(some) for _ in range(4)]
    doomed = [child(lambda out: endless(place, out, 8)) for _ in range(4)]
    heads = [head for _, pipe in steady for head in acknowledged(pipe)]
    for process, _ in doomed:
        os.kill(process, signal.SIGKILL)
    heads += [head for _, pipe in doomed for head in acknowledged(pipe)]
    for process, _ in steady + doomed:
        os.waitpid(process, 0)
    tell(place, heads, [])


def until_refused(place: str, heads: list[Head], refused: list[str], limit: int = 5000) -> None:
    try:
        with open_ledger(place) as ledger:
            for _ in range(limit):
                heads.append(ledger.record(GOOD, GOOD_BYTES))  # noqa: PERF401  kept when it is refused
    except DatabaseUnusable as exc:
        refused.append(str(exc))


def full(place: str) -> None:
    heads: list[Head] = []
    refused: list[str] = []
    ballast = Path(place).with_name("ballast")
    for _ in range(3):
        with suppress(OSError):
            ballast.write_bytes(b"x" * 40_000)
        until_refused(place, heads, refused)
        with suppress(FileNotFoundError):
            ballast.unlink()
        until_refused(place, heads, refused, limit=2)
    tell(place, heads, refused)


def size(place: str) -> None:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    heads: list[Head] = []
    refused: list[str] = []
    hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    for limit in (0, 1, 4096, 10_000, 65_536, 100_000, 300_000):
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
        until_refused(place, heads, refused)
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
        until_refused(place, heads, refused, limit=2)
    tell(place, heads, refused)


def frozen(place: str) -> None:
    def remount(how: str) -> None:
        folder = str(Path(place).parent)
        subprocess.run(["mount", "-o", f"remount,{how}", folder], check=True)

    heads: list[Head] = []
    refused: list[str] = []
    until_refused(place, heads, refused, limit=3)
    remount("ro")
    until_refused(place, heads, refused)
    with open_ledger(place, may_write=False) as ledger:
        if ledger.verify(*heads).intact:
            refused.append("and is read")
    remount("rw")
    tell(place, heads, refused)


if __name__ == "__main__":
    where = sys.argv[2]
    match sys.argv[1]:
        case "kill":
            kill(where, int(sys.argv[3]))
        case "many":
            many(where)
        case "full":
            full(where)
        case "size":
            size(where)
        case "frozen":
            frozen(where)
