"""What a run comes to as its user sees it: the gate after it, the schema, the way it ends."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from signoff.dialects.scc.scope import SCRIPTS
from signoff.sandbox import Sandbox
from signoff.scc.gate import GateRequest, gate
from tests.cli.calling import call
from tests.scc.run_world import AREA, VERIFIER, World, check, world
from tests.scc.test_run_faults import STEPS, await_check, locked, told, unlocked

FAILING = check(code="raise SystemExit(1)")


def passes_gate(repo: World) -> bool:
    """The gate, which trusts nothing that a run said, passes the workspace."""
    request = GateRequest(
        workspace=repo.workspace,
        area="",
        task_code="",
        place="mvm/verdict/verdict.json",
        now=datetime.now(UTC),
        strict=False,
    )
    return gate(request).passed


@pytest.mark.long
@pytest.mark.parametrize("number", range(1, len(STEPS) + 1), ids=STEPS)
def test_row_5_gate_passes_nothing_that_a_killed_run_has_left(repo: World, number: int) -> None:
    """An old PASS is stale by then, and a half one is none."""
    repo.agree(check())
    assert "PASS" == repo.run().verdict
    assert passes_gate(repo)
    repo.agree(FAILING)
    told(repo.root, "step", number)

    assert not passes_gate(repo)


@pytest.mark.long
@pytest.mark.parametrize("number", range(1, len(STEPS) + 1), ids=STEPS)
def test_row_5_gate_passes_a_killed_run_only_where_all_of_it_is_there(
    repo: World, number: int
) -> None:
    repo.agree(check())
    told(repo.root, "step", number)
    step, passed = STEPS[number - 1], passes_gate(repo)

    assert not passed or step in {"ledger", "done"}
    assert passed or step != "done"


def test_row_7_folder_of_reports_that_is_read_only_ends_with_4(
    repo: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(repo.root)
    repo.agree(check())
    assert 0 == call("scc", "run", "--contract", "c.json").code
    locked(repo, "docs/REPORT")
    try:
        called = call("scc", "run", "--contract", "c.json")
    finally:
        unlocked(repo, "docs/REPORT")

    assert (4, "") == (called.code, called.out)
    assert f"no verdict was written: docs/REPORT/{AREA}/artifacts/T1: " in called.err
    assert not repo.passes()
    assert not passes_gate(repo)


def test_row_9_a_run_under_another_task_code_takes_the_pointer_of_the_one_that_is_the_task_id(
    repo: World,
) -> None:
    repo.agree(check())
    repo.run()
    alone = passes_gate(repo)
    repo.run(task_code="A")
    beside = passes_gate(repo)
    repo.run()

    # Mirror and pointer are one folder, so its verdict is that of A and its files are not.
    assert (True, False, True) == (alone, beside, passes_gate(repo))


def test_row_9_task_codes_that_are_no_task_id_stay_beside_each_other(repo: World) -> None:
    repo.agree(check())
    for name in ("A", "B", "A"):
        repo.run(task_code=name)
        assert passes_gate(repo)


def test_row_8_second_process_is_refused_and_the_first_goes_on(repo: World) -> None:
    repo.agree(check(code="import time; time.sleep(4)"))
    argv = [sys.executable, "-m", "signoff", "scc", "run", "--contract", "c.json"]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    first = subprocess.Popen(argv, cwd=repo.root, env=env, stdout=subprocess.PIPE, text=True)
    await_check(repo, first)
    second = subprocess.run(argv, cwd=repo.root, env=env, capture_output=True, check=False)
    during = repo.verdict()
    first.communicate(timeout=60)

    assert (2, b"") == (second.returncode, second.stdout)
    assert b"in use by another run" in second.stderr
    assert (None, 0) == (during, first.returncode)
    assert passes_gate(repo)


@pytest.mark.parametrize(
    ("allowed", "expected"), [("", "command_denied"), ('"rm", "git push"', None)]
)
def test_row_17_settings_alone_allow_a_command_back(
    repo: World, allowed: str, expected: str | None
) -> None:
    repo.settle("[commands]", f"allow = [{allowed}]")
    repo.agree({"name": "one", "command": "rm -rf src"}, allow=["rm"], commands_hint="rm -rf")
    ended = repo.run()

    assert expected == ended.fail_class
    assert (repo.root / "src/a.py").is_file()


def test_row_48_gate_that_fails_turns_checks_that_passed(repo: World) -> None:
    """A log is changed between its writing and the gate."""
    repo.agree(check(), {"name": "gate", "command": VERIFIER})

    def spoil(step: str) -> None:
        if step == "guard":
            (log,) = (repo.root / ".signoff/staging").glob("*/mirror/logs/001_one.stdout.txt")
            log.write_text("all is well\n")

    ended = repo.run(on_step=spoil)
    report = next(repo.root.glob("docs/REPORT/*/*.md")).read_text()
    gate_report = repo.json("mvm/verdict/verdict.json")

    assert ("FAIL", "unknown", 1, 1) == (
        ended.verdict,
        ended.fail_class,
        ended.exit_code,
        ended.code,
    )
    assert ["pass", "fail"] == [one.status for one in ended.checks]
    assert "FAKE_DIGEST_DETECTED" in gate_report["fail_codes"]
    assert "FAIL" == gate_report["status"]
    assert (repo.artifacts() / "selftest.log").read_text().endswith("\nEXIT_CODE=1\n")
    assert "- Verdict: FAIL" in report


VERDICTS: dict[str, dict[str, Any]] = {
    "passed": check(),
    "failed": check(code="raise SystemExit(7)"),
    "denied": {"name": "one", "command": "sudo true"},
    "timeout": check(code="import time; time.sleep(60)", timeout_s=1),
    "not found": {"name": "one", "command": "no-such-program"},
    "no evidence": check(expects={"evidence_paths": ["no.txt"]}),
    "invalid": check(timeout_s=0),
    "gate": check(name="verdict"),
}


@pytest.mark.parametrize("kind", VERDICTS)
def test_published_schema_accepts_the_verdict_of_a_run(repo: World, kind: str) -> None:
    if kind == "gate":
        repo.write(SCRIPTS[0], "raise SystemExit(0)\n")
    repo.agree(VERDICTS[kind])
    repo.run()
    schema = json.loads((repo.root / SCRIPTS[3]).read_bytes())
    found = [*repo.root.glob("docs/REPORT/**/verdict.json"), *repo.root.glob("artifacts/**/v*")]
    found = [one for one in found if one.name == "verdict.json"]

    assert 2 == len(found)
    for one in found:
        jsonschema.validate(json.loads(one.read_bytes()), schema)


@pytest.mark.parametrize(
    "name", ["a b", "it's", 'a "b"', "two\nlines", "größe 日本", "-x", "$(id)"]
)
def test_workspace_may_be_called_anything(tmp_path: Path, sandbox: Sandbox, name: str) -> None:
    root = tmp_path / name
    root.mkdir()
    repo = world(root, sandbox)
    repo.agree(check(), path="a 'c\"\n ü.json")
    ended = repo.run("a 'c\"\n ü.json")

    assert "PASS" == ended.verdict, ended.reason
    assert passes_gate(repo)
    shutil.rmtree(repo.artifacts("T1", AREA))
    assert not passes_gate(repo)
