"""Which workspace and which registry a command speaks of."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import click

from signoff.cli.commands import FileName
from signoff.cli.exits import Exit, Refusal
from signoff.cli.faulty import FaultyDocument
from signoff.dialects.scc.settings import PATH, Settings
from signoff.errors import ConfigError, DatabaseUnusable, DocumentError, NotGiven, NotInstalled
from signoff.jsonvalue import shown
from signoff.scc.registry import OidRegistry
from signoff.scc.store import open_registry, place_of
from signoff.scc.workspace import Workspace

__all__ = [
    "INIT",
    "dsn_option",
    "found_workspace",
    "registry_place",
    "settings_of",
    "the_registry",
    "workspace_option",
]

INIT: Final = "signoff scc init installs SCC in a workspace"

workspace_option = click.option(
    "--workspace", type=FileName(), default=".", help="The workspace; the current folder if absent."
)
dsn_option = click.option(
    "--dsn", help="PostgreSQL server of the registry; SCC_OID_PG_DSN names it too."
)


def found_workspace(name: str) -> Workspace:
    """
    The workspace of that name.

    Raises:
        Refusal: There is no such folder.
    """
    try:
        return Workspace.at(name)
    except DocumentError as exc:
        raise Refusal(str(exc), next_step="name a folder by --workspace") from exc


def settings_of(workspace: Workspace) -> Settings:
    """
    The settings of a workspace.

    Raises:
        Refusal: They cannot be used.
    """
    try:
        return workspace.settings()
    except ConfigError as exc:
        count = "1 fault" if len(exc.faults) == 1 else f"{len(exc.faults)} faults"
        raise FaultyDocument(
            f"{PATH} cannot be used: {count}", faults=exc.faults, source=exc.source, next_step=""
        ) from exc
    except DocumentError as exc:
        raise Refusal(shown(str(exc), 1_000)) from exc


def registry_place(workspace: Workspace, env: Mapping[str, str], dsn: str | None) -> str | Path:
    """
    Where the registry is.

    Raises:
        Refusal: A DSN is demanded and none given, or it is none.
    """
    try:
        return place_of(workspace, env, dsn=dsn)
    except (NotGiven, DatabaseUnusable) as exc:
        raise Refusal(str(exc), next_step="name a PostgreSQL server, or leave it away") from exc


def the_registry(
    workspace: Workspace, env: Mapping[str, str], dsn: str | None, *, may_write: bool
) -> OidRegistry:
    """
    The registry, open.

    Raises:
        Refusal: It cannot be used.
    """
    try:
        return open_registry(registry_place(workspace, env, dsn), may_write=may_write)
    except (DatabaseUnusable, NotInstalled) as exc:
        # Who writes makes a registry that is absent, so that something else is wrong.
        next_step = "" if may_write else INIT
        raise Refusal(str(exc), code=Exit.FAILED, next_step=next_step) from exc
