"""Each phase-4 check fails for its own reason, and none stops another."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from signoff.dialects.scc.scope import SCRIPTS
from signoff.scc.phase4 import CHECKS, PhaseResult, Subject, UnknownCheck, check, encode_results
from signoff.scc.workspace import Workspace
from tests.cli.calling import call
from tests.scc.filed_run import MIRROR, POINTER, FiledRun

CONTRACTS = "docs/ssot/04_contracts"
SSOT = "docs/ssot/registry.json"
GOOD = {
    "schema_version": "v0.1.0",
    "task_id": "T-1",
    "goal": "g",
    "scope_allow": "src/**",
    "constraints": "",
    "stop_condition": "",
    "commands_hint": "",
    "acceptance": {"checks": [{"name": "a", "command": "true"}]},
    "inputs_ref": {},
    "outputs_expected": {},
}
NOW = datetime(2026, 2, 1, tzinfo=UTC)


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An initialised workspace."""
    for name in ("SCC_OID_PG_DSN", "SCC_OID_DATABASE_URL"):
        monkeypatch.delenv(name, raising=False)
    assert 0 == call("scc", "init", "--workspace", tmp_path).code
    return tmp_path


def results(root: Path, **options: object) -> dict[str, PhaseResult]:
    workspace = Workspace.at(root)
    found = check(workspace, settings=workspace.settings(), env={}, now=NOW, **options)  # type: ignore[arg-type]  # by name
    return {one.name: one for one in found}


def put(root: Path, path: str, text: str) -> Path:
    place = root / path
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text)
    return place


def with_ssot(root: Path, entries: object) -> None:
    settings = root / ".signoff" / "scc.toml"
    settings.write_text(
        settings.read_text().replace('ssot_registry = "none"', f'ssot_registry = "{SSOT}"')
    )
    put(root, SSOT, json.dumps({"canonical": entries}))


def test_all_of_them_pass_in_an_initialised_workspace(root: Path) -> None:
    found = results(root)

    assert [
        "oid-validator", "ssot-topology", "contract-schema", "verdict-schema", "scripts-intact",
    ] == [*found] == [*CHECKS]  # fmt: skip
    assert {("PASS", 0)} == {(one.status, one.exit_code) for one in found.values()}
    assert all(one.duration_s >= 0 for one in found.values())


def test_the_document_has_five_keys(root: Path) -> None:
    found = json.loads(encode_results(results(root).values()))

    assert {("name", "status", "exit_code", "artifacts_path", "duration_s")} == {
        tuple(one) for one in found
    }


def first_none(root: Path) -> None:
    with_ssot(root, [])
    (root / SSOT).unlink()


def first_torn(root: Path) -> None:
    with_ssot(root, [])
    put(root, SSOT, "{}{}")


def linked_contract(root: Path) -> None:
    put(root, f"{CONTRACTS}/a.md", "")
    (root / CONTRACTS / "b.json").symlink_to("a.md")


SPOILS: dict[str, tuple[str, Callable[[Path], object], str]] = {
    "a document without OID": (
        "oid-validator", lambda root: put(root, "docs/CANONICAL/a.md", "# a"), "missing_frontmatter"),
    "a registry that is gone": (
        "ssot-topology", first_none, "no such file"),
    "a registry that is no JSON": (
        "ssot-topology", first_torn, "strict JSON"),
    "a document named twice": (
        "ssot-topology",
        lambda root: with_ssot(root, [{"doc_id": "d", "canonical_path": SCRIPTS[3]}] * 2), "twice"),
    "a document that is not there": (
        "ssot-topology", lambda root: with_ssot(root, [{"canonical_path": "docs/none.md"}]), "none.md"),
    "a document outside": (
        "ssot-topology", lambda root: with_ssot(root, [{"canonical_path": "../a.md"}]), "plain path"),
    "a document that is a folder": (
        "ssot-topology", lambda root: with_ssot(root, [{"canonical_path": "docs/ssot"}]), "folder"),
    "a document in other letters": (
        "ssot-topology",
        lambda root: with_ssot(root, [{"canonical_path": SCRIPTS[3].upper()}]), "spelt"),
    "a contract with a fault": (
        "contract-schema",
        lambda root: put(root, f"{CONTRACTS}/a.json", json.dumps({**GOOD, "goal": 1})), "/goal"),
    "a contract that is no JSON": (
        "contract-schema", lambda root: put(root, f"{CONTRACTS}/x/a.json", "{"), "strict JSON"),
    "a contract that is a link": (
        "contract-schema",
        linked_contract,
        "link"),
    "a verdict that nobody can read": (
        "verdict-schema", lambda root: put(root, f"{MIRROR}/verdict.json", "{}"), "required"),
    "a pointer that nobody can read": (
        "verdict-schema", lambda root: put(root, f"{POINTER}/verdict.json", "{}"), "required"),
    "an edited script": (
        "scripts-intact", lambda root: put(root, SCRIPTS[2], "import sys; sys.exit(0)"), SCRIPTS[2]),
    "a script that is gone": (
        "scripts-intact", lambda root: (root / SCRIPTS[1]).unlink(), "is absent"),
}  # fmt: skip


@pytest.mark.parametrize("name", SPOILS)
def test_a_check_fails_for_its_own_reason(root: Path, name: str) -> None:
    failing, spoil, says = SPOILS[name]
    spoil(root)
    found = results(root)

    assert ("FAIL", 1) == (found[failing].status, found[failing].exit_code)
    assert any(says in text for text in found[failing].problems), found[failing].problems
    if failing != "contract-schema":  # a contract is a document with an OID too
        others = {one.status for one in found.values() if one.name != failing}
        assert {"PASS"} == others or "outside" in name or "not there" in name or "ssot" in failing


def test_a_draft_is_a_warning_and_no_contract_is_none(root: Path) -> None:
    put(root, f"{CONTRACTS}/draft.json", json.dumps({**GOOD, "scope_allow": "TBD"}))
    put(root, f"{CONTRACTS}/other.json", json.dumps({"a": 1}))
    put(root, f"{CONTRACTS}/list.json", "[]")
    found = results(root)["contract-schema"]

    assert found.passed
    assert ["TBD" in text for text in found.warnings] == [True]


def test_a_task_code_that_is_named_must_have_a_verdict(root: Path) -> None:
    run = FiledRun(root)
    run.publish()

    assert results(root, task_code="C-1", area="platform")["verdict-schema"].passed
    assert results(root)["verdict-schema"].passed
    assert not results(root, task_code="C-2")["verdict-schema"].passed
    run.put("docs/REPORT/other/artifacts/C-1/verdict.json", b"{}")
    assert results(root, task_code="C-1", area="platform")["verdict-schema"].passed
    assert not results(root, task_code="C-1")["verdict-schema"].passed


def test_keys_beyond_the_five_are_tolerated_in_a_candidate(root: Path) -> None:
    run = FiledRun(root)
    more = json.dumps({**json.loads(run.verdict), "more": 1}).encode()

    assert results(root, candidate=run.verdict)["verdict-schema"].passed
    assert results(root, candidate=more)["verdict-schema"].passed
    assert not results(root, candidate=b"{}")["verdict-schema"].passed


def test_a_check_that_breaks_is_an_error_and_stops_no_other(root: Path) -> None:
    def breaks(_: Subject) -> Iterator[str]:
        raise RuntimeError("odd\nthing")
        yield ""

    table = {"first": ("a", breaks), **CHECKS}
    found = results(root, table=table)

    assert ("ERROR", 2) == (found["first"].status, found["first"].exit_code)
    assert "RuntimeError: odd\\u000athing" in found["first"].problems[0]
    assert ["PASS"] * 5 == [found[name].status for name in CHECKS]


@pytest.mark.parametrize("names", [["nope"], ["oid-validator", "nope"], []])
def test_a_name_that_is_none_is_refused(root: Path, names: list[str]) -> None:
    with pytest.raises(UnknownCheck):
        results(root, names=names)


def test_the_command_prints_the_array_and_says_what_is_wrong(root: Path) -> None:
    put(root, SCRIPTS[0], "")
    out = root / "phase4.json"
    called = call("scc", "check", "--workspace", root, "--json-out", out)

    assert 1 == called.code
    assert called.json == json.loads(out.read_text())
    assert {"oid-validator": "PASS", "scripts-intact": "FAIL"}.items() <= {
        one["name"]: one["status"] for one in called.json
    }.items()
    assert f"scripts-intact: {SCRIPTS[0]}" in called.err


def test_only_what_is_named_runs(root: Path) -> None:
    put(root, SCRIPTS[0], "")
    called = call(
        "scc", "check", "--workspace", root, "--only", "verdict-schema", "--only", "ssot-topology"
    )

    assert (0, ["ssot-topology", "verdict-schema"]) == (
        called.code,
        [one["name"] for one in called.json],
    )


@pytest.mark.parametrize(
    "argv", [("--only", "nope"), ("--only", ""), ("--area", ".."), ("--taskcode", "a/b")]
)
def test_what_cannot_be_asked_is_unusable(root: Path, argv: tuple[str, ...]) -> None:
    called = call("scc", "check", "--workspace", root, *argv)

    assert (2, "") == (called.code, called.out)


def test_a_workspace_that_was_not_initialised_is_told_so(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    called = call("scc", "check", "--workspace", tmp_path)

    assert 1 == called.code
    assert "signoff scc init" in called.err
    assert [] == [*tmp_path.iterdir()]


def test_a_folder_of_reports_that_is_a_link_is_no_pass(root: Path) -> None:
    FiledRun(root).publish()
    shutil.move(root / "docs/REPORT", root / "elsewhere")
    (root / "docs/REPORT").symlink_to(root / "elsewhere")

    assert not results(root)["verdict-schema"].passed
