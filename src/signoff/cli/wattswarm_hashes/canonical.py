"""``signoff wattswarm hash canonical``: the canonical bytes of a JSON document."""

from __future__ import annotations

from typing import Final

import click
import msgspec

from signoff.cli.commands import Command, FileName, json_option
from signoff.cli.exits import Exit
from signoff.cli.terminal import Terminal
from signoff.cli.wattswarm_hashes.reading import json_file
from signoff.dialects.wattswarm.hashes import digest_of

__all__ = ["command"]

EXAMPLES: Final = """\b
Examples:
  signoff wattswarm hash canonical output.json | sha256sum
"""


@click.command("canonical", cls=Command, epilog=EXAMPLES)
@click.argument("file", metavar="FILE|-", type=FileName())
@json_option
@click.pass_obj
def command(terminal: Terminal, /, file: str, *, as_json: bool) -> int:
    """
    Print the canonical bytes of a JSON document as a node writes it, without a newline.

    Exit codes: 0 printed, 2 not JSON.
    """
    _, canonical, _ = json_file(file, terminal)
    if as_json:
        told = {"canonical": canonical.decode(), "digest": digest_of(canonical)}
        terminal.out.json(msgspec.json.encode(told))
    else:
        terminal.out.exactly(canonical)
    return Exit.DONE
