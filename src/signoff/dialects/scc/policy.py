"""
Which commands a contract may not run, unless the settings allow them.

A list of names proves nothing about what a program does: the sandbox limits that.
It stops the mistake, and says so before the first check starts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from enum import Enum
from typing import Final

from msgspec import Struct

from signoff.jsonvalue import shown

__all__ = ["CommandPolicy", "Gate", "gate_of"]


class Gate(Enum):
    """The two gate commands of the seed, whose result a run takes from its own gate."""

    CHECK = "check"
    VERDICT = "verdict"


class CommandPolicy(Struct, frozen=True, kw_only=True):
    """
    What the settings say of commands.

    Args:
        allow: Names that are denied by default and may run.
        deny: Names that may not run, whatever else says so; ``git push`` names a
            program with its subcommand.
    """

    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()

    def denial(self, argv: Sequence[str]) -> str | None:
        """Why the command may not run, None if it may."""
        for words in _behind(tuple(argv)):
            if words is None:
                return f'what "{shown(argv[0])}" starts cannot be read'
            names = _names(words)
            for name in names:
                if name in self.deny:
                    return f'"{shown(name)}" is denied by the settings'
            for name, what in _denied(words):
                if name not in self.allow:
                    return f'{what} is denied; the settings may allow "{name}"'
        return None


def gate_of(argv: Sequence[str], cwd: str = "") -> Gate | None:
    """The gate command that a check exactly is, by its script or by signoff; None if it is none."""
    if cwd not in {"", "."} or len(argv) < 2:
        return None
    program, *rest = argv
    words = [rest[0].removeprefix("./"), *rest[1:]]
    if words[-1] == "--case=basic":
        words[-1:] = ["--case", "basic"]
    if _PYTHON.fullmatch(program):
        return _SCRIPTS.get(tuple(words))
    return _OWN.get(tuple(words)) if program == "signoff" else None


_PYTHON: Final = re.compile(r"python(?:3(?:\.\d+)?)?")
_SCRIPTS: Final = {
    ("tools/ci/run_phase4_checks.py",): Gate.CHECK,
    ("tools/ci/mvm-verdict.py", "--case", "basic"): Gate.VERDICT,
}
_OWN: Final = {
    ("scc", "check"): Gate.CHECK,
    ("scc", "verdict", "--case", "basic"): Gate.VERDICT,
}

_PROGRAMS: Final = frozenset(
    ("curl", "del", "docker", "erase", "format", "kubectl", "reboot", "scp", "shutdown", "ssh",
     "sudo", "wget")
)  # fmt: skip
_SHELLS: Final = frozenset(
    ("ash", "bash", "csh", "dash", "fish", "ksh", "mksh", "pwsh", "powershell", "sh", "tcsh", "zsh",
     "cmd")
)  # fmt: skip
_GIT_DENIED: Final = ("push", "clone")
_GIT_WITH_VALUE: Final = frozenset(
    ("-C", "-c", "--git-dir", "--work-tree", "--namespace", "--config-env", "--super-prefix",
     "--exec-path", "--attr-source")
)  # fmt: skip
_ASSIGNMENT: Final = re.compile(r"[^=]+=.*", re.DOTALL)
# Of each program that starts another one: its options that take a value, short and long.
_WRAPPERS: Final = {
    "env": ("uC", ("--unset", "--chdir")),
    "nice": ("n", ("--adjustment",)),
    "nohup": ("", ()),
    "timeout": ("ks", ("--kill-after", "--signal")),
    "xargs": (
        "adEILnPs",
        ("--arg-file", "--delimiter", "--max-lines", "--max-args", "--max-procs", "--max-chars",
         "--process-slot-var"),
    ),
}  # fmt: skip


def _name(word: str) -> str:
    """The name of a program, whatever folder, case and ending it is written with."""
    name = re.split(r"[/\\]", word)[-1].lower()
    for ending in (".exe", ".com", ".cmd", ".bat"):
        name = name.removesuffix(ending)
    return name


def _names(words: tuple[str, ...]) -> tuple[str, ...]:
    name = _name(words[0])
    if name == "git":
        subcommands = _git_subcommand(words)
        return (name, *(f"git {one}" for one in subcommands))
    return (name, f"{name} {words[1]}") if len(words) > 1 else (name,)


def _behind(words: tuple[str, ...]) -> Iterator[tuple[str, ...] | None]:
    """The command, and each that it starts for certain; None for one that cannot be read."""
    while words:
        yield words
        wrapper = _name(words[0])
        if wrapper not in _WRAPPERS:
            return
        inner = _unwrapped(wrapper, words[1:])
        if inner is None:
            yield None
            return
        words = inner


def _unwrapped(wrapper: str, words: tuple[str, ...]) -> tuple[str, ...] | None:
    """What follows the wrapper's own words; None when that cannot be told."""
    short, long = _WRAPPERS[wrapper]
    at = 0
    while at < len(words) and words[at].startswith("-") and words[at] != "-":
        word = words[at]
        at += 1
        if word == "--":
            break
        if wrapper == "env" and (_splits(word)):
            return None
        if word.startswith("--"):
            at += word in long
        elif wrapper == "nice" and word[1:].lstrip("-").isdigit():
            continue
        else:
            letter = next((i for i, one in enumerate(word[1:], 2) if one in short), 0)
            at += letter == len(word)
    if wrapper == "env":
        while at < len(words) and (words[at] == "-" or _ASSIGNMENT.fullmatch(words[at])):
            at += 1
    return words[at + (wrapper == "timeout") :]


def _splits(word: str) -> bool:
    """``env -S`` makes a command of a text."""
    if word.startswith("--"):
        return "--split-string".startswith(word.partition("=")[0])
    return "S" in word


def _denied(words: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Each name by which a command is denied, with what is denied about it."""
    name, rest = _name(words[0]), words[1:]
    if name in _PROGRAMS:
        yield name, f'"{name}"'
    elif name == "rm" and any(map(_forces, _options(rest))):
        yield name, '"rm" with -r or -f'
    elif name == "git":
        for subcommand in _git_subcommand(words):
            if subcommand in _GIT_DENIED:
                yield f"git {subcommand}", f'"git {subcommand}"'
            elif subcommand == "-c alias":
                yield "git -c alias", 'an alias given to "git"'
    elif name in _SHELLS and _takes_program(name, rest):
        yield name, f'"{name} -c"'


def _options(rest: Sequence[str]) -> Iterator[str]:
    """The options, wherever they stand before ``--``."""
    for word in rest:
        if word == "--":
            return
        if word.startswith("-"):
            yield word


def _forces(option: str) -> bool:
    if option.startswith("--"):  # an option may be shortened
        return len(option) > 2 and any(one.startswith(option) for one in ("--recursive", "--force"))
    return any(letter in option for letter in "rRf")


def _git_subcommand(words: tuple[str, ...]) -> tuple[str, ...]:
    """What follows the options of git itself, after an alias that they define."""
    at, found = 1, []
    while at < len(words) and words[at].startswith("-"):
        value = words[at + 1] if words[at] in _GIT_WITH_VALUE and at + 1 < len(words) else ""
        setting = value if words[at] in {"-c", "--config-env"} else words[at].partition("=")[2]
        if setting.lower().startswith("alias."):
            found.append("-c alias")
        at += 2 if words[at] in _GIT_WITH_VALUE else 1
    return (*found, *words[at : at + 1])


def _takes_program(name: str, rest: Sequence[str]) -> bool:
    """The shell is given a program as a text, which nobody can read here."""
    if name == "cmd":
        return any(word.lower()[:2] in {"/c", "/k", "/r"} for word in rest)
    at = 0
    while at < len(rest) and rest[at][:1] in {"-", "+"} and rest[at] not in {"-", "--"}:
        word = rest[at].lower()
        if word.startswith("--"):
            if "--command".startswith(word.partition("=")[0]):
                return True
            at += 2 if word in {"--rcfile", "--init-file"} else 1
            continue
        if "c" in word or (name in {"pwsh", "powershell"} and word.startswith("-e")):
            return True
        at += 2 if word[-1] == "o" else 1
    return False
