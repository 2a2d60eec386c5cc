"""``signoff wattswarm hash policy``: both hashes of a policy."""

from __future__ import annotations

from typing import Final

import click
import msgspec

from signoff.cli.commands import Command, json_option
from signoff.cli.exits import Exit, Refusal
from signoff.cli.suggestion import did_you_mean
from signoff.cli.terminal import Terminal
from signoff.cli.wattswarm_hashes.reading import json_argument
from signoff.dialects.wattswarm.hashes import hex_of
from signoff.dialects.wattswarm.policies import POLICIES, doc_preimage, kernel_preimage
from signoff.jsonvalue import json_type, shown

__all__ = ["command"]

EXAMPLES: Final = """\b
Examples:
  signoff wattswarm hash policy vp.schema_only.v1
  signoff wattswarm hash policy vp.schema_thresholds.v1 --params @params.json --preimage
"""


@click.command("policy", cls=Command, epilog=EXAMPLES)
@click.argument("policy_id", metavar="ID")
@click.option("--params", metavar="JSON|@FILE", default="{}", help="Parameters; none when absent.")
@click.option("--preimage", is_flag=True, help="Print what is hashed, too.")
@json_option
@click.pass_obj
def command(
    terminal: Terminal, /, policy_id: str, *, params: str, preimage: bool, as_json: bool
) -> int:
    """
    Print both hashes of a policy: a node's own, and that of id and parameters.

    Exit codes: 0 printed, 2 no such policy, or parameters that are no JSON object.
    """
    if policy_id not in POLICIES:
        known = ", ".join(POLICIES)
        raise Refusal(
            f'no policy "{shown(policy_id)}"{did_you_mean(policy_id, POLICIES)}',
            next_step=f"there are {known}",
        )
    value = json_argument(params, what="--params", terminal=terminal)
    if not isinstance(value, dict):
        raise Refusal(f"--params must be a JSON object, got {json_type(value)}")
    kernel, doc = kernel_preimage(policy_id), doc_preimage(policy_id, value)
    told = {"kernel_hash": hex_of(kernel), "doc_hash": hex_of(doc)}
    if preimage:
        told |= {"kernel_preimage": kernel.decode(), "doc_preimage": doc.decode()}
    if as_json:
        terminal.out.json(msgspec.json.encode({"policy_id": policy_id, **told}))
    else:
        for name, text in told.items():
            terminal.out.line(f"{name.replace('_', ' '):15}  {text}")
    return Exit.DONE
