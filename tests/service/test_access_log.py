"""Log lines: what stands in them, and that they hold nobody up."""

from __future__ import annotations

import os
import re
import threading
import time
from typing import Any

import msgspec
import pytest

from signoff.service import access_log
from signoff.service.access_log import AccessLog, LineWriter
from tests.service.running import WAIT_S, Running
from tests.service.wire import JSON_HEADER, Wire, request


class Kept:
    """Lines, as objects."""

    def __init__(self) -> None:
        self.lines: list[dict[str, Any]] = []

    def write(self, lines: bytes) -> None:
        self.lines += [msgspec.json.decode(line) for line in lines.splitlines()]


def answered(route: str, status: int, /, **notes: object) -> tuple[Any, ...]:
    return (time.monotonic(), "an-id", "POST", route, status, 0.0123, notes)


def test_line_of_a_request_says_what_the_specification_names() -> None:
    kept = Kept()
    AccessLog(kept, worker=3, insecure=False).answered(
        [answered("/verify", 200, form="kernel", outcome="failed", codes=[100, 203])]
    )
    line = kept.lines[0]

    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", line.pop("time"))
    assert {
        "level": "info",
        "event": "request",
        "method": "POST",
        "route": "/verify",
        "status": 200,
        "id": "an-id",
        "ms": 12.3,
        "form": "kernel",
        "outcome": "failed",
        "codes": [100, 203],
        "worker": 3,
    } == line


@pytest.mark.parametrize(
    ("route", "status", "level"),
    [
        ("/verify", 200, "info"),
        ("/verify", 400, "error"),
        ("/verify", 413, "error"),
        ("/verify", 422, "error"),
        ("/verify", 503, "error"),
        ("/wattswarm/verify", 415, "error"),
        ("-/verify", 404, "error"),
        ("/execute", 422, "warning"),
        ("-", 404, "warning"),
        ("/health", 500, "error"),
    ],
)
def test_refusals_of_verdicts_are_errors(route: str, status: int, level: str) -> None:
    """Section 12: 400 to 422 on /verify at level error."""
    kept = Kept()
    AccessLog(kept, worker=0, insecure=False).answered([answered(route, status)])

    assert level == kept.lines[0]["level"]


def test_notes_do_not_replace_what_a_line_says_itself() -> None:
    kept = Kept()
    log = AccessLog(kept, worker=0, insecure=True)
    log.answered([answered("/a", 200, id="forged", status=500, worker=9, level="x", good="g")])
    log.say("event", "info", insecure=False, time="never", id="given")

    assert ("an-id", 200, 0, "info", "g", True) == tuple(
        kept.lines[0][name] for name in ("id", "status", "worker", "level", "good", "insecure")
    )
    assert (True, "given") == (kept.lines[1]["insecure"], kept.lines[1]["id"])


def test_facts_that_are_no_json_cost_no_other_line() -> None:
    kept = Kept()
    loop: list[object] = []
    loop.append(loop)
    AccessLog(kept, worker=0, insecure=False).answered(
        [answered("/a", 200, bad="\ud800"), answered("/a", 200, bad=loop), answered("/b", 200)]
    )

    assert ["/a", "/a", "/b"] == [line["route"] for line in kept.lines]


def test_quotes_and_line_feeds_stay_inside_their_line() -> None:
    kept = Kept()
    log = AccessLog(kept, worker=0, insecure=False)
    log.answered([answered('/a"\n', 200, note='x"\n{')])
    log.say('a"\nb', "info", fact="\n")

    assert ['/a"\n', 'a"\nb'] == [kept.lines[0]["route"], kept.lines[1]["event"]]


def test_lines_are_not_torn_and_all_arrive() -> None:
    source, target = os.pipe()
    writer = LineWriter(target)
    lines = b"".join(b'{"number":%d,"padding":"%s"}\n' % (n, b"x" * 200) for n in range(2000))
    received: list[bytes] = []

    def read() -> None:
        while piece := os.read(source, 65_536):
            received.append(piece)

    reading = threading.Thread(target=read)
    reading.start()
    for start in range(0, 2000, 100):
        at = [m.end() for m in re.finditer(b"\n", lines)]
        writer.write(lines[at[start - 1] if start else 0 : at[start + 99]])
    writer.close()
    os.close(target)
    reading.join(WAIT_S)
    os.close(source)

    assert lines == b"".join(received)


def test_piece_ends_with_a_line_where_one_fits() -> None:
    lines = b"a" * 3000 + b"\n" + b"b" * 3000 + b"\n" + b"c" * 9000 + b"\n"

    ends, at = [], 0
    while at < len(lines):
        at = access_log._piece_end(lines, at)
        ends.append(at)

    assert [3001, 6002, 6002 + 4096, 6002 + 8192, len(lines)] == ends


def test_log_that_nobody_reads_holds_nobody_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(access_log, "BACKLOG_BYTES", 100_000)
    monkeypatch.setattr(access_log, "END_WAIT_S", 0.1)
    source, target = os.pipe()
    writer = LineWriter(target)
    began = time.monotonic()
    for _ in range(1000):
        writer.write(b'{"padding":"%s"}\n' % (b"x" * 1000))
    writer.close()

    assert 5 > time.monotonic() - began
    received = b""
    while b"log_dropped" not in received:
        received += os.read(source, 65_536)
    os.close(source)
    os.close(target)


def test_log_may_be_switched_off() -> None:
    with Running.app(log=False) as server, Wire(server) as wire:
        for _ in range(3):
            wire.send(request()).reply()
        server.stop()
        events = {line["event"] for line in server.log_lines()}

    assert "request" not in events
    assert "ready" in events


def test_every_request_has_one_line_when_the_server_has_ended() -> None:
    with Running.app() as server, Wire(server) as wire:
        for number in range(50):
            wire.send(request(headers=f"{JSON_HEADER}X-Request-Id: r{number}\r\n")).reply()
        server.stop()
        server._readers[1].join(WAIT_S)
        ids = [line["id"] for line in server.log_lines() if line["event"] == "request"]

    assert [f"r{number}" for number in range(50)] == ids
    assert all("ms" in line for line in server.log_lines() if line["event"] == "request")
