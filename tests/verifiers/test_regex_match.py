"""regex_match beyond its vectors: the engine in the contract, and time and memory that stay bounded."""

from __future__ import annotations

import subprocess
import sys
from time import perf_counter
from typing import Any

import pytest

from signoff.contract import lock
from signoff.engine import Engine
from signoff.errors import ContractError
from signoff.model import LockedContract, Report, Subject
from signoff.verifiers import STDLIB

LENGTH = 100_000
MILLISECONDS = 0.25  # what backtracking would need is beyond all measure, so this may be generous


def locked(**params: Any) -> LockedContract:
    criterion = {"id": "it", "verifier": "regex_match", "params": params}
    return lock({"id": "pattern", "criteria": [criterion]}, STDLIB)


def report_on(output: Any, **params: Any) -> Report:
    return Engine(STDLIB).verify(locked(**params), Subject(output=output))


def test_lock_names_the_engine() -> None:
    params = locked(pattern="a").contract.criteria[0].params

    assert {"pattern": "a", "engine": "re2"} == params


def test_contract_that_names_the_engine_has_the_same_digest() -> None:
    assert locked(pattern="a").digest == locked(pattern="a", engine="re2").digest


def test_report_names_engine_and_version() -> None:
    version = report_on("a", pattern="a").engines["google-re2"]

    assert version[0].isdigit()


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        ("(a+)+$", "a" * LENGTH + "!", "Did not match."),
        ("(a+)+$", "a" * LENGTH, "Matched."),
        ("^(a|aa)+$", "a" * LENGTH + "!", "Did not match."),
        ("(a|a)*b", "a" * LENGTH, "Did not match."),
        ("(.*a){20}b", "a" * LENGTH, "Did not match."),
        (r"^(([a-z])+.)+[A-Z]([a-z])+$", "a" * LENGTH, "Did not match."),
        ("(x+x+)+y", "x" * LENGTH, "Did not match."),
        ("^(?:.?){50}a{50}$", "a" * LENGTH, "Did not match."),
        ("(.*a){20}", "a" * LENGTH * 10, "Matched."),
    ],
)
def test_pattern_that_ruins_backtracking_ends_in_milliseconds(
    pattern: str, text: str, expected: str
) -> None:
    plan = Engine(STDLIB).prepare(locked(pattern=pattern))
    begin = perf_counter()
    results, _ = Engine(STDLIB).judge(plan, Subject(output=text))
    elapsed_s = perf_counter() - begin

    assert expected == results[0].finding.detail
    assert elapsed_s < MILLISECONDS


def test_pattern_beyond_the_memory_limit_is_refused() -> None:
    with pytest.raises(ContractError) as caught:
        locked(pattern=r"(?i)((\pL{20}){20}){2}")

    assert ["params.pattern is refused by RE2: pattern too large - compile failed"] == [
        fault.message for fault in caught.value.faults
    ]


def test_refusal_has_its_place() -> None:
    with pytest.raises(ContractError) as caught:
        locked(pattern="(?=a)")

    assert "/criteria/0/params/pattern" == caught.value.faults[0].where


def test_refused_pattern_is_not_logged(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ContractError):
        locked(pattern="(secret")

    assert ("", "") == capfd.readouterr()


def test_lone_surrogate_does_not_reach_the_pattern() -> None:
    finding = report_on("\ud800", pattern=".").results[0].finding

    assert not finding.status.holds
    assert "lone surrogate" in finding.detail


def test_engine_is_not_imported_before_a_pattern_is_bound() -> None:
    code = "import sys, signoff.verifiers; sys.exit('re2' in sys.modules)"

    assert 0 == subprocess.run([sys.executable, "-c", code], check=False).returncode
