"""What the commands read: contracts, outputs and recorded facts, or why they cannot be read."""

from __future__ import annotations

import os
import sys
from itertools import islice
from pathlib import Path
from typing import Any, Final

from signoff.cli.exits import Refusal
from signoff.cli.faulty import FaultyDocument
from signoff.cli.suggestion import did_you_mean
from signoff.cli.terminal import Terminal
from signoff.contractfile import ContractFile, read_contract
from signoff.document import parse_document, read_bytes, read_stdin
from signoff.errors import ContractError, DocumentError, Fault, LockCorrupt, TextError
from signoff.jsonvalue import is_number, join_pointer, json_type, shown
from signoff.model import ToolCall
from signoff.probes import PROBES
from signoff.registry import Registry
from signoff.verifiers import STDLIB

__all__ = ["open_contract", "open_facts", "open_output", "own_registry", "unreadable"]

MAX_NAMES: Final = 1_000
MAX_FACTS_BYTES: Final = 64 * 2**20
FACTS: Final = ("elapsed_s", "exit_code", "tools", "base", "input")
TOOL_FIELDS: Final = ("name", "status")


def own_registry() -> Registry:
    """The verifiers that the command line knows; probes among them have no powers."""
    return STDLIB | PROBES


def open_contract(path: str, registry: Registry) -> ContractFile:
    """
    The contract in a file, or in a lock file.

    Raises:
        Refusal: It cannot be read, or cannot be locked: with every fault.
    """
    try:
        return read_contract(path, registry)
    except LockCorrupt as exc:
        raise FaultyDocument(
            f"{shown(path)} was changed after it was locked",
            faults=exc.faults,
            source=exc.source,
            next_step="lock the contract again, and look at what changed with signoff diff",
        ) from exc
    except ContractError as exc:
        count = "1 fault" if len(exc.faults) == 1 else f"{len(exc.faults)} faults"
        raise FaultyDocument(
            f"{shown(path)} cannot be locked: {count}",
            faults=exc.faults,
            source=exc.source,
            next_step=_help_with(exc.faults),
        ) from exc
    except DocumentError as exc:
        raise unreadable(exc, path, what="a contract") from exc


def open_output(path: str, terminal: Terminal, *, max_bytes: int) -> bytes:
    """
    The bytes of an output, from a file or, for ``-``, from standard input.

    Raises:
        Refusal: They cannot be read, or are too many.
    """
    if path == "-" and terminal.stdin is None:
        raise Refusal("standard input: is closed", next_step="send the output into it")
    try:
        if path != "-" or terminal.stdin is None:
            return read_bytes(path, max_bytes=max_bytes)
        return read_stdin(terminal.stdin, max_bytes=max_bytes)
    except DocumentError as exc:
        raise unreadable(exc, path, what="an output") from exc


def open_facts(path: str) -> dict[str, Any]:
    """
    The recorded facts in a JSON file, as fields of a subject.

    Raises:
        Refusal: It cannot be read, or holds what is no fact: with every fault.
    """
    try:
        data = read_bytes(path, max_bytes=MAX_FACTS_BYTES)
        document = parse_document(data, path, format="json")
    except DocumentError as exc:
        raise unreadable(exc, path, what="recorded facts") from exc
    faults = list(_fact_faults(document.value))
    if not faults:
        return _facts(document.value)
    raise FaultyDocument(
        f"{shown(path)} does not hold recorded facts",
        faults=map(document.placed, faults),
        source=document.source,
        next_step="it is a JSON object with any of elapsed_s, exit_code, tools, base and input",
    )


def _help_with(faults: tuple[Fault, ...]) -> str:
    """Where to read about what is wrong."""
    if any("/params" in fault.where for fault in faults):
        return "signoff verifiers ID shows what a verifier takes"
    if any(fault.where.endswith("/verifier") for fault in faults):
        return "signoff verifiers lists them"
    return "signoff init writes a whole contract to compare with"


def unreadable(exc: DocumentError, path: str, *, what: str) -> Refusal:
    """The refusal for a document that cannot be read, with its place where it has one."""
    if isinstance(exc, TextError) and exc.source:
        return FaultyDocument(
            f"{exc.source} cannot be read as {what}",
            faults=[Fault("", exc.reason, exc.line, exc.column)],
            source=exc.source,
        )
    message = str(exc)
    if message.endswith(": no such file"):
        message += _like_it(path)
    known = _ADVICE | _OUTPUT_ADVICE if what == "an output" else _ADVICE
    advice = (text for sign, text in known.items() if sign in message)
    return Refusal(message, next_step=next(advice, ""))


def _like_it(path: str) -> str:
    """A question about the file beside it that has nearly the same name, or nothing."""
    try:
        with os.scandir(Path(path).parent) as entries:
            names = [entry.name for entry in islice(entries, MAX_NAMES) if entry.is_file()]
    except (OSError, ValueError):
        return ""
    return did_you_mean(Path(path).name, names)


_ADVICE: Final = {
    "no such file": "look at the name and at the folder this runs in",
    "permission denied": "let this user read it",
}
# Only outputs come from standard input, and only their size is for an option to say.
_OUTPUT_ADVICE: Final = {
    "is a named pipe": "use - to read standard input",
    "is a device": "use - to read standard input",
    "standard input: is larger": "raise --max-bytes, or send less",
    "is larger than": "raise --max-bytes where the command has it, or send less",
}


def _fact_faults(value: Any) -> list[Fault]:
    if type(value) is not dict:
        return [Fault("", f"facts must be object, got {json_type(value)}")]
    faults = [
        Fault(
            join_pointer("", name), f"{shown(name)} is not a recorded fact", got=name, known=FACTS
        )
        for name in value
        if name not in FACTS
    ]
    elapsed, code = value.get("elapsed_s", 0), value.get("exit_code", 0)
    # An integer may be larger than any of the doubles that seconds are kept as.
    if not is_number(elapsed) or not 0 <= elapsed <= sys.float_info.max:
        faults.append(Fault("/elapsed_s", "elapsed_s must be number >= 0, in seconds"))
    if type(code) is not int:
        faults.append(Fault("/exit_code", "exit_code must be integer"))
    if type(value.get("base", "")) is not str:
        faults.append(Fault("/base", "base must be string, the commit that the work started from"))
    tools = value.get("tools", [])
    if type(tools) is not list:
        faults.append(Fault("/tools", f"tools must be array, got {json_type(tools)}"))
        return faults
    for index, call in enumerate(tools):
        faults += _call_faults(call, f"/tools/{index}")
    return faults


def _call_faults(call: Any, where: str) -> list[Fault]:
    if type(call) is not dict:
        return [Fault(where, f"tool call must be object, got {json_type(call)}")]
    faults = [
        Fault(
            join_pointer(where, name),
            f"{shown(name)} is not a field of a tool call",
            got=name,
            known=TOOL_FIELDS,
        )
        for name in call
        if name not in TOOL_FIELDS
    ]
    if type(call.get("name")) is not str:
        faults.append(Fault(where, "name of a tool call must be string"))
    return faults


def _facts(value: Any) -> dict[str, Any]:
    facts = dict(value)
    if "elapsed_s" in facts:
        facts["elapsed_s"] = float(facts["elapsed_s"])
    if "tools" in facts:
        facts["tools"] = tuple(
            ToolCall(name=call["name"], status=call.get("status")) for call in facts["tools"]
        )
    return facts
