"""``signoff completion``: print the completion script for a shell."""

from __future__ import annotations

from typing import Final

import click
import msgspec
from click.shell_completion import ShellComplete, get_completion_class

from signoff.cli.commands import Command, Commands, json_option
from signoff.cli.exits import Exit
from signoff.cli.terminal import Terminal

__all__ = ["command"]

VARIABLE: Final = "_SIGNOFF_COMPLETE"

EXAMPLES: Final = """\b
Examples:
  signoff completion bash >> ~/.bashrc
  signoff completion zsh >> ~/.zshrc        (after compinit)
  signoff completion fish > ~/.config/fish/completions/signoff.fish
"""


@click.command("completion", cls=Command, epilog=EXAMPLES)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@json_option
@click.pass_obj
def command(terminal: Terminal, /, shell: str, *, as_json: bool) -> int:
    """
    Print the completion script for a shell.

    SHELL is bash, zsh or fish; the script teaches it signoff's commands, options
    and verifiers.
    """
    kind = get_completion_class(shell)
    assert kind is not None
    # Not the class's own source(), which for bash starts a bash to ask for its version.
    script = ShellComplete.source(kind(Commands(), {}, "signoff", VARIABLE))
    if as_json:
        document = {"shell": shell, "script": script}
        terminal.out.json(msgspec.json.format(msgspec.json.encode(document), indent=2))
    else:
        terminal.out.line(script.strip())
    return Exit.DONE
