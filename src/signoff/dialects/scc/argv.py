"""
A check's command, split into arguments by the quoting rules of POSIX; no shell ever sees it.

What a shell would act on is refused where it stands unquoted; inside quotes it is
data.  ``*``, ``~`` and ``#`` are letters like any other.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

from signoff.dialects.scc.placeholder import expand
from signoff.errors import CommandDenied

__all__ = ["arguments", "split"]

_PLAIN: Final = re.compile(r"[^\s\\'\"$&|;<>`]+")
_DOUBLE: Final = re.compile(r"[^\"\\]+")
_NAMED: Final = re.compile(r"\$\{([A-Z][A-Z0-9_]+)\}")
_CONTROL: Final = frozenset("&|;<>`")
_EXPANDING: Final = re.compile(r"\$[A-Za-z0-9_({@*#?$!'\"-]")
_SPACES: Final = " \t"


def arguments(command: str, values: Mapping[str, str]) -> tuple[str, ...]:
    """
    The program and its arguments, with placeholders replaced after the splitting.

    Args:
        command: As the contract has it.
        values: Of each placeholder.

    Raises:
        CommandDenied: The command is denied.
    """
    return tuple(expand(word, values) for word in split(command, values))


def split(command: str, placeholders: Iterable[str] = ()) -> tuple[str, ...]:
    """
    The words of a command.

    Args:
        command: As the contract has it.
        placeholders: Names that may stand unquoted in ``${...}``.

    Raises:
        CommandDenied: The command is denied.
    """
    if "\0" in command:
        raise CommandDenied("a null character")
    known = frozenset(placeholders)
    words: list[str] = []
    word: list[str] | None = None
    at = 0
    while at < len(command):
        if command[at] in _SPACES:
            if word is not None:
                words.append("".join(word))
            word, at = None, at + 1
            continue
        piece, at = _piece(command, at, known)
        word = [*(word or ()), piece]
    if word is not None:
        words.append("".join(word))
    if not words or not words[0]:
        raise CommandDenied("no program is named")
    return tuple(words)


def _piece(command: str, at: int, known: frozenset[str]) -> tuple[str, int]:
    """What stands at a place that is no space, without its quotes, and where it ends."""
    first = command[at]
    if first == "'":
        end = command.find("'", at + 1)
        if end < 0:
            raise CommandDenied("an unclosed quote")
        return command[at + 1 : end], end + 1
    if first == '"':
        return _double_quoted(command, at + 1)
    if first == "\\":
        return _escaped(command, at)
    if first == "$":
        return _dollar(command, at, known)
    if first in _CONTROL:
        raise CommandDenied(f'an unquoted "{first}"')
    if first in "\r\n":
        raise CommandDenied("an unquoted line break")
    plain = _PLAIN.match(command, at)
    if plain is None:  # a space of another script is a letter here
        return first, at + 1
    return plain[0], plain.end()


def _double_quoted(command: str, at: int) -> tuple[str, int]:
    found: list[str] = []
    while at < len(command):
        if command[at] == '"':
            return "".join(found), at + 1
        if command[at] == "\\":
            following = command[at + 1 : at + 2]
            if following in {"$", "`", '"', "\\"}:
                found.append(following)
            elif following != "\n":  # which a shell takes out, with the backslash
                found.append(f"\\{following}")
            at += 2
            continue
        plain = _DOUBLE.match(command, at)
        assert plain is not None
        found.append(plain[0])
        at = plain.end()
    raise CommandDenied("an unclosed quote")


def _escaped(command: str, at: int) -> tuple[str, int]:
    following = command[at + 1 : at + 2]
    if not following:
        raise CommandDenied("a backslash at the end")
    if following in "\r\n":
        raise CommandDenied("an unquoted line break")
    return following, at + 2


def _dollar(command: str, at: int, known: frozenset[str]) -> tuple[str, int]:
    named = _NAMED.match(command, at)
    if named is not None and named[1] in known:
        return named[0], named.end()
    if command.startswith("$(", at):
        raise CommandDenied('an unquoted "$("')
    if _EXPANDING.match(command, at):
        raise CommandDenied('an unquoted "$" that a shell would expand')
    return "$", at + 1
