"""What a contract, names and placeholders may say, seen from a whole run."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from signoff.scc.run import RunEnded, RunRefused
from tests.scc.run_world import AREA, World, check, contract

Change = Callable[[dict[str, Any]], object]

MARK = "open('src/ran.txt', 'w').write('yes')"
LAST_SECOND = datetime(2026, 2, 28, 23, 59, 59, 999_000, tzinfo=UTC)


def everything(folder: Path) -> dict[str, bytes]:
    """All there is below a folder, with content and the targets of links."""
    found = sorted(folder.rglob("*"))
    return {str(one): one.read_bytes() if one.is_file() else b"" for one in found}


def times_of(repo: World, ended: RunEnded) -> list[str]:
    """Every time and date that the files of a run tell, the first ten digits of each."""
    meta = repo.evidence(ended, "run_meta.json")
    selftest = (repo.artifacts() / "selftest.log").read_text()
    (event,) = (repo.root / ended.run_dir / "events.jsonl").read_text().splitlines()
    (report,) = repo.root.glob("docs/REPORT/*/*.md")
    told = [meta["started_utc"], meta["finished_utc"], repo.verdict()["generated_utc"]]
    told += [selftest.partition("TS_UTC=")[2], json.loads(event)["timestamp"]]
    told += [ended.run_dir.rpartition("/")[2], report.stem.rpartition("__")[2]]
    told += [report.read_text().partition("- Date: ")[2]]
    return [one.replace("-", "")[:8] for one in told]


def test_row_10_whole_run_goes_by_one_reading_of_the_clock(repo: World) -> None:
    """Each reading is a day later, and all that is told is of one day."""
    readings = [LAST_SECOND.replace(hour=1)]

    def clock() -> datetime:
        readings.append(readings[-1] + timedelta(days=1))
        return readings[-1]

    repo.agree(check())
    ended = repo.run(clock=clock)

    assert "PASS" == ended.verdict
    assert 1 == len(set(times_of(repo, ended)))


def test_row_10_run_across_midnight_is_filed_under_the_day_it_began(repo: World) -> None:
    repo.agree(check(code="import time; time.sleep(0.01)"))
    ended = repo.run(clock=lambda: LAST_SECOND)
    meta = repo.evidence(ended, "run_meta.json")

    assert "PASS" == ended.verdict
    assert "2026-02-28" == meta["started_utc"][:10]
    assert "2026-03-01" == meta["finished_utc"][:10]
    assert ended.run_dir.rpartition("/")[2].startswith("20260228-235959-")
    (report,) = repo.root.glob("docs/REPORT/*/*.md")
    assert "REPORT__T1__20260228.md" == report.name
    assert "\n- Date: 20260228\n" in report.read_text()


def without(name: str) -> Change:
    return lambda document: document.pop(name)


def having(**fields: Any) -> Change:
    return lambda document: document.update(fields)


def checks(*those: Any) -> Change:
    return lambda document: document.update(acceptance={"checks": list(those)})


FAULTS: dict[str, Change] = {
    "a field is missing": without("goal"),
    "another version": having(schema_version="v0.2.0"),
    "no checks": checks(),
    "a check that is a string": checks("x"),
    "expect for expects": checks({**check(), "expect": {"exit_code": 1}}),
    "two checks of one name": checks(check(), check()),
    "timeout 0": checks(check(timeout_s=0)),
    "timeout true": checks(check(timeout_s=True)),
    "a scope yet to be told": having(scope_allow="TBD: later"),
}
TEXT = json.dumps(contract(check(code=MARK)))
UNREADABLE: dict[str, bytes] = {
    "not JSON": b"{",
    "a key twice": TEXT.replace('{"schema', '{"task_id": "T1", "schema', 1).encode(),
    "NaN": TEXT.replace('"inputs_ref": {}', '"inputs_ref": {"n": NaN}').encode(),
    "a byte-order mark": b"\xef\xbb\xbf" + TEXT.encode(),
    "2 MiB": (TEXT + " " * 2 * 1024 * 1024).encode(),
    "100 deep": TEXT.replace(
        '"inputs_ref": {}', '"inputs_ref": {"n": ' + "[" * 100 + "]" * 100 + "}"
    ).encode(),
}


def assert_nothing_was_run(repo: World, ended: RunEnded) -> None:
    assert ("FAIL", "verifier_error", 2, 2) == (
        ended.verdict,
        ended.fail_class,
        ended.exit_code,
        ended.code,
    )
    verdict = repo.verdict()
    assert ("FAIL", "verifier_error", 2) == tuple(
        verdict[name] for name in ("verdict", "fail_class", "exit_code")
    )
    assert not repo.passes()
    assert not [*(repo.root / ended.run_dir / "logs").glob("*")]
    found = repo.evidence(ended, "checks.json")["checks"]
    assert {"not_run"} >= {one["status"] for one in found}


@pytest.mark.parametrize("fault", FAULTS)
def test_row_11_contract_with_a_fault_runs_nothing_and_is_a_fail(repo: World, fault: str) -> None:
    document = contract(check(code=MARK))
    FAULTS[fault](document)
    repo.write("c.json", json.dumps(document))
    repo.commit()

    assert_nothing_was_run(repo, repo.run())


@pytest.mark.parametrize("fault", UNREADABLE)
def test_row_11_contract_that_cannot_be_read_is_a_fail(repo: World, fault: str) -> None:
    repo.write("c.json", "").write_bytes(UNREADABLE[fault])
    repo.commit()

    assert_nothing_was_run(repo, repo.run(task_code="T1"))


def test_row_11_of_several_faults_all_are_told_with_their_places(repo: World) -> None:
    those: list[Any] = [{**check(), "timeout_s": 0, "expect": {}}, "x"]
    repo.agree(*those, schema_version="v9", goal=" ")
    ended = repo.run()

    assert_nothing_was_run(repo, ended)
    places = ("/schema_version", "/goal", "/acceptance/checks/0/timeout_s", "/acceptance/checks/1")
    assert [] == [one for one in (*places, "expect") if one not in ended.reason]


OIDS: dict[str, Any] = {
    "oid": "01KGCV31W0C42YQHMVAT6F6T9N",
    "layer": "CONF",
    "primary_unit": "K.CONTRACT_DOC",
    "tags": [],
    "status": "active",
}
PUBLIC: dict[str, Any] = {
    "task_tree_ref": "a",
    "epic": "b",
    "capability": "c",
    "source_anchor": "d",
}


def test_row_12_keys_of_public_contracts_are_accepted(repo: World) -> None:
    repo.agree(check(), **OIDS, **PUBLIC)
    ended = repo.run(strict=True)

    assert ("PASS", ()) == (ended.verdict, ended.warnings)


def test_row_12_another_key_warns_and_fails_under_strict(repo: World) -> None:
    repo.agree(check(), remark="x")
    ended = repo.run()

    assert "PASS" == ended.verdict
    assert ["remark"] == [key for key in ("remark",) if any(key in w for w in ended.warnings)]
    assert [*ended.warnings] == repo.evidence(ended, "run_meta.json")["warnings"]
    strict = repo.run(strict=True)
    assert ("verifier_error", 2) == (strict.fail_class, strict.exit_code)
    assert "remark" in strict.reason


@pytest.mark.parametrize(("changed", "expected"), [("src/a.py", "PASS"), ("other.py", "FAIL")])
def test_row_12_array_as_scope_works(repo: World, changed: str, expected: str) -> None:
    repo.agree(check(), scope_allow=["src/**", "docs/a.md"])
    repo.write(changed, "x = 2\n")
    ended = repo.run()

    assert expected == ended.verdict, ended.reason
    assert any("scope_allow" in one for one in ended.warnings)
    assert ("verifier_error", 2) == (
        (strict := repo.run(strict=True)).fail_class,
        strict.exit_code,
    )


BAD_NAMES = {
    "two dots": "..",
    "dots within": "a/../b",
    "a slash": "a/b",
    "absolute": "/tmp/a",
    "a backslash": "a\\b",
    "a colon": "C:a",
    "a hyphen first": "-a",
    "a device": "CON",
    "a device with an ending": "nul.txt",
    "a dot at the end": "a.",
    "200 characters": "a" * 200,
    "empty": "",
    "a space": "a b",
    "a line break": "a\nb",
    "a null character": "a\0b",
    "other letters": "é",
}


@pytest.mark.parametrize("kind", BAD_NAMES)
def test_row_13_bad_name_is_refused_and_nothing_is_touched(
    repo: World, tmp_path: Path, kind: str
) -> None:
    repo.agree(check())
    repo.agree(check(), task_id=BAD_NAMES[kind], path="bad.json")
    (repo.root / ".signoff/ledger.sqlite3").unlink(missing_ok=True)
    with pytest.raises(RunRefused):
        repo.run("bad.json")
    before = everything(tmp_path)
    if BAD_NAMES[kind]:  # an empty option is one that was not given
        for given in ({"area": BAD_NAMES[kind]}, {"task_code": BAD_NAMES[kind]}):
            with pytest.raises(RunRefused):
                repo.run(**given)

    assert before == everything(tmp_path)
    assert not (repo.root / "docs/REPORT").exists()


def test_row_13_name_that_differs_in_case_alone_is_refused(repo: World) -> None:
    repo.agree(check())
    assert "PASS" == repo.run().verdict
    repo.agree(check(), task_id="t1", path="lower.json")
    for given in (
        {"task_code": "t1"},
        {"area": AREA.upper()},
        {"path": "lower.json"},
        {"path": "lower.json", "task_code": "other"},
    ):
        with pytest.raises(RunRefused, match="case alone"):
            repo.run(**given)

    assert ["T1/verdict.json"] == [
        str(one.relative_to(repo.artifacts().parent))
        for one in repo.artifacts().parent.glob("*/verdict.json")
    ]


def test_row_15_placeholders_in_commands_and_evidence_paths(repo: World) -> None:
    code = "import sys; open(sys.argv[1], 'w').write('-'.join(sys.argv[2:]))"
    repo.agree(
        {
            "name": "one",
            "command": f'python -c "{code}" %TASK_CODE%.txt %TASK_ID% %AREA% ${{TASK_CODE}}',
            "expects": {"evidence_paths": ["%TASK_CODE%.txt"]},
        }
    )
    ended = repo.run(task_code="CODE-1")

    assert "PASS" == ended.verdict, ended.reason
    kept = repo.artifacts("CODE-1") / "collected/001/CODE-1.txt"
    assert f"T1-{AREA}-CODE-1" == kept.read_text()


@pytest.mark.parametrize(
    "given",
    [
        {"name": "one", "command": "true %OTHER%"},
        {"name": "one", "command": "true", "expects": {"evidence_paths": ["%OTHER%/a"]}},
    ],
    ids=["in a command", "in an evidence path"],
)
def test_row_15_another_placeholder_is_an_invalid_contract(
    repo: World, given: dict[str, Any]
) -> None:
    repo.agree(given)
    ended = repo.run()

    assert_nothing_was_run(repo, ended)
    assert "%OTHER%" in ended.reason


def test_row_15_placeholder_of_the_settings_never_adds_an_argument(repo: World) -> None:
    repo.settle("[vars]", 'WORDS = "a b; \'c"')
    code = "import sys; assert sys.argv[1:] == ['a b; \\'c', 'x'], sys.argv"
    repo.agree({"name": "one", "command": f'python -c "{code}" %WORDS% x'})

    assert "PASS" == (ended := repo.run()).verdict, ended.reason
