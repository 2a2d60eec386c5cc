"""What a command finds in its environment, and what cannot be a command at all."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Final

from signoff.sandbox.command import Command, Limits

__all__ = ["check", "environment", "search_path"]

LANG: Final = "C.UTF-8"


def check(command: Command) -> None:
    """
    Returns for what can be handed to the system.

    Raises:
        ValueError: It cannot, whatever is installed; the message says what is wrong.
    """
    _check_argv(command)
    _check_limits(command.limits)
    for name, value in command.env.items():
        if not name or "=" in name or "\0" in name or "\0" in value:
            raise ValueError(f"env has {name[:60]!r}, which cannot be a variable")
    paths = [*command.readable, *command.writable]
    paths += [] if command.workspace is None else [command.workspace]
    for path in paths:
        if not os.path.isabs(path) or "\0" in path:
            raise ValueError(f"path {path[:200]!r} is not absolute")
    if "\0" in command.cwd:
        raise ValueError("cwd has a NUL character")


def _check_argv(command: Command) -> None:
    if isinstance(command.argv, str | bytes):
        raise ValueError("argv is a text, expected a program and its arguments, one item each")  # noqa: TRY004  one kind of error
    if not command.argv:
        raise ValueError("argv is empty, expected a program and its arguments")
    if not command.argv[0]:
        raise ValueError("argv[0] is empty, expected the name of a program")
    for number, argument in enumerate(command.argv):
        if not isinstance(argument, str):
            raise ValueError(f"argv[{number}] must be a text, got {type(argument).__name__}")  # noqa: TRY004  likewise
        if "\0" in argument:
            raise ValueError(f"argv[{number}] has a NUL character")


def _check_limits(limits: Limits) -> None:
    for name in limits.__struct_fields__:
        limit = getattr(limits, name)
        if limit is not None and not limit >= 0:  # what is no number is not either
            raise ValueError(f"limit {name} is {limit}, expected a number from 0 on")


def environment(
    command: Command, ours: Mapping[str, str], passed: Iterable[str], folder: str
) -> dict[str, str]:
    """
    The variables of a command.

    Args:
        command: What is to be run.
        ours: Signoff's own variables.
        passed: Names of those that every command gets.
        folder: The command's own folder for temporary files.
    """
    env = dict(ours) if command.inherit_env else {n: ours[n] for n in passed if n in ours}
    env.setdefault("PATH", ours.get("PATH", os.defpath))
    env.setdefault("HOME", f"{folder}/home")
    env.setdefault("TMPDIR", f"{folder}/tmp")  # noqa: S108 - its own
    env.setdefault("LANG", LANG)
    env["PATH"] = os.pathsep.join(search_path(env["PATH"]))
    return env | dict(command.env)


def search_path(path: str) -> list[str]:
    """Folders in which programs are looked for; what is relative would lie in the workspace."""
    return [folder for folder in path.split(os.pathsep) if folder.startswith("/")]
