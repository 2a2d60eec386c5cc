"""``signoff forge verify``: verify a forge task's input and output by its contract."""

from __future__ import annotations

from typing import Any, Final

import click
import msgspec

from signoff.cli.commands import Command, FileName, json_option
from signoff.cli.exits import Exit, Refusal
from signoff.cli.reading import unreadable
from signoff.cli.terminal import Screen, Terminal
from signoff.dialects.forge import (
    VerificationResult,
    VerificationStatus,
    overall_status,
    verification_results_to_jsonable,
)
from signoff.dialects.forge.errors import ContractFormatError
from signoff.document import LIMITS, parse_document, read_bytes
from signoff.errors import DocumentError
from signoff.forge.contract_spec import ContractSpec
from signoff.forge.json_object import OUTPUT_NOT_CHECKED
from signoff.forge.verification import verify_task_result
from signoff.jsonvalue import shown

__all__ = ["command"]

EXAMPLES: Final = """\b
Examples:
  signoff forge verify --contract contract.json --input in.json --output out.json
  signoff forge verify --contract contract.json --input in.json --json
"""

_STYLES: Final = {
    VerificationStatus.PASS: "good",
    VerificationStatus.WARN: "odd",
    VerificationStatus.SKIPPED: "odd",
    VerificationStatus.FAIL: "bad",
}


@click.command("forge", cls=Command, epilog=EXAMPLES)
@click.argument("action", metavar="verify", type=click.Choice(["verify"]))
@click.option("--contract", required=True, type=FileName(), help="The task's contract.json.")
@click.option("--input", "given", required=True, type=FileName(), help="What the task was given.")
@click.option("--output", "made", type=FileName(), help="What it made; not checked when left out.")
@click.option(
    "--strict",
    is_flag=True,
    help="Count warnings, an invalid list of verifiers and unknown keywords as failure.",
)
@json_option
@click.pass_obj
def command(
    terminal: Terminal,
    /,
    action: str,  # noqa: ARG001  there is one
    *,
    contract: str,
    given: str,
    made: str | None,
    strict: bool,
    as_json: bool,
) -> int:
    """
    Verify a forge task's input and output by its contract.

    Runs the verifiers that the contract's verification_policy names, of which
    json.object and contract.schema are known here: nothing that a contract says
    starts a program.  All files are JSON, read strictly.

    Exit codes: 0 pass or warn, 1 anything else, 2 a file or the contract cannot
    be used.
    """
    spec = _spec(contract)
    input_obj, output_obj = _value(given), None if made is None else _output(made)
    results = verify_task_result(spec, input_obj, output_obj, strict_policy=strict)
    if as_json:
        document = msgspec.json.encode(verification_results_to_jsonable(results))
        terminal.out.json(msgspec.json.format(document, indent=2))
    else:
        width = max((len(shown(one.verifier_id)) for one in results), default=0)
        for result in results:
            terminal.out.line(_line(result, terminal.out, width))
    warnings = [text for result in results for text in result.warnings]
    if made is None and OUTPUT_NOT_CHECKED not in warnings:
        warnings.append(OUTPUT_NOT_CHECKED)
    for text in dict.fromkeys(warnings):
        terminal.note(shown(text))
    return _ending(results, warnings, strict=strict)


def _ending(results: tuple[VerificationResult, ...], warnings: list[str], *, strict: bool) -> Exit:
    overall = overall_status(results)
    if overall is VerificationStatus.FAIL:
        return Exit.FAILED
    clean = overall is VerificationStatus.PASS and not warnings
    return Exit.DONE if clean or not strict else Exit.FAILED


def _spec(path: str) -> ContractSpec:
    try:
        return ContractSpec.from_file(path)
    except ContractFormatError as exc:
        raise Refusal(str(exc), next_step="docs/dialects/forge.md says what it may hold") from exc
    except DocumentError as exc:
        raise unreadable(exc, path, what="a contract") from exc


def _value(path: str) -> Any:
    try:
        data = read_bytes(path, max_bytes=LIMITS.max_bytes)
        return parse_document(data, path, limits=LIMITS, format="json").value
    except DocumentError as exc:
        raise unreadable(exc, path, what="JSON") from exc


def _output(path: str) -> Any:
    value = _value(path)
    if value is None:
        raise Refusal(
            f"{shown(path)} holds null, which would switch the check of the output off",
            next_step="leave --output out to check the input alone",
        )
    return value


def _line(result: VerificationResult, out: Screen, width: int) -> str:
    status = result.status
    word = out.paint(f"{status.value:<7}", _STYLES[status])
    return f"{word}  {shown(result.verifier_id):<{width}}  {shown(result.summary, 500)}"
