"""An executor that is a program: started once for each request, in the sandbox."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable
from pathlib import Path
from shutil import which
from typing import Final

from signoff.errors import NotGiven
from signoff.executors.failure import (
    ExecutorFailed,
    ExecutorOutputInvalid,
    ExecutorTimedOut,
)
from signoff.executors.reply import (
    MAX_LOG_BYTES,
    MAX_REPLY_BYTES,
    PLAIN,
    Executed,
    Form,
    read_reply,
)
from signoff.jsonvalue import JSON, shown
from signoff.model import Isolation
from signoff.sandbox import Sandbox
from signoff.sandbox.command import Command, Completed, Ended, Limits

__all__ = ["ProgramExecutor"]

MAX_PRINTED_BYTES: Final = 16 * 2**20
"""A program that prints more than this is ended at once."""


class ProgramExecutor:
    """
    Starts a program for each request, which stands as JSON on its standard input.

    No shell is involved.  The environment holds what every sandboxed command gets
    and the named variables.  A file that is named on the command line may be read;
    beyond the system nothing else may, where the machine gives that much isolation.

    Args:
        line: Program and arguments, quoted as for a POSIX shell.
        form: How JSON is written and read.
        env: Names of variables that it gets.
        readable: Paths that it may read and run.
        network: It may open sockets.
        min_isolation: The lowest level of isolation that will do.
        folder: Where relative paths begin.

    Raises:
        ValueError: The line has no program in it, or its quotes are not closed.
        NotGiven: A named variable has no value.
    """

    def __init__(
        self,
        line: str,
        *,
        form: Form = PLAIN,
        env: Iterable[str] = (),
        readable: Iterable[str] = (),
        network: bool = False,
        min_isolation: Isolation = "L1",
        folder: Path | None = None,
    ) -> None:
        self._form = form
        self._network = network
        self._argv, named = _resolved(_split(line), (folder or Path.cwd()).resolve())
        self._readable = (*named, *(str(Path(path).absolute()) for path in readable))
        self._env = {name: _value(name) for name in env}
        self._sandbox = Sandbox(min_isolation=min_isolation)
        self.name = f"cmd:{Path(self._argv[0]).name}"

    def prepare(self) -> None:
        """
        Find the program.

        Raises:
            ExecutorFailed: There is none of that name that could be run.
        """
        if which(self._argv[0]) is None:
            raise ExecutorFailed(self.name, "is no program that can be found and run")
        for path in self._readable:
            if not Path(path).exists():
                raise ExecutorFailed(self.name, f"may read {shown(path)}, which is not there")

    def run(self, request: JSON, deadline_s: float) -> Executed:
        """
        What the program gives; all that it started has ended.

        Raises:
            ExecutorFailed: It could not be started, or did not end with exit code 0.
            ExecutorTimedOut: It had not ended in time.
            ExecutorOutputInvalid: What it printed is no reply.
        """
        command = Command(
            argv=self._argv,
            env=self._env,
            network=self._network,
            stdin=self._form.dumps(request),
            readable=self._readable,
            limits=Limits(
                timeout_s=deadline_s,
                output_bytes=MAX_PRINTED_BYTES,
                head_bytes=MAX_REPLY_BYTES,
                tail_bytes=0,
            ),
        )
        with self._sandbox.run(command) as completed:
            log = completed.stderr.head[:MAX_LOG_BYTES]
            if completed.ended is Ended.TIMED_OUT or _was_late(completed, deadline_s):
                raise ExecutorTimedOut(self.name, deadline_s, log=log)
            self._require_whole(completed, log)
            return read_reply(self.name, completed.stdout.head, self._form, log=log)

    def close(self) -> None:
        """End whatever runs."""
        self._sandbox.close()

    def _require_whole(self, completed: Completed, log: bytes) -> None:
        if completed.ended is Ended.OUTPUT_LIMIT or completed.stdout.omitted:
            reason = f"it has more than {MAX_REPLY_BYTES} bytes"
            raise ExecutorOutputInvalid(self.name, "", reason, log=log)
        if completed.ended is not Ended.EXITED:
            raise ExecutorFailed(self.name, _ending(completed), log=log)
        if completed.exit_code != 0:
            raise ExecutorFailed(self.name, f"ended with exit code {completed.exit_code}", log=log)


def _was_late(completed: Completed, deadline_s: float) -> bool:
    """It broke only when its time was over: a busy machine was slow to kill it."""
    return completed.ended is Ended.BROKEN and completed.elapsed_s >= deadline_s


def _ending(completed: Completed) -> str:
    if completed.ended is Ended.SIGNALED:
        return f"was ended by {completed.signal}"
    why = f": {shown(completed.reason)}" if completed.reason else ""
    return f"ended as {completed.ended.value}{why}"


def _split(line: str) -> list[str]:
    try:
        argv = shlex.split(line)
    except ValueError as exc:
        raise ValueError(f"a command must be quoted as for a shell: {exc}".lower()) from exc
    if not argv or not argv[0]:
        raise ValueError("a command must name a program")
    return argv


def _resolved(argv: list[str], folder: Path) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The arguments, with files by their absolute paths; and these paths."""
    found, named = list[str](), list[str]()
    for position, argument in enumerate(argv):
        is_name = (
            not argument or argument.startswith("-") or (position == 0 and "/" not in argument)
        )
        path = folder / argument
        if is_name or "\0" in argument or not _is_file(path):
            found.append(argument)
        else:
            found.append(str(path))
            named += dict.fromkeys((str(path), str(path.resolve())))
    return tuple(found), tuple(named)


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # a text far too long for a name
        return False


def _value(name: str) -> str:
    value = os.environ.get(name, "")
    if not value:
        raise NotGiven(f"the environment variable {shown(name)} has no value")
    return value
