"""
A runner that runs nothing: commands end as a vector says they did.

So what a check makes of a command can be said in a language-neutral way, without
a machine that has the program.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from signoff.model import Isolation
from signoff.sandbox.command import Captured, Command, Completed, Ended, Limits

PLAIN = ("exit_code", "signal", "elapsed_s", "left_processes", "reason", "isolation")


class ScriptedRunner:
    """
    Commands end one after another as they are described.

    A description has fields of ``Completed``, ``stdout`` and ``stderr`` as texts, and
    ``files``, texts by their names, which the command writes; those of ``outbox`` go to
    the first folder beyond its workspace that it may write.

    Args:
        described: How each command ends.
        folder: For the workspaces that commands leave.
    """

    def __init__(self, described: Iterable[Mapping[str, Any]], folder: Path) -> None:
        self.limits = Limits()
        self.commands: list[Command] = []
        self._described = list(described)
        self._folder = folder

    @property
    def scratch(self) -> str:
        return str(self._folder)

    def run(self, command: Command) -> Completed:
        self.commands.append(command)
        said = self._described.pop(0)
        left = self._folder / str(len(self.commands))
        if command.workspace is not None:
            shutil.copytree(command.workspace, left, symlinks=True)
        for name, text in said.get("files", {}).items():
            (left / name).parent.mkdir(parents=True, exist_ok=True)
            (left / name).write_text(text, "utf-8")
        for name, text in said.get("outbox", {}).items():
            Path(command.writable[0], name).write_text(text, "utf-8")
        facts = {name: said[name] for name in PLAIN if name in said}
        return Completed(
            ended=Ended(said["ended"]),
            stdout=_captured(said.get("stdout", "")),
            stderr=_captured(said.get("stderr", "")),
            missing=tuple(said.get("missing", ())),
            workspace=None if command.workspace is None else str(left),
            **facts,
        )

    def requiring(self, level: Isolation) -> ScriptedRunner:
        return self

    def cancel(self, thread: int) -> None:
        """There is nothing to end."""


def _captured(text: str) -> Captured:
    data = text.encode("utf-8", "surrogateescape")
    return Captured(head=data, size=len(data), digest=f"sha256:{sha256(data).hexdigest()}")
