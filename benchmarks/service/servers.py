"""Servers as processes on cores of their own, and what puts them under load."""

from __future__ import annotations

import http.client
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec

from benchmarks.row import Unavailable
from benchmarks.service.building import built_by_cargo
from benchmarks.service.load import Load

__all__ = ["Generator", "Server", "cores_for", "free_port", "generator", "on_cores", "our_argv"]

ROOT: Final = Path(__file__).resolve().parent.parent.parent
START_S: Final = 30.0
REPLY_S: Final = 30.0
TICKS: Final = os.sysconf("SC_CLK_TCK")


def cores_for(workers: int) -> tuple[set[int], set[int]]:
    """
    Cores of the server and of the generator: shared where there are not enough.

    Raises:
        Unavailable: There are fewer cores than workers.
    """
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < workers:
        raise Unavailable(f"there are fewer than {workers} cores")
    return set(cores[:workers]), set(cores[workers:] or cores)


@contextmanager
def on_cores(cores: set[int]) -> Iterator[None]:
    """What is started meanwhile runs on these cores."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        return int(found.getsockname()[1])


def our_argv(port: int, workers: int) -> list[str]:
    """What starts ours, as an operator would."""
    where = ["--listen", f"127.0.0.1:{port}", "--workers", str(workers)]
    return [sys.executable, "-m", "signoff", "serve", "--wattswarm", *where]


class Server:
    """
    A server, until it is closed.

    Args:
        argv: What starts it.
        port: Where it will listen.
        cores: Where it runs.
        env: Further variables.

    Raises:
        Unavailable: It does not listen.
    """

    def __init__(
        self, argv: Sequence[str], port: int, cores: set[int], env: Mapping[str, str] | None = None
    ) -> None:
        self.address = f"127.0.0.1:{port}"
        self._port = port
        with on_cores(cores):
            self._process = subprocess.Popen(
                argv,
                cwd=ROOT,
                env={**os.environ, **(env or {})},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        self._await()

    def ask(
        self, target: str, body: bytes, media_type: str = "application/json"
    ) -> tuple[int, bytes]:
        """Status and body of the reply."""
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=REPLY_S)
        try:
            connection.request("POST", target, body, {"Content-Type": media_type})
            reply = connection.getresponse()
            return reply.status, reply.read()
        finally:
            connection.close()

    def cpu_s(self) -> float:
        """Processor time of the process and of those below it, so far."""
        return sum(map(_cpu_ticks, _family(self._process.pid))) / TICKS

    def close(self) -> None:
        """End it, and all workers with it."""
        self._process.terminate()
        try:
            self._process.wait(START_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _await(self) -> None:
        end = time.monotonic() + START_S
        while time.monotonic() < end:
            ended = self._process.poll()
            if ended is not None:
                raise Unavailable(f"{self._process.args!r} exited with {ended}")
            try:
                socket.create_connection(("127.0.0.1", self._port), START_S).close()
            except ConnectionRefusedError:
                time.sleep(0.05)
            else:
                return
        self.close()
        raise Unavailable(f"{self._process.args!r} does not listen")


class Generator:
    """
    A program that puts a server under load.

    Args:
        argv: What starts it, without its arguments.
        note: What a reader must know of it.
    """

    def __init__(self, argv: Sequence[str], note: str = "") -> None:
        self._argv = tuple(argv)
        self.note = note
        self._next = 0

    def run(
        self, server: Server, bodies: Path, connections: int, cores: set[int], seconds: float
    ) -> Load:
        """One round; no request of it was sent before."""
        target = "/verify"
        given = (server.address, target, bodies, connections, seconds, self._next)
        before = server.cpu_s()
        with on_cores(cores):
            done = subprocess.run(
                [*self._argv, *map(str, given)], capture_output=True, text=True, check=False
            )
        if done.returncode:
            raise Unavailable(f"the generator of load failed: {done.stderr[-200:]}")
        seen = msgspec.json.decode(done.stdout)
        self._next = seen.pop("next")
        return Load(cpu_s=server.cpu_s() - before, **seen)


def generator(*, native: bool = True) -> Generator:
    """The one in Rust, or the one in Python where there is no cargo."""
    if native:
        try:
            return Generator([str(built_by_cargo("generator", "generator"))])
        except Unavailable as exc:
            note = f"load from Python, which may be what is slow: {exc}"
    else:
        note = "load from Python, which may be what is slow"
    return Generator([sys.executable, str(Path(__file__).with_name("epoll_load.py"))], note)


def _family(pid: int) -> Iterator[int]:
    yield pid
    for listed in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            children = listed.read_text()
        except OSError:  # that thread has ended
            continue
        for child in children.split():
            yield from _family(int(child))


def _cpu_ticks(pid: int) -> int:
    try:
        told = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return 0
    user, system = told.rpartition(")")[2].split()[11:13]
    return int(user) + int(system)
