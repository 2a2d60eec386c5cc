"""For tests of fetching: references, a fetch from beginning to end, and a watch on connections."""

from __future__ import annotations

import asyncio
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple, Self

import pytest

from signoff.dialects.wattswarm.evidence import Fetched, Reference
from signoff.service.fetching import Fetcher, FetchSettings
from tests.servers import Server, Talk

DATA = b'{"sum": 40}\n'
LOOPBACK = ("127.0.0.0/8", "::1/128")


def digest_of(data: bytes) -> str:
    return f"sha256:{sha256(data).hexdigest()}"


def reference(uri: str, data: bytes = DATA, **changes: Any) -> Reference:
    fields: dict[str, Any] = {"uri": uri, "digest": digest_of(data), "size_bytes": len(data)}
    return Reference(**(fields | changes))


def at(server: Server, path: str = "/x", *, host: str = "127.0.0.1", tls: bool = False) -> str:
    return f"http{'s' if tls else ''}://{host}:{server.port}{path}"


def allowed(*servers: Server, host: str = "127.0.0.1", tls: bool = False) -> tuple[str, ...]:
    return tuple(f"{'' if tls else 'http://'}{host}:{server.port}" for server in servers)


class Fetches(NamedTuple):
    """What came of the references, in their order, and how long it took."""

    found: list[Fetched]
    elapsed_s: float

    @property
    def causes(self) -> list[str]:
        """``ok``, or why not."""
        return ["ok" if one.cause is None else one.cause.value for one in self.found]


def fetch(
    *references: Reference,
    own: Any = None,
    resolve: Any = None,
    networks: Sequence[str] = LOOPBACK,
    **settings: Any,
) -> Fetches:
    """Fetch them all."""

    async def run() -> Fetches:
        begin = monotonic()
        found = await fetcher.fetch_all(references)
        elapsed_s = monotonic() - begin
        assert set(references) == set(found)
        for one, got in found.items():
            assert (got.data is None) is (got.cause is not None)
            assert got.data is None or digest_of(got.data) == one.digest
        return Fetches([found[one] for one in references], elapsed_s)

    with ThreadPoolExecutor(32) as threads:
        read = FetchSettings.read(networks=networks, **settings)
        fetcher = Fetcher(read, threads, own=own, resolve=resolve)
        try:
            return asyncio.run(run())
        finally:
            fetcher.close()


def one(uri: str, data: bytes = DATA, *, size: int | None = None, **how: Any) -> Fetched:
    """What came of a single reference."""
    size_bytes = len(data) if size is None else size
    return fetch(reference(uri, data, size_bytes=size_bytes), **how).found[0]


class Watch:
    """The addresses that this process connected to, while the watch is on."""

    _seen: list[Any] | None = None
    _is_hooked = False

    @classmethod
    @contextmanager
    def on(cls) -> Iterator[list[Any]]:
        if not cls._is_hooked:  # a hook stays for good
            sys.addaudithook(cls._hook)
            cls._is_hooked = True
        seen: list[Any] = []
        cls._seen = seen
        try:
            yield seen
        finally:
            cls._seen = None

    @classmethod
    def _hook(cls, event: str, args: Any) -> None:
        if event == "socket.connect" and cls._seen is not None:
            cls._seen.append(args[1])


class Trap:
    """Listens on a port of both loopback addresses and says how often it was connected to."""

    def __init__(self) -> None:
        self._listeners = [socket.create_server(("127.0.0.1", 0))]
        self.port: int = self._listeners[0].getsockname()[1]
        with suppress(OSError):  # without IPv6
            six = socket.create_server(("::1", self.port), family=socket.AF_INET6)
            self._listeners.append(six)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for listener in self._listeners:
            listener.close()

    def count(self) -> int:
        """Connections since the last time."""
        total = 0
        for listener in self._listeners:
            listener.setblocking(False)
            with suppress(BlockingIOError):
                while True:
                    listener.accept()[0].close()
                    total += 1
        return total


def silent(talk: Talk) -> None:
    """Reads the request and never answers."""
    talk.request()
    talk.wait()


def made_certificate(folder: Path, name: str, *, days: int = 2) -> Path:
    """Key and self-signed certificate for a name, in one file; with days below 0 it has expired."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("openssl, which makes the certificate, is not installed")
    key, asked, named, made = (folder / part for part in ("key", "asked", "named", "made"))
    named.write_text(f"subjectAltName = DNS:{name}\nbasicConstraints = CA:TRUE\n")
    elliptic = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
    request = ("req", *elliptic, "-subj", "/CN=x", "-keyout", str(key), "-out", str(asked))
    signing = ("x509", "-req", "-in", str(asked), "-signkey", str(key), "-extfile", str(named))
    for command in (request, (*signing, "-days", str(days), "-out", str(made))):
        subprocess.run([openssl, *command], check=True, capture_output=True, timeout=60)
    both = folder / "both.pem"
    both.write_bytes(key.read_bytes() + made.read_bytes())
    return both
