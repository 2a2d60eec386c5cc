"""Where the server listens, and every limit that it keeps."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from signoff.errors import SignoffError

__all__ = ["CannotServe", "Settings"]


class CannotServe(SignoffError):
    """A server may not listen where it was told to, or cannot be started."""


class Settings(Struct, frozen=True, kw_only=True):
    """
    Everything about a server that an operator may set.

    Args:
        host: An address or a name; ``unix:PATH`` for a socket in the file system.
        port: 0 for any that is free.
        workers: Processes that answer; one answers in the process that was started.
        max_body: Bytes of a body, unless its route says otherwise.
        body_memory: Bytes per worker of bodies that have not come in full yet.
        head_bytes: Bytes of the request line and the headers together.
        head_timeout_s: From the first byte of a request to the end of its headers.
        body_timeout_s: From the end of the headers to the end of the body; on a stream,
            from one piece to the next.
        idle_timeout_s: How long a connection may say nothing between two requests.
        write_timeout_s: How long a client may leave a reply without taking any of it.
        in_progress: Requests per worker that are being answered at the same time.
        queue: Requests per worker that may wait beyond these.
        drain_s: How long a server that was told to stop finishes what it has accepted.
        restarts: Workers that may die within a minute before the server gives up.
        tokens: Any of them will do; none asked for where there are none.
        insecure: Other machines may connect although no token is asked for.
        public_url: How others reach this server; None for where it listens.
        state_dir: What must outlast a process; None for nothing.
        log: One line of JSON per request on stderr.
        tracing: Spans by OpenTelemetry, as its environment variables say.
        threads: Threads per worker for what would block.
    """

    host: str = "127.0.0.1"
    port: int = 8787
    workers: int = 1
    max_body: int = 2 * 1024 * 1024
    body_memory: int = 256 * 1024 * 1024
    head_bytes: int = 16 * 1024
    head_timeout_s: float = 10.0
    body_timeout_s: float = 10.0
    idle_timeout_s: float = 75.0
    write_timeout_s: float = 30.0
    in_progress: int = 64
    queue: int = 64
    drain_s: float = 25.0
    restarts: int = 5
    tokens: tuple[str, ...] = ()
    insecure: bool = False
    public_url: str | None = None
    state_dir: Path | None = None
    log: bool = True
    tracing: bool = False
    threads: int = 32
