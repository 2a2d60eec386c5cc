"""``signoff diff``: show what changed between two contracts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import click
import msgspec

from signoff.cli.choosing import Choice, choosing
from signoff.cli.commands import Command, FileName, json_option
from signoff.cli.excerpt import excerpt, params_text
from signoff.cli.exits import Exit
from signoff.cli.reading import open_contract
from signoff.cli.terminal import Screen, Terminal
from signoff.diff import Change, ContractDiff, diff
from signoff.jsonvalue import shown
from signoff.model import Criterion, LockedContract

__all__ = ["command"]

EXAMPLES: Final = """\b
Examples:
  signoff diff contract.lock.json contract.yaml
  signoff diff agreed.lock.json proposed.lock.json --exit-code
"""


@click.command("diff", cls=Command, epilog=EXAMPLES)
@click.argument("before", metavar="A", type=FileName())
@click.argument("after", metavar="B", type=FileName())
@json_option
@click.option("--exit-code", is_flag=True, help="Exit 1 when the contracts differ.")
@choosing()
@click.pass_obj
def command(
    terminal: Terminal,
    /,
    before: str,
    after: str,
    *,
    as_json: bool,
    exit_code: bool,
    choice: Choice,
) -> int:
    """
    Show what changed between two contracts.

    A is the earlier, B the later, and either may be a lock file.  Both are locked
    first, so that what is compared is what would bind: two files that differ in
    format, comments or order of keys are the same contract.

    Exit codes: 0 shown, 1 different with --exit-code, 2 a contract cannot be
    used.
    """
    registry = choice.registry()
    old, new = (open_contract(path, registry).locked for path in (before, after))
    found = diff(old.contract, new.contract)
    if as_json:
        terminal.out.json(_document(old, new, found))
    else:
        _print(terminal.out, old, new, found)
    return Exit.FAILED if exit_code and not found.is_empty else Exit.DONE


def _document(old: LockedContract, new: LockedContract, found: ContractDiff) -> bytes:
    facts: dict[str, Any] = {
        "equal": found.is_empty,
        "before": old.digest,
        "after": new.digest,
        **msgspec.to_builtins(found),
    }
    return msgspec.json.format(msgspec.json.encode(facts), indent=2)


def _print(out: Screen, old: LockedContract, new: LockedContract, found: ContractDiff) -> None:
    if found.is_empty:
        out.line(f"the same contract, {old.digest}")
        return
    for line in _lines(found, out):
        out.line(line)
    out.line(f"before {old.digest}")
    out.line(f"after  {new.digest}")


def _lines(found: ContractDiff, out: Screen) -> Iterator[str]:
    for change in found.changes:
        yield _changed(change, out)
    for criterion in found.removed:
        yield out.paint(f"- {_criterion(criterion)}", "bad")
    for criterion in found.added:
        yield out.paint(f"+ {_criterion(criterion)}", "good")
    for one in found.changed:
        yield out.paint(f"~ {shown(one.id)}", "odd")
        for change in one.changes:
            yield f"    {_changed(change, out)}"
    if found.reordered:
        yield "the criteria stand in another order"


def _criterion(criterion: Criterion) -> str:
    advisory = "" if criterion.required else " (advisory)"
    verifier, params = shown(criterion.verifier), params_text(criterion.params)
    return f"{shown(criterion.id)}{advisory}: {verifier} {params}".rstrip()


def _changed(change: Change, out: Screen) -> str:
    before = "absent" if change.added else excerpt(change.before)
    after = "absent" if change.removed else excerpt(change.after)
    arrow = "→" if out.symbols else "->"
    return f"{shown(change.key)}: {before} {arrow} {after}"
