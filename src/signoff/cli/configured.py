"""The configuration that a command line comes to, or why it cannot be used."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from signoff.cli.exits import Refusal
from signoff.cli.faulty import FaultyDocument
from signoff.cli.reading import unreadable
from signoff.config import Config
from signoff.configfile import load_config
from signoff.errors import ConfigError, DocumentError, PluginError
from signoff.jsonvalue import shown
from signoff.plugins import Reference, is_reference
from signoff.powers import CommandRunner, EvidenceReader
from signoff.registry import Registry

__all__ = ["config_of", "registry_of", "unusable"]

SETTINGS: Final = "signoff config --help lists the settings"
NAMES: Final = "signoff verifiers lists what is installed; signoff config show, what is named where"


def config_of(file: str | None, *, plugins: tuple[str, ...], modules: tuple[str, ...]) -> Config:
    """
    What is in force: the file, and what the command line adds.

    Raises:
        Refusal: The file cannot be used, or a name is none.
    """
    for name in modules:
        if not is_reference(name):
            raise Refusal(
                f'--with must be package.module:name, got "{shown(name)}"',
                next_step="name a module that Python can import, and a verifier in it",
            )
    config = _read(file) if file else Config()
    here = Path.cwd()
    return config.with_named(
        plugins=tuple(Reference(name=name, said="--plugin") for name in plugins),
        modules=tuple(Reference(name=name, said="--with", folder=here) for name in modules),
    )


def registry_of(
    config: Config,
    base: Registry,
    *,
    workspace: Path | None,
    store: EvidenceReader | None,
    sandbox: CommandRunner | None,
) -> Registry:
    """
    The registry of a configuration; what it names is imported.

    Raises:
        Refusal: Something that was named cannot be used.
    """
    try:
        return config.registry(base, workspace=workspace, store=store, sandbox=sandbox)
    except PluginError as exc:
        raise unusable(exc) from exc


def unusable(exc: PluginError) -> Refusal:
    """The refusal for something that was named."""
    return Refusal(str(exc), next_step=NAMES)


def _read(path: str) -> Config:
    try:
        return load_config(path)
    except ConfigError as exc:
        count = "1 fault" if len(exc.faults) == 1 else f"{len(exc.faults)} faults"
        raise FaultyDocument(
            f"{shown(path)} cannot be used: {count}",
            faults=exc.faults,
            source=exc.source,
            next_step=SETTINGS,
        ) from exc
    except DocumentError as exc:
        raise unreadable(exc, path, what="a configuration") from exc
