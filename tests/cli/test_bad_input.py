"""
Whatever comes in: one clear sentence with the place, the right exit code, and no pass left.

Each case runs where an earlier run passed, so that what it left would be noticed.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from time import monotonic
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from signoff.cli import choosing
from signoff.model import Finding, Subject
from signoff.registry import Check, Registry, Verifier
from tests.cli.calling import CONTRACT, GOOD, Called, call, wrote

LOCK = "contract.lock.json"
DEEP = b"[" * 200_000 + b"]" * 200_000

# Each contract with the place and the sentence that must be told.
CONTRACTS: dict[str, tuple[str, str | bytes, str]] = {
    "a list": (".json", "[]", "1:1: contract must be object, got array"),
    "no criteria": (".yaml", "id: x\ncriteria: []", "2:11: criteria is empty: a contract must be able to fail (/criteria)"),
    "criteria absent": (".yaml", "id: x", "1:1: criteria is required"),
    "only advisory ones": (".yaml", "id: x\ncriteria:\n- {id: a, verifier: not_empty, required: false}", "3:1: no criterion is required: a contract must be able to fail (/criteria)"),
    "two equal ids": (".yaml", "id: x\ncriteria:\n- {id: a, verifier: not_empty}\n- {id: a, verifier: not_empty}", "4:8: id 'a' is used 2 times (/criteria/1/id)"),
    "a cyclic schema": (".json", '{"id":"x","criteria":[{"id":"a","verifier":"json_schema","params":{"schema":{"anyOf":[{"$ref":"#"},{"type":"null"}]}}}]}', "params.schema/anyOf/0/$ref refers back to itself without looking at a part of the value (/criteria/0/params/schema/anyOf/0/$ref)"),
    "a remote $ref": (".json", '{"id":"x","criteria":[{"id":"a","verifier":"json_schema","params":{"schema":{"$ref":"https://example.org/s.json"}}}]}', "(/criteria/0/params"),
    "a remote schemaRef": (".json", '{"id":"x","criteria":[{"id":"a","verifier":"json_schema","params":{"schemaRef":"https://example.org/s.json"}}]}', "Remote schemaRef URLs are not supported"),
    "required misspelt": (".yaml", "id: x\ncriteria:\n- {id: a, verifier: not_empty, requird: true}", '3:32: requird is not a field of a criterion; did you mean "required"? (/criteria/0/requird)'),
    "a pattern that RE2 refuses": (".yaml", "id: x\ncriteria:\n- {id: a, verifier: regex_match, params: {pattern: '(?<=a)b'}}", "3:52: params.pattern is refused by RE2: "),
    "a YAML bomb": (".yaml", "a: &a [1,1,1,1,1,1,1,1,1]\n" + "".join(f"{c}: &{c} [{','.join(['*' + p] * 9)}]\n" for p, c in zip("abcdefgh", "bcdefghi", strict=True)), ""),
    "YAML's no": (".yaml", "id: x\ncriteria:\n- {id: a, verifier: not_empty, required: no}", "3:42: required must be boolean, got string (/criteria/0/required)"),
    "YAML's 1_000": (".yaml", "id: x\ncriteria:\n- {id: a, verifier: count_between, params: {max: 1_000}}", "3:50: params.max must be integer >= 0 (/criteria/0/params/max)"),
    "a parameter of the wrong type": (".toml", 'id = "x"\n[[criteria]]\nid = "a"\nverifier = "count_between"\nparams = { max = "3" }', "5:18: params.max must be integer >= 0 (/criteria/0/params/max)"),
    "true where a number goes": (".json", '{"id":"x","criteria":[{"id":"a","verifier":"count_between","params":{"max":true}}]}', "1:76: params.max must be integer >= 0"),
    "unknown parameters": (".json", '{"id":"x","criteria":[{"id":"a","verifier":"count_between","params":{"max":1,"maximum":2}}]}', 'params.maximum is not a parameter of count_between; did you mean "max"?'),
    "an unknown verifier": (".yaml", "id: x\ncriteria:\n- {id: a, verifier: nothing}", 'No verifier registered for "nothing"'),
    "not JSON": (".json", "{'id': 1}", "1:2: "),
    "cut": (".json", '{"id": "x"', "1:11: "),
    "empty": (".json", "", "1:1: the text is empty"),
    "empty YAML": (".yaml", "\n", "1:1: the text is empty"),
    "duplicate keys": (".json", '{"id": "x", "id": "y"}', '1:13: duplicate key "id"'),
    "duplicate keys in YAML": (".yaml", "id: x\nid: y\n", "2:1: duplicate key "),
    "NaN": (".json", '{"id": NaN}', "1:8: "),
    "a byte-order mark": (".json", b"\xef\xbb\xbf{}", "1:1: byte-order mark before the text"),
    "200,000 levels": (".json", DEEP, "1:65: nested deeper than 64 levels"),
    "another ending": (".txt", CONTRACT, "unknown kind of document; the name must end in .json, .yaml or .toml"),
    "not a lock file": (".json", '{"format": "other"}', '1:12: format must be "signoff-lock/1" (/format)'),
}  # fmt: skip

# Each output that is not strict JSON, with what must be said of it.
OUTPUTS: dict[str, tuple[bytes, str]] = {
    "not JSON": (b"Here is the JSON you asked for:", "at line 1, column 1"),
    "cut": (b'[{"score": 2}, {"sco', "at line 1, column "),
    "empty": (b"", "the text is empty at line 1, column 1"),
    "duplicate keys": (b'[{"score": 2, "score": 1}]', 'duplicate key "score" at line 1, column 15'),
    "duplicate keys spelt with escapes": (b'[{"score": 2, "s\\u0063ore": 1}]', 'duplicate key "score" at line 1, column 15'),
    "NaN": (b"[NaN]", "at line 1, column 2"),
    "1e999": (b"[1,\n1e999]", "number out of range: 1e999 at line 2, column 1"),
    "a lone surrogate": (b'["\\ud800"]', "lone surrogate in a string at line 1, column "),
    "not UTF-8": (b'["\xff"]', "not UTF-8 at line 1, column 3"),
    "a byte-order mark": (b"\xef\xbb\xbf[]", "byte-order mark before the text at line 1, column 1"),
    "trailing data": (b"[] []", "text after the value at line 1, column 4"),
    "200,000 levels": (DEEP, "nested deeper than 64 levels at line 1, column 65"),
}  # fmt: skip


def ran_before(folder: Path) -> None:
    """An earlier run passed and left a verdict and a JUnit file."""
    assert 0 == call("verify", LOCK, "good.json", "--out", "run", "--junit", "j.xml").code
    assert (folder / "run" / "verdict.json").exists()


def require_no_pass(folder: Path, called: Called) -> None:
    """Nothing that was printed or left reads as a pass, and nothing reads as a crash."""
    assert "Traceback" not in called.out + called.err
    assert "passed" not in called.out
    assert 0 != call("gate", "run", "--contract", LOCK).code
    verdict = folder / "run" / "verdict.json"
    assert not verdict.exists() or "failed" == json.loads(verdict.read_text())["outcome"]
    junit = folder / "j.xml"
    assert not junit.exists() or "0" != ET.parse(junit).getroot().get("failures")


def refused(called: Called) -> list[str]:
    """The lines about an unusable request."""
    lines = called.err.splitlines()
    assert (2, "") == (called.code, called.out)
    assert 1 == sum(line.startswith("signoff: ") for line in lines)
    assert max(map(len, lines)) < 500
    return lines


@pytest.mark.parametrize("name", CONTRACTS)
def test_contract(folder: Path, name: str) -> None:
    ending, text, says = CONTRACTS[name]
    path = wrote(folder, f"broken{ending}", text).name
    ran_before(folder)
    begin = monotonic()
    called = call("verify", path, "good.json", "--out", "run", "--junit", "j.xml")

    assert monotonic() - begin < 5
    assert any(line.startswith(f"{path}:") or path in line for line in refused(called))
    assert says in called.err
    require_no_pass(folder, called)
    assert called.code == call("lock", path).code == call("diff", LOCK, path).code
    assert call("gate", "run", "--contract", path).code == 2
    assert not (folder / "broken.lock.json").exists()
    error = call("lock", path, "--json").json["error"]
    assert (2, True) == (error["exit_code"], bool(error["faults"]) or ending == ".txt")


@pytest.mark.parametrize("name", OUTPUTS)
@pytest.mark.parametrize("piped", [False, True])
def test_output(folder: Path, name: str, piped: bool) -> None:
    data, says = OUTPUTS[name]
    wrote(folder, "output.json", data)
    ran_before(folder)
    where = "-" if piped else "output.json"
    called = call("verify", LOCK, where, "--out", "run", "--junit", "j.xml", stdin=data)

    assert 1 == called.code
    assert 2 == called.out.count(f"Output is not JSON: {says}") or says in called.out
    assert called.out.endswith("failed: 2 of 2 required criteria not met: enough, best-first\n")
    require_no_pass(folder, called)
    report = call("verify", LOCK, "output.json", "--json").json
    assert ("failed", "bad_output") == (report["verdict"]["outcome"], report["verdict"]["cause"])


def _huge(folder: Path) -> str:
    with (folder / "huge.json").open("wb") as file:
        file.truncate(2**30)
    return "huge.json"


def _fifo(folder: Path) -> str:
    os.mkfifo(folder / "pipe.json")
    return "pipe.json"


def _folder(folder: Path) -> str:
    (folder / "folder.json").mkdir()
    return "folder.json"


FILES: dict[str, tuple[Callable[[Path], str], str]] = {
    "a 1 GB file": (_huge, "is larger than"),
    "a FIFO": (_fifo, "is a named pipe, not a file"),
    "a missing file": (lambda _: "absent.json", "no such file"),
    "a folder": (_folder, "is a folder, not a file"),
    "a device": (lambda _: "/dev/zero", "is a device, not a file"),
    "an empty name": (lambda _: "", "no such file"),
    "a name with a null": (lambda _: "a\0b.json", "no file can have this name"),
    "a name on two lines": (lambda _: "a\nb\x1b.json", "a\\u000ab\\u001b.json: no such file"),
    "a name that is too long": (lambda _: "x" * 5000 + ".json", "the name is too long"),
}


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("place", ["contract", "output", "facts"])
def test_file_that_cannot_be_read(folder: Path, name: str, place: str) -> None:
    make, says = FILES[name]
    path = make(folder)
    ran_before(folder)
    argv = {
        "contract": ["verify", path, "good.json"],
        "output": ["verify", LOCK, path],
        "facts": ["verify", LOCK, "good.json", "--facts", path],
    }[place]
    begin = monotonic()
    called = call(*argv, "--out", "run", "--junit", "j.xml")
    if place == "contract" and not path.endswith(".json"):
        says = "the name must end in"

    assert monotonic() - begin < 5
    if place == "facts" and not path:
        says = "the name is empty"
    assert says in "\n".join(refused(called))
    advised = "use - " in called.err or "--max-bytes" in called.err
    assert advised is (
        place == "output" and says.startswith(("is larger", "is a named", "is a dev"))
    )
    if says != "the name is empty":  # then nothing was asked, and the earlier run stands
        require_no_pass(folder, called)


def test_standard_input_that_is_too_large_or_closed(folder: Path) -> None:
    ran_before(folder)
    large = call(
        "verify", LOCK, "-", "--max-bytes", "10", "--out", "run", "--junit", "j.xml", stdin=GOOD
    )
    assert "standard input: is larger than 10 bytes" in "\n".join(refused(large))
    require_no_pass(folder, large)
    closed = call("verify", LOCK, "-", stdin=None)
    assert "signoff: standard input: is closed" in refused(closed)


def test_recursive_schema_ends_in_a_verdict(folder: Path) -> None:
    """A schema that leads back to itself for parts of the value is judged in bounded time."""
    cyclic = {"type": "array", "items": {"$ref": "#"}}
    contract = {"id": "x", "criteria": [{"id": "a", "verifier": "json_schema", "params": {"schema": cyclic}}]}  # fmt: skip
    wrote(folder, "cyclic.json", json.dumps(contract))
    ran_before(folder)
    nested = b"[" * 60 + b"1" + b"]" * 60
    called = call("verify", "cyclic.json", "-", "--out", "run", "--junit", "j.xml", stdin=nested)

    assert 1 == called.code
    assert "must be array" in called.out
    require_no_pass(folder, called)


def test_pattern_that_explodes_elsewhere_is_answered_at_once(folder: Path) -> None:
    contract = {"id": "x", "criteria": [{"id": "a", "verifier": "regex_match", "params": {"pattern": "(a|aa)+$"}}]}  # fmt: skip
    wrote(folder, "re.json", json.dumps(contract))
    begin = monotonic()
    called = call("verify", "re.json", "-", stdin=json.dumps("a" * 100_000 + "b").encode())

    assert (1, True) == (called.code, monotonic() - begin < 5)


def _raises(_: Subject) -> Finding:
    raise ValueError("over\nboard\x1b")


def _exits(_: Subject) -> Finding:
    sys.exit(0)


def _interrupts(_: Subject) -> Finding:
    raise KeyboardInterrupt


def _recurses(subject: Subject) -> Finding:
    return _recurses(subject)


def _changes(subject: Subject) -> Finding:
    subject.output.clear()
    return Finding(status=None, detail="")  # type: ignore[arg-type]  # what foreign code may do


CHECKS: dict[str, tuple[Callable[[Subject], Any], str]] = {
    "raises": (_raises, "Verifier threw: over\\u000aboard\\u001b"),
    "returns None": (lambda _: None, "Verifier returned no finding."),
    "returns True": (lambda _: True, "Verifier returned no finding."),
    "calls sys.exit": (_exits, "Verifier threw: "),
    "raises KeyboardInterrupt": (_interrupts, "Verifier threw: KeyboardInterrupt"),
    "changes the output": (_changes, "Verifier changed the output."),
    "recurses for ever": (_recurses, "Verifier threw: maximum recursion depth exceeded"),
}


@pytest.mark.parametrize("name", CHECKS)
def test_verifier(folder: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    check, says = CHECKS[name]

    def factory() -> Check:
        return check

    odd = Verifier(id="odd", factory=factory, description="Odd.")
    ran_before(folder)
    monkeypatch.setattr(choosing, "own_registry", lambda: Registry([odd]))
    wrote(folder, "odd.yaml", "id: x\ncriteria:\n- {id: a, verifier: odd}\n")
    called = call("verify", "odd.yaml", "good.json", "--out", "run", "--junit", "j.xml")

    assert 1 == called.code
    assert f"error  a  {says}" in called.out
    assert "    next      the check is broken, which says nothing about the work\n" in called.out
    assert called.out.endswith("failed: 1 of 1 required criterion not met: a\n")
    assert "Traceback" not in called.out + called.err
    assert 0 != call("gate", "run", "--contract", LOCK).code
    assert "1" == ET.parse("j.xml").getroot().get("errors")
