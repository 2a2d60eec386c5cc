"""``signoff init``: write a contract and an example output to start from."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import click
import msgspec

from signoff.cli.commands import Command, FileName, json_option
from signoff.cli.exits import Exit, Refusal
from signoff.cli.outfile import write_file
from signoff.cli.terminal import Terminal
from signoff.jsonvalue import shown

__all__ = ["command"]

STARTER: Final = Path(__file__).with_name("starter")
FORMATS: Final = ("yaml", "json", "toml")

EXAMPLES: Final = """\b
Examples:
  signoff init                      contract.yaml and output.json, here
  signoff init acceptance/          in a folder, which is made if need be
  signoff init --format toml
"""


@click.command("init", cls=Command, epilog=EXAMPLES)
@click.argument("folder", metavar="[DIR]", default=".", type=FileName())
@click.option(
    "--format", "kind", type=click.Choice(FORMATS), default="yaml", help="Of the contract."
)
@click.option("--force", is_flag=True, help="Replace files that are there already.")
@json_option
@click.pass_obj
def command(terminal: Terminal, /, folder: str, *, kind: str, force: bool, as_json: bool) -> int:
    """
    Write a contract and an example output to start from.

    The contract is commented, the output meets it, and both stand in DIR, which
    is the current folder when absent.  No file is replaced without --force.

    Exit codes: 0 written, 2 a file is there already, 4 a file could not be
    written.
    """
    names = (f"contract.{kind}", "output.json")
    files = {str(Path(folder) / name): (STARTER / name).read_bytes() for name in names}
    present = [path for path in files if os.path.lexists(path)]
    if present and not force:
        raise Refusal(
            f"{shown(present[0])} exists already, so nothing was written",
            next_step="give another folder, or --force to replace it",
        )
    _make(folder)
    for path, data in files.items():
        write_file(path, data)
    contract, output = files
    if as_json:
        named = [shown(path, len(path)) for path in files]
        document = {"written": named, "contract": named[0], "output": named[1]}
        terminal.out.json(msgspec.json.format(msgspec.json.encode(document), indent=2))
        return Exit.DONE
    for path in files:
        terminal.out.line(f"{terminal.out.paint('wrote', 'good')} {shown(path)}")
    terminal.out.line()
    terminal.out.line("next:")
    terminal.out.line(f"    signoff verify {shown(contract)} {shown(output)}")
    terminal.out.line(f"    signoff lock {shown(contract)}")
    return Exit.DONE


def _make(folder: str) -> None:
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as exc:
        why = getattr(exc, "strerror", None) or "no folder can have this name"
        raise Refusal(
            f"{shown(folder)}: cannot be made ({why.lower()})", code=Exit.UNWRITTEN
        ) from exc
