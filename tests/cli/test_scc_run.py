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


def test_reason_names_its_check(repo: World) -> None:
    repo.agree(check("a"), check("b", "raise SystemExit(3)"))

    assert "signoff: b: exit 3, expected 0\n" in call("scc", "run", "--contract", "c.json").err


def test_contract_that_is_not_there_is_named_once(repo: World) -> None:
    called = call("scc", "run", "--contract", "nope.json")

    assert 2 == called.code
    assert "signoff: nope.json: no such file, and no TaskCode is given\n" == called.err


def test_contract_that_names_no_task_is_told_so(repo: World) -> None:
    repo.write("c.json", "{}")
    called = call("scc", "run", "--contract", "c.json")

    assert "signoff: c.json: has no task_id that can be used, and no TaskCode is" in called.err


def test_settings_that_were_edited_are_to_be_committed(repo: World) -> None:
    repo.agree(check())
    repo.settle("run_timeout_s = 60")
    called = call("scc", "run", "--contract", "c.json")

    assert (1, "command_denied") == (
        called.code,
        json.loads(called.out.splitlines()[-1])["fail_class"],
    )
    assert "once .signoff/scc.toml is committed" in called.err
    repo.commit()
    assert 0 == call("scc", "run", "--contract", "c.json").code


def test_ledger_of_the_workspace_is_listed_shown_and_verified(repo: World) -> None:
    repo.agree(check())
    assert 0 == call("scc", "run", "--contract", "c.json").code
    repo.agree(check(code="raise SystemExit(1)"))
    assert 1 == call("scc", "run", "--contract", "c.json").code
    subject = f"scc:{AREA}/T1"
    kept = json.loads(call("ledger", "list", "--subject", subject, "--json").out)["verdicts"]

    assert ["passed", "failed"] == [one["outcome"] for one in kept]
    assert 0 == call("ledger", "show", str(kept[1]["seq"])).code
    assert 0 == call("ledger", "verify").code


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
