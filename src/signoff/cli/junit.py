"""
A report as JUnit XML, for the test views of CI systems.

The contract is the suite and a criterion a case.  An advisory criterion that does
not hold is a skipped case, because it never decides.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from signoff.jsonvalue import shown
from signoff.model import Contract, Criterion, Report, Result
from signoff.status import Status

__all__ = ["junit_xml", "problems_xml"]

MAX_TEXT: Final = 4_096
_COUNTED: Final = ("failures", "errors", "skipped")
_NOT_XML: Final = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_ENTITIES: Final = str.maketrans(
    {
        "&": "&amp;",
        "<": "&lt;",
        ">": "&gt;",
        '"': "&quot;",
        "'": "&apos;",
        "\t": "&#9;",
        "\n": "&#10;",
        "\r": "&#13;",
    }
)


def junit_xml(report: Report, contract: Contract) -> bytes:
    """The XML document that says what became of each criterion."""
    stamp = f"{report.started:%Y-%m-%dT%H:%M:%S}"
    facts = {
        "outcome": report.verdict.outcome.value,
        "contract_digest": report.contract_digest,
        "output_digest": report.output_digest or "",
        "isolation": report.isolation or "",
        "assurance": report.assurance or "",
        "missing": "; ".join(report.missing),
        "weakened": ", ".join(report.weakened),
    }
    return _document(contract, [*_cases(report, contract)], report.elapsed_s, facts, stamp)


def problems_xml(contract: Contract, problems: tuple[str, ...]) -> bytes:
    """The XML document that says why a run proves nothing."""
    text = _text("; ".join(problems))
    body = f'<failure type="run_directory" message="{text}">{text}</failure>'
    case = _case("run directory", "signoff.gate", 0.0, body)
    return _document(contract, [("failures", case)], 0.0, {"outcome": "failed"})


def _document(
    contract: Contract,
    cases: list[tuple[str, list[str]]],
    elapsed_s: float,
    facts: dict[str, str],
    stamp: str = "",
) -> bytes:
    counts = {name: sum(kind == name for kind, _ in cases) for name in _COUNTED}
    numbers = " ".join(f'{name}="{count}"' for name, count in counts.items())
    head = f'name="{_text(contract.id)}" tests="{len(cases)}" {numbers} time="{elapsed_s:.6f}"'
    when = f' timestamp="{stamp}"' if stamp else ""
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f"<testsuites {head}>",
        f"  <testsuite {head}{when}>",
        "    <properties>",
        *(f'      <property name="{key}" value="{_text(facts[key])}"/>' for key in facts),
        "    </properties>",
        *(line for _, case in cases for line in case),
        "  </testsuite>",
        "</testsuites>",
        "",
    ]
    return "\n".join(lines).encode()


def _cases(report: Report, contract: Contract) -> Iterator[tuple[str, list[str]]]:
    criteria = {criterion.id: criterion for criterion in contract.criteria}
    for result in report.results:
        criterion = criteria[result.criterion]
        kind, body = _body(result, criterion)
        yield kind, _case(criterion.id, criterion.verifier, result.elapsed_s, body)


def _case(name: str, class_name: str, elapsed_s: float, body: str) -> list[str]:
    head = f'name="{_text(name)}" classname="{_text(class_name)}" time="{elapsed_s:.6f}"'
    if not body:
        return [f"    <testcase {head}/>"]
    return [f"    <testcase {head}>", f"      {body}", "    </testcase>"]


def _body(result: Result, criterion: Criterion) -> tuple[str, str]:
    """What is counted, and the element inside the case."""
    status, finding = result.finding.status, result.finding
    place = "" if finding.at is None else f" (at {finding.at or 'the whole output'})"
    detail = _text(f"{finding.detail}{place}")
    if status is Status.PASS:
        return "", ""
    if status is Status.WARN:
        return "", f"<system-out>warn: {detail}</system-out>"
    if not criterion.required:
        return "skipped", f'<skipped message="advisory, {status.value}: {detail}"/>'
    if status is Status.SKIPPED:
        return "skipped", f'<skipped message="{detail}"/>'
    type_ = _text(finding.cause.value if finding.cause else status.value)
    if status is Status.FAIL:
        return "failures", f'<failure type="{type_}" message="{detail}">{detail}</failure>'
    type_ = "inconclusive" if status is Status.INCONCLUSIVE else type_
    return "errors", f'<error type="{type_}" message="{detail}">{detail}</error>'


def _text(text: str) -> str:
    """The text as one safe line of an XML 1.0 document."""
    line = shown(text, MAX_TEXT)
    line = _NOT_XML.sub(lambda found: f"\\u{ord(found[0]):04x}", line)
    return line.translate(_ENTITIES)
