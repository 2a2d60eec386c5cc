"""signoff scc verdict: which TaskCodes are judged, and what is left on the disk."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from signoff.dialects.scc.scope import SCRIPTS
from signoff.ledger import open_ledger
from signoff.scc.written import LEDGER_FILE, digests_of
from tests.cli.calling import Called, call
from tests.scc.filed_run import AREA, LOG, MIRROR, POINTER, REPORT, TASK_CODE, FiledRun

PLACE = "mvm/verdict/verdict.json"
NOTHING = ["REPORT_MISSING", "SELFTEST_MISSING", "EVIDENCE_DIR_MISSING", "VERDICT_MISSING"]


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An initialised workspace."""
    for name in ("SCC_OID_PG_DSN", "SCC_OID_DATABASE_URL", "TASK_CODE", "AREA", "MVM_VERDICT_OUT"):
        monkeypatch.delenv(name, raising=False)
    assert 0 == call("scc", "init", "--workspace", tmp_path).code
    return tmp_path


@pytest.fixture
def run(root: Path) -> FiledRun:
    """A run that passed, and that the ledger knows."""
    run = FiledRun(root)
    run.publish()
    run.record(run.known())
    return run


def verdict(root: Path, *argv: str) -> Called:
    return call("scc", "verdict", "--case", "basic", "--workspace", root, *argv)


def written(root: Path, place: str = PLACE) -> Any:
    return json.loads((root / place).read_text())


@pytest.mark.parametrize("argv", [(), ("--area", AREA), ("--taskcode", TASK_CODE)])
def test_no_triplet_at_all_fails(root: Path, argv: tuple[str, ...]) -> None:
    called = verdict(root, *argv)

    assert 1 == called.code
    assert NOTHING == written(root)["fail_codes"]


def test_a_workspace_that_was_not_initialised_is_told_so_and_left_alone(tmp_path: Path) -> None:
    called = verdict(tmp_path)

    assert 1 == called.code
    assert 1 == called.err.count("signoff scc init")
    assert [] == [*tmp_path.iterdir()]


def test_a_pass_is_written_and_told(run: FiledRun) -> None:
    called = verdict(run.root)

    assert (0, f"PASS {AREA}/{TASK_CODE}\n", "") == called
    assert ("PASS", TASK_CODE, AREA, []) == tuple(
        written(run.root)[name] for name in ("status", "task_code", "area", "fail_codes")
    )
    assert written(run.root) == verdict(run.root, "--json").json


def test_the_ledger_knows_the_gate_report(run: FiledRun) -> None:
    verdict(run.root)
    with open_ledger(run.root / LEDGER_FILE, may_write=False) as ledger:
        digests = digests_of(ledger)

    assert run.measured(PLACE).sha256 in digests[PLACE]


def test_the_gate_does_not_make_a_verdict_stale(
    run: FiledRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    for place in (PLACE, "out/gate.json", "gate.json"):
        monkeypatch.setenv("MVM_VERDICT_OUT", place)

        assert [0, 0] == [verdict(run.root).code for _ in range(2)]
        assert "PASS" == written(run.root, place)["status"]
        (run.root / place).unlink()


@pytest.mark.parametrize("place", ["../x.json", "/tmp/x.json", "a/", ".", "a/../../x", "a\\b"])
def test_a_report_goes_nowhere_else(
    run: FiledRun, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MVM_VERDICT_OUT", place)

    assert 2 == verdict(run.root).code


@pytest.mark.parametrize(
    "place",
    ["src/a.py", ".signoff/scc.toml", "contract.json", f"{MIRROR}/{LOG}", MIRROR, SCRIPTS[3],
     f"{MIRROR}/evidence/index.json", f"{POINTER}/verdict.json", ".SIGNOFF/new.json"],
)  # fmt: skip
def test_a_report_replaces_nothing_but_a_report(
    run: FiledRun, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = {path: run.measured(path) for path in run.below(".") if "sqlite" not in path}
    monkeypatch.setenv("MVM_VERDICT_OUT", place)

    assert 2 == verdict(run.root).code
    assert before == {path: run.measured(path) for path in run.below(".") if "sqlite" not in path}


def test_names_come_from_the_environment_unless_given(
    run: FiledRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AREA", AREA)
    monkeypatch.setenv("TASK_CODE", TASK_CODE)
    assert 0 == verdict(run.root).code
    monkeypatch.setenv("TASK_CODE", "C-2")
    assert (1, "C-2") == (verdict(run.root).code, written(run.root)["task_code"])
    assert 0 == verdict(run.root, "--taskcode", TASK_CODE).code
    monkeypatch.delenv("AREA")
    monkeypatch.setenv("TASK_CODE", "")
    assert 0 == verdict(run.root).code


def test_a_task_code_without_area_is_in_that_of_the_settings(run: FiledRun) -> None:
    assert 1 == verdict(run.root, "--taskcode", TASK_CODE).code
    assert "control_plane" == written(run.root)["area"]
    settings = run.root / ".signoff" / "scc.toml"
    settings.write_text(settings.read_text().replace('"control_plane"', f'"{AREA}"'))
    assert 0 == verdict(run.root, "--taskcode", TASK_CODE).code


@pytest.mark.parametrize(
    "argv",
    [("--case", "other"), ("--taskcode", "a/b"), ("--area", ".."), ("--taskcode", ""),
     ("--taskcode", "CON"), ("--no-mvm",), ("--workspace", "/nowhere")],
)  # fmt: skip
def test_what_cannot_be_asked_is_unusable(run: FiledRun, argv: tuple[str, ...]) -> None:
    called = verdict(run.root, *argv)

    assert (2, "") == (called.code, called.out)


def test_one_task_code_that_fails_fails_all(run: FiledRun) -> None:
    run.put(f"docs/REPORT/{AREA}/artifacts/C-2/a.txt", b"x")
    called = verdict(run.root)
    document = written(run.root)

    assert 1 == called.code
    assert f"PASS {AREA}/{TASK_CODE}" in called.out
    assert f"FAIL {AREA}/C-2" in called.out
    assert ("FAIL", "", AREA) == tuple(document[name] for name in ("status", "task_code", "area"))
    assert [
        {"name": f"{AREA}/{TASK_CODE}", "status": "PASS"}, {"name": f"{AREA}/C-2", "status": "FAIL"},
    ] == document["checks"]  # fmt: skip
    assert ["PASS", "FAIL"] == [one["status"] for one in document["tasks"]]
    assert 0 == verdict(run.root, "--area", AREA, "--taskcode", TASK_CODE).code


@pytest.mark.parametrize(
    "path",
    [f"docs/REPORT/{AREA}/REPORT__C-2__20260131.md", f"docs/REPORT/{AREA}/REPORT__C-2.md",
     "docs/REPORT/other/REPORT__C-2__20260131.md", "docs/REPORT/other/artifacts/C-2/x"],
)  # fmt: skip
def test_each_report_and_each_folder_is_a_task_code(run: FiledRun, path: str) -> None:
    run.put(path, b"# x\n")

    assert 1 == verdict(run.root).code
    assert "C-2" in {one["task_code"] for one in written(run.root)["tasks"]}


@pytest.mark.parametrize("path", [f"docs/REPORT/{AREA}/README.md", "docs/REPORT/README.md"])
def test_other_files_are_no_task_code(run: FiledRun, path: str) -> None:
    run.put(path, b"# x\n")

    assert 0 == verdict(run.root).code


def test_a_task_code_of_which_nothing_is_left_is_still_judged(run: FiledRun) -> None:
    for path in (MIRROR, POINTER):
        shutil.rmtree(run.root / path)
    (run.root / REPORT).unlink()
    called = verdict(run.root)

    assert 1 == called.code
    assert "ROLLBACK_DELETE_FORBIDDEN" in written(run.root)["fail_codes"]


@pytest.mark.parametrize(
    "path", ["docs", "docs/REPORT", f"docs/REPORT/{AREA}", f"docs/REPORT/{AREA}/artifacts", MIRROR]
)
def test_a_folder_that_is_a_link_is_no_pass(run: FiledRun, path: str) -> None:
    shutil.move(run.root / path, run.root / "aside")
    (run.root / path).symlink_to(run.root / "aside")

    for argv in ((), ("--area", AREA, "--taskcode", TASK_CODE)):
        assert 1 == verdict(run.root, *argv).code
        assert "EVIDENCE_SYMLINK" in written(run.root)["fail_codes"]


def test_the_pass_of_before_is_gone_when_the_gate_fails(run: FiledRun) -> None:
    verdict(run.root)
    run.put("src/a.py", b"a = 2\n")

    assert 1 == verdict(run.root).code
    assert ("FAIL", ["VERDICT_STALE"]) == tuple(
        written(run.root)[name] for name in ("status", "fail_codes")
    )


@pytest.mark.parametrize("damage", [b"", b"no database at all" * 500])
def test_a_ledger_that_cannot_be_used_vouches_for_nothing(run: FiledRun, damage: bytes) -> None:
    assert 0 == verdict(run.root).code
    for path in (run.root / ".signoff").glob("ledger.sqlite3*"):
        path.unlink()
    if damage:
        (run.root / LEDGER_FILE).write_bytes(damage)
    called = verdict(run.root)

    assert 1 == called.code
    assert "SELFTEST_USER_SUPPLIED" in called.out
    assert not (run.root / PLACE).exists() or "FAIL" == written(run.root)["status"]


def test_a_report_that_cannot_be_replaced_is_told_and_is_no_pass(run: FiledRun) -> None:
    (run.root / "mvm").write_bytes(b"in the way")

    assert 4 == verdict(run.root).code


def test_a_place_behind_a_link_is_not_written(run: FiledRun, tmp_path_factory: Any) -> None:
    outside = tmp_path_factory.mktemp("outside")
    (run.root / "mvm").symlink_to(outside)

    assert 4 == verdict(run.root).code
    assert [] == [*outside.iterdir()]


def test_strict_refuses_keys_beyond_the_five(run: FiledRun) -> None:
    more = json.dumps({**json.loads(run.verdict), "more": 1}).encode()
    run.verdict = more
    run.publish()
    run.record(run.known())

    assert (0, 1) == (verdict(run.root).code, verdict(run.root, "--strict").code)
