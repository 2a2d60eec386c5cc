"""``signoff wattswarm hash output``: digest and size of an output."""

from __future__ import annotations

from typing import Final

import click
import msgspec

from signoff.cli.commands import Command, FileName, json_option
from signoff.cli.exits import Exit
from signoff.cli.terminal import Terminal
from signoff.cli.wattswarm_hashes.reading import json_file
from signoff.dialects.wattswarm.hashes import digest_of
from signoff.dialects.wattswarm.jsonform import has_unsafe

__all__ = ["command"]

EXAMPLES: Final = """\b
Examples:
  signoff wattswarm hash output output.json
  some-agent | signoff wattswarm hash output -
"""
SAFE: Final = "every number is read alike everywhere"
UNSAFE: Final = "a node may read a number in it otherwise"


@click.command("output", cls=Command, epilog=EXAMPLES)
@click.argument("file", metavar="FILE|-", type=FileName())
@json_option
@click.pass_obj
def command(terminal: Terminal, /, file: str, *, as_json: bool) -> int:
    """
    Print what an output_ref has to say of an output: its digest and its size.

    Exit codes: 0 printed, 2 not JSON.
    """
    value, canonical, _ = json_file(file, terminal)
    digest, size, safe = digest_of(canonical), len(canonical), not has_unsafe(value)
    if as_json:
        told = {"digest": digest, "size_bytes": size, "safe_numbers": safe}
        terminal.out.json(msgspec.json.encode(told))
    else:
        terminal.out.line(f"digest      {digest}")
        terminal.out.line(f"size_bytes  {size}")
        terminal.out.line(f"numbers     {SAFE if safe else UNSAFE}")
    return Exit.DONE
