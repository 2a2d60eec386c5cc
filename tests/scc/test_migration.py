"""A repository of the original, as it is: its contracts, verdicts, pointers and OIDs are read."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from signoff.errors import RegistryRefused
from signoff.sandbox import Sandbox
from signoff.scc.adoption import Adoption, adopt_documents
from signoff.scc.gate import GateRequest, gate
from signoff.scc.installation import InTheWay, install
from signoff.scc.oid_object import NewObject
from signoff.scc.phase4 import check
from signoff.scc.reader import read_verdict
from signoff.scc.registry import OidRegistry
from signoff.scc.store import open_registry, place_of
from signoff.scc.validator import validate
from tests.repositories import NEEDS_GIT
from tests.scc.run_world import AREA, World

pytestmark = NEEDS_GIT

CONTRACT = "docs/ssot/04_contracts/generated/chat_0001.json"
REPORTS = f"docs/REPORT/{AREA}"
OIDS = [f"01KGCV31G462QJYM5HBWGSSD{end}" for end in ("N3", "N4", "N5", "N6")]
UNITS = """\
---
oid: 01KGCV31G462QJYM5HBWGSSDN3
layer: DOCOPS
primary_unit: N.EVENTS
---
# Units
Such as X.NONE.
## 3. Registered units (v0.1.0)
### K
- K.CONTRACT_DOC        -- contracts of tasks
- K.SCHEMA              -- schemas
- K.ACCEPTANCE          -- what is accepted, not X.NONE
- N.EVENTS              -- events
- V.VERDICT             -- verdicts
- V.TESTS               -- tests
- V.GUARD               -- guards
## 4. Changes
- X.NONE
"""
PAGE = """\
---
oid: {oid}
layer: CANON
primary_unit: {unit}
tags: [V.VERDICT, V.TESTS]
status: active
---
# A page
"""
SSOT = {
    "schema_version": "v0.1.0",
    "canonical": [{"doc_id": "A", "title": "a", "canonical_path": "docs/ssot/a.md"}],
}


def generated(**more: Any) -> dict[str, Any]:
    """A contract with the keys that the original's generator writes, in its order."""
    return {
        "oid": OIDS[1],
        "layer": "CANON",
        "primary_unit": "K.CONTRACT_DOC",
        "tags": ["K.ACCEPTANCE", "V.VERDICT"],
        "status": "active",
        "schema_version": "v0.1.0",
        "task_id": "chat_0001",
        "contract_id": "contractize:chat_0001",
        "goal": "a page",
        "scope_allow": [CONTRACT, "docs/INPUTS/chat.md", f"{REPORTS}/artifacts/chat_0001/*"],
        "constraints": "stay in scope",
        "acceptance": {
            "checks": [
                {"name": "is_json", "command": f"python -m json.tool {CONTRACT}"},
                {
                    "name": "report",
                    "command": (
                        'python -c "import pathlib, sys; p = pathlib.Path(sys.argv[1]);'
                        " p.mkdir(parents=True); (p / 'r.md').write_text('r')\""
                        f" {REPORTS}/artifacts/%TASK_CODE%/out"
                    ),
                },
                {"name": "verdict_basic", "command": "python tools/ci/mvm-verdict.py --case basic"},
            ]
        },
        "stop_condition": "stop when a check fails",
        "commands_hint": "few files",
        "inputs_ref": {"paths": ["docs/INPUTS/chat.md"], "oids": []},
        "outputs_expected": {
            "verdict_required": True,
            "evidence_paths": [f"{REPORTS}/artifacts/%TASK_CODE%/*"],
        },
        "task_tree_ref": "docs/DERIVED/task_tree.json",
        "epic": {"id": "webgpt:chat", "title": "a chat"},
        "capability": {"id": "chat:raw", "title": "raw"},
        "source_anchor": "message-0001",
        **more,
    }


def old_verdict(**more: Any) -> dict[str, Any]:
    """A verdict of the original's runner: four keys more, evidence beside it."""
    return {
        "verdict": "PASS",
        "fail_class": None,
        "exit_code": 0,
        "generated_utc": "2026-02-01T10:00:00.123456Z",
        "evidence_paths": ["is_json__stdout.txt", "selftest.log"],
        "contract_path": CONTRACT,
        "task_code": "chat_0001",
        "area": AREA,
        "checks": [{"name": "is_json", "command": "python", "exit_code": 0, "ok": True}],
        **more,
    }


OLD_POINTER = {
    "schema_version": "v0.1.0",
    "task_id": "chat_0001",
    "contract_ref": CONTRACT,
    "verdict": "PASS",
    "exit_code": 0,
    "generated_utc": "2026-02-01T10:00:00.123456Z",
    "evidence_dir": "artifacts/scc_tasks/chat_0001/evidence/contract_runner",
    "report_artifacts_dir": f"{REPORTS}/artifacts/CONTRACT_RUN_chat_0001",
    "contract_runner_taskcode": "CONTRACT_RUN_chat_0001",
}


@pytest.fixture
def original(tmp_path: Path, sandbox: Sandbox) -> World:
    """A repository as the original leaves it, before signoff."""
    root = tmp_path / "original"
    root.mkdir()
    made = World(root, sandbox)
    made.git("init", "-q")
    made.write("docs/ssot/01_conventions/UNIT_REGISTRY__v0.1.0.md", UNITS)
    made.write("docs/ssot/registry.json", json.dumps(SSOT))
    made.write("docs/ssot/a.md", PAGE.format(oid=OIDS[2], unit="V.GUARD"))
    made.write(CONTRACT, json.dumps(generated()))
    made.write("tools/scc/ops/contract_runner.py", "print('the runner of the original')\n")
    files = f"{REPORTS}/artifacts/chat_0001"
    made.write(f"{files}/selftest.log", "chat_0001 contract_runner\nEXIT_CODE=0\n")
    made.write(f"{files}/is_json__stdout.txt", "{}\n")
    made.write(f"{files}/verdict.json", json.dumps(old_verdict()))
    made.write(f"{REPORTS}/REPORT__chat_0001__20260201.md", "# REPORT__chat_0001\n")
    made.commit()
    return made


def adopted(world: World) -> Adoption:
    """What taking over the repository gives; after it the settings are committed."""
    place = place_of(world.workspace, {})
    install(world.workspace, place, force=True)
    with open_registry(place) as registry:
        done = adopt_documents(world.workspace, world.workspace.settings(), registry)
    world.write(".gitignore", ".signoff/*\n!.signoff/scc.toml\n")
    world.commit()
    return done


def codes(world: World) -> list[str]:
    """What the oid-validator finds."""
    found = validate(world.workspace, world.workspace.settings(), now=datetime.now(UTC), env={})
    return sorted(one.code for one in found.errors)


def gate_codes(world: World) -> dict[str, tuple[str, ...]]:
    """What the gate finds, by TaskCode."""
    asked = GateRequest(
        workspace=world.workspace,
        area="",
        task_code="",
        place="mvm/verdict/verdict.json",
        now=datetime.now(UTC),
    )
    return {one.task_code: one.fail_codes for one in gate(asked).reports}


def phase4(world: World, name: str) -> tuple[str, ...]:
    """The problems that a check finds."""
    (found,) = check(world.workspace, [name], settings=world.workspace.settings(), env={})
    return found.problems


def test_a_repository_of_the_original_is_taken_over_and_its_contract_passes(
    original: World,
) -> None:
    with pytest.raises(InTheWay, match="contract_runner"):
        install(original.workspace, place_of(original.workspace, {}))
    done = adopted(original)
    ended = original.run(CONTRACT)

    assert ((CONTRACT, "docs/ssot/a.md"), 1, ()) == (done.adopted, done.known, done.errors)
    assert (0, "PASS") == (ended.code, original.verdict("chat_0001")["verdict"])
    assert 2 == len(ended.warnings)  # the array, and the entry below docs/REPORT
    assert not (original.artifacts("chat_0001") / "is_json__stdout.txt").exists()
    assert not [*original.root.glob(f"{REPORTS}/REPORT__chat_0001__20260201.md")]


@pytest.mark.parametrize(
    ("old", "said"),
    [
        (old_verdict(), ("PASS", None, 0)),
        (old_verdict(verdict="FAIL", fail_class="command_failed", exit_code=3), ("FAIL", "command_failed", 3)),
        (old_verdict(verdict="FAIL", fail_class="exit_nonzero", exit_code=3), ("FAIL", "unknown", 3)),
        (old_verdict(evidence_paths=["artifacts/scc_tasks/x/stdout.txt"]), ("FAIL", "verdict_missing", 1)),
        ({k: v for k, v in old_verdict().items() if k != "fail_class"}, ("FAIL", "verdict_missing", 1)),
        (OLD_POINTER, ("FAIL", "verdict_missing", 1)),
    ],
)  # fmt: skip
def test_old_verdicts_are_read_when_they_have_the_five_keys(
    original: World, old: dict[str, Any], said: tuple[str, str | None, int]
) -> None:
    place = original.artifacts("chat_0001") / "verdict.json"
    place.write_text(json.dumps(old))
    read = read_verdict(place)

    assert said == (read.verdict, read.fail_class and read.fail_class.value, read.exit_code)
    assert "FAIL" == read_verdict(place, strict=True).verdict


def test_an_old_pass_is_none_for_the_gate_and_a_run_takes_its_place(original: World) -> None:
    place = original.artifacts("chat_0001") / "verdict.json"
    adopted(original)
    before = gate_codes(original)
    place.write_text(json.dumps(OLD_POINTER))
    original.commit()
    unreadable = phase4(original, "verdict-schema")
    ended = original.run(CONTRACT)

    assert {"SELFTEST_USER_SUPPLIED", "VERDICT_MISSING"} <= {*before["chat_0001"]}
    assert [1] == ["fail_class is required" in one for one in unreadable]
    assert (0, {"chat_0001": ()}) == (ended.code, gate_codes(original))
    assert () == phase4(original, "verdict-schema")


def test_a_draft_is_no_fault_of_the_workspace_and_cannot_be_run(original: World) -> None:
    original.write(CONTRACT, json.dumps(generated(scope_allow="TBD (set it before execution)")))
    adopted(original)
    ended = original.run(CONTRACT)

    assert () == phase4(original, "contract-schema")
    assert (2, "verifier_error") == (ended.code, ended.fail_class)


def test_a_variable_of_the_environment_is_a_placeholder_once_the_settings_name_it(
    original: World,
) -> None:
    one = {"name": "ingest", "command": "python -m json.tool %INPUT_FILE%"}
    original.write(CONTRACT, json.dumps(generated(acceptance={"checks": [one]})))
    adopted(original)
    refused = original.run(CONTRACT)
    settings = original.root / ".signoff/scc.toml"
    settings.write_text(
        settings.read_text().replace("[vars]", '[vars]\nINPUT_FILE = "docs/ssot/registry.json"')
    )
    original.commit()
    ended = original.run(CONTRACT)

    assert (2, True) == (refused.code, "%INPUT_FILE% is no placeholder" in refused.reason)
    assert (0, ["pass"]) == (ended.code, [one.status for one in ended.checks])


def test_without_adoption_every_oid_is_unknown_and_afterwards_none(original: World) -> None:
    install(original.workspace, place_of(original.workspace, {}), force=True)

    assert ["oid_missing_in_registry"] * 2 == codes(original)
    assert 2 == len(adopted(original).adopted)
    assert [] == codes(original)
    again = adopted(original)
    assert ((), 3, ()) == (again.adopted, again.known, again.errors)


def test_a_document_with_a_fault_or_the_oid_of_another_is_left(original: World) -> None:
    original.write("docs/ssot/b.md", PAGE.format(oid=OIDS[2], unit="V.GUARD"))
    original.write("docs/ssot/c.md", PAGE.format(oid=OIDS[3], unit="X.NONE"))
    original.write("docs/ssot/d.md", "# no front matter\n")
    done = adopted(original)

    assert (CONTRACT,) == done.adopted
    assert [("docs/ssot/b.md", "duplicate_oid"), ("docs/ssot/c.md", "primary_unit_unregistered"),
            ("docs/ssot/d.md", "missing_frontmatter")] == sorted((e.path, e.code) for e in done.errors)  # fmt: skip


def test_documents_are_adopted_all_or_none(original: World, place: str | Path) -> None:
    own: dict[str, Any] = {"kind": "x", "layer": "CANON", "primary_unit": "V.TESTS"}
    settings = original.workspace.settings()
    with open_registry(place) as registry:
        registry.adopt(OIDS[2], NewObject(path="docs/ssot/moved.md", **own))
        with pytest.raises(RegistryRefused, match=r"is that of docs/ssot/moved\.md"):
            adopt_documents(original.workspace, settings, registry)
        assert (None, 1) == (registry.find(OIDS[1]), len(registry.active_paths()))
        registry.migrate(OIDS[2], {"path": "docs/ssot/a.md"}, reason="back", actor="a")
        done = adopt_documents(original.workspace, settings, registry)
        assert ((CONTRACT,), 1) == (done.adopted, done.known)
        assert told(registry) == [("ISSUED", True)]


def told(registry: OidRegistry) -> list[tuple[str, Any]]:
    """The events of the contract's OID."""
    return [(one.kind, one.payload.get("adopted")) for one in registry.events(OIDS[1])]
