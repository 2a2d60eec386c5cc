"""``signoff wattswarm``: what a WattSwarm node and its verifiers hash; for those who check it."""

from __future__ import annotations

from typing import ClassVar, Final

import click

from signoff.cli.subcommands import Subcommands

__all__ = ["command"]

EXAMPLES: Final = """\b
Examples:
  signoff wattswarm hash policy vp.schema_only.v1
  signoff wattswarm hash result --request request.json --response response.json
"""


class _Wattswarm(Subcommands):
    MODULE = "signoff.cli.wattswarm_commands"
    TABLE: ClassVar = {"hash": "Compute the hashes of policies, outputs and results."}


@click.command("wattswarm", cls=_Wattswarm, epilog=EXAMPLES)
def command() -> None:
    """
    Compute what a WattSwarm node and its verifiers hash.

    Every command takes --help and --json.  The runtime that a node calls is served
    by signoff serve --wattswarm.
    """
