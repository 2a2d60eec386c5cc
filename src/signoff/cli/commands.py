"""
The commands by name, each in a module of its own that is imported when it runs.

Names and one-line helps stand here, so that ``signoff --help`` and completion
import no command.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final

import click

from signoff._version import __version__
from signoff.cli.suggestion import did_you_mean

__all__ = ["COMMANDS", "Command", "Commands", "FileName", "json_option"]

COMMANDS: Final = {
    "init": "Write a contract and an example output to start from.",
    "lock": "Make a contract binding, or list every fault in it.",
    "verify": "Judge an output by a contract.",
    "gate": "Judge a run directory again, trusting nothing in it.",
    "ledger": "Show what a ledger holds, and whether it is what was written.",
    "verifiers": "List the verifiers, or explain one.",
    "serve": "Lock contracts and judge outputs over HTTP.",
    "config": "Show what is in force, and from where.",
    "diff": "Show what changed between two contracts.",
    "forge": "Verify a forge task's input and output by its contract.",
    "scc": "Keep OIDs and verdicts as SCC workspaces do.",
    "wattswarm": "Compute what a WattSwarm node and its verifiers hash.",
    "sandbox": "Show which isolation there is, or run one command in it.",
    "completion": "Print the completion script for a shell.",
}

HELP: Final = """
Proof before done: lock what must hold, verify the result, get a verdict.

A contract lists criteria.  Locking it makes it binding; verifying an output
by it gives one result a criterion and a verdict.  Exit codes: 0 passed,
1 failed, 3 inconclusive, 2 the request was unusable, 4 the verdict could
not be written, 130 interrupted.
"""

EXAMPLES: Final = """\b
Examples:
  signoff init                                write a contract to start from
  signoff verify contract.yaml output.json    judge an output by it
  some-agent | signoff verify contract.yaml - judge what a program prints
  signoff verifiers                           what can be checked
"""


def _show_help(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:  # noqa: FBT001  click calls it so
    if wanted and not ctx.resilient_parsing:
        ctx.obj.out.line(ctx.get_help())
        ctx.exit()


def _show_version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:  # noqa: FBT001  likewise
    if wanted and not ctx.resilient_parsing:
        ctx.obj.out.line(f"signoff {__version__}")
        ctx.exit()


def _help_option() -> click.Option:
    return click.Option(
        ["-h", "--help"],
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=_show_help,
        help="Show this help.",
    )


class FileName(click.ParamType):  # type: ignore[type-arg]  # generic in some versions only
    """A name as it was written: what is there is looked at where it is opened, once."""

    name = "path"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The name; an option with an empty one, as from an unset variable, is a slip."""
        if not value and isinstance(param, click.Option):
            self.fail("the name is empty", param, ctx)
        return value

    def shell_complete(
        self,
        ctx: click.Context,  # noqa: ARG002  the signature is click's
        param: click.Parameter,  # noqa: ARG002  likewise
        incomplete: str,
    ) -> list[click.shell_completion.CompletionItem]:
        """The shell completes names of files."""
        from click.shell_completion import CompletionItem  # only a shell asks for it

        return [CompletionItem(incomplete, type="file")]


class Command(click.Command):
    """A command whose help goes to the terminal it was given."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{**kwargs, "add_help_option": False})
        self.params.append(_help_option())


class Commands(click.Group):
    """All commands; one is imported when it runs."""

    def __init__(self) -> None:
        super().__init__("signoff", help=HELP, epilog=EXAMPLES, add_help_option=False)
        version = click.Option(
            ["--version"],
            is_flag=True,
            is_eager=True,
            expose_value=False,
            callback=_show_version,
            help="Show the version.",
        )
        self.params += [version, _help_option()]

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  the signature is click's
        """The names, in the order in which a newcomer needs them."""
        return list(COMMANDS)

    def get_command(
        self,
        ctx: click.Context,  # noqa: ARG002  the signature is click's
        cmd_name: str,
    ) -> click.Command | None:
        """The command of that name, imported now."""
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(f"signoff.cli.{cmd_name}").command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that the arguments begin with."""
        name = args[0]
        if name not in COMMANDS and not name.startswith("-"):
            raise click.UsageError(f'no command "{name}"{did_you_mean(name, COMMANDS)}', ctx)
        return super().resolve_command(ctx, args)

    def format_commands(
        self,
        ctx: click.Context,  # noqa: ARG002  the signature is click's
        formatter: click.HelpFormatter,
    ) -> None:
        """The table of names and helps."""
        with formatter.section("Commands"):
            formatter.write_dl([*COMMANDS.items()])

    def shell_complete(
        self, ctx: click.Context, incomplete: str
    ) -> list[click.shell_completion.CompletionItem]:
        """Names that begin so."""
        from click.shell_completion import CompletionItem  # only a shell asks for it

        found = [
            CompletionItem(name, help=text)
            for name, text in COMMANDS.items()
            if name.startswith(incomplete)
        ]
        return found + [
            item
            for item in click.Command.shell_complete(self, ctx, incomplete)
            if item.value not in COMMANDS
        ]


json_option = click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON document instead of text."
)
