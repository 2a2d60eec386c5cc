"""Processes: how a server starts, ends, and goes on when a worker dies."""

from __future__ import annotations

import http.client
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.service.running import WAIT_S, Running, ask
from tests.service.wire import JSON_HEADER, Wire, request


def pids(server: Running, workers: int) -> dict[int, int]:
    """The process of each worker, by asking until all of them have answered."""
    deadline = time.monotonic() + WAIT_S
    found: dict[int, int] = {}
    while len(found) < workers:
        assert time.monotonic() < deadline, found
        told = server.request("GET", "/worker").json
        found[told["index"]] = told["pid"]
    return found


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("absent", [(), ("uvloop",)])
def test_signal_ends_the_server_in_peace(workers: int, absent: tuple[str, ...]) -> None:
    for number in (signal.SIGTERM, signal.SIGINT):
        with Running.app(workers=workers, absent=absent) as server:
            alive = list(pids(server, workers).values())
            code = server.stop(number)

        assert 0 == code
        assert workers == sum(line["event"] == "app_stopped" for line in server.log_lines())
        assert not any(map(is_alive, alive))
        assert "Traceback" not in server.output()


@pytest.mark.parametrize("workers", [1, 2])
def test_what_was_accepted_is_finished(workers: int) -> None:
    with Running.app(workers=workers) as server, ExitStack() as wires:
        mark = JSON_HEADER + "X-Request-Id: {}\r\n"
        slow = wires.enter_context(Wire(server))
        slow.send(request(path="/held", body=b"slow", headers=mark.format("slow")))
        owner = server.logged(event="held", id="slow")["worker"]
        half = wires.enter_context(Wire(server))
        half.send(request(path="/echo", body=b"half")[:-2])
        kept: list[tuple[Wire, dict[str, int]]] = []
        while not any(told["index"] == owner for _, told in kept):
            wire = wires.enter_context(Wire(server))
            kept.append((wire, wire.send(request("GET", "/worker", b"")).reply().json))
        server.process.send_signal(signal.SIGTERM)
        for index in range(workers):
            server.logged(event="stopping", worker=index)
        half_reply = half.send(b"lf").reply()
        release = next(wire for wire, told in kept if told["index"] == owner)
        released = release.send(request(path="/release")).reply()
        slow_reply = slow.reply()
        code = server.process.wait(WAIT_S)

    assert (200, b"half", "close") == (
        half_reply.status,
        half_reply.body,
        half_reply.headers["connection"],
    )
    assert (200, "close") == (released.status, released.headers["connection"])
    assert (200, b"slow") == (slow_reply.status, slow_reply.body)
    assert 0 == code


@pytest.mark.parametrize("workers", [1, 2])
def test_what_takes_too_long_is_cut(workers: int) -> None:
    settings = {"workers": workers, "drain_s": 0.3, "in_progress": 1}
    with Running.app(**settings) as server, Wire(server) as wire:  # type: ignore[arg-type]  # JSON
        wire.send(request(path="/held", headers=JSON_HEADER + "X-Request-Id: slow\r\n"))
        server.logged(event="held", id="slow")
        with ExitStack() as waiting:
            for _ in range(8):
                waiting.enter_context(Wire(server)).send(request(path="/held"))
            code = server.stop()

        assert 0 == code
        assert wire.ended()
    assert "never awaited" not in server.output()


@pytest.mark.parametrize("workers", [1, 2])
def test_second_signal_ends_at_once(workers: int) -> None:
    with Running.app(workers=workers, drain_s=60) as server, Wire(server) as wire:
        wire.send(request(path="/held", headers=JSON_HEADER + "X-Request-Id: slow\r\n"))
        server.logged(event="held", id="slow")
        alive = list(pids(server, workers).values())
        server.process.send_signal(signal.SIGTERM)
        server.logged(event="stopping")
        code = server.stop(signal.SIGTERM)

        assert 128 + signal.SIGTERM == code
        assert wire.ended()
    assert not any(map(is_alive, alive))


def test_signals_to_the_whole_group_count_once() -> None:
    """As a service manager or a terminal sends them: to the parent and to all workers."""
    with Running.app(workers=2) as server, ExitStack() as wires:
        alive = pids(server, 2)
        wire = wires.enter_context(Wire(server))
        wire.send(request(path="/echo", body=b"half")[:-2])
        for pid in (*alive.values(), server.process.pid, *alive.values()):
            os.kill(pid, signal.SIGTERM)
        for index in alive:
            server.logged(event="stopping", worker=index)
        reply = wire.send(b"lf").reply()
        code = server.process.wait(WAIT_S)

    assert (200, 0) == (reply.status, code)


def test_killed_worker_takes_its_own_connections_and_is_replaced() -> None:
    with Running.app(workers=2) as server, ExitStack() as wires:
        before = pids(server, 2)
        kept = [wires.enter_context(Wire(server)) for _ in range(16)]
        owners = [
            wire.send(request("GET", "/worker", b"", "")).reply().json["pid"] for wire in kept
        ]
        os.kill(before[0], signal.SIGKILL)
        server.logged(event="worker_died", died=0, code=-9)
        survivors = []
        for wire, owner in zip(kept, owners, strict=True):
            if owner == before[1]:
                reply = wire.send(request("GET", "/worker", b"", "")).reply()
                survivors.append(reply.json["pid"])
            else:
                assert wire.ended()
        after = pids(server, 2)
        while after[0] == before[0]:
            after = pids(server, 2)

    assert {before[1]} == set(survivors) or before[1] not in owners
    assert before[1] == after[1]
    assert before[0] != after[0]


def test_counts_outlive_the_worker_that_counted() -> None:
    line = 'signoff_http_requests_total{method="GET",route="/health",status="200"} 20.0'
    with Running.app(workers=2) as server:

        def wait_for_count() -> None:
            deadline = time.monotonic() + WAIT_S
            while line not in server.request("GET", "/metrics").body.decode():
                assert time.monotonic() < deadline

        for _ in range(20):
            server.request("GET", "/health")
        wait_for_count()
        os.kill(pids(server, 2)[0], signal.SIGKILL)
        server.logged(event="worker_died")
        pids(server, 2)
        wait_for_count()


def test_workers_that_keep_dying_end_the_server() -> None:
    with Running.app(workers=2, restarts=2) as server:
        while server.process.poll() is None:
            try:
                server.request("POST", "/die", b"{}")
            except OSError:
                server.process.poll()
            except http.client.HTTPException:
                continue
        code = server.process.wait(WAIT_S)

    assert 2 == code
    assert "CannotServe: workers died 3 times within a minute" in server.output()


def test_workers_end_with_their_parent() -> None:
    with Running.app(workers=2) as server:
        alive = list(pids(server, 2).values())
        server.process.kill()
        for index in range(2):
            server.logged(event="stopped", worker=index)
        deadline = time.monotonic() + WAIT_S
        while any(map(is_alive, alive)):
            assert time.monotonic() < deadline


def test_connections_are_shared_by_the_workers() -> None:
    with Running.app(workers=2) as server, ExitStack() as wires:
        pids(server, 2)
        kept = [wires.enter_context(Wire(server)) for _ in range(64)]
        owners = [
            wire.send(request("GET", "/worker", b"", "")).reply().json["index"] for wire in kept
        ]

    assert 24 <= owners.count(0) <= 40


def test_same_bodies_from_two_workers_and_across_restarts() -> None:
    """Acceptance row 2: identical bodies, in parallel, over two workers, across hash seeds."""
    bodies: set[bytes] = set()
    lock = threading.Lock()

    def post(server: Running) -> None:
        connection = http.client.HTTPConnection(server.host, server.port, timeout=WAIT_S)
        for _ in range(10):
            reply = ask(connection, "POST", "/verify", b'{"b":1,"a":2}')
            with lock:
                bodies.add(reply.body)
        connection.close()

    for seed in ("0", "1"):
        with Running.app(workers=2, env={"PYTHONHASHSEED": seed}) as server:
            posting = [threading.Thread(target=post, args=(server,)) for _ in range(10)]
            for thread in posting:
                thread.start()
            for thread in posting:
                thread.join(WAIT_S)

    assert 1 == len(bodies)


def refused(*arguments: object, **settings: object) -> str:
    """What a server says that ends before it listens."""
    server = Running.app(absent=tuple(map(str, arguments)), **settings)  # type: ignore[arg-type]  # settings are JSON
    with pytest.raises(AssertionError), server:
        pass
    assert 2 == server.process.returncode
    assert "Traceback" not in server.output()
    return server.output()


def test_absent_parser_is_one_clear_sentence() -> None:
    said = refused("httptools")

    assert "NotInstalled: a server needs httptools (install signoff[service])" == said


def test_metrics_without_their_library_are_501() -> None:
    with Running.app(absent=("prometheus_client",)) as server:
        reply = server.request("GET", "/metrics")

    assert (501, "not_installed") == (reply.status, reply.json["code"])
    assert "install signoff[metrics]" in reply.json["detail"]


def test_taken_port_is_one_clear_sentence() -> None:
    with Running.app() as server:
        said = refused(port=server.port)

    assert f"CannotServe: cannot listen on 127.0.0.1:{server.port}: Address already in use" == said


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.com"])
def test_other_machines_need_a_token(host: str) -> None:
    """Acceptance row 18: non-loopback bind without token."""
    said = refused(host=host)

    assert f"CannotServe: {host} can be reached by other machines" in said


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
@pytest.mark.parametrize("how", [{"tokens": ("0123456789abcdef",)}, {"insecure": True}])
def test_other_machines_may_come_with_a_token_or_insecurely(
    host: str, how: dict[str, object]
) -> None:
    """Acceptance row 18: non-loopback bind with token, with ``--insecure``; 0.0.0.0 and ::."""
    with Running.app(host=host, **how) as server:  # type: ignore[arg-type]  # settings are JSON
        server.host = "127.0.0.1" if host == "0.0.0.0" else "::1"
        health = server.request("GET", "/health")
        verify = server.request("POST", "/verify", b"{}")
        warned = server.logged(event="request", route="/health").get("insecure")

    assert 200 == health.status
    assert (200, True) == (verify.status, warned) if "insecure" in how else 401 == verify.status


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost", "[::1]"])
def test_loopback_needs_no_token(host: str) -> None:
    with Running.app(host=host) as server:
        assert 200 == server.request("POST", "/verify", b"{}").status


@pytest.mark.parametrize("workers", [1, 2])
def test_socket_in_the_file_system(tmp_path: Path, workers: int) -> None:
    path = tmp_path / "socket"
    for end in (signal.SIGKILL, signal.SIGTERM):  # the first one leaves it behind
        with Running.app(host=f"unix:{path}", workers=workers) as server:
            with Wire(server) as wire:
                assert 200 == wire.send(request()).reply().status
            server.process.send_signal(end)
            server.process.wait(WAIT_S)
            if end == signal.SIGKILL and workers > 1:
                for index in range(workers):
                    server.logged(event="stopped", worker=index)

    assert not path.exists()


def test_socket_that_is_heard_is_not_taken(tmp_path: Path) -> None:
    path = tmp_path / "socket"
    with Running.app(host=f"unix:{path}") as server, Wire(server) as wire:
        said = refused(host=f"unix:{path}")

        assert "Address already in use" in said
        assert 200 == wire.send(request()).reply().status


def test_part_that_cannot_start_ends_the_server() -> None:
    for workers in (1, 2):
        told = Running.app(workers=workers)._command[-1]
        failing = (
            "from tests.service import app;"
            "from signoff.service.settings import CannotServe\n"
            "def fail(self, worker): raise CannotServe('a part is unfit')\n"
            "app.App.__init__ = fail\n"
            "raise SystemExit(app.main())"
        )
        done = subprocess.run(
            (sys.executable, "-c", failing, told),
            env=Running.app()._env,
            capture_output=True,
            text=True,
            timeout=WAIT_S,
            check=False,
        )

        assert (2, "") == (done.returncode, done.stdout)
        assert "CannotServe: a part is unfit" in done.stderr
        assert "Traceback" not in done.stderr
