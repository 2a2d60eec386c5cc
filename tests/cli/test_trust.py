"""``--trust warm``: tests run in forks of one process, and the verdict says so."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.calling import call
from tests.suites import PASSING, write

CONTRACT = """\
id: change-1
criteria:
  - {id: unit, verifier: pytest, params: {args: [tests], required_tests: ["tests/test_a.py::test_one"]}}
"""


def test_warm_runs_are_recorded_as_weakened(tmp_path: Path) -> None:
    write(tmp_path, {"c.yaml": CONTRACT, "work/tests/test_a.py": PASSING})
    lock = call("lock", str(tmp_path / "c.yaml"), "--output", str(tmp_path / "c.lock.json"))
    assert 0 == lock.code, lock.err
    contract, run = str(tmp_path / "c.lock.json"), tmp_path / "run"
    argv = ["verify", contract, "--workspace", str(tmp_path / "work"), "--trust", "warm"]
    called = call(*argv, "--out", str(run))

    assert 0 == called.code, called.err
    assert "weakened  warm_test_server" in called.out
    verdict = json.loads((run / "verdict.json").read_text("utf-8"))
    assert ("L1", "report+canaries") == (verdict["isolation"], verdict["assurance"])
    refused = call("gate", str(run), "--contract", contract)
    assert 1 == refused.code
    assert "weakened by warm_test_server" in refused.out + refused.err


def test_required_isolation_is_not_given_up_for_warmth(tmp_path: Path) -> None:
    write(tmp_path, {"c.yaml": CONTRACT + "min_isolation: L2\n", "work/tests/test_a.py": PASSING})
    argv = ["verify", str(tmp_path / "c.yaml"), "--workspace", str(tmp_path / "work"), "--json"]
    report = call(*argv, "--trust", "warm").json

    assert report["isolation"] in {None, "L2", "L3"}


def test_only_what_there_is_can_be_trusted(tmp_path: Path) -> None:
    write(tmp_path, {"c.yaml": CONTRACT})

    assert 2 == call("verify", str(tmp_path / "c.yaml"), "--trust", "everything").code
