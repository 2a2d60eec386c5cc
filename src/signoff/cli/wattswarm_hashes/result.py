"""``signoff wattswarm hash result``: the hashes of a reply, computed again."""

from __future__ import annotations

from typing import Final

import click
import msgspec

from signoff.cli.commands import Command, FileName, json_option
from signoff.cli.exits import Exit, Refusal
from signoff.cli.terminal import Terminal
from signoff.cli.wattswarm_hashes.reading import json_file
from signoff.dialects.wattswarm.recompute import recomputed, stated
from signoff.dialects.wattswarm.request import read_verify
from signoff.dialects.wattswarm.shape import WrongShape
from signoff.jsonvalue import shown

__all__ = ["command"]

EXAMPLES: Final = """\b
Examples:
  signoff wattswarm hash result --request request.json --response response.json
"""


@click.command("result", cls=Command, epilog=EXAMPLES)
@click.option(
    "--request", "question", type=FileName(), required=True, help="What was sent to /verify."
)
@click.option(
    "--response", "reply", type=FileName(), required=True, help="What was answered to it."
)
@json_option
@click.pass_obj
def command(terminal: Terminal, /, *, question: str, reply: str, as_json: bool) -> int:
    """
    Compute the hashes of a reply again, and compare them with those that it states.

    The verifier's result hash binds candidate, verdict, score, codes and policy hash;
    the audit hash, which only signoff states, also output, schema, parameters and status.

    Exit codes: 0 equal, 1 different, 2 a file that is no request or no reply.
    """
    value, _, _ = json_file(reply, terminal)
    _, _, body = json_file(question, terminal)
    try:
        said = stated(value)
    except WrongShape as exc:
        raise Refusal(f"{shown(reply)} is not a reply: {exc}") from exc
    try:
        found = recomputed(read_verify(body), value)
    except WrongShape as exc:
        raise Refusal(f"{shown(question)} is not a request: {exc}") from exc
    rows = [("verifier_result_hash", found.verifier_result_hash, said.verifier_result_hash)]
    if said.audit_hash is not None and found.audit_hash is not None:
        rows.append(("audit_hash", found.audit_hash, said.audit_hash))
    equal = all(computed == received for _, computed, received in rows)
    if as_json:
        told = {
            name: {"computed": computed, "stated": received, "equal": computed == received}
            for name, computed, received in rows
        }
        terminal.out.json(msgspec.json.encode({"equal": equal, **told}))
    else:
        for name, computed, received in rows:
            word = "equal" if computed == received else f"different: {shown(received)} is stated"
            terminal.out.line(f"{name:20}  {computed}  {word}")
        if said.audit_hash is None:
            terminal.out.line("audit_hash            none is stated")
    return Exit.DONE if equal else Exit.FAILED
