"""signoff scc run: what it prints, and how it ends."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from signoff.sandbox import Sandbox
from signoff.scc.lock import Locks
from signoff.scc.written import LEDGER_FILE
from tests.cli.calling import call
from tests.scc.run_world import AREA, World, check, world


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """An initialised workspace, which is the current folder."""
    monkeypatch.chdir(tmp_path)
    for name in ("SCC_OID_PG_DSN", "SCC_OID_DATABASE_URL", "MVM_VERDICT_OUT"):
        monkeypatch.delenv(name, raising=False)
    with Sandbox() as sandbox:
        return world(tmp_path, sandbox)


def test_one_line_a_check_and_then_one_of_json(repo: World) -> None:
    repo.agree(check("a"), check("b", "raise SystemExit(3)"), check("c"))
    called = call("scc", "run", "--contract", "c.json", "--taskcode", "T1", "--fail-fast")
    *lines, last = called.out.splitlines()
    said = json.loads(last)

    assert 1 == called.code
    assert ["pass a", "fail b: command_failed", "not_run c"] == [
        line.partition(" (")[0] for line in lines
    ]
    run_dir = said.pop("run_dir")
    assert (repo.root / run_dir / "evidence/verdict.json").is_file()
    assert {
        "ok": False,
        "verdict": "FAIL",
        "fail_class": "command_failed",
        "exit_code": 3,
        "task_id": "T1",
        "task_code": "T1",
        "artifacts_dir": f"docs/REPORT/{AREA}/artifacts/T1",
    } == said
    assert ["ok", "verdict", "fail_class", "exit_code", "task_id", "task_code"] == [
        *json.loads(last)
    ][:6]


def test_pass_ends_with_0_and_invalid_contract_with_2(repo: World) -> None:
    repo.agree(check())
    assert 0 == call("scc", "run", "--contract", "c.json").code
    repo.agree(check(timeout_s=0))
    called = call("scc", "run", "--contract", "c.json")

    assert 2 == called.code
    assert "timeout_s" in called.err
    assert "verifier_error" == json.loads(called.out.splitlines()[-1])["fail_class"]
    assert not repo.passes()


def test_bad_name_and_held_lock_end_with_2_and_print_no_verdict(repo: World) -> None:
    repo.agree(check())
    with Locks(repo.workspace) as locks:
        locks.take([(AREA, "T1")])
        held = call("scc", "run", "--contract", "c.json")
    bad = call("scc", "run", "--contract", "c.json", "--taskcode", "../x")

    assert (2, "", 2, "") == (held.code, held.out, bad.code, bad.out)
    assert "in use by another run" in held.err
    assert not (repo.root / "docs/REPORT").exists()


def test_verdict_that_cannot_be_written_ends_with_4(repo: World) -> None:
    repo.agree(check())
    assert 0 == call("scc", "run", "--contract", "c.json").code
    (repo.root / LEDGER_FILE).write_bytes(b"no database" * 1_000)
    called = call("scc", "run", "--contract", "c.json")

    assert (4, "") == (called.code, called.out)
    assert not repo.passes()


@pytest.mark.parametrize("option", ["--no-mvm", "--area"])
def test_option_that_is_none_is_refused(repo: World, option: str) -> None:
    repo.agree(check())

    assert 2 == call("scc", "run", "--contract", "c.json", option).code
