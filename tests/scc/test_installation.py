"""What init writes, that it writes it once, and that nothing is replaced unasked."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from signoff.dialects.scc.scope import SCRIPTS
from signoff.dialects.scc.settings import PATH, SSOT_REGISTRY, UNIT_REGISTRY
from signoff.dialects.scc.verdict import (
    FailClass,
    Failure,
    encode_verdict,
    utc_of,
    verdict_document,
)
from signoff.errors import ConfigError, RegistryRefused
from signoff.scc.installation import InTheWay, altered, install
from signoff.scc.starter import SCHEMA_PATH, is_same, schema_text
from signoff.scc.store import open_registry, place_of
from signoff.scc.ulid import is_oid
from signoff.scc.workspace import Workspace
from tests.dialects.scc.vectors import document

OID = "01KGCV31W0C42YQHMVAT6FSR1H"


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace.at(tmp_path)


def snapshot(workspace: Workspace) -> dict[str, bytes]:
    return {path: (workspace.root / path).read_bytes() for path in (PATH, *SCRIPTS)}


def oid_of(workspace: Workspace) -> str:
    found: str = json.loads((workspace.root / SCHEMA_PATH).read_bytes())["oid"]
    return found


def test_four_files_and_settings_at_the_seed_s_paths(workspace: Workspace) -> None:
    done = install(workspace, place_of(workspace, {}))

    assert {PATH, *SCRIPTS} == {*done.written}
    assert () == done.unchanged == altered(workspace)
    assert ("builtin", "none") == (
        workspace.settings().unit_registry, workspace.settings().ssot_registry,
    )  # fmt: skip
    assert done.oid == oid_of(workspace)
    with open_registry(place_of(workspace, {}), may_write=False) as registry:
        found = registry.find(done.oid)
    assert found is not None
    assert (SCHEMA_PATH, "active") == (found.path, found.status)


def test_run_twice_it_changes_nothing(workspace: Workspace) -> None:
    first = install(workspace, place_of(workspace, {}))
    before = snapshot(workspace)
    second = install(workspace, place_of(workspace, {}))

    assert before == snapshot(workspace)
    assert ((), first.oid) == (second.written, second.oid)


@pytest.mark.parametrize("path", SCRIPTS)
def test_a_different_file_is_in_the_way(workspace: Workspace, path: str) -> None:
    (workspace.root / path).parent.mkdir(parents=True)
    (workspace.root / path).write_text("{}")
    with pytest.raises(InTheWay, match="not that of the installed version"):
        install(workspace, place_of(workspace, {}))

    assert not (workspace.root / ".signoff").exists()

    install(workspace, place_of(workspace, {}), force=True)

    assert () == altered(workspace)


@pytest.mark.parametrize("path", SCRIPTS)
def test_an_edited_file_is_noticed(workspace: Workspace, path: str) -> None:
    install(workspace, place_of(workspace, {}))
    with (workspace.root / path).open("ab") as file:
        file.write(b"\n")

    assert [path] == [one.partition(":")[0] for one in altered(workspace)]


@pytest.mark.parametrize("path", SCRIPTS)
def test_a_removed_file_and_a_link_are_noticed(workspace: Workspace, path: str) -> None:
    install(workspace, place_of(workspace, {}))
    (workspace.root / path).rename(workspace.root / "elsewhere")

    assert (f"{path}: is absent",) == altered(workspace)

    (workspace.root / path).symlink_to(workspace.root / "elsewhere")

    assert (f"{path}: is a symbolic link",) == altered(workspace)


def test_the_schema_s_oid_alone_may_differ() -> None:
    schema = json.loads(schema_text(OID))

    assert is_same(SCHEMA_PATH, schema_text(OID))
    assert not is_same(SCHEMA_PATH, json.dumps(schema).encode())
    assert not is_same(SCHEMA_PATH, schema_text(OID).replace(b"V.VERDICT", b"V.TESTS"))


def test_registries_that_are_there_are_expected_from_then_on(workspace: Workspace) -> None:
    workspace.write(UNIT_REGISTRY, b"# Registered units\n- V.TESTS\n")
    workspace.write(SSOT_REGISTRY, b'{"canonical": []}')
    install(workspace, place_of(workspace, {}))

    assert (UNIT_REGISTRY, SSOT_REGISTRY) == (
        workspace.settings().unit_registry, workspace.settings().ssot_registry,
    )  # fmt: skip


def test_a_clone_keeps_the_oid_of_its_schema_file(workspace: Workspace, tmp_path: Path) -> None:
    first = install(workspace, place_of(workspace, {}))
    clone = Workspace.at(tmp_path)
    second = install(clone, tmp_path / "other.sqlite3")

    assert (first.oid, ()) == (second.oid, second.written)
    with open_registry(tmp_path / "other.sqlite3", may_write=False) as registry:
        assert registry.find(first.oid)


def test_a_schema_file_with_another_oid_is_refused(workspace: Workspace) -> None:
    install(workspace, place_of(workspace, {}))
    (workspace.root / SCHEMA_PATH).write_bytes(schema_text(OID))

    with pytest.raises(RegistryRefused, match=OID):
        install(workspace, place_of(workspace, {}))


def test_settings_of_a_person_stay_as_they_are(workspace: Workspace) -> None:
    workspace.write(PATH, b'area = "platform"\nunit_registry = "builtin"\n')
    install(workspace, place_of(workspace, {}))

    assert "platform" == workspace.settings().area

    workspace.write(PATH, b"aera = 1\n")
    with pytest.raises(ConfigError):
        install(workspace, place_of(workspace, {}))


def test_a_state_folder_that_is_a_link_is_not_followed(
    workspace: Workspace, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = tmp_path_factory.mktemp("outside")
    (workspace.root / ".signoff").symlink_to(outside)

    with pytest.raises(Exception, match="link"):
        install(workspace, workspace.root / "elsewhere.sqlite3")

    assert [] == [*outside.iterdir()]


# -- the published schema --


def accepts(value: object) -> bool:
    schema = json.loads(schema_text(OID))
    return jsonschema_rs.validator_for(schema).is_valid(value)


@pytest.mark.parametrize("fail_class", [None, *FailClass])
def test_the_schema_accepts_every_verdict_that_is_written(fail_class: FailClass | None) -> None:
    if fail_class is FailClass.VERDICT_MISSING:
        return
    failure = None if fail_class is None else Failure(fail_class=fail_class, exit_code=97)
    now = utc_of(document("verdicts.json")["now"], "now")
    data = encode_verdict(verdict_document(failure, ["evidence/ä b'\n.json", "a"], now))

    assert accepts(json.loads(data))


def test_the_schema_and_the_reader_agree_on_the_vectors() -> None:
    # The schema cannot know the time, sees no difference between 0 and 0.0, has no key
    # and no class beyond the known ones, and wants evidence of a failure too.
    beyond = (
        "0.0",
        "beyond the five",
        "unlisted",
        "empty class",
        "without evidence",
        "that is none",
        "ahead",
    )
    for case in document("verdicts.json")["cases"]:
        if not any(words in case["description"] for words in beyond):
            assert case["expect"]["accepted"] is accepts(case["document"]), case["description"]


def test_the_schema_is_closed_and_named_as_in_the_original() -> None:
    schema: dict[str, Any] = json.loads(schema_text(OID))

    assert "scc://verdict/verdict.schema.json" == schema["$id"]
    assert 5 == len(schema["required"])
    assert schema["additionalProperties"] is False
    assert is_oid(schema["oid"])


# -- the scripts --


def called(
    workspace: Workspace, script: str, *arguments: str, **env: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, script, *arguments],
        cwd=workspace.root,
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_script_calls_the_installed_package_and_nothing_beside_it(workspace: Workspace) -> None:
    install(workspace, place_of(workspace, {}))
    for name in ("signoff", "click", "msgspec"):
        (workspace.root / "tools" / "ci" / f"{name}.py").write_text("raise SystemExit(0)")
    done = called(workspace, SCRIPTS[1], "--nonsense")

    assert 2 == done.returncode
    assert "signoff: " in done.stderr


def test_a_script_without_the_package_exits_with_2(workspace: Workspace) -> None:
    install(workspace, place_of(workspace, {}))
    done = subprocess.run(
        [sys.executable, "-I", "-S", SCRIPTS[2], "--case", "basic"],
        cwd=workspace.root,
        capture_output=True,
        text=True,
        check=False,
    )

    assert 2 == done.returncode
    assert "signoff cannot be imported" in done.stderr
