"""``signoff lock``: make a contract binding, or list every fault in it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import click
import msgspec

from signoff.cli.choosing import Choice, choosing
from signoff.cli.commands import Command, FileName, json_option
from signoff.cli.exits import Exit, Refusal
from signoff.cli.outfile import require_apart, write_file
from signoff.cli.reading import open_contract
from signoff.cli.terminal import Terminal
from signoff.document import read_bytes
from signoff.errors import DocumentError
from signoff.jsonvalue import shown
from signoff.lockfile import encode_lock
from signoff.model import LockedContract

__all__ = ["command"]

MAX_LOCK_BYTES: Final = 64 * 2**20

EXAMPLES: Final = """\b
Examples:
  signoff lock contract.yaml              writes contract.lock.json beside it
  signoff lock contract.toml -o agreed/contract.lock.json
  signoff lock contract.yaml --check      in CI: the lock file is up to date
"""


@click.command("lock", cls=Command, epilog=EXAMPLES)
@click.argument("contract", type=FileName())
@click.option("-o", "--output", "target", type=FileName(), help="Write the lock file there.")
@json_option
@click.option(
    "--check", is_flag=True, help="Write nothing; exit 1 when the lock file is not up to date."
)
@choosing()
@click.pass_obj
def command(
    terminal: Terminal,
    /,
    contract: str,
    *,
    target: str | None,
    as_json: bool,
    check: bool,
    choice: Choice,
) -> int:
    """
    Make a contract binding, or list every fault in it.

    Locking proves that CONTRACT could fail and fixes its digest.  Either every
    fault is listed with its place, or the lock file is written: for contract.yaml
    it is contract.lock.json, in the same folder.

    Exit codes: 0 locked, 1 not up to date (--check), 2 the contract has faults,
    4 the lock file could not be written.
    """
    found = open_contract(contract, choice.registry())
    path = target or str(Path(contract).with_suffix(".lock.json"))
    require_apart(path, [contract], option="-o" if target else "the lock file")
    if found.was_locked:
        raise Refusal(
            f"{shown(contract)} is a lock file already",
            next_step="lock the contract that it was made from",
        )
    data = encode_lock(found.locked)
    before = _content(path)
    if not check and before != data:
        write_file(path, data)
    if as_json:
        terminal.out.json(_document(found.locked, path, current=before == data, check=check))
    else:
        _print(terminal, found.locked, path, contract, current=before == data, check=check)
    return Exit.FAILED if check and before != data else Exit.DONE


def _content(path: str) -> bytes | None:
    """What is there now; None where nothing can be read."""
    try:
        return read_bytes(path, max_bytes=MAX_LOCK_BYTES)
    except DocumentError:
        return None


def _document(locked: LockedContract, path: str, *, current: bool, check: bool) -> bytes:
    contract = locked.contract
    facts: dict[str, Any] = {
        "contract_id": contract.id,
        "digest": locked.digest,
        "criteria": len(contract.criteria),
        "required": sum(criterion.required for criterion in contract.criteria),
        "verifiers": locked.verifiers,
        "warnings": locked.warnings,
        "lock_file": shown(path, len(path)),
        "up_to_date": current or not check,
        "written": not current and not check,
    }
    return msgspec.json.format(msgspec.json.encode(facts), indent=2)


def _print(
    terminal: Terminal,
    locked: LockedContract,
    path: str,
    source: str,
    *,
    current: bool,
    check: bool,
) -> None:
    contract, out = locked.contract, terminal.out
    for warning in locked.warnings:
        terminal.note(shown(warning))
    required = sum(criterion.required for criterion in contract.criteria)
    advisory = len(contract.criteria) - required
    more = f", {advisory} advisory" if advisory else ""
    count = "1 criterion" if len(contract.criteria) == 1 else f"{len(contract.criteria)} criteria"
    if check and not current:
        out.line(f"{out.paint('stale', 'bad')}: {shown(path)} is not the lock of {shown(source)}")
        terminal.note(f"signoff lock {shown(source)} writes it anew")
        return
    state = "up to date" if current else "locked"
    out.line(f"{out.paint(state, 'good')}: {shown(path)}")
    out.line(f"    contract  {shown(contract.id)}: {count} ({required} required{more})")
    out.line(f"    digest    {locked.digest}")
