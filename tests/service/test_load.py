"""Many clients at once, and what happens to them when something goes wrong meanwhile."""

from __future__ import annotations

import http.client
import os
import random
import resource
import signal
import socket
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack

import pytest

from tests.service.running import WAIT_S, Running, ask
from tests.service.wire import JSON_HEADER, Wire, request

pytestmark = pytest.mark.long


class Clients:
    """Threads that ask one after the other, each on connections that it keeps."""

    def __init__(self, server: Running, count: int) -> None:
        self._server = server
        self._lock = threading.Condition()
        self._threads = [threading.Thread(target=self._ask, args=(n,)) for n in range(count)]
        self._stop = threading.Event()
        self.answered = 0
        self.wrong: list[object] = []
        # The process behind each connection that had answered before and then did not.
        self.lost: list[int] = []
        # The process behind each connection that has answered and is kept.
        self.owners: dict[int, int] = {}
        self.refused = 0
        self.limit = 0

    def start(self, requests_each: int = 0) -> None:
        self.limit = requests_each
        for thread in self._threads:
            thread.start()

    def wait_for(self, answered: int) -> None:
        self._wait(lambda: self.answered >= answered)

    def kill_an_owner(self) -> int:
        """Kill a process that a client is kept by, and give its id when the client knows."""
        # Others that were kept by one killed before may not know yet.
        self._wait(lambda: not {*self.owners.values()} <= {*self.lost})
        with self._lock:
            pid = min({*self.owners.values()} - {*self.lost})
        os.kill(pid, signal.SIGKILL)
        self._wait(lambda: pid in self.lost)
        return pid

    def _wait(self, holds: Callable[[], bool]) -> None:
        deadline = time.monotonic() + 6 * WAIT_S
        with self._lock:
            while not holds():
                assert self._lock.wait(deadline - time.monotonic()), self.answered

    def end(self) -> None:
        self._stop.set()
        self.join()

    def join(self) -> None:
        for thread in self._threads:
            thread.join(6 * WAIT_S)
            assert not thread.is_alive()

    def _ask(self, number: int) -> None:
        made = 0
        while not self._stop.is_set() and (not self.limit or made < self.limit):
            connection = http.client.HTTPConnection(
                self._server.host, self._server.port, timeout=WAIT_S
            )
            try:
                first = ask(connection, "GET", "/worker")
                if first.headers.get("connection") != "close":
                    made = self._keep_asking(connection, number, made, first.json["pid"])
            except (OSError, http.client.HTTPException):
                with self._lock:
                    self.refused += 1
                if self._server.process.poll() is not None:
                    return
            finally:
                connection.close()

    def _keep_asking(
        self, connection: http.client.HTTPConnection, number: int, made: int, owner: int
    ) -> int:
        while not self._stop.is_set() and (not self.limit or made < self.limit):
            body = b'{"client":%d,"request":%d}' % (number, made)
            path = ("/echo", "/later", "/count", "/mirror")[made % 4]
            expected = b"%d" % len(body) if path == "/count" else body
            try:
                reply = ask(connection, "POST", path, body)
            except (OSError, http.client.HTTPException):
                with self._lock:
                    self.lost.append(owner)
                    self.owners.pop(number, None)
                    self._lock.notify_all()
                return made
            made += 1
            with self._lock:
                self.answered += 1
                self.owners[number] = owner
                self._lock.notify_all()
                if (reply.status, reply.body) != (200, expected):
                    self.wrong.append(reply)
            if reply.headers.get("connection") == "close":
                return made
        return made


@pytest.mark.parametrize("workers", [1, 2])
def test_ten_thousand_requests_at_64_connections_without_an_error(workers: int) -> None:
    with Running.app(workers=workers) as server:
        clients = Clients(server, 64)
        clients.start(requests_each=157)
        clients.join()

    assert (64 * 157, [], [], 0) == (
        clients.answered,
        clients.wrong,
        clients.lost,
        clients.refused,
    )


def test_killed_worker_under_load_takes_only_its_own_connections() -> None:
    with Running.app(workers=2, restarts=100) as server:
        clients = Clients(server, 32)
        clients.start()
        killed = set()
        for _ in range(3):
            clients.wait_for(clients.answered + 500)
            killed.add(clients.kill_an_owner())
            clients.wait_for(clients.answered + 500)
        clients.end()
        died = [line for line in server.log_lines() if line["event"] == "worker_died"]
        health = server.request("GET", "/health").status

    assert [] == clients.wrong
    assert killed == set(clients.lost)
    assert 3 == len(died)
    assert 200 == health


@pytest.mark.parametrize("workers", [1, 2])
def test_shutdown_under_load_loses_no_accepted_request(workers: int) -> None:
    with Running.app(workers=workers) as server:
        clients = Clients(server, 32)
        clients.start()
        clients.wait_for(1000)
        code = server.stop(signal.SIGTERM)
        clients.join()

    assert (0, [], []) == (code, clients.wrong, clients.lost)


def test_500_idle_connections_are_in_nobodys_way() -> None:
    """Acceptance row 17: 500 idle connections."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, hard), hard))
    try:
        with Running.app() as server, ExitStack() as wires:
            idle = [wires.enter_context(Wire(server)) for _ in range(500)]
            for wire in idle[::2]:
                wire.send(b"POST /echo HTTP/1.1\r\nHost: x\r\n")
            began = time.monotonic()
            statuses = {server.request("POST", "/verify", b"{}").status for _ in range(200)}
            elapsed_s = time.monotonic() - began
            for wire in idle[::2]:
                wire.send(f"{JSON_HEADER}Content-Length: 2\r\n\r\n{{}}".encode())
            for wire in idle[1::2]:
                wire.send(request())
            late = {wire.reply().status for wire in idle}
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))

    assert ({200}, {200}) == (statuses, late)
    assert 20 > elapsed_s


def test_no_descriptors_left_is_survived() -> None:
    with ExitStack() as wires:
        server = Running.app()
        server._command = ("prlimit", "--nofile=64", *server._command)
        wires.enter_context(server)
        kept = [wires.enter_context(Wire(server)) for _ in range(100)]
        server.logged(event="no_descriptors")
        first = kept[0].send(request()).reply().status
        for wire in kept[:80]:
            wire.socket.close()
        last = kept[-1].send(request()).reply().status

    assert (200, 200) == (first, last)


def misbehave(server: Running, choice: random.Random, stop: threading.Event) -> None:
    """Connect, send something that is cut, slow, wrong or never read, and go away."""
    behaviours: tuple[Callable[[Wire], object], ...] = (
        lambda wire: wire.send(request(body=b"x" * 1000)[: choice.randrange(1, 900)]),
        lambda wire: wire.send(b"GET /" + b"a" * 20_000),
        lambda wire: wire.send(request("GET", "/big", b"") * 3),
        lambda wire: wire.send(request("GET", "/endless", b"")),
        lambda wire: wire.send(os.urandom(200)),
        lambda wire: wire.send(request(path="/mirror", body=b"x" * 100_000)[:-5]),
        lambda wire: wire.send(request(path="/later") * 50),
        lambda wire: wire.send(request()).half_close(),
        lambda wire: wire.socket.setsockopt(
            socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0"
        ),
    )
    while not stop.is_set():
        try:
            with Wire(server) as wire:
                for _ in range(choice.randrange(1, 3)):
                    choice.choice(behaviours)(wire)
        except OSError:
            continue


@pytest.mark.parametrize("absent", [(), ("uvloop",)])
def test_clients_that_misbehave_do_no_harm_to_the_others(absent: tuple[str, ...]) -> None:
    stop = threading.Event()
    with Running.app(
        absent=absent, write_timeout_s=1, head_timeout_s=1, body_timeout_s=5
    ) as server:
        bad = [
            threading.Thread(target=misbehave, args=(server, random.Random(seed), stop))
            for seed in range(8)
        ]
        for thread in bad:
            thread.start()
        good = Clients(server, 8)
        good.start(requests_each=150)
        good.join()
        stop.set()
        for thread in bad:
            thread.join(WAIT_S)
        deadline = time.monotonic() + WAIT_S
        open_now = "signoff_http_connections 1.0"
        while open_now not in server.request("GET", "/metrics").body.decode():
            assert time.monotonic() < deadline
        code = server.stop()

    assert (1200, [], []) == (good.answered, good.wrong, good.lost)
    assert 0 == code
    assert "Traceback" not in server.output()
