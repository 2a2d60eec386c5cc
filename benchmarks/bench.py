"""The command line of the benchmarks: choose rows, time them, print a table or JSON."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from typing import Final

import msgspec

from benchmarks import (
    checks,
    commands,
    ledger,
    locking,
    mindscript,
    parsing,
    schema,
    startup,
    suites,
)
from benchmarks.row import Failed, Row, Sides, Unavailable
from benchmarks.service import batch, verify
from benchmarks.table import Outcome, document, heading, line, surroundings
from benchmarks.timing import Effort

__all__ = ["ROWS", "main"]

GROUPS: Final = (
    checks, mindscript, schema, locking, parsing, ledger, startup, suites, commands, verify, batch,
)  # fmt: skip
ROWS: Final[dict[str, Row]] = {row.name: row for group in GROUPS for row in group.ROWS}
NORMAL: Final = Effort()
QUICK: Final = Effort(rounds=5, batch_s=0.001, row_s=1.0, load_rounds=3, load_s=1.0)


def main(argv: Sequence[str]) -> int:
    """Zero, however long anything took; one when two sides did not answer the same."""
    parser = _parser()
    options = parser.parse_args(argv)
    rows = [row for row in ROWS.values() if row.name.startswith(tuple(options.rows) or "")]
    unknown = [name for name in options.rows if not any(row.startswith(name) for row in ROWS)]
    if unknown:
        parser.error(f"no row is called {unknown[0]}; there are {', '.join(ROWS)}")
    outcomes = _outcomes(rows, _effort(options))
    if options.json:
        done = [*outcomes]
        print(document(done).decode())
    else:
        done = [*_printed(outcomes)]
    return 0 if all(outcome.agreed for outcome in done) else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="benchmarks/run.py", description="Times signoff against its peers, in the same run."
    )
    parser.add_argument("rows", nargs="*", metavar="ROW", help="a row, or what names begin with")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--quick", action="store_true", help="few short rounds, for a first look")
    parser.add_argument("--seconds", type=float, metavar="S", help="of each round under load")
    return parser


def _effort(options: argparse.Namespace) -> Effort:
    effort = QUICK if options.quick else NORMAL
    if options.seconds is None:
        return effort
    return msgspec.structs.replace(effort, load_s=options.seconds)


def _outcomes(rows: Iterable[Row], effort: Effort) -> Iterator[Outcome]:
    for row in rows:
        try:
            with closing(row.prepare()) as pair:
                yield _outcome(row, pair, effort)
        except Unavailable as exc:
            yield Outcome(row=row, note=f"not run: {exc}")


def _outcome(row: Row, sides: Sides, effort: Effort) -> Outcome:
    ours, theirs = sides.answers()
    if ours != theirs:
        return Outcome(row=row, note="the two sides do not answer the same", agreed=False)
    try:
        measured = sides.measure(effort)
    except Failed as exc:
        return Outcome(row=row, note=str(exc), agreed=False)
    note = "; ".join(filter(None, (row.note, measured.note, sides.note)))
    return Outcome(row=row, measured=measured, note=note)


def _printed(outcomes: Iterable[Outcome]) -> Iterator[Outcome]:
    print(*(f"{name}: {value}" for name, value in surroundings().items()), "", sep="\n")
    print(heading())
    for outcome in outcomes:
        print(line(outcome))
        sys.stdout.flush()
        yield outcome
