"""
A report as a person reads it: one line a criterion, the verdict last.

What does not hold is explained below its line: what it means, what was expected,
where in the output, and what is there, or what the command printed last.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from signoff.cli.door import warned
from signoff.cli.excerpt import excerpt, params_text
from signoff.cli.printed import Reader, printed_lines
from signoff.cli.terminal import Screen
from signoff.document import Document
from signoff.jsonvalue import MISSING, parse_pointer, resolve, shown
from signoff.model import ASSURANCES, Assurance, Contract, Criterion, Report, Result
from signoff.quick import LOCKED_AT_VERIFY
from signoff.status import Cause, Outcome, Status

__all__ = ["Shown", "report_lines", "verdict_line"]

MAX_DETAIL: Final = 400
MAX_IDS: Final = 10
WIDEST_ID: Final = 32

_SYMBOLS: Final = {
    Status.PASS: ("✓", "good"),
    Status.WARN: ("!", "odd"),
    Status.INCONCLUSIVE: ("?", "odd"),
    Status.SKIPPED: ("·", "quiet"),
    Status.ERROR: ("✗", "bad"),
    Status.FAIL: ("✗", "bad"),
}
_STYLES: Final = {
    Outcome.PASSED: "good",
    Outcome.INCONCLUSIVE: "odd",
    Outcome.FAILED: "bad",
}
_ASSURANCES: Final[dict[Assurance, str]] = {
    "exit_code": "at least one is judged by its exit code alone",
    "report": "test runs are judged by their reports",
    "report+canaries": "test runs are judged by their reports, in which canaries came out right",
}
_NEXT: Final = {
    Cause.NOT_RECORDED: (
        "record it: --facts FILE takes elapsed_s, exit_code, tools, base and input;"
        " probes look at --workspace DIR and --evidence FILE"
    ),
    Cause.BAD_OUTPUT: "the output must be strict JSON; --text is for plain text",
    Cause.VERIFIER_BROKE: "the check is broken, which says nothing about the work",
    Cause.NO_SUCH_VERIFIER: "name what brings it: --plugin NAME, --with MODULE:NAME",
    Cause.BAD_PARAMS: "lock the contract again, or configure what it names in signoff.toml",
    Cause.ISOLATION_UNAVAILABLE: "signoff sandbox check says what is missing, and how to get it",
    Cause.EVIDENCE_UNREACHABLE: "run it again when the evidence can be reached",
    Cause.EVIDENCE_TIMED_OUT: "run it again when the evidence can be reached",
}


class Shown:
    """
    An output that a report is about, for showing where something is in it.

    Args:
        output: Its value.
        source: Name of the file it came from.
        document: Its text, where it is JSON; without it places are pointers alone.
    """

    def __init__(self, output: Any, *, source: str, document: Document | None = None) -> None:
        self._output = output
        self._source = source
        self._document = document

    def fault_place(self, detail: str) -> str:
        """File, line and column that a detail about unreadable bytes ends with."""
        found = re.search(r"at line (\d+), column (\d+)$", detail)
        return f"{self._source}:{found[1]}:{found[2]}" if found else self._source

    def place(self, pointer: str) -> str:
        """File, line and column with the pointer, or what is known of it."""
        named = shown(pointer) or "the whole output"
        if self._document is None:
            return named
        line, column = self._document.place(pointer)
        return f"{self._document.source}:{line}:{column} ({named})"

    def value(self, pointer: str) -> str:
        """The beginning of what stands there, ``""`` when nothing does."""
        found, _ = resolve(self._output, parse_pointer(pointer))
        return "" if found is MISSING else excerpt(found)


def report_lines(
    report: Report,
    contract: Contract,
    screen: Screen,
    *,
    output: Shown | None = None,
    read: Reader | None = None,
    quiet: bool = False,
) -> Iterator[str]:
    """
    The lines of the results, without the verdict's.

    Args:
        report: What to show.
        contract: The contract it is about.
        screen: Gives colours and symbols.
        output: The output, for places and values in it.
        read: Gives kept evidence by its digest, for what commands printed.
        quiet: Leave out what holds.
    """
    criteria = {criterion.id: criterion for criterion in contract.criteria}
    results = [one for one in report.results if not (quiet and one.finding.status.holds)]
    names = [_name(criteria[one.criterion]) for one in results]
    width = min(max(map(len, names), default=0), WIDEST_ID)
    words = max((len(one.finding.status.value) for one in results), default=0)
    unread = report.verdict.cause is Cause.BAD_OUTPUT
    for result, name in zip(results, names, strict=True):
        yield f"{_mark(result, screen, words)} {name:<{width}}  {_detail(result, screen)}".rstrip()
        if not unread and result.finding.status not in {Status.PASS, Status.WARN, Status.SKIPPED}:
            yield from _explained(result, criteria[result.criterion], screen, output)
            for stream, line in printed_lines(result.finding, read) if read else ():
                yield _labelled(stream, line, screen)
    if unread and results:
        if output:
            yield _labelled("where", output.fault_place(results[0].finding.detail), screen)
        yield _labelled("next", _NEXT[Cause.BAD_OUTPUT], screen)
    if report.isolation is not None:
        yield _labelled("commands", _backed(report), screen)
    for sentence in report.missing:
        yield _labelled("missing", shown(sentence, MAX_DETAIL), screen)
    for weakened in report.weakened:
        if weakened != LOCKED_AT_VERIFY:  # that is a note of its own
            yield _labelled("weakened", shown(weakened), screen)


def verdict_line(report: Report, contract: Contract, screen: Screen, *, strict: bool) -> str:
    """The last line."""
    verdict, required = report.verdict, sum(one.required for one in contract.criteria)
    noun, verb = ("criterion", "holds") if required == 1 else ("criteria", "hold")
    if verdict.outcome is not Outcome.PASSED:
        count = len(verdict.blockers)
        text = f"{count} of {required} required {noun} not met: {_ids(verdict.blockers)}"
        word = screen.paint(verdict.outcome.value, _STYLES[verdict.outcome])
        return f"{word}: {text}"
    held = f"{required} of {required} required {noun} {verb}"
    odd = warned(report, contract)
    if strict and odd:
        word = screen.paint("failed", "bad")
        return f"{word}: {held}, but strict counts warnings: {_ids(odd)}"
    warnings = f", with a warning: {_ids(odd)}" if odd else ""
    return f"{screen.paint('passed', 'good')}: {held}{warnings}"


def _backed(report: Report) -> str:
    """Under what the commands ran, and what shows that they did what they were to do."""
    shows = _ASSURANCES.get(report.assurance or ASSURANCES[0], "")
    return f"ran under isolation {report.isolation}; {shows}"


def _explained(
    result: Result, criterion: Criterion, screen: Screen, output: Shown | None
) -> Iterator[str]:
    finding = result.finding
    if criterion.description:
        yield _labelled("what", shown(criterion.description, MAX_DETAIL), screen)
    params = params_text(criterion.params)
    yield _labelled("expected", f"{shown(criterion.verifier)} {params}".rstrip(), screen)
    if finding.at is not None:
        place = output.place(finding.at) if output else shown(finding.at) or "the whole output"
        yield _labelled("where", place, screen)
        if output and (value := output.value(finding.at)):
            yield _labelled("got", value, screen)
    if finding.cause in _NEXT:
        yield _labelled("next", _NEXT[finding.cause], screen)


def _labelled(label: str, text: str, screen: Screen) -> str:
    return f"    {screen.paint(f'{label:<8}', 'quiet')}  {text}"


def _mark(result: Result, screen: Screen, width: int) -> str:
    status = result.finding.status
    symbol, style = _SYMBOLS[status]
    return screen.paint(symbol if screen.symbols else f"{status.value:<{width}} ", style)


def _detail(result: Result, screen: Screen) -> str:
    status, detail = result.finding.status, shown(result.finding.detail, MAX_DETAIL)
    if screen.symbols and status not in {Status.PASS, Status.FAIL}:
        return f"{status.value}: {detail}"
    return detail


def _name(criterion: Criterion) -> str:
    return shown(criterion.id) + ("" if criterion.required else " (advisory)")


def _ids(ids: tuple[str, ...]) -> str:
    more = f" and {len(ids) - MAX_IDS} more" if len(ids) > MAX_IDS else ""
    return ", ".join(map(shown, ids[:MAX_IDS])) + more
