"""
Which verifiers count and what they may use: ``--config``, ``--with``, ``--plugin``.

What is not asked for is not imported: without a ``signoff.toml`` and without
options, a command knows the verifiers that come with signoff and nothing else.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cached_property, update_wrapper
from pathlib import Path
from typing import Any, Final

import click
from msgspec import Struct

from signoff.cli.commands import FileName
from signoff.cli.exits import Refusal
from signoff.cli.reading import own_registry
from signoff.command_settings import CommandSettings, LateSandbox
from signoff.jsonvalue import shown
from signoff.model import Isolation
from signoff.powers import CommandRunner, EvidenceReader, Powers
from signoff.registry import Registry
from signoff.strictjson import Limits

__all__ = ["Choice", "choosing"]

# As configfile has it, which is imported only where there is such a file.
FILE: Final = "signoff.toml"


class Choice(Struct, frozen=True, kw_only=True, dict=True):
    """
    What the command line says about verifiers and their means.

    Args:
        file: The configuration's file; None where there is none.
        named: The file was named, rather than found in the current folder.
        modules: What ``--with`` names.
        plugins: What ``--plugin`` names.
    """

    file: str | None = None
    named: bool = False
    modules: tuple[str, ...] = ()
    plugins: tuple[str, ...] = ()

    @cached_property
    def config(self) -> Any:
        """
        The ``Config`` that is in force; None where nothing is configured.

        Raises:
            Refusal: The file cannot be used, or a name is none.
        """
        if not (self.file or self.modules or self.plugins):
            return None
        from signoff.cli.configured import config_of  # only where something is configured

        return config_of(self.file, plugins=self.plugins, modules=self.modules)

    def sandbox(self, *, min_isolation: Isolation | None, warm: bool = False) -> LateSandbox:
        """What runs the commands of checks; it costs nothing until there is one."""
        settings: CommandSettings = self.config.commands if self.config else CommandSettings()
        return settings.sandbox(min_isolation=min_isolation, warm=warm)

    def registry(
        self,
        *,
        workspace: Path | None = None,
        store: EvidenceReader | None = None,
        sandbox: CommandRunner | None = None,
    ) -> Registry:
        """
        Signoff's own verifiers and those that were named, with what they may use.

        Raises:
            Refusal: Something that was named cannot be used.
        """
        self.require_trusted(workspace)
        if self.config is None:
            powers = Powers(workspace=workspace, store=store, sandbox=sandbox)
            return own_registry().with_powers(powers)
        from signoff.cli.configured import registry_of  # only where something is configured

        return registry_of(
            self.config, own_registry(), workspace=workspace, store=store, sandbox=sandbox
        )

    def limits(self) -> Limits:
        """How outputs are read."""
        if self.config is None:
            return Limits()
        found: Limits = self.config.limits
        return found

    def warnings(self, workspace: Path | None) -> tuple[str, ...]:
        """What a reader of the report should know of the configuration."""
        if not self.file or not self._lies_in(workspace):
            return ()
        return (f"{shown(self.file)} lies in the workspace, where the work could change it",)

    def require_trusted(self, workspace: Path | None) -> None:
        """
        Returns unless the file lies where the work could have written it, and nobody named it.

        Raises:
            Refusal: It does.
        """
        if self.file and not self.named and self._lies_in(workspace):
            raise Refusal(
                f"{shown(self.file)} lies in the workspace, where the work could change it",
                next_step="name it with --config if it can be trusted, or give --no-config",
            )

    def _lies_in(self, workspace: Path | None) -> bool:
        if not self.file or workspace is None:
            return False
        return Path(self.file).resolve().is_relative_to(workspace.resolve())


def choosing(
    *, looks: bool = True, verifiers: bool = True
) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """
    Options of a command for choosing verifiers; its function gets them as ``choice``.

    Args:
        looks: Without ``--config`` the file in the current folder is taken.
        verifiers: More verifiers can be named than those of the file.
    """

    def decorate(function: Callable[..., int]) -> Callable[..., int]:
        def command(
            *args: Any,
            config: str | None,
            modules: tuple[str, ...] = (),
            plugins: tuple[str, ...] = (),
            no_config: bool = False,
            **others: Any,
        ) -> int:
            found = FILE if looks and not no_config and os.path.lexists(FILE) else None
            if config and no_config:
                raise click.UsageError("--config and --no-config exclude each other")
            choice = Choice(
                file=config or found, named=bool(config), modules=modules, plugins=plugins
            )
            return function(*args, choice=choice, **others)

        chosen: Callable[..., int] = update_wrapper(command, function)
        for option in reversed(_options(looks=looks, verifiers=verifiers)):
            chosen = option(chosen)
        return chosen

    return decorate


def _options(*, looks: bool, verifiers: bool) -> list[Callable[[Any], Any]]:
    absent = f"; ./{FILE} when absent" if looks else ""
    modules = click.option(
        "--with",
        "modules",
        multiple=True,
        metavar="MODULE:NAME",
        help="Use the verifiers of a Python module; repeatable.",
    )
    plugins = click.option(
        "--plugin",
        "plugins",
        multiple=True,
        metavar="NAME",
        help="Use the verifiers of an installed plug-in; repeatable.",
    )
    config = click.option("--config", type=FileName(), help=f"The configuration{absent}.")
    without = click.option("--no-config", is_flag=True, help=f"Do not look for ./{FILE}.")
    return [config, *([without] if looks else []), *([modules, plugins] if verifiers else [])]
