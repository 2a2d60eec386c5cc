"""``signoff scc oid migrate``: change what is registered of an OID, which stays."""

from __future__ import annotations

from typing import Final

import click
import msgspec

from signoff.cli.commands import Command, json_option
from signoff.cli.exits import Exit, Refusal
from signoff.cli.oid_commands.new import comma_separated, require_units
from signoff.cli.scc_commands.place import (
    dsn_option,
    found_workspace,
    the_registry,
    workspace_option,
)
from signoff.cli.terminal import Terminal
from signoff.errors import DatabaseUnusable, JSONError, RegistryRefused
from signoff.jsonvalue import JSON
from signoff.strictjson import loads

__all__ = ["command"]

FIELDS: Final = (
    "path", "layer", "primary_unit", "tags", "status", "replaced_by", "derived_from",
)  # fmt: skip

EXAMPLES: Final = """\b
Examples:
  signoff scc oid migrate --oid 01KGCV31W0C42YQHMVAT6FSR1H --path docs/b.md \\
      --reason "moved beside its schema" --actor ada
"""


@click.command("migrate", cls=Command, epilog=EXAMPLES)
@click.option("--oid", required=True, help="The OID, which never changes.")
@click.option("--path", help="New path.")
@click.option("--layer", help="New layer.")
@click.option("--primary-unit", help="New unit.")
@click.option("--tags", help="New tags, separated by commas.")
@click.option("--status", help="active, moved, deprecated or tombstoned.")
@click.option("--replaced-by", help="OID of what stands in its place.")
@click.option("--derived-from", help="OID of what it was made from.")
@click.option("--patch-json", help="JSON object of new values, of these and other fields.")
@click.option("--reason", required=True, help="Why.")
@click.option("--actor", required=True, help="Who.")
@workspace_option
@dsn_option
@json_option
@click.pass_obj
def command(
    terminal: Terminal,
    /,
    oid: str,
    patch_json: str | None,
    reason: str,
    actor: str,
    *,
    workspace: str,
    dsn: str | None,
    as_json: bool,  # noqa: ARG001  the answer is JSON anyway
    **fields: str | None,
) -> int:
    """
    Change what is registered of an OID, which stays.

    Prints the object; an event keeps what it was, why and by whom.

    Exit codes: 0 changed, 1 nothing to change or refused, 2 unusable.
    """
    place = found_workspace(workspace)
    changes = _changes(patch_json, fields)
    tags = changes.get("tags", [])
    units = [changes.get("primary_unit"), *(tags if isinstance(tags, list) else [])]
    if named := tuple(unit for unit in units if isinstance(unit, str)):
        require_units(place, named)
    with the_registry(place, terminal.env, dsn, may_write=True) as registry:
        try:
            after = registry.migrate(oid, changes, reason=reason, actor=actor)
        except (RegistryRefused, DatabaseUnusable) as exc:
            raise Refusal(str(exc), code=Exit.FAILED) from exc
    terminal.out.json(msgspec.json.encode(after))
    return Exit.DONE


def _changes(patch: str | None, fields: dict[str, str | None]) -> dict[str, JSON]:
    """The new values, each of which is given once."""
    changes: dict[str, JSON] = {}
    if patch is not None:
        try:
            value = loads(patch)
        except JSONError as exc:
            raise Refusal(f"--patch-json is not strict JSON: {exc}") from exc
        if not isinstance(value, dict):
            raise Refusal("--patch-json must be a JSON object")
        changes |= value
    for name in FIELDS:
        given = fields.get(name)
        if given is None:
            continue
        if name in changes:
            raise Refusal(f"{name} is given twice, by an option and in --patch-json")
        changes[name] = [*comma_separated(given)] if name == "tags" else given
    return changes
