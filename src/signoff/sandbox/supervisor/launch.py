"""What a guardian is about to start, and how confinement takes part in it."""

from __future__ import annotations

import errno
import os
from typing import Any

from signoff.sandbox.supervisor.kinship import Process

__all__ = ["Free", "Launch", "NotStarted"]


class NotStarted(Exception):
    """
    A command cannot be started.

    Args:
        ended: The word for it, one of ``Ended``.
        reason: One sentence.
    """

    def __init__(self, ended: str, reason: str) -> None:
        super().__init__(reason)
        self.ended = ended
        self.reason = reason


class Launch:
    """
    A command as it will be executed; confinement may change any of it before the fork.

    Args:
        request: What signoff asked for.
    """

    def __init__(self, request: dict[str, Any]) -> None:
        self.request = request
        self.argv: list[bytes] = request["argv"]
        self.env: dict[bytes, bytes] = request["env"]
        self.search: list[bytes] = request["search"]
        """Folders in which a program without a slash in its name is looked for, in order."""
        self.folder: str = request["folder"]
        """The command's own folder for temporary files."""
        self.home = os.path.join(self.folder, "home")
        self.temporary = os.path.join(self.folder, "tmp")
        self.workspace: str | None = None
        """Where the workspace of the command is, once it has been made."""
        self.cwd: str = self.home
        self.pass_handles = list[int]()
        """Handles that the program keeps besides the standard three, under the same numbers."""
        self.hand_back: int | None = None
        """Handle of a folder that signoff gets in the end: the workspace as it was left."""
        self.standing: tuple[int, str] | None = None
        """How the command stands with the system, when the guardian stands better."""
        self.missing = list[str]()
        """What the level should give and this machine does not, a sentence each."""

    def reason(self, ended: str) -> str:
        """What a person must know besides the word for how it ended."""
        limits: dict[str, Any] = self.request["limits"]
        match ended:
            case "memory_limit":
                return f"its processes used more than {limits['memory_bytes']} bytes of memory"
            case "disk_limit":
                return f"it wrote more than {limits['disk_bytes']} bytes"
            case "process_limit":
                return f"it had more than {limits['processes']} processes"
            case _:
                return ""

    def not_started(self, failure: bytes) -> NotStarted:
        """What kept the program from being executed, from what the child said."""
        word, _, reason = failure.decode("utf-8", "replace").partition(" ")
        if not word.isdecimal():
            return NotStarted(word, reason)
        program = os.fsdecode(self.argv[0])[:200]
        match int(word):
            case errno.ENOENT | errno.ENOTDIR | errno.ENAMETOOLONG | errno.ELOOP:
                if "/" in program and os.path.exists(os.path.join(self.cwd, program)):
                    return NotStarted("not_found", f"the interpreter of {program!r} is missing")
                return NotStarted("not_found", f"there is no program {program!r}")
            case errno.EACCES | errno.EPERM | errno.EISDIR:
                return NotStarted("denied", f"program {program!r} may not be executed")
            case errno.ENOEXEC:
                return NotStarted("denied", f"{program!r} is in no format that can be executed")
            case errno.E2BIG:
                return NotStarted("denied", "the arguments and the environment are too long")
            case number:
                return NotStarted("broken", f"cannot start {program!r}: {os.strerror(number)}")


class Free:
    """
    No confinement; and the places at which confinement takes part, in the order of calling.

    Any of them may raise ``NotStarted`` or ``OSError``.
    """

    changes_guardian = False
    """The guardian is not what it was afterwards: it has entered namespaces, for one."""

    def prepare(self, launch: Launch) -> None:
        """
        In the guardian, single-threaded, before the fork; it may enter namespaces of its own.

        Where it says at which place the workspace is, that is not copied afterwards.
        """

    def enter(self, launch: Launch) -> None:
        """In the child, right before the program is executed and after its limits are set."""

    def started(self, launch: Launch, child: int) -> None:
        """In the guardian, once the program is being executed."""

    def is_own(self, process: Process) -> bool:  # noqa: ARG002  the others look at it
        """In the guardian, True of a process that keeps the command in, and is not one of it."""
        return False

    def ended(self, launch: Launch, facts: dict[str, Any]) -> dict[str, Any]:  # noqa: ARG002  the others look at it
        """In the guardian, how a program that ended by itself has ended; nothing of it runs."""
        return facts
