"""Batches: verdicts a second of one worker, against parsing each line and doing nothing else."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter, process_time
from typing import Any, Final

import msgspec

from benchmarks.row import Row, Unavailable
from benchmarks.service.load import Load, LoadPair
from benchmarks.service.questions import first
from benchmarks.service.servers import Server, cores_for, free_port, on_cores, our_argv

__all__ = ["ROWS"]

LINES: Final = 10_000
NDJSON: Final = "application/x-ndjson"


def _pair() -> LoadPair:
    try:
        import orjson
    except ImportError as exc:
        raise Unavailable("orjson is not installed") from exc
    cores, others = cores_for(1)
    port = free_port()
    server = Server(our_argv(port, 1), port, cores)
    good, bad = _lines()
    batch = Batch(server, others)
    body = b"".join([good] * LINES)
    parsed: Callable[[bytes], Any] = orjson.loads
    return LoadPair(
        ours=lambda seconds: batch.run(body, seconds),
        peer=lambda seconds: _parsing(parsed, body, cores, seconds),
        answers=lambda: (
            batch.outcomes(good + bad + good),
            [*map(_by_hand, map(parsed, (good, bad, good)))],
        ),
        note=f"batches of {LINES:,} lines of {len(good)} bytes; the aim is 100,000 verdicts/s",
        unit="lines",
        close=server.close,
    )


class Batch:
    """Batches under the schema of the first worked request, which is locked as a contract."""

    def __init__(self, server: Server, cores: set[int]) -> None:
        self._server = server
        self._cores = cores
        schema = msgspec.json.decode(first()[0])["output_schema"]
        criterion = {"id": "schema", "verifier": "json_schema", "params": {"schema": schema}}
        contract = msgspec.json.encode({"id": "answers", "criteria": [criterion]})
        status, reply = server.ask("/v1/contracts", contract)
        if status not in {200, 201}:
            raise Unavailable(f"the contract was answered with {status}")
        self._target = f"/v1/verify/batch?contract={msgspec.json.decode(reply)['digest']}"

    def run(self, body: bytes, seconds: float) -> Load:
        """As many batches as fit, one after the other."""
        lines = body.count(b"\n")
        asked = passed = 0
        before, begin = self._server.cpu_s(), perf_counter()
        with on_cores(self._cores):
            while not asked or perf_counter() - begin < seconds:
                status, reply = self._server.ask(self._target, body, NDJSON)
                told = msgspec.json.decode(reply.splitlines()[-1]) if status == 200 else {}
                passed += told.get("passed", 0)
                asked += lines
        return Load(
            requests=passed,
            errors=asked - passed,
            seconds=perf_counter() - begin,
            cpu_s=self._server.cpu_s() - before,
        )

    def outcomes(self, body: bytes) -> list[bool]:
        """Whether each line passed."""
        _, reply = self._server.ask(self._target, body, NDJSON)
        *answers, _ = map(msgspec.json.decode, reply.splitlines())
        return [answer["outcome"] == "passed" for answer in answers]


def _lines() -> tuple[bytes, bytes]:
    """A line that passes, and one that does not."""
    output = msgspec.json.decode(first()[0])["candidate"]["output"]
    outputs = output, {**output, "confidence": "high"}
    good, bad = (msgspec.json.encode({"output": each}) + b"\n" for each in outputs)
    return good, bad


def _by_hand(line: Any) -> bool:
    output = line["output"]
    return isinstance(output["answer"], str) and isinstance(output["confidence"], float)


def _parsing(parsed: Callable[[bytes], Any], body: bytes, cores: set[int], seconds: float) -> Load:
    """The peer: in this process, on the core of the server."""
    lines, done = body.splitlines(), 0
    with on_cores(cores):
        before, begin = process_time(), perf_counter()
        while not done or perf_counter() - begin < seconds:
            for line in lines:
                parsed(line)
            done += len(lines)
        return Load(
            requests=done,
            errors=0,
            seconds=perf_counter() - begin,
            cpu_s=process_time() - before,
        )


ROWS: Final = (
    Row(
        name="service-batch",
        ours="POST /v1/verify/batch, one json_schema, one core",
        peer="orjson.loads of each line, no server",
        prepare=_pair,
    ),
)
