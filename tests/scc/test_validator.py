"""The oid-validator: each finding alone, on both databases, and nothing that passes unseen."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from signoff.dialects.scc.settings import Settings
from signoff.errors import DatabaseUnusable
from signoff.ledger.database import open_database
from signoff.scc.file_check import FINDING_CODES
from signoff.scc.oid_object import NewObject
from signoff.scc.registry import OidRegistry
from signoff.scc.store import open_registry
from signoff.scc.validation_text import as_line, as_markdown
from signoff.scc.validator import Validation, validate
from signoff.scc.workspace import Workspace
from signoff.strictjson import loads
from tests.dialects.scc.vectors import cases, document
from tests.scc.world import made

NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)
GOOD: dict[str, Any] = document("oid_validator.json")["cases"][0]


def checked(folder: Path, case: dict[str, Any], place: str | Path) -> Validation:
    """What the validator says of the workspace of a vector."""
    root = made(folder, case["files"], case.get("links", {}))
    if case["objects"] is not None:
        with open_registry(place) as registry:
            for one in case["objects"]:
                registry.adopt(one["oid"], registered(one))
    return validate(
        Workspace.at(root),
        Settings(**case["settings"], given=True),
        now=NOW,
        env=case.get("env", {}),
        open_at=lambda _: open_registry(place, may_write=False),
    )


def registered(one: dict[str, Any]) -> NewObject:
    fields = {name: value for name, value in one.items() if name != "oid"}
    return NewObject(**{**fields, "tags": tuple(one["tags"])})


def found(validation: Validation) -> list[list[str]]:
    return sorted([one.code, one.path] for one in validation.errors)


@pytest.mark.parametrize("case", cases("oid_validator.json"))
def test_vector_holds(case: dict[str, Any], tmp_path: Path) -> None:
    validation = checked(tmp_path / "w", case, tmp_path / "oids.sqlite3")

    assert sorted(case["expect"]) == found(validation)
    assert (not case["expect"]) is validation.ok


@pytest.mark.parametrize(
    "case", [one for one in cases("oid_validator.json") if "mismatch" in str(one.id)]
)
def test_vector_holds_in_postgresql(case: dict[str, Any], tmp_path: Path, server: Any) -> None:
    assert sorted(case["expect"]) == found(checked(tmp_path, case, server.fresh()))


def test_every_code_has_a_vector_or_a_test() -> None:
    provoked = {
        code for case in document("oid_validator.json")["cases"] for code, _ in case["expect"]
    }

    assert {*FINDING_CODES} == provoked | {"pg_lookup_failed"}


def test_a_database_that_fails_later_is_a_finding(tmp_path: Path) -> None:
    place = tmp_path / "oids.sqlite3"
    checked(tmp_path / "w", GOOD, place)
    database = open_database(place)
    with database, database.writing("objects") as transaction:
        transaction.run("DROP TABLE objects")
    validation = checked(tmp_path / "w", {**GOOD, "objects": None}, place)

    assert [["pg_lookup_failed", ""]] == found(validation)


def test_two_active_objects_of_one_path_are_a_finding(tmp_path: Path) -> None:
    place = tmp_path / "oids.sqlite3"
    checked(tmp_path / "w", GOOD, place)
    database = open_database(place)
    with database, database.writing("objects") as transaction:
        transaction.run("DROP INDEX objects_active_path")
        columns = "path, kind, layer, primary_unit, tags, status, created_at, updated_at"
        transaction.run(
            f"INSERT INTO objects (oid, {columns})"
            f" SELECT '01KGCV31W0C42YQHMVAT6FSR9Z', {columns} FROM objects"
        )
    validation = checked(tmp_path / "w", {**GOOD, "objects": None}, place)

    assert [["duplicate_active_path", "docs/ssot/a.md"]] == found(validation)


def test_an_uninitialised_workspace_fails_and_names_init(tmp_path: Path) -> None:
    validation = validate(Workspace.at(tmp_path), Settings(), now=NOW, env={})

    assert not validation.ok
    assert {"unit_registry_missing", "registry_missing", "no_targets", "pg_schema_init_failed"} == {
        one.code for one in validation.errors
    }
    assert any("signoff scc init" in one.message for one in validation.errors)
    assert "signoff scc init" in validation.warnings[0]
    assert [] == [*tmp_path.iterdir()]


def test_a_dsn_without_server_is_a_finding(tmp_path: Path) -> None:
    def refuse(_: object) -> OidRegistry:
        raise DatabaseUnusable("postgresql://a: is not there")

    made(tmp_path, GOOD["files"], {})
    settings = Settings(**GOOD["settings"], given=True)
    validation = validate(Workspace.at(tmp_path), settings, now=NOW, env={}, open_at=refuse)

    assert [["pg_schema_init_failed", ""]] == found(validation)


def test_the_line_has_the_keys_of_the_original(tmp_path: Path) -> None:
    validation = checked(tmp_path / "w", GOOD, tmp_path / "oids.sqlite3")
    line = as_line(validation)
    value: Any = loads(line)

    assert b"\n" not in line
    assert [
        "ok", "ts_utc", "registry", "targets", "targets_tree", "targets_registry_canonical",
        "unit_registry", "total_files", "checked_files", "errors", "warnings",
    ] == [*value]  # fmt: skip
    assert (True, 1, 1, "2026-01-31T12:00:00.000000Z") == (
        value["ok"], value["total_files"], value["checked_files"], value["ts_utc"],
    )  # fmt: skip


def test_findings_stand_in_the_line_and_in_the_report(tmp_path: Path) -> None:
    validation = checked(tmp_path / "w", {**GOOD, "objects": []}, tmp_path / "oids.sqlite3")
    value: Any = loads(as_line(validation))

    assert value["errors"][0].keys() == {"code", "path", "message"}
    assert b"oid_missing_in_registry: `docs/ssot/a.md`" in as_markdown(validation)
    assert b"Result: FAIL" in as_markdown(validation)
