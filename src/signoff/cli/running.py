"""How the commands of checks are run: ``--jobs``, ``--min-isolation``, ``--trust``."""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from typing import Any, Final

import click
from msgspec import Struct

from signoff.model import Isolation

__all__ = ["Running", "running"]

MAX_JOBS: Final = 256
WARM: Final = "warm"
WARM_TEST_SERVER: Final = "warm_test_server"


class Running(Struct, frozen=True, kw_only=True):
    """
    What the command line says of commands.

    Args:
        jobs: How many may run at a time.
        min_isolation: The lowest level that will do, None for that of the contract.
        trust: ``"warm"`` where runs of tests may share a process, else None.
    """

    jobs: int
    min_isolation: Isolation | None
    trust: str | None

    @property
    def warm(self) -> bool:
        """Runs of tests may be forked from one process."""
        return self.trust == WARM

    @property
    def weakened(self) -> tuple[str, ...]:
        """What that makes less strict."""
        return (WARM_TEST_SERVER,) if self.warm else ()


def running(function: Callable[..., int]) -> Callable[..., int]:
    """Options of a command whose checks start commands; its function gets them as ``running``."""

    def command(
        *args: Any, jobs: int, min_isolation: Isolation | None, trust: str | None, **others: Any
    ) -> int:
        said = Running(jobs=jobs, min_isolation=min_isolation, trust=trust)
        return function(*args, running=said, **others)

    chosen: Callable[..., int] = update_wrapper(command, function)
    for option in reversed(_OPTIONS):
        chosen = option(chosen)
    return chosen


_OPTIONS: Final = (
    click.option(
        "--jobs",
        type=click.IntRange(1, MAX_JOBS),
        metavar="N",
        default=1,
        help="Run up to N commands at a time (1 when absent).",
    ),
    click.option(
        "--min-isolation",
        type=click.Choice(["L1", "L2", "L3"]),
        help="Start no command below this level, whatever the contract says.",
    ),
    click.option(
        "--trust",
        type=click.Choice([WARM]),
        help="warm: fork the runs of pytest from one process, at L1; for tests that are trusted.",
    ),
)
