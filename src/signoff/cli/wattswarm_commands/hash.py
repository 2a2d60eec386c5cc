"""``signoff wattswarm hash``: the hashes; its commands are in ``wattswarm_hashes``."""

from __future__ import annotations

from typing import ClassVar, Final

import click

from signoff.cli.subcommands import Subcommands

__all__ = ["command"]

EXAMPLES: Final = """\b
Examples:
  signoff wattswarm hash policy vp.schema_thresholds.v1 --params '{"min_confidence": 0.8}'
  signoff wattswarm hash output output.json
  signoff wattswarm hash canonical output.json | sha256sum
  signoff wattswarm hash result --request request.json --response response.json
"""


class _Hash(Subcommands):
    MODULE = "signoff.cli.wattswarm_hashes"
    TABLE: ClassVar = {
        "policy": "Print both hashes of a policy.",
        "output": "Print digest and size of an output.",
        "canonical": "Print the canonical bytes of a JSON document.",
        "result": "Compute the hashes of a reply again, and compare.",
    }


@click.command("hash", cls=_Hash, epilog=EXAMPLES)
def command() -> None:
    """Compute the hashes of policies, outputs and results."""
