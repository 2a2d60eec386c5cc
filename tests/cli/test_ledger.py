"""Verdicts are recorded by verify, and shown, exported and verified by ledger."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from hashlib import sha256
from pathlib import Path

import pytest

from signoff.ledger import open_ledger
from signoff.ledger.line import FIRST_PREV
from tests.cli.calling import call, wrote
from tests.ledger import sample_ledger as sample

LEDGER = ".signoff/ledger.sqlite3"


@pytest.fixture
def kept(folder: Path) -> Path:
    """A good verdict of T1, a bad one of T2, and a good one without a name, in a ledger."""
    for output, more in (("good", ["--subject", "T1"]), ("bad", ["--subject", "T2"]), ("good", [])):
        call("verify", "contract.lock.json", f"{output}.json", "--ledger", LEDGER, *more)
    return folder


def tamper(statement: str) -> None:
    with closing(sqlite3.connect(LEDGER, isolation_level=None)) as file:
        file.execute(statement)


def test_verify_records_what_it_prints(folder: Path) -> None:
    argv = ("verify", "contract.lock.json", "good.json", "--json", "--ledger", LEDGER)
    called = call(*argv, "--subject", "T1", "--out", "run")
    with open_ledger(LEDGER, may_write=False) as ledger:
        (found,) = ledger.verdicts()

    assert 0 == called.code
    assert json.loads(found.report) == called.json
    assert (folder / "run" / "report.json").read_bytes() == found.report
    assert ("T1", str(folder / "run")) == (found.subject, found.run)
    assert f"note: {LEDGER} keeps it; its head is now 1:" in called.err


def test_quiet_verify_records_quietly(folder: Path) -> None:
    called = call("verify", "contract.lock.json", "good.json", "-q", "--ledger", LEDGER)

    assert (0, "", "") == called
    assert 0 == call("ledger", "verify").code


def test_bad_verdict_is_recorded_too(folder: Path) -> None:
    assert 1 == call("verify", "contract.lock.json", "bad.json", "--ledger", LEDGER).code
    assert "failed" in call("ledger", "list").out


def test_subject_without_ledger_is_a_slip(folder: Path) -> None:
    called = call("verify", "contract.lock.json", "good.json", "--subject", "T1")

    assert 2 == called.code
    assert "--subject goes with --ledger" in called.err


@pytest.mark.parametrize("name", ["", "a\nb", "\x1b[1m", "\udcff"])
def test_odd_subject_is_refused(folder: Path, name: str) -> None:
    argv = ("verify", "contract.lock.json", "good.json", "--ledger", LEDGER, "--subject", name)
    called = call(*argv)

    assert 2 == called.code
    assert "--subject must be a line of text" in called.err


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("notes.txt", "is a file of another kind"),
        (".", "is no regular file"),
        ("mysql://u:geheim@h/x", "mysql://...: must be the name of a file"),
        ("postgresql://u:geheim@127.0.0.1:1/x", "postgresql://u@127.0.0.1:1/x: connection failed"),
    ],
)
def test_ledger_that_cannot_be_written_shows_no_pass(folder: Path, name: str, problem: str) -> None:
    wrote(folder, "notes.txt", "these are the notes of somebody else\n" * 100)
    argv = ("verify", "contract.lock.json", "good.json", "--out", "run", "--junit", "j.xml")
    assert 0 == call(*argv).code
    called = call(*argv, "--ledger", name)

    assert (4, "") == (called.code, called.out)
    assert problem in called.err
    assert "geheim" not in called.err
    assert not (folder / "run" / "verdict.json").exists()
    assert not (folder / "j.xml").exists()


def test_ledger_that_fails_after_judging_leaves_no_pass(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The place is free at first, and taken when the verdict is to be recorded."""
    (folder / "other").mkdir()
    script = "import pathlib; pathlib.Path('ledger.sqlite').unlink(); pathlib.Path('ledger.sqlite').mkdir()"
    wrote(
        folder,
        "taker.py",
        "from signoff import passed, verifier\n@verifier\ndef takes():\n"
        f"    '''Holds.'''\n    def check(subject):\n        {script}\n        return passed('x')\n"
        "    return check\n",
    )
    wrote(folder, "c.yaml", "id: c\ncriteria:\n  - {id: a, verifier: takes}\n")
    argv = ("verify", "c.yaml", "good.json", "--with", "taker:takes", "--out", "run")
    called = call(*argv, "--junit", "j.xml", "--ledger", "ledger.sqlite")

    assert (4, "") == (called.code, called.out)
    assert "ledger.sqlite: is no regular file" in called.err
    assert not (folder / "run" / "verdict.json").exists()
    assert not (folder / "j.xml").exists()


def test_ledger_is_none_of_the_files_that_are_read(folder: Path) -> None:
    wrote(folder, "empty.json", "")
    called = call("verify", "contract.lock.json", "empty.json", "--ledger", "empty.json")

    assert 2 == called.code
    assert "--ledger empty.json is the file empty.json that is read" in called.err
    assert not (folder / "empty.json").read_bytes()


def test_ledger_is_not_in_the_run(folder: Path) -> None:
    argv = ("verify", "contract.lock.json", "good.json", "--out", "run")

    assert 2 == call(*argv, "--ledger", "run/ledger.sqlite").code


def test_list_shows_each_verdict_on_a_line(kept: Path) -> None:
    lines = call("ledger", "list").out.splitlines()

    assert 3 == len(lines)
    assert lines[0].endswith("passed        answers (T1)")
    assert lines[1].endswith("failed        answers (T2) best-first")
    assert lines[2].endswith("passed        answers")


@pytest.mark.parametrize(
    ("argv", "seqs"),
    [
        (["--subject", "T2"], [2]),
        (["--outcome", "passed"], [1, 3]),
        (["--contract", "answers", "--since", "2"], [2, 3]),
        (["--last", "1"], [3]),
        (["--contract", "others"], []),
    ],
)
def test_list_finds_verdicts(kept: Path, argv: list[str], seqs: list[int]) -> None:
    called = call("ledger", "list", "--json", *argv)

    assert seqs == [one["seq"] for one in called.json["verdicts"]]
    assert len(seqs) == len(call("ledger", "list", *argv).out.splitlines())


def test_nothing_found_is_said(kept: Path) -> None:
    called = call("ledger", "list", "--subject", "T3")

    assert (0, "") == (called.code, called.out)
    assert f"{LEDGER} holds no such verdict" in called.err


def test_show_tells_all_of_a_verdict(kept: Path) -> None:
    called = call("ledger", "show", "2")

    assert 0 == called.code
    assert "outcome          failed" in called.out
    assert "blockers         best-first" in called.out
    assert "fail          best-first  Order violation" in called.out
    shown = call("ledger", "show", "2", "--json").json
    assert ("T2", ["best-first"]) == (shown["subject"], shown["blockers"])
    assert "failed" == shown["report"]["verdict"]["outcome"]


def test_show_of_what_is_not_there(kept: Path) -> None:
    called = call("ledger", "show", "9")

    assert 1 == called.code
    assert f"{LEDGER}: holds no verdict 9" in called.err


def test_verify_says_intact_and_the_head(kept: Path) -> None:
    lines = call("ledger", "export").out.encode().splitlines()
    head = f"3:{sha256(lines[-1]).hexdigest()}"
    called = call("ledger", "verify", "--head", head)

    assert (0, f"intact: 3 events, 3 verdicts; head {head}\n", "") == called
    shown = call("ledger", "verify", "--json").json
    assert (True, head, []) == (shown["intact"], shown["head"], shown["faults"])


def test_verify_names_the_first_wrong_number(kept: Path) -> None:
    tamper("UPDATE ledger_verdicts SET outcome = 'passed' WHERE seq = 2")
    called = call("ledger", "verify")
    problem, end = called.out.splitlines()

    assert 1 == called.code
    assert "problem: seq 2: outcome of the verdict is not what was recorded" == problem
    assert f"failed: {LEDGER} is not what was written, from 2 on" == end
    assert [2] == [one["seq"] for one in call("ledger", "verify", "--json").json["faults"]]


def test_verify_names_only_so_many_faults(folder: Path) -> None:
    (folder / ".signoff").mkdir()
    with sample.ledger(LEDGER) as ledger:
        ledger.append(*[sample.note()] * 102)
    tamper("UPDATE ledger_events SET type = 'x'")
    lines = call("ledger", "verify").out.splitlines()

    assert 102 == len(lines)
    assert "and 2 more; --json lists all of them" == lines[100]


def test_cut_tail_shows_by_the_head(kept: Path) -> None:
    head = call("ledger", "verify", "--json").json["head"]
    tamper("DELETE FROM ledger_verdicts WHERE seq = 3")
    tamper("DELETE FROM ledger_events WHERE seq = 3")

    assert 0 == call("ledger", "verify").code
    called = call("ledger", "verify", "--head", head)
    assert 1 == called.code
    assert "seq 3: is missing: a head was given for it" in called.out


@pytest.mark.parametrize("argv", [["list"], ["show", "2"]])
def test_what_was_tampered_with_is_not_shown(kept: Path, argv: list[str]) -> None:
    tamper("UPDATE ledger_verdicts SET outcome = 'passed', blockers = '[]' WHERE seq = 2")
    called = call("ledger", *argv)

    assert 1 == called.code
    assert f"{LEDGER}: seq 2: outcome of the verdict is not what was recorded" in called.err
    told = call("ledger", *argv, "--json")
    assert (1, 1) == (told.code, told.json["error"]["exit_code"])


def test_export_gives_the_lines(kept: Path) -> None:
    lines = call("ledger", "export").out.splitlines()

    assert FIRST_PREV == json.loads(lines[0])["prev"]
    assert sha256(lines[0].encode()).hexdigest() == json.loads(lines[1])["prev"]
    assert lines[1:] == call("ledger", "export", "--since", "2").out.splitlines()
    assert [*map(json.loads, lines)] == call("ledger", "export", "--json").json["events"]


@pytest.mark.parametrize(
    ("argv", "problem"),
    [
        (["show"], "ledger show needs the number"),
        (["list", "3"], "a number does not go with ledger list"),
        (["list", "--head", f"1:{FIRST_PREV}"], "--head does not go with ledger list"),
        (["verify", "--last", "3"], "--last does not go with ledger verify"),
        (["verify", "--head", "1"], "a head must be SEQ:HEX"),
        (["export", "--subject", "x"], "--subject does not go with ledger export"),
        (["show", "0"], "0 is not in the range"),
        (["drop"], "is not one of"),
    ],
)
def test_slips_are_named(kept: Path, argv: list[str], problem: str) -> None:
    called = call("ledger", *argv)

    assert 2 == called.code
    assert problem in called.err


def test_absent_ledger_is_named(folder: Path) -> None:
    called = call("ledger", "list")

    assert 2 == called.code
    assert f"{LEDGER}: no such file" in called.err
    assert "name the ledger with --ledger" in called.err
    assert not (folder / ".signoff").exists()


def test_damaged_ledger_is_named(kept: Path) -> None:
    path = kept / LEDGER
    path.write_bytes(path.read_bytes()[:8192])
    called = call("ledger", "verify")

    assert 2 == called.code
    assert "is a damaged SQLite database" in called.err
