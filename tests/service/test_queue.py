"""More requests than are answered at the same time: they wait, or are told to come again."""

from __future__ import annotations

from contextlib import ExitStack

from tests.service.running import Running
from tests.service.wire import JSON_HEADER, Wire, request


def held(number: int) -> bytes:
    mark = f"X-Request-Id: h{number}\r\n"
    return request(path="/held", body=b"%d" % number, headers=JSON_HEADER + mark)


def test_full_queue_is_503_and_recovers() -> None:
    """Acceptance row 17: more requests than the queue, 503 and recovery."""
    with Running.app(in_progress=3, queue=2) as server, ExitStack() as wires:
        running = [wires.enter_context(Wire(server)).send(held(n)) for n in range(3)]
        for number in range(3):
            server.logged(event="held", id=f"h{number}")
        waiting = [wires.enter_context(Wire(server)).send(held(n)) for n in range(3, 5)]
        # Streams are answered beside everything else too, and so have to wait.
        refused = None
        while refused is None or refused.status != 503:
            refused = server.request("POST", "/later", b"{}")
        stream = server.request("POST", "/count", b"{}")
        quick = server.request("GET", "/health")
        server.request("POST", "/release", b"{}")
        statuses = [wire.reply().status for wire in running]
        for number in range(3, 5):
            server.logged(event="held", id=f"h{number}")
        server.request("POST", "/release", b"{}")
        statuses += [wire.reply().status for wire in waiting]
        after = [server.request("POST", "/later", b"{}").status for _ in range(10)]

    assert (503, "busy", "1") == (
        refused.status,
        refused.json["code"],
        refused.headers["retry-after"],
    )
    assert (503, 200) == (stream.status, quick.status)
    assert [200] * 5 == statuses
    assert [200] * 10 == after


def test_refused_for_now_keeps_its_connection() -> None:
    with (
        Running.app(in_progress=1, queue=0) as server,
        Wire(server) as first,
        Wire(server) as other,
    ):
        first.send(held(0))
        server.logged(event="held", id="h0")
        busy = other.send(request(path="/later")).reply()
        quick = other.send(request()).reply()
        server.request("POST", "/release", b"{}")
        first.reply()
        later = other.send(request(path="/later")).reply()

    assert [503, 200, 200] == [busy.status, quick.status, later.status]
    assert "never awaited" not in server.output()


def test_client_that_went_away_does_not_end_its_request() -> None:
    with Running.app() as server:
        with Wire(server) as wire:
            wire.send(held(0))
            server.logged(event="held", id="h0")
        server.request("POST", "/release", b"{}")
        server.logged(event="let_go", id="h0")
        logged = server.logged(event="request", id="h0")

    assert 200 == logged["status"]


def test_waiting_requests_of_clients_that_went_away_leave_room() -> None:
    with Running.app(in_progress=1, queue=1) as server:
        with Wire(server) as first, Wire(server) as second:
            first.send(held(0))
            server.logged(event="held", id="h0")
            second.send(held(1))
            while 503 != server.request("POST", "/later", b"{}").status:
                pass
        for number in range(2):
            server.logged(event="held", id=f"h{number}")
            server.request("POST", "/release", b"{}")
            server.logged(event="let_go", id=f"h{number}")
        after = server.request("POST", "/later", b"{}")

    assert 200 == after.status
