"""A run publishes one verdict: what it says, where it stands, and what it is a FAIL for."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from signoff.dialects.scc.verdict import FIELDS, FailClass
from signoff.scc.reader import Expected, read_verdict
from signoff.scc.run import RunRefused
from tests.scc.run_world import AREA, PHASE4, VERIFIER, World, check


def outcome(repo: World, *checks: dict[str, Any], **options: Any) -> tuple[str | None, int, int]:
    """Class and code of the verdict, and how the command ends."""
    repo.agree(*checks)
    ended = repo.run(**options)
    verdict = repo.verdict()
    assert (ended.verdict, ended.fail_class, ended.exit_code) == (
        verdict["verdict"],
        verdict["fail_class"],
        verdict["exit_code"],
    )
    assert ended.verdict == "PASS" or not repo.passes()
    return ended.fail_class, ended.exit_code, ended.code


def test_row_1_passing_contract_gives_five_keys_three_times_alike(repo: World) -> None:
    repo.agree(check())
    ended = repo.run()
    mirror = (repo.artifacts() / "verdict.json").read_bytes()

    assert 0 == ended.code
    assert set(FIELDS) == set(json.loads(mirror))
    assert ("PASS", None, 0) == tuple(json.loads(mirror)[name] for name in FIELDS[:3])
    assert mirror == (repo.root / ended.run_dir / "evidence/verdict.json").read_bytes()
    assert read_verdict(repo.artifacts() / "verdict.json", expected=Expected(task_id="T1")).passed
    assert "PASS" == repo.json("mvm/verdict/verdict.json")["status"]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (check(code="raise SystemExit(7)"), (FailClass.COMMAND_FAILED, 7)),
        ({"name": "one", "command": "rm -rf src"}, (FailClass.COMMAND_DENIED, 97)),
        (check(code="import time; time.sleep(60)", timeout_s=1), (FailClass.TIMEOUT, 124)),
        ({"name": "one", "command": "no-such-program"}, (FailClass.VERIFIER_ERROR, 127)),
        (check(expects={"evidence_paths": ["no.txt"]}), (FailClass.ARTIFACT_MISSING, 1)),
    ],
    ids=["failed", "denied", "timeout", "not found", "evidence"],
)
def test_row_2_class_is_reached(
    repo: World, given: dict[str, Any], expected: tuple[FailClass, int]
) -> None:
    assert (expected[0].value, expected[1], 1) == outcome(repo, given)


def test_row_2_program_that_cannot_be_run_is_126(repo: World) -> None:
    repo.write("src/tool", "#!/no/such\n").chmod(0o644)

    assert ("verifier_error", 126, 1) == outcome(repo, {"name": "one", "command": "./src/tool"})


def test_row_2_absent_verdict_reads_as_verdict_missing(repo: World) -> None:
    repo.agree(check())
    repo.run()
    (repo.artifacts() / "verdict.json").unlink()

    read = read_verdict(repo.artifacts() / "verdict.json")

    assert ("FAIL", FailClass.VERDICT_MISSING, 1) == (read.verdict, read.fail_class, read.exit_code)


def test_row_2_failing_gate_is_unknown(repo: World) -> None:
    repo.write("tools/ci/mvm-verdict.py", "print('all is well')\n")

    assert ("unknown", 1, 1) == outcome(repo, check())


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("raise SystemExit(3)", (None, 0, 0)),
        ("pass", ("command_failed", 1, 1)),
        ("raise SystemExit(4)", ("command_failed", 4, 1)),
        ("import os; os.kill(os.getpid(), 11)", ("command_failed", 139, 1)),
        ("raise SystemExit(124)", ("command_failed", 124, 1)),
    ],
)
def test_row_3_exit_code_that_was_expected(
    repo: World, code: str, expected: tuple[str | None, int, int]
) -> None:
    assert expected == outcome(repo, check(code=code, expects={"exit_code": 3}))


@pytest.mark.parametrize("fail_fast", [False, True])
def test_row_4_first_failing_check_decides(repo: World, fail_fast: bool) -> None:
    checks = [check("a", "raise SystemExit(5)"), check("b", "raise SystemExit(6)"), check("c")]
    repo.agree(*checks)
    ended = repo.run(fail_fast=fail_fast)
    rest = ["not_run", "not_run"] if fail_fast else ["fail", "pass"]

    assert ("command_failed", 5) == (ended.fail_class, ended.exit_code)
    found = repo.evidence(ended, "checks.json")["checks"]
    assert ["fail", *rest] == [one["status"] for one in found]
    assert ["fail", *rest] == [one.status for one in ended.checks]
    assert [5, None if fail_fast else 6] == [one["exit_code"] for one in found[:2]]


def test_row_9_task_code_other_than_task_id(repo: World) -> None:
    repo.agree(check(code="print(1)"))
    ended = repo.run(task_code="CODE-7")

    assert f"docs/REPORT/{AREA}/artifacts/CODE-7" == ended.artifacts_dir
    assert repo.verdict("CODE-7") == repo.verdict("T1")
    assert {"verdict.json", "pointer.json"} == {p.name for p in repo.artifacts("T1").iterdir()}
    for name in ("T1", "CODE-7"):
        read = read_verdict(repo.artifacts(name) / "verdict.json")
        assert read.passed, read.problem
        assert read.root == str(repo.artifacts("CODE-7"))


def test_row_9_latest_run_of_a_task_owns_its_pointer(repo: World) -> None:
    repo.agree(check())
    repo.run(task_code="A")
    repo.run(task_code="B")

    assert "B" == json.loads((repo.artifacts() / "pointer.json").read_bytes())["task_code"]
    assert repo.verdict("A")["verdict"] == "PASS"


def test_row_9_task_code_that_is_another_task_is_refused(repo: World) -> None:
    repo.agree(check(), task_id="T2", path="other.json")
    repo.agree(check())
    repo.run("other.json")
    before = repo.verdict("T2")

    with pytest.raises(RunRefused, match="task_id of another task"):
        repo.run(task_code="T2")
    assert before == repo.verdict("T2")


def test_row_10_same_inputs_twice_differ_in_times_names_and_oids_alone(repo: World) -> None:
    code = "open('out.txt', 'w').write('hi')"
    repo.agree(check(code=code, expects={"evidence_paths": ["out.txt"]}))
    first, second = repo.run(), repo.run()
    assert first.run_dir != second.run_dir

    def lists(ended: Any) -> list[Any]:
        verdict = repo.evidence(ended, "verdict.json")
        index = repo.evidence(ended, "index.json")
        meta = repo.evidence(ended, "run_meta.json")
        return [
            {**verdict, "generated_utc": ""},
            [one["path"] for one in index],
            [meta[name] for name in ("contract_digest", "tree_digest", "options", "warnings")],
        ]

    assert lists(first) == lists(second)


def test_clock_that_was_set_back_a_day_changes_nothing(repo: World) -> None:
    repo.agree(check())
    now = datetime.now(UTC)
    repo.run(clock=lambda: now)
    repo.agree(check(code="raise SystemExit(1)"))
    ended = repo.run(clock=lambda: now - timedelta(days=1))

    assert "FAIL" == ended.verdict == repo.verdict()["verdict"]
    assert not repo.passes()
    repo.agree(check())
    assert "PASS" == repo.run(clock=lambda: now - timedelta(days=2)).verdict
    assert read_verdict(repo.artifacts() / "verdict.json").passed


def test_older_report_goes_into_its_own_run(repo: World) -> None:
    repo.agree(check())
    first, second = repo.run(), repo.run()

    assert 1 == len([*repo.root.glob("docs/REPORT/*/*.md")])
    moved = [*repo.root.glob("artifacts/scc_runs/*/superseded/*.md")]
    assert [repo.root / first.run_dir / "superseded"] == [one.parent for one in moved]
    assert first.run_dir.rpartition("/")[2] in moved[0].read_text()
    assert second.code == 0


@pytest.mark.parametrize("first", [VERIFIER, PHASE4, "signoff scc verdict --case basic"])
def test_row_24_gate_command_in_a_contract_is_the_gate_of_the_run(repo: World, first: str) -> None:
    gate = {"name": "gate", "command": first}

    assert (None, 0, 0) == outcome(repo, gate, check())


def test_row_24_gate_command_fails_when_the_rest_does(repo: World) -> None:
    gate = {"name": "gate", "command": VERIFIER}

    assert ("command_failed", 9, 1) == outcome(repo, gate, check(code="raise SystemExit(9)"))
    found = repo.json(f"docs/REPORT/{AREA}/artifacts/T1/evidence/checks.json")["checks"]
    assert ["fail", "fail"] == [one["status"] for one in found]


def test_row_24_phase4_command_fails_with_phase_4(repo: World) -> None:
    repo.write("tools/ci/run_phase4_checks.py", "print('fine')\n")

    assert ("unknown", 1, 1) == outcome(repo, check(), {"name": "gate", "command": PHASE4})


def test_row_48_failing_gate_turns_everything(repo: World) -> None:
    repo.agree(check(), outputs_expected={"verdict_required": True, "evidence_paths": ["no/*.txt"]})
    ended = repo.run()

    assert ("FAIL", "artifact_missing", 1, 1) == (
        ended.verdict,
        ended.fail_class,
        ended.exit_code,
        ended.code,
    )
    selftest = (repo.artifacts() / "selftest.log").read_text()
    assert selftest.endswith("\nEXIT_CODE=1\n")
    assert "- Verdict: FAIL" in next(repo.root.glob("docs/REPORT/*/*.md")).read_text()
    gate = repo.json("mvm/verdict/verdict.json")
    assert "FAIL" == gate["status"] == gate["status_normalized"]
    hashes = repo.json(f"docs/REPORT/{AREA}/artifacts/T1/evidence_hashes.json")
    assert hashes == gate["evidence_hashes"]


def test_expected_outputs_are_looked_for_in_view_mirror_and_gate_report(repo: World) -> None:
    wanted = [
        "src/*.py",
        "docs/REPORT/%AREA%/artifacts/%TASK_CODE%/verdict.json",
        "mvm/verdict/verdict.json",
    ]
    repo.agree(check(), outputs_expected={"verdict_required": True, "evidence_paths": wanted})

    assert "PASS" == repo.run().verdict


def test_uninitialised_workspace_fails_and_names_the_command(repo: World) -> None:
    (repo.root / ".signoff/scc.toml").unlink()
    repo.agree(check())
    ended = repo.run()

    assert ("FAIL", "unknown") == (ended.verdict, ended.fail_class)
    assert "signoff scc init" in ended.reason


def test_names_that_are_none_are_refused_and_nothing_is_written(repo: World) -> None:
    repo.agree(check())
    repo.run()
    before = sorted(map(str, repo.root.rglob("*")))
    for area, task_code in (
        ("..", "T1"),
        (AREA, "../x"),
        (AREA, "CON"),
        (AREA, "t1"),
        ("a/b", "x"),
    ):
        with pytest.raises(RunRefused):
            repo.run(area=area, task_code=task_code)
    assert before == sorted(map(str, repo.root.rglob("*")))
