"""``signoff scc oid``: the registry of OIDs; its commands are in ``oid_commands``."""

from __future__ import annotations

from typing import ClassVar, Final

import click

from signoff.cli.subcommands import Subcommands

__all__ = ["command"]

EXAMPLES: Final = """\b
Examples:
  signoff scc oid new --path docs/a.md --kind doc --layer CANON --primary-unit V.TESTS
  signoff scc oid get --oid 01KGCV31W0C42YQHMVAT6FSR1H
  signoff scc oid validate
"""


class _Oid(Subcommands):
    MODULE = "signoff.cli.oid_commands"
    TABLE: ClassVar = {
        "new": "Mint an OID for an object.",
        "get": "Print the object of an OID.",
        "migrate": "Change what is registered of an OID, which stays.",
        "adopt": "Register the documents under the OIDs that they have.",
        "validate": "Say what is wrong with the OIDs of a workspace.",
    }


@click.command("oid", cls=_Oid, epilog=EXAMPLES)
def command() -> None:
    """
    Mint, show, change, adopt and validate OIDs.

    The registry is .signoff/oids.sqlite3, or the PostgreSQL server of --dsn,
    SCC_OID_PG_DSN or SCC_OID_DATABASE_URL, in this order.
    """
