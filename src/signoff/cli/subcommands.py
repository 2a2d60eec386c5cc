"""A command that is a group of others, of which one is imported when it runs."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, ClassVar

import click

from signoff.cli.commands import Command
from signoff.cli.suggestion import did_you_mean

__all__ = ["Subcommands"]


class Subcommands(Command, click.Group):
    """
    A group; whoever makes one gives the two tables.

    ``TABLE`` has the one-line help of each command by its name, ``MODULE`` the name of
    the package that its modules are in.
    """

    TABLE: ClassVar[Mapping[str, str]] = {}
    MODULE: ClassVar[str] = ""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{**kwargs, "no_args_is_help": False})

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  the signature is click's
        """The names, in the order of the table."""
        return list(self.TABLE)

    def get_command(
        self,
        ctx: click.Context,  # noqa: ARG002  likewise
        cmd_name: str,
    ) -> click.Command | None:
        """The command of that name, imported now."""
        if cmd_name not in self.TABLE:
            return None
        command: click.Command = import_module(f"{self.MODULE}.{cmd_name}").command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that the arguments begin with."""
        name = args[0]
        if name not in self.TABLE and not name.startswith("-"):
            raise click.UsageError(f'no command "{name}"{did_you_mean(name, self.TABLE)}', ctx)
        return super().resolve_command(ctx, args)

    def format_commands(
        self,
        ctx: click.Context,  # noqa: ARG002  likewise
        formatter: click.HelpFormatter,
    ) -> None:
        """The table of names and helps."""
        with formatter.section("Commands"):
            formatter.write_dl([*self.TABLE.items()])
