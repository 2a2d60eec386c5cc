"""What somebody put in the place of the verifier's own files is seen, and no PASS outlives it."""

from __future__ import annotations

import json
import os
import shutil
import threading
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from signoff.errors import NotJudged
from signoff.model import inconclusive
from signoff.status import Cause
from tests.scc.run_world import World, check

DENIED = ("command_denied", 97, 1)
GATE = "mvm/verdict/verdict.json"
PLACES = {
    "mirror": "docs/REPORT/control_plane/artifacts/T1/verdict.json",
    "sidecar": "docs/REPORT/control_plane/artifacts/T1/pointer.json",
    "gate report": GATE,
}
FORGED = json.dumps({"verdict": "PASS", "fail_class": None, "exit_code": 0})


def outcome(ended: Any) -> tuple[str | None, int, int]:
    return ended.fail_class, ended.exit_code, ended.code


def env(**more: str) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], **more}


@pytest.mark.parametrize("is_fresh", [True, False])
@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)
def test_row_25_forged_file_that_is_removed_first_is_denied(
    repo: World, place: str, is_fresh: bool
) -> None:
    repo.agree(check())
    if not is_fresh:
        assert "PASS" == repo.run().verdict
        repo.commit()
    repo.write(place, FORGED)
    repo.steps.clear()
    ended = repo.run()

    assert DENIED == outcome(ended)
    assert place in ended.reason
    assert "check 1" not in repo.steps
    assert FORGED != (repo.root / place).read_text()
    assert not repo.passes()
    assert "PASS" == repo.run().verdict


def test_row_25_forged_pointer_under_another_task_code_is_denied(repo: World) -> None:
    repo.agree(check())
    repo.write("docs/REPORT/control_plane/artifacts/T1/verdict.json", FORGED)

    assert DENIED == outcome(repo.run(task_code="code"))
    assert not repo.passes()


@pytest.mark.parametrize("kind", ["symlink", "hard link", "executable", "fifo", "folder"])
def test_row_26_forged_file_of_another_kind_is_denied(repo: World, kind: str) -> None:
    repo.agree(check())
    repo.run()
    repo.commit()
    place = repo.artifacts() / "verdict.json"
    data = place.read_bytes()
    if kind == "executable":
        place.chmod(0o755)
    else:
        place.unlink()
    if kind == "symlink":
        repo.write("src/copy.json", data.decode())
        place.symlink_to("../../../../../src/copy.json")
    if kind == "hard link":
        repo.write("src/copy.json", FORGED)
        place.hardlink_to(repo.root / "src/copy.json")
    if kind == "folder":
        repo.write(f"{PLACES['mirror']}/x", "x")
    if kind == "fifo":
        os.mkfifo(place)

    assert DENIED == outcome(repo.run())
    assert not repo.passes()


def test_row_25_forged_file_is_denied_without_version_control(repo: World) -> None:
    repo.agree(check())
    shutil.rmtree(repo.root / ".git")
    assert "PASS" == repo.run().verdict
    repo.write(PLACES["mirror"], FORGED)

    assert DENIED == outcome(repo.run())
    assert "PASS" == repo.run().verdict


def test_row_28_committed_verdicts_of_a_clone_are_no_violation(repo: World) -> None:
    old = check(code="print(1)")
    repo.agree(old, check("two"))
    repo.run()
    repo.commit()
    root = repo.root.parent / "clone"
    repo.git("clone", "-q", str(repo.root), str(root))
    clone = World(root, repo.sandbox)
    shutil.copy(repo.root / ".signoff/oids.sqlite3", root / ".signoff")
    clone.agree(old)
    for days in range(3):
        ended = clone.run(clock=lambda days=days: datetime.now(UTC) + timedelta(days))
        assert "PASS" == ended.verdict, ended.reason


class TestPlaceOfTheGateReport:
    def test_nothing_but_a_gate_report_is_replaced(self, repo: World) -> None:
        place = repo.write("src/data.json", '{"x": 1}\n')
        repo.agree(check())
        assert "PASS" == repo.run().verdict
        ended = repo.run(env=env(MVM_VERDICT_OUT="src/data.json"))

        assert ("verifier_error", 2, 2) == outcome(ended)
        assert "MVM_VERDICT_OUT" in ended.reason
        assert '{"x": 1}\n' == place.read_text()
        assert not repo.passes()

    @pytest.mark.parametrize("given", ["/tmp/x.json", "../x.json", "c.txt", "docs/REPORT/x.json"])
    def test_unusable_place_is_a_fail_that_leaves_no_pass(self, repo: World, given: str) -> None:
        repo.agree(check())
        repo.run()
        ended = repo.run(env=env(MVM_VERDICT_OUT=given))

        assert ("verifier_error", 2, 2) == outcome(ended)
        assert not repo.passes()

    @pytest.mark.parametrize("others", [("", "out/g.json"), ("out/g.json", "")])
    def test_report_elsewhere_does_not_outlive_a_failing_run(
        self, repo: World, others: tuple[str, str]
    ) -> None:
        first, second = others
        repo.agree(check())
        repo.run(env=env(MVM_VERDICT_OUT=first))
        assert "PASS" == repo.json(first or GATE)["status"]
        repo.agree(check(code="raise SystemExit(1)"), scope_allow="src/**,out/**")
        repo.run(env=env(MVM_VERDICT_OUT=second))

        assert not (repo.root / (first or GATE)).exists()
        assert "FAIL" == repo.json(second or GATE)["status"]

    def test_report_elsewhere_about_another_task_stays(self, repo: World) -> None:
        repo.agree(check(), task_id="T2", path="other.json")
        repo.agree(check())
        repo.run("other.json", env=env(MVM_VERDICT_OUT="out/g.json"))
        repo.run()

        assert "PASS" == repo.json("out/g.json")["status"]


def test_uninitialised_workspace_whose_check_fails_names_the_command(repo: World) -> None:
    (repo.root / ".signoff/scc.toml").unlink()
    repo.agree(check(code="raise SystemExit(3)"))
    ended = repo.run()

    assert ("command_failed", 3, 1) == outcome(ended)
    assert any("signoff scc init" in text for text in ended.warnings)


@pytest.mark.parametrize("fault", [RuntimeError("a fault"), KeyboardInterrupt(), MemoryError()])
@pytest.mark.parametrize("step", ["remove", "contract"])
def test_row_5_fault_while_a_run_is_opened_is_a_fail(
    repo: World, step: str, fault: BaseException
) -> None:
    repo.agree(check())
    repo.run()
    pending = [step]

    def fail(name: str) -> None:
        if pending == [name]:
            pending.clear()
            raise fault

    assert ("verifier_error", 125, 1) == outcome(repo.run(on_step=fail))
    assert "verifier_error" == repo.verdict()["fail_class"]
    assert not repo.passes()


def test_unexpected_fault_before_the_run_has_a_name_leaves_no_pass(
    repo: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("a fault")

    repo.agree(check())
    repo.run()
    monkeypatch.setattr("signoff.scc.opening.known_of", fail)
    with pytest.raises(RuntimeError):
        repo.run()

    assert not repo.passes()


class TestExecutorFiles:
    def test_record_logs_and_patch_are_evidence_with_an_oid(self, repo: World) -> None:
        repo.agree(check())
        folder = executed(repo)
        ended = repo.run()

        assert "PASS" == ended.verdict, ended.reason
        entries = {one["path"]: one for one in repo.evidence(ended, "index.json")}
        for name in ("record.json", "stdout.txt", "stderr.txt"):
            path = f"collected/000/{name}"
            assert 26 == len(entries[path]["oid"])
            assert path in repo.verdict()["evidence_paths"]
        assert (folder / "out.log").read_bytes() == (
            repo.artifacts() / "collected/000/stdout.txt"
        ).read_bytes()

    def test_they_are_kept_when_the_work_is_denied(self, repo: World) -> None:
        repo.agree(check())
        executed(repo)
        repo.write("docs/REPORT/x.md", "mine")
        ended = repo.run()

        assert DENIED == outcome(ended)
        assert (repo.root / ended.run_dir / "collected/000/record.json").is_file()


def executed(repo: World) -> Path:
    """The folder of an executor's record that says it has done nothing."""
    folder = repo.root / ".signoff/scc/records/T1"
    folder.mkdir(parents=True)
    (folder / "out.log").write_bytes(b"worked\n\xff\x00")
    (folder / "err.log").write_bytes(b"")
    record = {
        "schema_version": "v0.1.0",
        "task_id": "T1",
        "executor_run_id": "e1",
        "contract_ref": "c.json",
        "contract_sha256": sha256((repo.root / "c.json").read_bytes()).hexdigest(),
        "workspace_ref": {"repo": "r", "commit": repo.git("rev-parse", "HEAD")},
        "no_changes": True,
        "stdout_path": "out.log",
        "stderr_path": "err.log",
        "exit_code": 0,
        "evidence_oids": [],
        "touched_oids": [],
    }
    (folder / "record.json").write_text(json.dumps(record))
    return folder


@pytest.mark.parametrize("top", ["docs", "docs/REPORT", "mvm", "mvm/verdict"])
def test_link_above_the_verdicts_leaves_no_pass_behind_it(repo: World, top: str) -> None:
    repo.agree(check())
    repo.run()
    elsewhere = repo.root.parent / "elsewhere"
    (repo.root / top).rename(elsewhere)
    (repo.root / top).symlink_to(elsewhere)
    ended = repo.run()

    assert DENIED == outcome(ended)
    assert not (repo.root / top).is_symlink()
    assert not repo.passes()


def test_task_code_of_a_contract_that_could_not_be_read_is_no_other_task(repo: World) -> None:
    repo.write("c.json", "{")
    assert 2 == repo.run(task_code="code").code
    repo.agree(check())
    ended = repo.run(task_code="code")

    assert "PASS" == ended.verdict, ended.reason


def test_row_8_runs_that_publish_while_others_look_do_not_disturb_them(repo: World) -> None:
    names = [f"T{number}" for number in range(4)]
    for name in names:
        repo.agree(check(), path=f"{name}.json", task_id=name)
    odd: list[str] = []

    def go(name: str) -> None:
        for _ in range(3):
            ended = World(repo.root, repo.sandbox).run(f"{name}.json")
            if ended.verdict != "PASS":
                odd.append(ended.reason)

    threads = [threading.Thread(target=go, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert [] == odd


def test_tree_that_cannot_be_read_any_more_is_not_the_one_that_was_judged(
    repo: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> str:
        raise NotJudged(inconclusive("cannot be read", cause=Cause.EVIDENCE_UNREACHABLE))

    def spoil(step: str) -> None:
        if step == "guard":
            monkeypatch.setattr("signoff.scc.inquiry.tree_digest", fail)

    repo.agree(check())
    ended = repo.run(on_step=spoil)

    assert ("unknown", 1, 1) == outcome(ended)
    assert "VERDICT_STALE" in ended.reason
