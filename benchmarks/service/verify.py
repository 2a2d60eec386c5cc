"""
``POST /verify`` under load, against servers that do the same, or nothing at all.

Every request is another candidate, so that no reply comes from a cache.  Ours runs as an
operator starts it: evidence required, both checks of the schema, a log line a request.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import msgspec

from benchmarks.row import Row, Unavailable
from benchmarks.service.building import built_by_cargo, installed_by_npm
from benchmarks.service.load import LoadPair
from benchmarks.service.questions import first, rotating, sized, spoilt
from benchmarks.service.servers import (
    Generator,
    Server,
    cores_for,
    free_port,
    generator,
    our_argv,
)

__all__ = ["ROWS", "against", "axum", "bare", "node", "ours", "schemas"]

TARGET: Final = "/verify"
CONNECTIONS: Final = 32
"""Per worker."""
SCHEMAS: Final = 1_000

Start = Callable[[int, set[int], Path], Server]
"""Starts a server with so many workers on these cores; the folder is for its files."""


def ours(workers: int, cores: set[int], _: Path) -> Server:
    port = free_port()
    return Server(our_argv(port, workers), port, cores)


def bare(workers: int, cores: set[int], folder: Path) -> Server:
    """
    Uvicorn, with an application that only answers.

    Raises:
        Unavailable: Something of it is not installed.
    """
    for module in ("uvicorn", "uvloop", "httptools"):
        if find_spec(module) is None:
            raise Unavailable(f"{module} is not installed")
    port = free_port()
    argv = [sys.executable, "-m", "uvicorn", "benchmarks.service.bare:app", "--port", str(port)]
    argv += ["--http", "httptools", "--loop", "uvloop", "--workers", str(workers)]
    argv += ["--no-access-log", "--log-level", "error"]
    return Server(argv, port, cores, {"BARE_REPLY": str(folder / "reply.json")})


def node(workers: int, cores: set[int], _: Path) -> Server:
    """
    Node's own server, with ajv.

    Raises:
        Unavailable: There is no Node, or no npm, or it cannot install ajv.
    """
    program = shutil.which("node")
    if program is None:
        raise Unavailable("there is no node")
    script = installed_by_npm("node") / "server.mjs"
    port = free_port()
    return Server([program, str(script), str(port), str(workers)], port, cores)


def axum(workers: int, cores: set[int], _: Path) -> Server:
    """
    The small native server, with a thread for each worker.

    Raises:
        Unavailable: There is no cargo, or it cannot build it.
    """
    program = built_by_cargo("axum", "verifier")
    port = free_port()
    return Server([str(program), str(port), str(workers)], port, cores)


def against(
    start: Start,
    *,
    size: str,
    workers: int,
    load: Callable[[], Generator] = generator,
) -> LoadPair:
    """Ours and a peer, both on the same cores in turn."""
    cores, others = cores_for(workers)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="signoff-bench-")))
        mine = ours(workers, cores, folder)
        stack.callback(mine.close)
        given, _ = first()
        (folder / "reply.json").write_bytes(mine.ask(TARGET, given)[1])
        theirs = start(workers, cores, folder)
        stack.callback(theirs.close)
        bodies = _written(folder / "bodies", [sized(size)])
        asked = [given] if start is bare else [given, sized(size), *spoilt(size)]
        source = load()
        run = partial(source.run, bodies=bodies, connections=CONNECTIONS * workers, cores=others)
        return LoadPair(
            ours=lambda seconds: run(mine, seconds=seconds),
            peer=lambda seconds: run(theirs, seconds=seconds),
            answers=lambda: _hashes(mine, theirs, asked),
            note="; ".join(filter(None, (_where(cores, others), source.note))),
            close=stack.pop_all().close,
        )


def schemas(*, load: Callable[[], Generator] = generator) -> LoadPair:
    """Ours under many schemas in rotation, and under one."""
    cores, others = cores_for(1)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="signoff-bench-")))
        server = ours(1, cores, folder)
        stack.callback(server.close)
        bodies = rotating(SCHEMAS)
        many, one = _written(folder / "many", bodies), _written(folder / "one", bodies[:1])
        source = load()
        run = partial(source.run, server, connections=CONNECTIONS, cores=others)
        return LoadPair(
            ours=lambda seconds: run(bodies=many, seconds=seconds),
            peer=lambda seconds: run(bodies=one, seconds=seconds),
            answers=lambda: ([_hash(server, bodies[0])], [_hash(server, bodies[-1])]),
            note="; ".join(filter(None, (_where(cores, others), source.note))),
            close=stack.pop_all().close,
        )


def _written(path: Path, bodies: Sequence[bytes]) -> Path:
    path.write_bytes(b"".join(body + b"\n" for body in bodies))
    return path


def _hashes(mine: Server, theirs: Server, bodies: Sequence[bytes]) -> tuple[list[str], list[str]]:
    """The hashes of the results of both; the first of ours is that of the vectors."""
    _, known = first()
    found = [_hash(mine, body) for body in bodies]
    return [found[0], *found], [known, *(_hash(theirs, body) for body in bodies)]


def _hash(server: Server, body: bytes) -> str:
    status, reply = server.ask(TARGET, body)
    if status != 200:
        return f"status {status}"
    return str(msgspec.json.decode(reply)["verifier_result_hash"])


def _where(cores: set[int], others: set[int]) -> str:
    if cores & others:
        return f"the generator shares the {len(cores)} cores of the servers"
    return f"servers on {len(cores)} of {os.cpu_count()} cores, the generator on the others"


def _rows(name: str, start: Start, peer: str, aim: float) -> list[Row]:
    return [
        Row(
            name=f"service-{size}-{name}{f'-x{workers}' if workers > 1 else ''}",
            ours=f"POST /verify, {size.upper()}B, {workers} worker{'s' * (workers > 1)}",
            peer=peer,
            prepare=partial(against, start, size=size, workers=workers),
            aim=aim,
        )
        for size in ("1k", "2.6k")
        for workers in (1, 2)
    ]


ROWS: Final = (
    *_rows("bare", bare, "bare ASGI on uvicorn, which only answers", 1.67),
    *_rows("node", node, "Node http with ajv", 1.0),
    *_rows("axum", axum, "axum with serde, without the full check of the schema", 2.0),
    Row(
        name="service-schemas",
        ours=f"POST /verify, 1KB, {SCHEMAS:,} schemas in rotation",
        peer="the same with one schema",
        prepare=schemas,
        aim=2.0,
    ),
)
