"""Which levels of isolation this machine gives, found out by running something at each."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable
from pathlib import Path
from threading import Lock
from typing import Final

from msgspec import Struct

from signoff.jsonvalue import shown
from signoff.model import Isolation
from signoff.sandbox.command import Command, Completed, Ended, Limits

__all__ = ["LevelReport", "Levels", "Undecided", "Way"]

HIGHEST_FIRST: Final[tuple[Isolation, ...]] = ("L3", "L2", "L1")
NOTHING: Final = Command(argv=("/bin/sh", "-c", ":"), limits=Limits(timeout_s=20.0))
WORDS: Final = {
    "L3": "namespaces, by bubblewrap",
    "L2": "Landlock and a filter for system calls",
    "L1": "a session of its own, limits and a cleared environment",
}
# Endings and messages that come of the moment.
PASSING: Final = frozenset(
    (Ended.CANCELLED, Ended.TIMED_OUT, Ended.OUTPUT_LIMIT, Ended.MEMORY_LIMIT, Ended.DISK_LIMIT)
)
SHORTAGES: Final = tuple(
    os.strerror(code) for code in (errno.EAGAIN, errno.EMFILE, errno.ENFILE, errno.ENOMEM)
)
# Settings that keep users from namespaces: file, value, what it says, what to do.
SWITCHES: Final = (
    (
        "/proc/sys/kernel/unprivileged_userns_clone",
        "0",
        "the kernel keeps user namespaces from users",
        "sysctl kernel.unprivileged_userns_clone=1",
    ),
    (
        "/proc/sys/user/max_user_namespaces",
        "0",
        "the kernel allows no user namespaces",
        "sysctl user.max_user_namespaces=10000",
    ),
    (
        "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
        "1",
        "AppArmor keeps user namespaces from programs without a profile",
        "load a profile that allows userns to bwrap, such as bwrap-userns-restrict",
    ),
)
INSTALL: Final = "install it: apt install bubblewrap, dnf install bubblewrap, apk add bubblewrap"
CONTAINER: Final = (
    "in a container, allow unshare, clone, mount and pivot_root in its seccomp profile "
    "(docker: --security-opt seccomp=unconfined)"
)
PROC: Final = "docker: --security-opt systempaths=unconfined"
LANDLOCK: Final = (
    "Linux 5.13 or newer, with landlock in its list of security modules (lsm= at boot); "
    "in a container, a seccomp profile that allows the calls of Landlock"
)


class Way(Struct, frozen=True, kw_only=True):
    """
    How one level is reached on this machine.

    Args:
        level: The level.
        namespace: The guardian may mount file systems of its own, so that nothing is copied.
        missing: Why the levels above are not there, a sentence each.
    """

    level: Isolation
    namespace: bool = False
    missing: tuple[str, ...] = ()


class LevelReport(Struct, frozen=True, kw_only=True):
    """
    One level on this machine.

    Args:
        level: The level.
        means: What it is made of.
        available: A program could be run at it.
        missing: What is not there, a sentence each; of an available level too.
        remedy: How to get what is missing; ``""`` when nothing is, or nothing helps.
    """

    level: Isolation
    means: str
    available: bool
    missing: tuple[str, ...] = ()
    remedy: str = ""


class Undecided(Exception):
    """
    What this machine gives could not be found out just now; next time it may be.

    Args:
        tried: How the attempt ended.
    """

    def __init__(self, tried: Completed) -> None:
        reason = "what isolation this machine gives could not be found out"
        super().__init__(reason)
        said = tried.reason or _last_line(tried) or tried.ended.value
        self.completed = Completed(
            ended=Ended.CANCELLED if tried.ended is Ended.CANCELLED else Ended.BROKEN,
            reason=f"{reason}: {said}",
            passing=True,
        )
        """How a command ends for which it was to be found out."""


class Levels:
    """
    The levels of this machine, each tried when it is first asked for, and once.

    An attempt that something outside disturbs is not counted.

    Args:
        attempt: Runs a command in a given way.
        bubblewrap: The program; None where it is not installed.
    """

    def __init__(
        self, attempt: Callable[[Command, Way], Completed], bubblewrap: str | None
    ) -> None:
        self._attempt = attempt
        self._bubblewrap = bubblewrap
        self._lock = Lock()
        self._known = dict[Isolation, tuple[Way | None, LevelReport]]()

    def highest(self, wanted: Isolation | None = None) -> Way | None:
        """
        The highest level, or the wanted one; None when that is not to be had.

        Raises:
            Undecided: That could not be found out.
        """
        missing = list[str]()
        for level in (wanted,) if wanted else HIGHEST_FIRST:
            way, report = self._tried("L1" if level == "L0" else level)
            if way is not None:
                return Way(level=way.level, namespace=way.namespace, missing=tuple(missing))
            missing += report.missing
        return None

    def report(self, level: Isolation) -> LevelReport:
        """What is to be said about a level."""
        try:
            return self._tried(level)[1]
        except Undecided as exc:
            return _absent(level, exc.completed.reason, "try again")[1]

    def survey(self) -> tuple[LevelReport, ...]:
        """What is to be said about each, the highest first."""
        return tuple(self.report(level) for level in HIGHEST_FIRST)

    def refusal(self, level: Isolation, got: Isolation) -> str:
        """Why nothing is run below a level, and how to get it, in one sentence."""
        report = self.report(level)
        why = "; ".join(report.missing) or "a lower one was asked for"
        how = f" ({report.remedy})" if report.remedy else ""
        return f"isolation {level} is required and {got} is what there is: {why}{how}"

    def _tried(self, level: Isolation) -> tuple[Way | None, LevelReport]:
        with self._lock:
            if level not in self._known:
                self._known[level] = self._try(level)
            return self._known[level]

    def _try(self, level: Isolation) -> tuple[Way | None, LevelReport]:
        if sys.platform != "linux" and level != "L1":
            return _absent(level, f"{WORDS[level]}: only Linux has them", "")
        if level == "L3" and self._bubblewrap is None:
            return _absent(level, "bubblewrap is not installed: there is no program bwrap", INSTALL)
        tried = Completed(ended=Ended.BROKEN)
        for namespace in (True, False) if level == "L3" else (False,):
            tried = self._attempted(Way(level=level, namespace=namespace))
            if tried.ended is Ended.EXITED and tried.exit_code == 0:
                report = LevelReport(
                    level=level, means=WORDS[level], available=True, missing=tried.missing
                )
                return Way(level=level, namespace=namespace), report
        return _absent(level, *_why(level, tried))

    def _attempted(self, way: Way) -> Completed:
        tried = self._attempt(NOTHING, way)
        if _is_passing(tried) and tried.ended is not Ended.CANCELLED:
            tried = self._attempt(NOTHING, way)
        if _is_passing(tried):
            raise Undecided(tried)
        return tried


def _is_passing(tried: Completed) -> bool:
    """True when something was in the way that says nothing of the machine."""
    if tried.ended is Ended.SIGNALED:
        return tried.signal == "SIGKILL"  # by whoever is short of memory
    said = _last_line(tried)
    return tried.passing or tried.ended in PASSING or any(text in said for text in SHORTAGES)


def _last_line(tried: Completed) -> str:
    """What was printed last as an error."""
    said = os.fsdecode(tried.stderr.head).strip().rpartition("\n")[2]
    return shown(said.removeprefix("bwrap: ")[:200])


def _absent(level: Isolation, missing: str, remedy: str) -> tuple[None, LevelReport]:
    report = LevelReport(
        level=level,
        means=WORDS[level],
        available=False,
        missing=(f"{level}: {missing}",),
        remedy=remedy,
    )
    return None, report


def _why(level: Isolation, tried: Completed) -> tuple[str, str]:
    """What kept a program from running at a level, and what to do about it."""
    said = _last_line(tried) or tried.reason or tried.ended.value
    if level == "L2":
        return said, LANDLOCK
    if level == "L1":
        return said, ""
    for file, value, meaning, remedy in SWITCHES:
        if _holds(file, value):
            return f"{meaning} ({said})", remedy
    if "proc" in said:
        return f"the container hides parts of /proc ({said})", PROC
    return f"namespaces cannot be made ({said})", CONTAINER


def _holds(file: str, value: str) -> bool:
    try:
        return Path(file).read_text("ascii").strip() == value
    except (OSError, ValueError):
        return False
