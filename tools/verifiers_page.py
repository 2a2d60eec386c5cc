"""The page about all verifiers, made from the registry, their examples and their vectors."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from signoff.manual import Example, Manual, ParamManual, manual, tried
from signoff.model import Finding
from signoff.registry import Registry, Verifier

VECTORS = Path(__file__).resolve().parent.parent / "conformance" / "verifiers"
MAX_PARAMS = 90
MAX_REFUSED = 8
BIG_INTEGER = "has an integer beyond 2^53-1; write it as a string"

TOP = """\
# Verifiers

Every check that comes with signoff. `make docs` makes this page from the code, and
`signoff verifiers ID` shows the same on the command line. The findings beside the examples are
what the checks say of them.

Most are functions of the output and the recorded facts alone, so that
[the gate](verdicts.md#what-the-gate-finds-out-again) can run them again; the last few are
[probes](probes.md), which look at files, images and services. Where a verifier takes `path`, it
judges the value at that [RFC 6901](https://www.rfc-editor.org/rfc/rfc6901) pointer instead of the
whole output; an output that has no such place fails. A claim about every item of an empty array is
a warning, since it holds of nothing: pair it with `count_between`.

A parameter that a verifier does not take, one that is missing, one of a wrong type, and an integer
beyond 2^53-1 are faults of the contract. So is what stands under "Refused". All of them are found
when the contract is locked.
"""


PROBES = """\
These touch the world, and can do nothing until they are given the means; [probes](probes.md) says
how. The gate does not run them again.
"""


def page(verifiers: Registry, probes: Registry) -> str:
    """The whole page."""
    sections = (
        "\n".join(_section(verifier, manual(verifier)))
        for registry in (verifiers, probes)
        for verifier in registry
    )
    index = [*_index("verifier", verifiers), "", PROBES, *_index("probe", probes)]
    return "\n".join([TOP, *index, "", "\n\n".join(sections), ""])


def _index(what: str, registry: Registry) -> Iterator[str]:
    yield f"| {what} | holds when |"
    yield "| --- | --- |"
    for one in registry:
        yield f"| [{one.id}](#{one.id}) | {_cell(manual(one).description)} |"


def _section(verifier: Verifier, found: Manual) -> Iterator[str]:
    yield f"## {found.id}"
    for paragraph in (found.description, *found.notes):
        yield ""
        yield _escaped(paragraph)
    yield ""
    yield from _params(found.params)
    for example in found.examples:
        yield ""
        yield from _example(example, *tried(verifier, example))
    refused = [*islice(_refused(verifier), MAX_REFUSED)]
    if refused:
        yield ""
        yield "Refused, among others:"
        yield ""
        yield from refused
    if found.source:
        yield ""
        yield f"Source: {_escaped(found.source)}"


def _params(params: tuple[ParamManual, ...]) -> Iterator[str]:
    if not params:
        yield "It takes no parameters."
        return
    yield "| parameter | type | when absent | meaning |"
    yield "| --- | --- | --- | --- |"
    for param in params:
        absent = (
            "required" if param.required else "" if param.default is None else _code(param.default)
        )
        cells = (f"`{param.name}`", _cell(param.type), absent, _cell(param.meaning))
        yield f"| {' | '.join(cells)} |"


def _example(example: Example, meets: Finding, misses: Finding | None) -> Iterator[str]:
    yield f"With {_code(example.params)}:"
    yield ""
    yield "| subject | status | detail |"
    yield "| --- | --- | --- |"
    for facts, finding in ((example.meets, meets), (example.misses, misses)):
        if facts is not None and finding is not None:
            cells = (_facts(facts), finding.status.value, _cell(finding.detail))
            yield f"| {' | '.join(cells)} |"


def _facts(facts: dict[str, Any]) -> str:
    """An output as it stands, other facts by their names."""
    if facts.keys() == {"output"}:
        return _code(facts["output"])
    return ", ".join(f"{name} {_code(value)}" for name, value in facts.items())


def _refused(verifier: Verifier) -> Iterator[str]:
    """The faults that only this verifier has, each with the first parameters that have it."""
    cases = json.loads((VECTORS / f"{verifier.id}.json").read_text("utf-8"))["cases"]
    seen = set()
    for case in cases:
        params, faults = case["params"], case.get("faults", [])
        if len(faults) != 1 or faults[0] in seen or len(_text(params)) > MAX_PARAMS:
            continue
        if not _is_usual(faults[0], verifier):
            seen.add(faults[0])
            yield f"- {_code(params)}: {_escaped(faults[0])}"


def _is_usual(fault: str, verifier: Verifier) -> bool:
    usual = [f"is not a parameter of {verifier.id}", BIG_INTEGER]
    for param in verifier.params:
        usual.append(param.kind.wrong(param.name))
        usual.append(param.kind.absent.format(name=param.name))
    is_type = re.match(r"params\.\w+ must be ", fault) is not None
    return is_type or any(fault.endswith(text) for text in usual)


def _text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _code(value: object) -> str:
    """A value as JSON in code; in a table, bars would end the cell."""
    text = _text(value).replace("|", "\\|")
    return f"`` {text} ``" if "`" in text else f"`{text}`"


def _cell(text: str) -> str:
    return _escaped(text).replace("|", "\\|")


def _escaped(text: str) -> str:
    """Prose in which nothing is taken for Markdown."""
    return re.sub(r"[\\`*<\[]|(?<!\w)_|_(?!\w)", r"\\\g<0>", text)
