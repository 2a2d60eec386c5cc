"""``signoff scc``: SCC in a workspace; its commands are in ``scc_commands``."""

from __future__ import annotations

from typing import ClassVar, Final

import click

from signoff.cli.subcommands import Subcommands

__all__ = ["command"]

EXAMPLES: Final = """\b
Examples:
  signoff scc init                  scripts, verdict schema, settings, registry
  signoff scc check                 the phase-4 checks
  signoff scc verdict --case basic  guard and triplet
  signoff scc oid new --path docs/a.md --kind doc --layer CANON --primary-unit V.TESTS
  signoff scc oid validate          every document has its OID
"""


class _Scc(Subcommands):
    MODULE = "signoff.cli.scc_commands"
    TABLE: ClassVar = {
        "init": "Install SCC in a workspace.",
        "run": "Judge a workspace by a contract, and publish the verdict.",
        "execute": "Run an executor in an isolated checkout, and record what it did.",
        "check": "Run the phase-4 checks of a workspace.",
        "verdict": "Judge triplet and verdicts from disk.",
        "oid": "Mint, show, change, adopt and validate OIDs.",
    }


@click.command("scc", cls=_Scc, epilog=EXAMPLES)
def command() -> None:
    """
    Keep OIDs and verdicts as SCC workspaces do.

    Every command takes --help; what is no text for people is JSON, with or
    without --json.
    """
