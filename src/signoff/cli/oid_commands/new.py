"""``signoff scc oid new``: mint an OID for an object."""

from __future__ import annotations

from typing import Final

import click
import msgspec

from signoff.cli.commands import Command, json_option
from signoff.cli.exits import Exit, Refusal
from signoff.cli.scc_commands.place import (
    INIT,
    dsn_option,
    found_workspace,
    settings_of,
    the_registry,
    workspace_option,
)
from signoff.cli.terminal import Terminal
from signoff.errors import DatabaseUnusable, RegistryRefused
from signoff.jsonvalue import shown
from signoff.scc.oid_object import NewObject
from signoff.scc.validator import units_of
from signoff.scc.workspace import PathMissing, PathUnsafe, Workspace

__all__ = ["comma_separated", "command", "require_units"]

EXAMPLES: Final = """\b
Examples:
  signoff scc oid new --path docs/a.md --kind doc --layer CANON --primary-unit V.TESTS
  signoff scc oid new --path a.json --kind contract --layer CONF \\
      --primary-unit K.CONTRACT_DOC --tags K.SCHEMA,V.TESTS --stable-key contract:a
"""


@click.command("new", cls=Command, epilog=EXAMPLES)
@click.option("--path", required=True, help="Of the object, relative to the workspace.")
@click.option("--kind", required=True, help="What it is, in a word.")
@click.option("--layer", required=True, help="Such as CANON, CODE or REPORT.")
@click.option("--primary-unit", required=True, help="Its one unit, such as V.TESTS.")
@click.option("--tags", default="", help="Further units, separated by commas.")
@click.option("--stable-key", default="", help="Asked again with it, the OID is the same.")
@click.option("--hint", default="", help="For people.")
@workspace_option
@dsn_option
@json_option
@click.pass_obj
def command(
    terminal: Terminal,
    /,
    *,
    path: str,
    kind: str,
    layer: str,
    primary_unit: str,
    tags: str,
    stable_key: str,
    hint: str,
    workspace: str,
    dsn: str | None,
    as_json: bool,  # noqa: ARG001  the answer is JSON anyway
) -> int:
    """
    Mint an OID for an object.

    Prints {oid, issued}; a stable key that is known gives its OID, and issued
    is false.

    Exit codes: 0 done, 1 refused, 2 unusable.
    """
    place = found_workspace(workspace)
    new = NewObject(
        path=path,
        kind=kind,
        layer=layer,
        primary_unit=primary_unit,
        tags=comma_separated(tags),
        stable_key=stable_key,
        hint=hint,
    )
    require_units(place, (primary_unit, *new.tags))
    with the_registry(place, terminal.env, dsn, may_write=True) as registry:
        try:
            issued = registry.issue(new)
        except (RegistryRefused, DatabaseUnusable) as exc:
            raise Refusal(str(exc), code=Exit.FAILED) from exc
    terminal.out.json(msgspec.json.encode(issued))
    return Exit.DONE


def comma_separated(text: str) -> tuple[str, ...]:
    """The parts between commas, without spaces; none of nothing."""
    return tuple(part.strip() for part in text.split(",")) if text.strip() else ()


def require_units(workspace: Workspace, units: tuple[str, ...]) -> None:
    """
    Nothing, if units are registered.

    Raises:
        Refusal: One is not, or nobody knows.
    """
    try:
        known = units_of(workspace, settings_of(workspace))
    except (PathMissing, PathUnsafe) as exc:
        raise Refusal(f"no unit registry: {exc}", code=Exit.FAILED, next_step=INIT) from exc
    for unit in units:
        if unit not in known:
            raise Refusal(f'unit "{shown(unit)}" is not registered', code=Exit.FAILED)
