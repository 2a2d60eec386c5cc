"""Evidence is what a check wrote; every file of it is listed, registered, and bound to its run."""

from __future__ import annotations

import json
import os
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from signoff.dialects.scc.names import run_path
from signoff.ledger import open_ledger
from signoff.scc.guard import judge
from signoff.scc.oid_object import NewObject
from signoff.scc.reader import Expected, read_verdict
from signoff.scc.run_events import digest_of_line, faults, read_events
from signoff.scc.store import open_registry, place_of
from signoff.scc.tree import tree_digest
from signoff.scc.written import LEDGER_FILE, latest_run
from tests.scc.run_world import AREA, World, check


def expects(*paths: str) -> dict[str, Any]:
    return {"expects": {"evidence_paths": [*paths]}}


def gate_codes(repo: World, **expected: str) -> tuple[str, ...]:
    """What the guard finds of the published run."""
    with open_ledger(repo.root / LEDGER_FILE, clock=lambda: datetime.now(UTC)) as ledger:
        known = latest_run(ledger, AREA, "T1")
    found = judge(repo.workspace, AREA, "T1", expected=Expected(**expected), known=known)
    return found.fail_codes


def test_row_37_pass_of_another_task_or_contract_is_not_accepted(repo: World) -> None:
    repo.agree(check(), task_id="T2", path="other.json")
    repo.agree(check())
    repo.run("other.json")
    repo.run()
    shutil.rmtree(repo.artifacts("T1"))
    shutil.copytree(repo.artifacts("T2"), repo.artifacts("T1"))

    assert not read_verdict(
        repo.artifacts("T1") / "verdict.json", expected=Expected(task_id="T1")
    ).passed
    assert gate_codes(repo)


def test_row_37_pass_of_an_earlier_run_is_not_accepted(repo: World) -> None:
    repo.agree(check())
    repo.run()
    shutil.copytree(repo.artifacts(), repo.root.parent / "kept")
    repo.agree(check(code="raise SystemExit(1)"))
    ended = repo.run()
    shutil.rmtree(repo.artifacts())
    shutil.copytree(repo.root.parent / "kept", repo.artifacts())

    assert "FAIL" == ended.verdict
    assert gate_codes(repo)
    contract = repo.json("c.json")
    assert contract
    assert not read_verdict(
        repo.artifacts() / "verdict.json", expected=Expected(run_id=ended.run_dir.split("/")[-1])
    ).passed


def test_row_37_commit_of_the_evidence_is_not_stale_and_one_of_the_source_is(repo: World) -> None:
    repo.agree(check())
    ended = repo.run()
    judged = repo.evidence(ended, "run_meta.json")["tree_digest"]
    repo.commit()

    assert judged == tree_digest(repo.workspace, own=("mvm/verdict/verdict.json",))
    assert () == gate_codes(repo, tree_digest=judged)
    repo.write("src/a.py", "x = 2\n")
    now = tree_digest(repo.workspace, own=("mvm/verdict/verdict.json",))
    assert judged != now
    assert ("VERDICT_STALE",) == gate_codes(repo, tree_digest=now)


WRITES = "open('{}', 'w').write('{}')"


@pytest.mark.parametrize(
    ("code", "wanted"),
    [
        ("pass", "src/a.py"),
        (WRITES.format("new.txt", ""), "new.txt"),
        ("import os; os.mkdir('new.txt')", "new.txt"),
        ("import os; os.symlink('src/a.py', 'new.txt')", "new.txt"),
        ("import os; os.symlink('src', 'dir')", "dir/a.py"),
        ("import os; os.link('src/a.py', 'x'); os.symlink('.', 'dir')", "dir/x"),
        ("import os; os.mkfifo('new.txt')", "new.txt"),
        ("open('/tmp/new.txt', 'w').write('x')", "new.txt"),
        ("open('/tmp/new.txt', 'w').write('x')", "/tmp/new.txt"),
        (WRITES.format("new.txt", "x"), "src/../new.txt"),
        (WRITES.format("verdict.json", "x"), "verdict.json"),
        (WRITES.format("new.txt", "x"), "NEW.txt"),
        (WRITES.format("new.txt", "x"), "old/*.txt"),
    ],
)
def test_row_38_evidence_that_is_none(repo: World, code: str, wanted: str) -> None:
    repo.agree(check(code=code, **expects(wanted)))
    ended = repo.run()

    assert ("artifact_missing", 1, 1) == (ended.fail_class, ended.exit_code, ended.code)


def test_row_38_glob_with_one_match_passes(repo: World) -> None:
    repo.agree(check(code=WRITES.format("new.txt", "x"), **expects("*.txt", "**/n?w.txt")))
    ended = repo.run()

    assert "PASS" == ended.verdict
    assert ["collected/001/new.txt"] == [
        path for path in repo.verdict()["evidence_paths"] if path.startswith("collected/")
    ]


def test_evidence_of_a_placed_file_counts_once_it_is_written_again(repo: World) -> None:
    repo.write("src/old.txt", "same")
    code = WRITES.format("src/old.txt", "same")
    repo.agree(check("one", **expects("src/old.txt")), check("two", code, **expects("src/old.txt")))
    ended = repo.run()

    assert ["fail", "pass"] == [one.status for one in ended.checks]


ODD = (
    "with space",
    "quo'te\"s",
    "new\nline",
    "\u00fcml\u00e4ut \u732b",
    "-dash",
    "%41",
    "`tick`",
    ".hid",
)


def test_row_39_odd_names_are_kept_listed_and_registered(repo: World) -> None:
    names = [f"{name}.txt" for name in ODD]
    repo.write("src/names.json", json.dumps(names))
    code = (
        "import json, os; os.mkdir('o'); "
        "[open('o/' + name, 'w').write(name) for name in json.load(open('src/names.json'))]"
    )
    repo.agree(check(code=code, **expects("o/*")))
    ended = repo.run()

    assert "PASS" == ended.verdict, ended.reason
    for name in names:
        assert name == (repo.artifacts() / "collected/001/o" / name).read_text()
    assert_registered(repo, ended)
    assert () == gate_codes(repo)


def test_name_that_is_no_text_is_no_evidence(repo: World) -> None:
    code = "import os; os.mkdir('o'); open(os.fsdecode(bytes.fromhex('6f2fff')), 'w').write('x')"
    repo.agree(check(code=code, **expects("o/*")))
    ended = repo.run()

    assert "artifact_missing" == ended.fail_class


def test_row_39_every_evidence_file_is_in_index_and_registry(repo: World) -> None:
    repo.agree(check(code=WRITES.format("new.txt", "x"), **expects("*.txt")))
    ended = repo.run()
    assert "PASS" == ended.verdict
    assert_registered(repo, ended)


def assert_registered(repo: World, ended: Any) -> None:
    index = repo.evidence(ended, "index.json")
    meta = repo.evidence(ended, "run_meta.json")
    listed = set(repo.verdict()["evidence_paths"])
    on_disk = {
        str(path.relative_to(repo.root / ended.run_dir))
        for path in (repo.root / ended.run_dir).rglob("*")
        if path.is_file()
    }

    assert listed == {one["path"] for one in index} | {"evidence/index.json"}
    own = {"evidence/verdict.json", "evidence/gate_verdict.json", "events.jsonl"}
    assert on_disk == listed | own
    assert meta["evidence_oids"] == [one["oid"] for one in index]
    assert [] == meta["touched_oids"]
    with open_registry(place_of(repo.workspace, {})) as registry:
        found = registry.find_all([one["oid"] for one in index])
        paths = {path for path, _ in registry.active_paths()}
    for one in index:
        assert one["sha256"] == found[one["oid"]].sha256
        assert f"{ended.run_dir}/{one['path']}" == found[one["oid"]].path
        unit = "V.TESTS" if one["path"].startswith(("logs/", "collected/")) else "V.VERDICT"
        assert unit == one["primary_unit"] == found[one["oid"]].primary_unit
    also = {f"{ended.run_dir}/evidence/{name}" for name in ("index.json", "verdict.json")}
    report = next(repo.root.glob("docs/REPORT/*/*.md"))
    assert also | {str(report.relative_to(repo.root))} <= paths


def test_report_that_is_superseded_gets_an_oid_of_its_own(repo: World) -> None:
    repo.agree(check())
    day = datetime.now(UTC) - timedelta(days=3)
    first, second = repo.run(clock=lambda: day), repo.run()
    repo.run()
    with open_registry(place_of(repo.workspace, {})) as registry:
        paths = [path for path, _ in registry.active_paths()]
        reports = {path for path in paths if "REPORT__T1" in path}
        old = registry.find_key(f"report:docs/REPORT/{AREA}/REPORT__T1__{day:%Y%m%d}.md")

    assert all((repo.root / path).is_file() for path in reports)
    assert {f"{one.run_dir}/superseded" for one in (first, second)} == {
        path.rpartition("/")[0] for path in reports if "superseded" in path
    }
    assert old is not None
    assert "moved" == old.status
    assert "PASS" == repo.run(clock=lambda: day).verdict


@pytest.mark.long
def test_ten_thousand_evidence_files(repo: World) -> None:
    code = "import os; os.mkdir('o'); [open(f'o/{n:05d}', 'w').write(str(n)) for n in range(10000)]"
    repo.agree(check(code=code, **expects("o/*")))
    ended = repo.run()

    assert "PASS" == ended.verdict, ended.reason
    assert 10_000 == len([*(repo.artifacts() / "collected").rglob("0*")]) - 1
    assert_registered(repo, ended)
    assert () == gate_codes(repo)
    assert "PASS" == repo.run().verdict


@pytest.mark.long
def test_more_evidence_than_a_verdict_can_list_is_a_fail(repo: World) -> None:
    code = (
        "import os; os.mkdir('o'); [open(f'o/{n:0200d}', 'w').write(str(n)) for n in range(5000)]"
    )
    repo.agree(check(code=code, **expects("o/*")))
    ended = repo.run()

    assert ("verifier_error", 125) == (ended.fail_class, ended.exit_code)
    assert "FAIL" == repo.verdict()["verdict"]


def test_row_51_task_verified_is_told_once_with_all_of_it(repo: World) -> None:
    repo.agree(check())
    for verdict, code in (("pass", "pass"), ("fail", "raise SystemExit(1)")):
        repo.agree(check(code=code))
        ended = repo.run()
        lines = (repo.root / ended.run_dir / "events.jsonl").read_bytes()
        (event,) = read_events(lines)

        assert [] == [*faults(lines.splitlines())]
        assert ("TASK_VERIFIED", "T1", "system", "c.json", verdict, 1) == tuple(
            event[name] for name in ("kind", "task_id", "source", "contract_ref", "verdict", "seq")
        )
        assert repo.evidence(ended, "run_meta.json")["evidence_oids"] == event["evidence_oids"]
        assert [] == event["touched_oids"]
        assert ended.fail_class == event.get("fail_class")
        assert repo.verdict()["generated_utc"] == event["timestamp"]


def test_row_51_line_that_was_edited_or_removed_breaks_the_chain(repo: World) -> None:
    repo.agree(check())
    ended = repo.run()
    path = f"{ended.run_dir}/events.jsonl"
    line = (repo.root / path).read_bytes()
    last = digest_of_line(line)
    with open_ledger(repo.root / LEDGER_FILE, clock=lambda: datetime.now(UTC)) as ledger:
        known = latest_run(ledger, AREA, "T1")

    assert known is not None
    assert path in known.files
    assert [] == [*faults([line], last=last)]
    assert [*faults([], last=last)]
    assert [*faults([line.replace(b'"pass"', b'"fail"')], last=last)]
    assert [*faults([line, line], last=last)]


def test_verdict_and_files_are_in_the_ledger(repo: World) -> None:
    repo.agree(check())
    ended = repo.run()
    with open_ledger(repo.root / LEDGER_FILE, clock=lambda: datetime.now(UTC)) as ledger:
        known = latest_run(ledger, AREA, "T1")
        assert not ledger.verify().faults
    assert known is not None

    left = {
        str(path.relative_to(repo.root))
        for top in ("artifacts", "docs/REPORT", "mvm")
        for path in (repo.root / top).rglob("*")
        if path.is_file()
    }
    assert left == known.files.keys()
    assert ended.run_dir == run_path(known.run_id)


def test_placed_verdict_is_removed_before_anything_runs(repo: World) -> None:
    repo.agree(check(code="raise SystemExit(1)"))
    seen: list[bool] = []
    place = repo.artifacts() / "verdict.json"

    def look(step: str) -> None:
        if step == "contract":
            seen.append(place.exists())

    repo.run()
    place.write_text(json.dumps({**repo.verdict(), "verdict": "PASS"}))
    repo.run(on_step=look)

    assert [False] == seen
    assert "FAIL" == repo.verdict()["verdict"]


@pytest.mark.parametrize("where", ["T1", "../artifacts", ".."])
def test_link_in_the_place_of_a_folder_of_verdicts_is_denied(repo: World, where: str) -> None:
    repo.agree(check())
    repo.run()
    place = (repo.artifacts("x").parent / where).absolute()
    place = Path(os.path.normpath(place))
    elsewhere = repo.root.parent / "elsewhere"
    place.rename(elsewhere)
    place.symlink_to(elsewhere)
    ended = repo.run()

    assert ("command_denied", 97, 1) == (ended.fail_class, ended.exit_code, ended.code)
    assert not place.is_symlink()
    assert "FAIL" == repo.verdict()["verdict"]
    assert not repo.passes()


def test_path_of_the_contract_may_be_an_oid_or_absolute(repo: World) -> None:
    repo.agree(check())
    with open_registry(place_of(repo.workspace, {})) as registry:
        oid = registry.issue(
            NewObject(path="c.json", kind="contract", layer="CONF", primary_unit="K.CONTRACT_DOC")
        ).oid
    for name in (oid, str(repo.root / "c.json"), "./src/../c.json"):
        ended = repo.run(name)
        assert "PASS" == ended.verdict, ended.reason
        assert "c.json" == repo.evidence(ended, "run_meta.json")["contract_path"]
