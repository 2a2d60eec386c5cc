"""
The nouns of the sandbox: a command, its limits, how it ended, and what it printed.

They say what is to be run and what came of it; nothing here starts anything.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from types import TracebackType
from typing import Final, Protocol, Self

from msgspec import Struct

from signoff.model import Isolation

__all__ = [
    "DEFAULT_TIMEOUT_S",
    "MAX_KEPT_BYTES",
    "MAX_OUTPUT_BYTES",
    "Captured",
    "Command",
    "Completed",
    "Ended",
    "Limits",
    "Runner",
]

DEFAULT_TIMEOUT_S: Final = 600.0
MAX_OUTPUT_BYTES: Final = 256 * 2**20
MAX_KEPT_BYTES: Final = 16 * 2**20
"""What is kept at most of a stream that other checks judge."""


class Ended(Enum):
    """How a command ended; only ``EXITED`` carries an exit code that means anything."""

    EXITED = "exited"
    SIGNALED = "signaled"
    TIMED_OUT = "timed_out"
    OUTPUT_LIMIT = "output_limit"
    MEMORY_LIMIT = "memory_limit"
    DISK_LIMIT = "disk_limit"
    CANCELLED = "cancelled"
    NOT_FOUND = "not_found"
    DENIED = "denied"
    CWD_MISSING = "cwd_missing"
    ISOLATION_UNAVAILABLE = "isolation_unavailable"
    BROKEN = "broken"


class Limits(Struct, frozen=True, kw_only=True):
    """
    What a command may use up.

    Args:
        timeout_s: Seconds until it is killed with all that it started; None for no limit.
        memory_bytes: Memory of all its processes together; of each of them where the system
            cannot count them together.
        processes: Processes and threads at one time.
        file_bytes: Largest file that it may write.
        disk_bytes: All that it may write, in its workspace and in its temporary folder.
        open_files: File descriptors of each process.
        output_bytes: Printed bytes, standard output and error each, beyond which it is killed.
        head_bytes: Printed bytes that are kept from the beginning, of each stream.
        tail_bytes: Printed bytes that are kept from the end, of each stream.
    """

    timeout_s: float | None = DEFAULT_TIMEOUT_S
    memory_bytes: int = 4 * 2**30
    processes: int = 512
    file_bytes: int = 2 * 2**30
    disk_bytes: int = 4 * 2**30
    open_files: int = 1_024
    output_bytes: int = MAX_OUTPUT_BYTES
    head_bytes: int = 512 * 2**10
    tail_bytes: int = 512 * 2**10


class Command(Struct, frozen=True, kw_only=True):
    """
    One command as it is to be run; no shell ever sees it.

    Args:
        argv: The program and its arguments, one item each.
        workspace: Absolute path of the folder that the work was done in; None for none.
        cwd: Folder to start in, relative to the workspace.
        env: Variables to set, besides the few that every command gets.
        inherit_env: Start from signoff's own environment instead of an empty one; this
            weakens what the isolation says.
        network: It may open sockets of any kind.
        live: Work in the workspace itself instead of a private copy; weakens likewise.
        stdin: What it reads on standard input, which is then closed.
        readable: Absolute paths, beyond the system's, that it may read and run.
        writable: Absolute paths that it may write, at the same place inside and outside.
        limits: What it may use up.
        preload: Python that a warm process may have run beforehand; ``argv`` must then be a
            Python, a file and its arguments.  A sandbox that is not warm starts it as ever.
    """

    argv: tuple[str, ...]
    workspace: str | None = None
    cwd: str = ""
    env: Mapping[str, str] = {}
    inherit_env: bool = False
    network: bool = False
    live: bool = False
    stdin: bytes = b""
    readable: tuple[str, ...] = ()
    writable: tuple[str, ...] = ()
    limits: Limits = Limits()
    preload: str = ""


class Captured(Struct, frozen=True, kw_only=True):
    """
    What a command printed on one stream, in bounded memory.

    Args:
        head: The first bytes.
        tail: The last bytes beyond the head; with ``head`` it is all of it, unless ``omitted``.
        size: Number of bytes that were printed.
        digest: ``sha256:`` and the hex digest of all of them.
    """

    head: bytes = b""
    tail: bytes = b""
    size: int = 0
    digest: str = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

    @property
    def omitted(self) -> int:
        """Bytes between head and tail that were not kept."""
        return self.size - len(self.head) - len(self.tail)


class Completed(Struct, frozen=True, kw_only=True):
    """
    How a command ended, and what it left; use it in a ``with``, or close it.

    Args:
        ended: How it ended.
        exit_code: Its exit code, where it ended by itself.
        signal: Name of the signal that ended it, such as ``SIGSEGV``.
        elapsed_s: Seconds from its start, by the monotonic clock.
        stdout: What it printed on standard output.
        stderr: What it printed on standard error.
        left_processes: Processes that still ran when it had ended; they were killed.
        isolation: Level under which it ran; None when it was not started.
        missing: What the level should give and this machine does not, a sentence each.
        reason: Why it was not started, or how the sandbox broke, in one sentence; else ``""``.
        passing: How it ended says nothing of the command or the machine: it may go well again.
        workspace: Folder that holds the workspace as the command left it, to read beneath
            until this is closed; None without one.
        release: Gives up the workspace as it was left.
    """

    ended: Ended
    exit_code: int | None = None
    signal: str | None = None
    elapsed_s: float = 0.0
    stdout: Captured = Captured()
    stderr: Captured = Captured()
    left_processes: int = 0
    isolation: Isolation | None = None
    missing: tuple[str, ...] = ()
    reason: str = ""
    workspace: str | None = None
    release: Callable[[], None] | None = None
    passing: bool = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, at: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Give up the workspace as it was left; more than once does nothing."""
        if self.release is not None:
            self.release()


class Runner(Protocol):
    """What runs commands; ``Sandbox`` is the one there is."""

    @property
    def scratch(self) -> str:
        """Folder for temporary files, removed with the runner, also when it is killed."""
        ...

    @property
    def limits(self) -> Limits:
        """What a command may use up where nobody says otherwise."""
        ...

    def run(self, command: Command) -> Completed:
        """Run a command to its end; never raises for what it does."""
        ...

    def cancel(self, thread: int) -> None:
        """End the command that a thread waits for, if any; ``threading.get_ident`` names it."""
        ...

    def requiring(self, level: Isolation) -> Runner:
        """The same, refusing to run anything below a level."""
        ...
