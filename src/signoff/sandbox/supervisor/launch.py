"""What a guardian is about to start, and how confinement takes part in it."""

from __future__ import annotations

import os
from typing import Any

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
        self.missing = list[str]()
        """What the level should give and this machine does not, a sentence each."""


class Free:
    """
    No confinement; and the places at which confinement takes part, in the order of calling.

    Any of them may raise ``NotStarted`` or ``OSError``.
    """

    def prepare(self, launch: Launch) -> None:
        """
        In the guardian, single-threaded, before the fork; it may enter namespaces of its own.

        Where it says at which place the workspace is, that is not copied afterwards.
        """

    def enter(self, launch: Launch) -> None:
        """In the child, right before the program is executed and after its limits are set."""

    def started(self, launch: Launch, child: int) -> None:
        """In the guardian, once the program is being executed."""

    def ended(self, launch: Launch, facts: dict[str, Any]) -> dict[str, Any]:  # noqa: ARG002  the others look at it
        """In the guardian, what is to be told of a program that has ended by itself."""
        return facts

    def finish(self, launch: Launch) -> None:
        """In the guardian, when all processes have ended and before signoff is told."""
