"""``signoff gate``: exit code and words for runs that hold, fail, or prove nothing."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from tests.cli.calling import BAD, CONTRACT, call, wrote

LOCK = "contract.lock.json"


@pytest.fixture
def run(folder: Path) -> Path:
    assert 0 == call("verify", LOCK, "good.json", "--out", "run").code
    return folder / "run"


def test_whole_run_passes(run: Path) -> None:
    called = call("gate", "run", "--contract", LOCK, "--output", "good.json", "--junit", "j.xml")

    assert (0, "") == (called.code, called.err)
    assert called.out.endswith("passed: 2 of 2 required criteria hold\n")
    assert "0" == ET.parse("j.xml").getroot().get("failures")


def test_contract_may_be_given_unlocked(run: Path) -> None:
    assert 0 == call("gate", "run", "--contract", "contract.yaml").code


def test_failed_run_is_explained_with_its_own_output(run: Path) -> None:
    call("verify", LOCK, "bad.json", "--out", "run")
    called = call("gate", "run", "--contract", LOCK)

    assert 1 == called.code
    assert "    where     run/output.json:3:13 (/1/score)\n    got       2\n" in called.out


def test_json_says_what_was_judged_again(run: Path) -> None:
    called = call("gate", "run", "--contract", LOCK, "--json")

    assert (0, "") == (called.code, called.err)
    assert (True, "passed", [], ["enough", "best-first"]) == tuple(
        called.json[name] for name in ("passed", "outcome", "problems", "rechecked")
    )


def test_other_output_is_a_problem(run: Path) -> None:
    called = call("gate", "run", "--contract", LOCK, "--output", "bad.json", "--junit", "j.xml")
    suite = ET.parse("j.xml").getroot()

    assert 1 == called.code
    assert ("1", "1") == (suite.get("tests"), suite.get("failures"))
    assert called.out.startswith("problem: output must be sha256:")


def test_other_contract_is_a_problem(run: Path) -> None:
    wrote(run.parent, "other.yaml", CONTRACT.replace("max: 3", "max: 9"))
    called = call("gate", "run", "--contract", "other.yaml")

    assert 1 == called.code
    assert "problem: contract must be sha256:" in called.out


@pytest.mark.parametrize("name", ["verdict.json", "report.json", "output.json", "contract.json"])
def test_altered_run_shows_no_results_and_fails(run: Path, name: str) -> None:
    path = run / name
    path.write_bytes(path.read_bytes().replace(b"2", b"3", 1))
    called = call("gate", "run", "--contract", LOCK, "--junit", "j.xml")

    assert 1 == called.code
    assert "pass " not in called.out
    assert called.out.splitlines()[-1].startswith("failed: run does not show a pass: ")
    assert "1" == ET.parse("j.xml").getroot().get("failures")


@pytest.mark.parametrize("name", ["absent", "good.json", "empty", ""])
def test_what_is_no_run_fails(folder: Path, name: str) -> None:
    (folder / "empty").mkdir()

    assert 1 == call("gate", name, "--contract", LOCK).code


def test_strict_warning_fails(folder: Path) -> None:
    wrote(folder, "none.yaml", CONTRACT.replace("min: 2", "min: 0"))
    call("verify", "none.yaml", "-", "--out", "run", stdin=b"[]")

    assert 0 == call("gate", "run", "--contract", "none.yaml").code
    called = call("gate", "run", "--contract", "none.yaml", "--strict")
    assert 1 == called.code
    assert 'problem: criterion "best-first": warns' in called.out


def test_what_was_skipped_stands_as_recorded(folder: Path) -> None:
    call("verify", LOCK, "-", "--out", "run", "--fail-fast", "--junit", "j.xml", stdin=b"[1]")
    called = call("gate", "run", "--contract", LOCK)

    assert 1 == called.code
    assert "note: best-first stands as recorded; it cannot be judged again here\n" == called.err
    assert "1" == ET.parse("j.xml").getroot().get("skipped")


def test_text_is_judged_again_as_text(folder: Path) -> None:
    contract = '{"id": "t", "criteria": [{"id": "hi", "verifier": "regex_match", "params": {"pattern": "^hi$"}}]}'
    wrote(folder, "text.json", contract)
    call("verify", "text.json", "-", "--out", "run", "--text", stdin=b"ho")
    refused = call("gate", "run", "--contract", "text.json")
    called = call("gate", "run", "--contract", "text.json", "--text")

    assert 1 == refused.code
    assert "output.txt: the output was read as plain text" in refused.out
    assert 1 == called.code
    assert '    where     the whole output\n    got       "ho"\n' in called.out


def test_bad_output_fails_again(folder: Path) -> None:
    call("verify", LOCK, "-", "--out", "run", stdin=b"[NaN]")
    called = call("gate", "run", "--contract", LOCK)

    assert 1 == called.code
    assert "    where     run/output.json:1:2\n" in called.out


def test_unusable_request_is_code_2(run: Path) -> None:
    assert 2 == call("gate", "run", "--contract", "absent.json").code
    assert 2 == call("gate", "run", "--contract", LOCK, "--output", "absent.json").code
    assert 2 == call("gate", "run", "--contract", LOCK, "--junit", LOCK).code
    assert 2 == call("gate", "run", "--contract", LOCK, "--junit", "run/j.xml").code


def test_stale_junit_is_gone_when_the_request_is_unusable(run: Path) -> None:
    junit = wrote(run.parent, "j.xml", BAD)
    call("gate", "run", "--contract", "absent.json", "--junit", "j.xml")

    assert not junit.exists()
