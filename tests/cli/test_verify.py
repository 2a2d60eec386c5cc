"""``signoff verify``: what it prints, what it keeps, and which code it ends with."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from signoff.record import VerdictFile
from signoff.rundir import RunDirectory, begin_run, read_run
from tests.cli.calling import CONTRACT, GOOD, call, wrote

LOCK = "contract.lock.json"


def test_one_line_a_criterion_and_the_verdict(folder: Path) -> None:
    assert (
        0,
        (
            "pass  enough      length=2, min=2, max=3\n"
            'pass  best-first  Sorted by "score" (desc).\n'
            "passed: 2 of 2 required criteria hold\n"
        ),
        "",
    ) == call("verify", LOCK, "good.json")


def test_failure_says_what_where_expected_and_got(folder: Path) -> None:
    called = call("verify", LOCK, "bad.json")

    assert 1 == called.code
    assert (
        "pass  enough      length=2, min=2, max=3\n"
        "fail  best-first  Order violation at index 1\n"
        '    expected  sorted_by field="score", order="desc"\n'
        "    where     bad.json:3:13 (/1/score)\n"
        "    got       2\n"
        "failed: 1 of 2 required criteria not met: best-first\n"
    ) == called.out


def test_description_says_what_was_wanted(folder: Path) -> None:
    wrote(folder, "one.json", "[1]")

    assert "    what      Two to three answers\n" in call("verify", LOCK, "one.json").out


def test_contract_that_is_not_locked_is_noted_and_weakens(folder: Path) -> None:
    called = call("verify", "contract.yaml", "good.json", "--json")

    assert 0 == called.code
    assert ["locked_at_verify"] == called.json["weakened"]
    assert called.err.startswith("note: contract.yaml was locked on the spot")


def test_lock_file_weakens_nothing(folder: Path) -> None:
    called = call("verify", LOCK, "good.json", "--json")

    assert ([], "") == (called.json["weakened"], called.err)
    assert "passed" == called.json["verdict"]["outcome"]


def test_standard_input_is_read(folder: Path) -> None:
    called = call("verify", LOCK, "-", stdin=b"[1]")

    assert 1 == called.code
    assert "    where     standard input:1:1 (the whole output)\n    got       [1]\n" in called.out


def test_text_is_judged_as_it_is(folder: Path) -> None:
    contract = '{"id": "t", "criteria": [{"id": "hi", "verifier": "regex_match", "params": {"pattern": "^hi\\\\n$"}}]}'
    wrote(folder, "text.json", contract)

    assert 0 == call("verify", "text.json", "-", "--text", stdin=b"hi\n").code
    assert 1 == call("verify", "text.json", "-", "--text", stdin=b"\xff").code


@pytest.mark.parametrize(
    ("options", "output", "weakened"),
    [
        (["--duplicate-keys", "last"], b'[{"score":1,"score":3},{"score":2}]', ["duplicate_keys_last"]),
        (["--max-depth", "128"], b'[{"score":3},{"score":2,"x":' + b"[" * 90 + b"]" * 90 + b"}]", ["max_depth=128"]),
        (["--max-bytes", "100000000"], GOOD, ["max_bytes=100000000"]),
        (["--max-bytes", "1000", "--max-depth", "3"], GOOD, []),
        (["--strict", "--fail-fast"], GOOD, []),
    ],
)  # fmt: skip
def test_what_is_made_less_strict_is_reported_and_the_gate_agrees(
    folder: Path, options: list[str], output: bytes, weakened: list[str]
) -> None:
    called = call("verify", LOCK, "-", "--out", "run", "--json", *options, stdin=output)

    assert (0, weakened) == (called.code, called.json["weakened"])
    assert weakened == [*read_run("run").report.weakened]
    allowed = [word for entry in weakened for word in ("--allow", entry)]
    assert bool(weakened) == call("gate", "run", "--contract", LOCK).code
    assert 0 == call("gate", "run", "--contract", LOCK, *allowed).code


def test_strict_counts_a_warning_at_the_door_only(folder: Path) -> None:
    wrote(folder, "none.yaml", CONTRACT.replace("min: 2", "min: 0"))
    wrote(folder, "none.json", "[]")
    relaxed = call("verify", "none.yaml", "none.json", "-q")
    strict = call("verify", "none.yaml", "none.json", "--strict")

    assert (0, "") == relaxed[:2]
    assert 1 == strict.code
    assert "warn  best-first" in strict.out
    assert strict.out.endswith(
        "failed: 2 of 2 required criteria hold, but strict counts warnings: best-first\n"
    )
    report = call("verify", "none.yaml", "none.json", "--strict", "--json")
    assert (1, "passed") == (report.code, report.json["verdict"]["outcome"])


def test_warning_is_a_passed_case(folder: Path) -> None:
    wrote(folder, "none.yaml", CONTRACT.replace("min: 2", "min: 0"))
    called = call("verify", "none.yaml", "-", "--junit", "j.xml", stdin=b"[]")
    suite = ET.parse("j.xml").getroot()

    assert called.out.endswith("2 required criteria hold, with a warning: best-first\n")
    assert ("0", "0", "0") == tuple(suite.get(name) for name in ("failures", "errors", "skipped"))
    assert "warn: ≤1 item is trivially sorted (0 items)" == suite.findtext(".//system-out")


def test_advisory_warning_is_no_failure_even_strictly(folder: Path) -> None:
    advisory = CONTRACT.replace("min: 2", "min: 0") + "    required: false\n"
    wrote(folder, "none.yaml", advisory)

    assert 0 == call("verify", "none.yaml", "-", "--strict", stdin=b"[]").code


def test_advisory_failure_is_shown_and_never_decides(folder: Path) -> None:
    wrote(folder, "soft.yaml", CONTRACT + "    required: false\n")
    called = call("verify", "soft.yaml", "bad.json", "--junit", "j.xml")

    assert 0 == called.code
    assert "fail  best-first (advisory)  Order violation" in called.out
    assert called.out.endswith("passed: 1 of 1 required criterion holds\n")
    assert 1 == len(ET.parse("j.xml").findall(".//skipped"))


def test_fail_fast_skips_what_follows(folder: Path) -> None:
    called = call("verify", LOCK, "-", "--fail-fast", stdin=b"[1]")

    assert 1 == called.code
    assert 'skipped  best-first  Not run after "enough" did not hold.' in called.out


FAST = """\
id: fast
criteria:
  - {id: fast, verifier: latency_under, params: {max: 200}}
  - {id: tools, verifier: tool_success, params: {tool: search}}
"""


def test_facts_are_judged(folder: Path) -> None:
    wrote(folder, "fast.yaml", FAST)
    wrote(
        folder,
        "facts",
        '{"elapsed_s": 0.1, "exit_code": 0, "input": [1], "tools": [{"name": "search", "status": "ok"}]}',
    )
    called = call("verify", "fast.yaml", "good.json", "--facts", "facts", "--out", "run")

    assert 0 == called.code
    assert 0 == call("gate", "run", "--contract", "fast.yaml").code


def test_missing_fact_is_inconclusive_and_says_what_to_do(folder: Path) -> None:
    wrote(folder, "fast.yaml", FAST.partition("  - {id: tools")[0])
    called = call("verify", "fast.yaml", "good.json", "--junit", "j.xml", "--out", "run")

    assert 3 == called.code
    assert "    next      record it: --facts FILE takes" in called.out
    assert called.out.endswith("inconclusive: 1 of 1 required criterion not met: fast\n")
    error = ET.parse("j.xml").find(".//error")
    assert error is not None
    assert "inconclusive" == error.get("type")
    assert 3 == call("gate", "run", "--contract", "fast.yaml").code


def test_missing_workspace_says_what_to_do(folder: Path) -> None:
    evidence = "{evidence: [{ref: r.json}]}"
    there = f"{{id: there, verifier: artifact_exists, params: {evidence}}}"
    wrote(folder, "there.yaml", f"id: there\ncriteria:\n  - {there}\n")
    called = call("verify", "there.yaml", "good.json")

    assert 3 == called.code
    assert "No workspace was recorded." in called.out
    assert "--workspace DIR" in called.out


@pytest.mark.parametrize(
    ("facts", "says"),
    [
        ("[]", "facts:1:1: facts must be object, got array"),
        ('{"elapsed": 1}', 'facts:1:2: elapsed is not a recorded fact; did you mean "elapsed_s"?'),
        ('{"elapsed_s": true}', "facts:1:15: elapsed_s must be number >= 0, in seconds"),
        ('{"elapsed_s": -1}', "facts:1:15: elapsed_s must be number >= 0, in seconds"),
        (f'{{"elapsed_s": 1{"0" * 400}}}', "facts:1:15: elapsed_s must be number >= 0, in seconds"),
        ('{"exit_code": 1.5}', "facts:1:15: exit_code must be integer"),
        ('{"tools": {}}', "facts:1:11: tools must be array, got object"),
        ('{"tools": [1]}', "facts:1:12: tool call must be object, got number"),
        ('{"tools": [{"nam": 1}]}', 'facts:1:13: nam is not a field of a tool call; did you mean "name"?'),
        ('{"tools": [{"name": null}]}', "facts:1:12: name of a tool call must be string"),
        ('{"a/b~": 1}', "a/b~ is not a recorded fact (/a~1b~0)"),
        ('{"elapsed_s": 1, "elapsed_s": 2}', 'facts:1:18: duplicate key "elapsed_s"'),
        ("", "facts:1:1: the text is empty"),
        (None, "facts: no such file"),
    ],
)  # fmt: skip
def test_facts_that_are_none_are_refused_with_their_place(
    folder: Path, facts: str | None, says: str
) -> None:
    if facts is not None:
        wrote(folder, "facts", facts)
    called = call("verify", LOCK, "good.json", "--facts", "facts")

    assert (2, "") == (called.code, called.out)
    assert says in called.err


@pytest.mark.parametrize("path", ["contract.yml", "sub/../contrat.yaml"])
def test_misspelt_file_is_guessed(folder: Path, path: str) -> None:
    (folder / "sub").mkdir()
    called = call("verify", path, "good.json")

    assert f'signoff: {path}: no such file; did you mean "contract.yaml"?\n' in called.err


@pytest.mark.parametrize(
    ("criterion", "says"),
    [
        ("verifier: sorted_by", "signoff verifiers ID shows what a verifier takes"),
        ("verifier: nothing", "signoff verifiers lists them"),
        ("needed: true", "signoff init writes a whole contract to compare with"),
    ],
)
def test_faults_say_where_to_read(folder: Path, criterion: str, says: str) -> None:
    wrote(folder, "faulty.yaml", f"id: x\ncriteria:\n- {{id: a, {criterion}}}\n")

    assert f"next: {says}\n" in call("verify", "faulty.yaml", "good.json").err


def test_quiet_prints_nothing_for_a_pass_and_only_what_failed_otherwise(folder: Path) -> None:
    assert (0, "", "") == call("verify", "contract.yaml", "good.json", "-q", "--out", "run")
    called = call("verify", "contract.yaml", "bad.json", "-q")
    assert (1, "") == (called.code, called.err)
    assert called.out.startswith("fail  best-first")


def test_run_is_kept_and_its_gate_is_named(folder: Path) -> None:
    called = call("verify", LOCK, "good.json", "--out", "run")

    assert 0 == called.code
    assert GOOD == (folder / "run" / "output.json").read_bytes()
    assert "note: run holds the run; signoff gate run --contract contract.lock.json\n" == called.err


@pytest.mark.parametrize("name", ["good.json", "run/verdict.json", "run/output.json"])
def test_run_never_clears_what_it_reads(folder: Path, name: str) -> None:
    call("verify", LOCK, "good.json", "--out", "run")
    before = (folder / name).read_bytes()
    called = call("verify", LOCK, name, "--out", "run" if name.startswith("run") else ".")

    assert 2 == called.code
    assert "is inside" in called.err
    assert before == (folder / name).read_bytes()


@pytest.mark.parametrize("name", [LOCK, "good.json", "./good.json", "link.json"])
def test_junit_never_replaces_what_is_read(folder: Path, name: str) -> None:
    (folder / "link.json").symlink_to("good.json")
    called = call("verify", LOCK, "good.json", "--junit", name)

    assert 2 == called.code
    assert "is the file" in called.err
    assert GOOD == (folder / "good.json").read_bytes()


def test_folder_of_others_is_not_taken_for_a_run(folder: Path) -> None:
    (folder / "mine").mkdir()
    wrote(folder / "mine", "thesis.txt", "ten years")
    called = call("verify", LOCK, "good.json", "--out", "mine")

    assert (4, "") == (called.code, called.out)
    assert 'mine: holds "thesis.txt", which is no part of a run' in called.err
    assert "ten years" == (folder / "mine" / "thesis.txt").read_text()


def test_two_runs_do_not_share_a_folder(folder: Path) -> None:
    with begin_run("run"):
        called = call("verify", LOCK, "good.json", "--out", "run", "--junit", "j.xml")

    assert (4, "") == (called.code, called.out)
    assert "in use by another run" in called.err
    assert not (folder / "j.xml").exists()


@pytest.mark.parametrize("target", ["nowhere/j.xml", ".", "device"])
def test_junit_that_cannot_be_written_leaves_no_pass(folder: Path, target: str) -> None:
    (folder / "device").symlink_to("/dev/full")
    called = call("verify", LOCK, "good.json", "--junit", target, "--out", "run")

    assert (4, "") == (called.code, called.out)
    assert "cannot be written" in called.err
    assert not (folder / "run" / "verdict.json").exists()


def test_run_that_cannot_be_written_leaves_no_junit(folder: Path) -> None:
    # More names than a run may hold appear while the output is read.
    class Reader:
        def __init__(self) -> None:
            self.left = [GOOD, b""]

        def read(self, size: int = -1) -> bytes:
            (folder / "run" / ".signoff-run").unlink(missing_ok=True)
            return self.left.pop(0)

    import io

    from signoff.cli import run

    err = io.StringIO()
    code = run(["verify", LOCK, "-", "--out", "run", "--junit", "j.xml"], Reader(), None, err)

    assert 4 == code
    assert "taken by another run" in err.getvalue()
    assert not (folder / "j.xml").exists()
    assert not (folder / "run" / "verdict.json").exists()


def test_whatever_stops_the_writing_leaves_no_pass(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise LookupError("halfway")

    monkeypatch.setattr(RunDirectory, "commit", broken)
    called = call("verify", LOCK, "good.json", "--out", "run", "--junit", "j.xml")

    assert (4, "") == (called.code, called.out)
    assert "stopped by an unexpected LookupError (halfway)" in called.err
    assert not (folder / "j.xml").exists()
    assert not (folder / "run" / "verdict.json").exists()


def test_junit_gets_its_name_after_the_verdict(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []
    commit = RunDirectory.commit

    def watched(*args: Any, **named: Any) -> VerdictFile:
        seen.append((folder / "j.xml").exists())
        return commit(*args, **named)

    monkeypatch.setattr(RunDirectory, "commit", watched)

    assert 0 == call("verify", LOCK, "good.json", "--out", "run", "--junit", "j.xml").code
    assert [False] == seen
    assert (folder / "j.xml").exists()
    assert [] == [*folder.glob(".unfinished*")]


def test_junit_maps_every_status_and_is_valid_xml(folder: Path) -> None:
    odd = "a\u0001\u0085\ufffe<&\"'>\t\u202e\U0001f600"
    criteria = [
        {"id": "holds", "verifier": "not_empty"},
        {"id": "fails", "verifier": "equals", "params": {"value": 1}, "description": odd},
        {"id": "unknown", "verifier": "latency_under", "params": {"max": 1}},
        {"id": "odd<&\ufffe", "verifier": "regex_match", "params": {"pattern": "z"}},
    ]
    wrote(folder, "odd.json", json.dumps({"id": "odd & <co>", "criteria": criteria}))
    wrote(folder, "out.json", json.dumps({"k": odd}))
    call("verify", "odd.json", "out.json", "--junit", "j.xml")
    suite = ET.parse("j.xml").getroot()[0]

    assert "odd & <co>" == suite.get("name")
    assert ("4", "2", "1", "0") == tuple(
        suite.get(name) for name in ("tests", "failures", "errors", "skipped")
    )
    cases = {case.get("name"): [child.tag for child in case] for case in suite.iter("testcase")}
    assert [[], ["failure"], ["error"], ["failure"]] == [*cases.values()]


def test_long_and_hostile_values_are_one_short_safe_line(folder: Path) -> None:
    hostile = json.dumps([{"score": "\x1b[2J\n\u202e" + "x" * 100_000}, {"score": 1}])
    called = call("verify", LOCK, "-", stdin=hostile.encode())

    assert 1 == called.code
    assert "\x1b" not in called.out
    assert "\u202e" not in called.out
    assert max(map(len, called.out.splitlines())) < 300


def test_what_a_command_printed_last_is_shown(tmp_path: Path) -> None:
    argv = ["python3", "-c", "import sys; print('so far'); sys.exit('no such table')"]
    criterion = {"id": "boom", "verifier": "command", "params": {"argv": argv}}
    contract = wrote(tmp_path, "c.json", json.dumps({"id": "c", "criteria": [criterion]}))
    (tmp_path / "work").mkdir()
    for more in ((), ("--out", str(tmp_path / "run"))):
        called = call("verify", contract, "--workspace", str(tmp_path / "work"), *more)

        assert 1 == called.code
        assert "stdout    so far" in called.out
        assert "stderr    no such table" in called.out
