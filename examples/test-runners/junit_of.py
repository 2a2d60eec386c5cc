"""
JUnit XML of runners that write none: ``junit_of.py go|cargo REPORT -- COMMAND...``.

Runs the command, reads what it prints, writes the report, and ends with the
command's own exit code.  For ``go`` the command is ``go test -json ...``, for
``cargo`` it is ``cargo test ...`` as it prints by itself.  Keep this file outside of
the workspace, or whoever does the work can change it.  Where ``gotestsum`` or
``cargo nextest`` is installed, use that instead.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple
from xml.sax.saxutils import quoteattr


class Case(NamedTuple):
    """One test, and how it ended: ``pass``, ``fail``, ``skip`` or ``error``."""

    suite: str
    name: str
    ended: str


def go_cases(lines: Iterable[str]) -> Iterator[Case]:
    """What ``go test -json`` says; a package that does not build is an error."""
    failed = set[str]()
    for line in lines:
        if not line.startswith("{"):
            continue
        event = json.loads(line)
        package, test, action = event.get("Package", ""), event.get("Test"), event["Action"]
        if action not in {"pass", "fail", "skip"}:
            continue
        if test is not None:
            failed |= {package} if action == "fail" else set()
            yield Case(package, test, action)
        elif action == "fail" and package not in failed:
            yield Case(package, "(package)", "error")


SUITE = re.compile(r"\s+(?:Running|Doc-tests) (?P<suite>.+?)(?: \(.*\))?$")
TEST = re.compile(r"test (?P<name>.+?)(?: - should panic)? \.\.\. (?P<ended>ok|FAILED|ignored)\b.*")
TOTAL = re.compile(
    r"test result: \w+\. (?P<ok>\d+) passed; (?P<FAILED>\d+) failed; (?P<ignored>\d+) ignored;.*"
)
WORDS = {"ok": "pass", "FAILED": "fail", "ignored": "skip"}


def cargo_cases(lines: Iterable[str]) -> Iterator[Case]:
    """What ``cargo test`` prints; a suite whose total says otherwise is an error."""
    suite, seen = "cargo", dict.fromkeys(WORDS, 0)
    for line in lines:
        if found := SUITE.fullmatch(line):
            suite, seen = found["suite"], dict.fromkeys(WORDS, 0)
        elif found := TEST.fullmatch(line):
            seen[found["ended"]] += 1
            yield Case(suite, found["name"], WORDS[found["ended"]])
        elif found := TOTAL.fullmatch(line):
            if seen != {word: int(found[word]) for word in WORDS}:
                yield Case(suite, "(total)", "error")
            seen = dict.fromkeys(WORDS, 0)


READERS: dict[str, Callable[[Iterable[str]], Iterator[Case]]] = {
    "go": go_cases,
    "cargo": cargo_cases,
}
ELEMENTS = {"pass": "", "fail": "<failure/>", "skip": "<skipped/>", "error": "<error/>"}


def junit(cases: Iterable[Case]) -> str:
    """The cases as JUnit XML."""
    rows = (
        f"<testcase classname={_quoted(suite)} name={_quoted(name)}>{ELEMENTS[ended]}</testcase>\n"
        for suite, name, ended in cases
    )
    return f"<testsuite>\n{''.join(rows)}</testsuite>\n"


def _quoted(text: str) -> str:
    return quoteattr("".join(c if c.isprintable() else "?" for c in text))


def main(reader: str, report: str, _: str, *argv: str) -> int:
    """Run, print, write, and end as the command did."""
    done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    text = done.stdout.decode("utf-8", "replace")
    sys.stdout.write(text)
    Path(report).write_text(junit(READERS[reader](text.splitlines())), "utf-8")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
