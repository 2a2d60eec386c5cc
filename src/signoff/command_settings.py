"""
What an operator says of commands that checks start, and the sandbox that comes of it.

Most contracts start no command, so the sandbox itself is imported and made when the
first one is to be run.
"""

from __future__ import annotations

from collections.abc import Mapping
from threading import Lock
from types import TracebackType
from typing import Any, Self

from msgspec import Struct

from signoff.model import Isolation

__all__ = ["CommandSettings", "LateSandbox"]


class CommandSettings(Struct, frozen=True, kw_only=True):
    """
    How commands are run.

    Args:
        min_isolation: The lowest level of isolation that will do.
        readable: Absolute paths, beyond the system's, that commands may read and run.
        pass_env: Names of variables of signoff's own environment that commands get.
        python: The interpreter that runs tests; None to look for one.
        limits: What a command may use up, by the names of ``sandbox.command.Limits``.
    """

    min_isolation: Isolation = "L1"
    readable: tuple[str, ...] = ()
    pass_env: tuple[str, ...] = ()
    python: str | None = None
    limits: Mapping[str, int] = {}

    def sandbox(self, *, min_isolation: Isolation | None = None, warm: bool = False) -> LateSandbox:
        """
        A sandbox for these settings; nothing is started before the first command is.

        Args:
            min_isolation: The lowest level that will do, where that is higher.
            warm: The tests are trusted with a process that stays, where L1 will do.
        """
        return LateSandbox(self, max(self.min_isolation, min_isolation or "L1"), warm=warm)


class LateSandbox:
    """
    A sandbox that is made when the first command is to be run; a context manager.

    Args:
        settings: How commands are run.
        min_isolation: The lowest level of isolation that will do.
        warm: The tests are trusted with a process that stays, where L1 will do.
    """

    def __init__(
        self, settings: CommandSettings, min_isolation: Isolation, *, warm: bool = False
    ) -> None:
        self._settings = settings
        self._warm = warm
        self._min_isolation: Isolation = min_isolation
        self._making = Lock()
        self._made: Any = None
        self._is_closed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, at: TracebackType | None
    ) -> None:
        self.close()

    @property
    def scratch(self) -> str:
        """Folder for temporary files, removed with the sandbox."""
        scratch: str = self._sandbox().scratch
        return scratch

    @property
    def limits(self) -> Any:
        """What a command may use up where nobody says otherwise."""
        return self._sandbox().limits

    def survey(self) -> Any:
        """The levels that this machine gives, the highest first, each by running something."""
        return self._sandbox().survey()

    def run(self, command: Any) -> Any:
        """Run a command to its end; never raises for what it does."""
        return self._sandbox().run(command)

    def requiring(self, level: Isolation) -> Any:
        """The sandbox, refusing to run anything below a level."""
        return self._sandbox().requiring(level)

    def cancel(self, thread: int) -> None:
        """End the command that a thread waits for, if any."""
        if self._made is not None:
            self._made.cancel(thread)

    def close(self) -> None:
        """End whatever runs and remove all that is temporary; no command is run any more."""
        with self._making:
            self._is_closed = True
            if self._made is not None:
                self._made.close()

    def _sandbox(self) -> Any:
        with self._making:
            if self._made is None:
                self._made = self._new()
                if self._is_closed:
                    self._made.close()
            return self._made

    def _new(self) -> Any:
        from signoff.sandbox import Sandbox  # processes and sockets, for commands alone
        from signoff.sandbox.command import MAX_KEPT_BYTES, Limits  # likewise

        return Sandbox(
            min_isolation=self._min_isolation,
            readable=self._settings.readable,
            pass_env=self._settings.pass_env,
            # How much is kept for judging it is a matter of the checks.
            limits=Limits(**self._settings.limits, head_bytes=MAX_KEPT_BYTES),
            warm=self._warm,
        )
