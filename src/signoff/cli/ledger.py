"""``signoff ledger``: what a ledger holds, and whether it is what was written."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

import click
import msgspec
from msgspec import Struct

from signoff.cli.commands import Command, FileName, json_option
from signoff.cli.exits import Exit, Refusal
from signoff.cli.ledgers import LEDGER, reading_ledger
from signoff.cli.terminal import Screen, Terminal
from signoff.errors import DatabaseUnusable, LedgerCorrupt
from signoff.jsonvalue import shown
from signoff.ledger import Head, KeptVerdict, Ledger
from signoff.model import Report
from signoff.status import Outcome

__all__ = ["command"]

MAX_FAULTS: Final = 100
MAX_SEQ: Final = 2**62

EXAMPLES: Final = """\b
Examples:
  signoff ledger list --last 20
  signoff ledger list --subject T1 --outcome failed
  signoff ledger show 17
  signoff ledger verify --head 17:9f86d081...
  signoff ledger export --since 18 > events.jsonl
"""

# Which options go with which action, besides --ledger and --json.
OPTIONS: Final = {
    "list": {"contract", "outcome", "subject", "since", "last"},
    "show": {"seq"},
    "verify": {"heads"},
    "export": {"since"},
}
SPELT: Final = {"seq": "a number", "heads": "--head"}
STYLES: Final = {Outcome.PASSED: "good", Outcome.INCONCLUSIVE: "odd", Outcome.FAILED: "bad"}
FACTS: Final = (
    "seq",
    "at",
    "contract_id",
    "contract_digest",
    "output_digest",
    "outcome",
    "cause",
    "blockers",
    "isolation",
    "assurance",
    "subject",
    "run",
    "report_digest",
)


class Request(Struct, frozen=True, kw_only=True):
    """What was asked for on the command line."""

    action: str
    seq: int | None
    ledger: str
    contract: str | None
    outcome: str | None
    subject: str | None
    since: int | None
    last: int | None
    heads: tuple[str, ...]
    as_json: bool


@click.command("ledger", cls=Command, epilog=EXAMPLES)
@click.argument("action", metavar="list|show|verify|export", type=click.Choice([*OPTIONS]))
@click.argument("seq", required=False, type=click.IntRange(1, MAX_SEQ))
@click.option(
    "--ledger",
    type=FileName(),
    default=LEDGER,
    metavar="PATH|DSN",
    help=f"The ledger, a file or postgresql://...; {LEDGER} when absent.",
)
@click.option("--contract", metavar="ID", help="list: only those under that contract.")
@click.option(
    "--outcome",
    type=click.Choice([one.value for one in Outcome]),
    help="list: only those that came to that.",
)
@click.option("--subject", metavar="NAME", help="list: only those recorded under that name.")
@click.option(
    "--since",
    type=click.IntRange(1, MAX_SEQ),
    metavar="SEQ",
    help="list, export: only from that number on.",
)
@click.option(
    "--last", type=click.IntRange(1, MAX_SEQ), metavar="N", help="list: only so many, from the end."
)
@click.option(
    "--head",
    "heads",
    multiple=True,
    metavar="SEQ:HEX",
    help="verify: a head that was kept elsewhere must still be there; repeatable.",
)
@json_option
@click.pass_obj
def command(terminal: Terminal, /, **asked: Any) -> int:
    """
    Show what a ledger holds, and whether it is what was written.

    list prints the verdicts, show SEQ one of them with its report, export the
    events as JSON lines.  verify hashes everything anew: each line, each column,
    each report.  That the end was cut off shows only with --head, as signoff
    verify --ledger has printed it.

    Exit codes: 0 shown, or intact; 1 not what was written, or no such verdict;
    2 the ledger cannot be read.
    """
    request = Request(**asked)
    _require_fitting(request)
    run: Callable[[Terminal, Request, Ledger], Exit] = {
        "list": _list,
        "show": _show,
        "verify": _verify,
        "export": _export,
    }[request.action]
    with reading_ledger(request.ledger) as ledger:
        try:
            return run(terminal, request, ledger)
        except LedgerCorrupt as exc:
            raise Refusal(
                f"{ledger.name}: {exc}",
                code=Exit.FAILED,
                next_step="signoff ledger verify lists everything that is wrong",
            ) from exc
        except DatabaseUnusable as exc:
            raise Refusal(str(exc)) from exc


def _require_fitting(request: Request) -> None:
    for name in set().union(*OPTIONS.values()) - OPTIONS[request.action]:
        if getattr(request, name) not in {None, ()}:
            option = SPELT.get(name, f"--{name}")
            raise click.UsageError(f"{option} does not go with ledger {request.action}")
    if request.action == "show" and request.seq is None:
        raise click.UsageError("ledger show needs the number of a verdict")


def _list(terminal: Terminal, request: Request, ledger: Ledger) -> Exit:
    found = ledger.verdicts(
        contract=request.contract,
        outcome=Outcome(request.outcome) if request.outcome else None,
        subject=request.subject,
        since=request.since or 1,
        last=request.last,
    )
    if request.as_json:
        terminal.out.json(_encoded({"verdicts": [_facts(one) for one in found]}))
        return Exit.DONE
    count = 0
    for one in found:
        terminal.out.line(_line(one, terminal.out))
        count += 1
    if not count:
        terminal.note(f"{ledger.name} holds no such verdict")
    return Exit.DONE


def _show(terminal: Terminal, request: Request, ledger: Ledger) -> Exit:
    found = ledger.verdict(request.seq or 0)
    if found is None:
        raise Refusal(
            f"{ledger.name}: holds no verdict {request.seq}",
            code=Exit.FAILED,
            next_step="signoff ledger list shows which there are",
        )
    if request.as_json:
        terminal.out.json(_encoded(_facts(found) | {"report": msgspec.Raw(found.report)}))
        return Exit.DONE
    facts = _facts(found)
    width = max(map(len, facts))
    for name, value in facts.items():
        text = ", ".join(map(shown, value)) if isinstance(value, tuple) else value
        if text not in {None, ""}:
            terminal.out.line(f"{name:<{width}}  {shown(str(text))}")
    for line in _results(found, terminal.out):
        terminal.out.line(line)
    return Exit.DONE


def _verify(terminal: Terminal, request: Request, ledger: Ledger) -> Exit:
    try:
        heads = [Head.parse(text) for text in request.heads]
    except ValueError as exc:
        raise click.UsageError(str(exc)) from exc
    found = ledger.verify(*heads)
    if request.as_json:
        document = {
            "intact": found.intact,
            "events": found.events,
            "verdicts": found.verdicts,
            "head": str(found.head),
            "faults": found.faults,
        }
        terminal.out.json(_encoded(document))
        return Exit.DONE if found.intact else Exit.FAILED
    out = terminal.out
    for fault in found.faults[:MAX_FAULTS]:
        out.line(f"{out.paint('problem:', 'bad')} {fault}")
    if len(found.faults) > MAX_FAULTS:
        out.line(f"and {len(found.faults) - MAX_FAULTS} more; --json lists all of them")
    count = f"{_counted(found.events, 'event')}, {_counted(found.verdicts, 'verdict')}"
    if found.intact:
        out.line(f"{out.paint('intact', 'good')}: {count}; head {found.head}")
        return Exit.DONE
    first = found.faults[0].seq
    out.line(
        f"{out.paint('failed', 'bad')}: {ledger.name} is not what was written, from {first} on"
    )
    return Exit.FAILED


def _export(terminal: Terminal, request: Request, ledger: Ledger) -> Exit:
    lines = ledger.lines(since=request.since or 1)
    if request.as_json:
        terminal.out.json(_encoded({"events": [msgspec.Raw(line) for line in lines]}))
        return Exit.DONE
    for line in lines:
        terminal.out.json(line)
    return Exit.DONE


def _line(one: KeptVerdict, screen: Screen) -> str:
    outcome = screen.paint(f"{one.outcome.value:<12}", STYLES[one.outcome])
    parts = [shown(one.contract_id)]
    if one.subject:
        parts.append(f"({shown(one.subject)})")
    if one.blockers:
        parts.append(screen.paint(shown(", ".join(one.blockers)), "quiet"))
    return f"{one.seq:>6}  {one.at}  {outcome}  {' '.join(parts)}"


def _results(one: KeptVerdict, screen: Screen) -> Iterator[str]:
    """The results in the report, which is the one that was recorded."""
    report = msgspec.json.decode(one.report, type=Report)
    width = max((len(shown(result.criterion)) for result in report.results), default=0)
    for result in report.results:
        status = f"{result.finding.status.value:<12}"
        detail = screen.paint(shown(result.finding.detail), "quiet")
        yield f"{status}  {shown(result.criterion):<{width}}  {detail}"


def _facts(one: KeptVerdict) -> dict[str, Any]:
    """The columns but for the report."""
    facts = {name: getattr(one, name) for name in FACTS}
    return facts | {
        "outcome": one.outcome.value,
        "cause": None if one.cause is None else one.cause.value,
    }


def _counted(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def _encoded(value: object) -> bytes:
    return msgspec.json.format(msgspec.json.encode(value), indent=2)
