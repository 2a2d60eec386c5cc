"""An executor from the text by which an operator names it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from msgspec import Struct

from signoff.errors import NotGiven, NotInstalled
from signoff.executors.chat import ChatExecutor, Messages
from signoff.executors.failure import ExecutorFailed
from signoff.executors.function import FunctionExecutor
from signoff.executors.program import ProgramExecutor
from signoff.executors.reply import PLAIN, Executor, Form
from signoff.jsonvalue import shown
from signoff.model import Isolation

__all__ = ["ExecutorSettings", "executor_of"]


class ExecutorSettings(Struct, frozen=True, kw_only=True):
    """
    What an operator says of executors.

    Args:
        form: How JSON is written for them, and read.
        messages: What a model is told.
        folder: Where modules and files are looked for; None for where signoff was started.
        env: Names of variables that a program gets.
        readable: Paths, beyond the system's, that a program may read and run.
        network: A program may open sockets.
        min_isolation: The lowest level of isolation that will do for a program.
        key_env: Name of the variable that holds the key of an endpoint; ``""`` for no key.
        allow_http: Endpoints may be asked by plain http beyond this machine.
    """

    form: Form = PLAIN
    messages: Messages | None = None
    folder: Path | None = None
    env: tuple[str, ...] = ()
    readable: tuple[str, ...] = ()
    network: bool = False
    min_isolation: Isolation = "L1"
    key_env: str = ""
    allow_http: bool = False


def executor_of(text: str, settings: ExecutorSettings | None = None) -> Executor:
    """
    The executor that a text names; nothing is started yet.

    Args:
        text: ``call:PACKAGE.MODULE:FUNCTION``, ``cmd:PROGRAM ARGUMENT...`` or
            ``openai:URL#MODEL``.
        settings: What else was said of executors.

    Raises:
        ExecutorFailed: The text names none, or something that it needs was not given.
    """
    kind, colon, rest = text.partition(":")
    make = _KINDS.get(kind) if colon else None
    if make is None:
        reason = "must begin with call:, cmd: or openai:"
        raise ExecutorFailed(f"executor {shown(text, 60)}", reason)
    try:
        return make(rest, settings or ExecutorSettings())
    except (ValueError, NotGiven, NotInstalled) as exc:
        raise ExecutorFailed(f"executor {kind}:", f"cannot be used: {exc}") from exc


def _function(rest: str, settings: ExecutorSettings) -> Executor:
    return FunctionExecutor(rest.strip(), form=settings.form, folder=settings.folder)


def _program(rest: str, settings: ExecutorSettings) -> Executor:
    return ProgramExecutor(
        rest,
        form=settings.form,
        env=settings.env,
        readable=settings.readable,
        network=settings.network,
        min_isolation=settings.min_isolation,
        folder=settings.folder,
    )


def _endpoint(rest: str, settings: ExecutorSettings) -> Executor:
    url, _, model = rest.strip().partition("#")
    try:
        return ChatExecutor(
            url,
            model,
            key_env=settings.key_env,
            form=settings.form,
            messages=settings.messages,
            allow_http=settings.allow_http,
        )
    except ValueError as exc:
        # who names an executor by a text has no allow_http to set
        message = str(exc).replace("allow_http must be true", "lead to this machine")
        raise ValueError(message) from exc


_KINDS: Final[Mapping[str, Callable[[str, ExecutorSettings], Executor]]] = {
    "call": _function,
    "cmd": _program,
    "openai": _endpoint,
}
