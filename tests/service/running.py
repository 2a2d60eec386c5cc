"""
A server as a process of its own, for tests: ready when the ``with`` is entered, gone after it.

``Running.signoff("--wattswarm")`` is ``signoff serve`` as an operator starts it, on a
port that is free; ``Running.app(max_body=100)`` is the small server of ``app.py``.
Nothing waits longer than ``WAIT_S``, and nothing sleeps.
"""

from __future__ import annotations

import http.client
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Self

import msgspec

from signoff.service.settings import Settings

WAIT_S = 20.0
ROOT = Path(__file__).resolve().parent.parent.parent
_URL = re.compile(r"(http://(?P<host>\[[^]]+\]|[^:/\s]+):(?P<port>\d+)|unix:(?P<path>\S+))")


class Reply(NamedTuple):
    """What a server answered; header names in lower case."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return msgspec.json.decode(self.body)


def measured(command: Sequence[str]) -> Sequence[str]:
    """The same, measured where coverage.py measures this process; nothing of it is inherited."""
    coverage = sys.modules.get("coverage")
    current = None if coverage is None else coverage.Coverage.current()
    if current is None or tuple(command[:2]) != (sys.executable, "-m"):
        return command
    config = current.config
    options = ("--parallel-mode", f"--rcfile={config.config_file}")
    data = f"--data-file={Path(config.data_file).absolute()}"
    return (sys.executable, "-m", "coverage", "run", *options, data, *command[1:])


class Running:
    """A server while the ``with`` lasts; afterwards it is stopped, and killed if that fails."""

    def __init__(self, command: Sequence[str], *, env: Mapping[str, str] | None = None) -> None:
        self._command = measured(command)
        self._env = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}", **(env or {})}
        self._lines: list[str] = []
        self._more = threading.Condition()
        self._ended = 0
        self.url = self.host = ""
        self.port = 0

    @classmethod
    def signoff(cls, *arguments: str, env: Mapping[str, str] | None = None) -> Running:
        """``signoff serve`` on a free port of 127.0.0.1."""
        listen = () if "--listen" in arguments else ("--listen", "127.0.0.1:0")
        return cls((sys.executable, "-m", "signoff", "serve", *listen, *arguments), env=env)

    @classmethod
    def app(
        cls, *, absent: Sequence[str] = (), env: Mapping[str, str] | None = None, **settings: object
    ) -> Running:
        """The server of ``app.py``; modules that are ``absent`` cannot be imported in it."""
        told = msgspec.json.encode(msgspec.convert({"port": 0, **settings}, Settings)).decode()
        return cls((sys.executable, "-m", "tests.service.app", told, *absent), env=env)

    def __enter__(self) -> Self:
        self.process = subprocess.Popen(
            self._command,
            env=self._env,
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._readers = [
            threading.Thread(target=self._read, args=(stream,), daemon=True)
            for stream in (self.process.stdout, self.process.stderr)
        ]
        for reader in self._readers:
            reader.start()
        try:
            said = self.line(lambda line: _is_ready(line) is not None)
        except AssertionError:
            self.__exit__()
            raise
        found = _is_ready(said)
        assert found is not None
        self.url, self.host = found[0], (found["host"] or found["path"] or "").strip("[]")
        self.port = int(found["port"] or 0)
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self.stop(signal.SIGTERM)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(WAIT_S)
        finally:
            for reader in self._readers:
                reader.join(WAIT_S)

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Send a signal, and give the exit code."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        return self.process.wait(WAIT_S)

    def request(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Reply:
        """One request on a connection of its own."""
        connection = http.client.HTTPConnection(self.host, self.port, timeout=WAIT_S)
        try:
            return ask(connection, method, path, body, headers)
        finally:
            connection.close()

    def post(self, path: str, value: object, headers: Mapping[str, str] | None = None) -> Reply:
        """A JSON document, posted on a connection of its own."""
        return self.request("POST", path, msgspec.json.encode(value), headers)

    def connect(self) -> socket.socket:
        """A plain connection."""
        if self.url.startswith("unix:"):
            made = socket.socket(socket.AF_UNIX)
            made.settimeout(WAIT_S)
            made.connect(self.host)
            return made
        return socket.create_connection((self.host, self.port), WAIT_S)

    def line(self, wanted: Callable[[str], bool]) -> str:
        """The first line, on either output, that is wanted; waits for it."""
        deadline = time.monotonic() + WAIT_S
        seen = 0
        with self._more:
            while True:
                for line in self._lines[seen:]:
                    if wanted(line):
                        return line
                seen = len(self._lines)
                left = deadline - time.monotonic()
                if left <= 0 or self._ended == 2:
                    said = "\n".join(self._lines[-30:])
                    raise AssertionError(f"no such line; the server said:\n{said}")
                self._more.wait(left)

    def log_lines(self) -> list[dict[str, Any]]:
        """Every log line so far."""
        with self._more:
            lines = tuple(self._lines)
        return [msgspec.json.decode(line) for line in lines if line.startswith("{")]

    def logged(self, **facts: object) -> dict[str, Any]:
        """The first log line with these facts; waits for it."""

        def has(line: str) -> bool:
            if not line.startswith("{"):
                return False
            found = msgspec.json.decode(line)
            return all(found.get(name) == fact for name, fact in facts.items())

        found: dict[str, Any] = msgspec.json.decode(self.line(has))
        return found

    def output(self) -> str:
        """Everything that was said so far, on both outputs."""
        with self._more:
            return "\n".join(self._lines)

    def _read(self, stream: Any) -> None:
        for line in stream:
            with self._more:
                self._lines.append(line.rstrip("\n"))
                self._more.notify_all()
        with self._more:
            self._ended += 1
            self._more.notify_all()
        stream.close()


def _is_ready(line: str) -> re.Match[str] | None:
    """Where a server says that it listens; a log line or a complaint does not say it."""
    return None if "{" in line or "cannot" in line else _URL.search(line)


def ask(
    connection: http.client.HTTPConnection,
    method: str,
    path: str,
    body: bytes | None = None,
    headers: Mapping[str, str] | None = None,
) -> Reply:
    """One request on a connection that stays open; a body is JSON unless the headers differ."""
    told = {"Content-Type": "application/json"} if body is not None else {}
    connection.request(method, path, body, {**told, **(headers or {})})
    reply = connection.getresponse()
    return Reply(reply.status, {k.lower(): v for k, v in reply.getheaders()}, reply.read())
