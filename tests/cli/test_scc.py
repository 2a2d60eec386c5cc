"""signoff scc: install, mint, show, change, validate."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from signoff.dialects.scc.scope import SCRIPTS
from tests.cli.calling import Called, call

NEW = ("scc", "oid", "new", "--path", "docs/a.md", "--kind", "doc", "--layer", "CANON")


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An initialised workspace, which is the current folder."""
    monkeypatch.chdir(tmp_path)
    for name in ("SCC_OID_PG_DSN", "SCC_OID_DATABASE_URL", "DATABASE_URL"):
        monkeypatch.delenv(name, raising=False)
    assert 0 == call("scc", "init").code
    return tmp_path


def new(*more: str, unit: str = "V.TESTS") -> Called:
    return call(*NEW, "--primary-unit", unit, *more)


def test_init_says_what_it_wrote_and_then_what_is_in_order(repo: Path) -> None:
    again = call("scc", "init")

    assert 0 == again.code
    assert [
        f"in order {path}" for path in (".signoff/scc.toml", *SCRIPTS)
    ] == again.out.splitlines()
    assert [] == call("scc", "init", "--json").json["written"]


def test_init_elsewhere(repo: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    other = tmp_path_factory.mktemp("other")

    assert 0 == call("scc", "init", "--workspace", other).code
    assert (other / SCRIPTS[0]).is_file()


def test_init_replaces_nothing_unless_forced(repo: Path) -> None:
    (repo / SCRIPTS[1]).write_text("mine")
    called = call("scc", "init")

    assert 2 == called.code
    assert SCRIPTS[1] in called.err
    assert "--force" in called.err
    assert "mine" == (repo / SCRIPTS[1]).read_text()
    assert 0 == call("scc", "init", "--force").code
    assert "mine" != (repo / SCRIPTS[1]).read_text()


def test_init_with_settings_that_have_faults(repo: Path) -> None:
    (repo / ".signoff" / "scc.toml").write_text("x = 1\ny = 2\n")
    called = call("scc", "init")

    assert 2 == called.code
    assert ".signoff/scc.toml:1:1: x is not a setting" in called.err
    assert "2 faults" in called.err


def test_new_get_and_migrate(repo: Path) -> None:
    minted = new("--tags", "K.SCHEMA, X.DISPATCH", "--stable-key", "k", "--hint", "h")
    oid = minted.json["oid"]
    got = call("scc", "oid", "get", "--oid", oid)

    assert {"oid": oid, "issued": True} == minted.json
    assert {"oid": oid, "issued": False} == new("--stable-key", "k").json
    assert (["K.SCHEMA", "X.DISPATCH"], "h") == (got.json["tags"], got.json["hint"])

    moved = call(
        "scc", "oid", "migrate", "--oid", oid, "--path", "docs/b.md", "--tags", "",
        "--patch-json", '{"hint": null}', "--reason", "r", "--actor", "a",
    )  # fmt: skip

    assert (oid, "docs/b.md", [], "") == tuple(
        moved.json[name] for name in ("oid", "path", "tags", "hint")
    )


@pytest.mark.parametrize(
    ("argv", "code", "says"),
    [
        (("get", "--oid", "X"), 1, "not registered"),
        (("get",), 2, "--oid"),
        (("migrate", "--oid", "X", "--path", "a", "--reason", "r", "--actor", "a"), 1, "registered"),
        (("migrate", "--oid", "X", "--reason", "r"), 2, "--actor"),
        (("migrate", "--oid", "X", "--reason", "r", "--actor", "a", "--patch-json", "{"), 2, "JSON"),
        (("migrate", "--oid", "X", "--reason", "r", "--actor", "a", "--patch-json", "[]"), 2, "object"),
        (("migrate", "--oid", "X", "--reason", "r", "--actor", "a", "--path", "a", "--patch-json", '{"path": "b"}'), 2, "twice"),
        (("migrate", "--oid", "X", "--reason", "r", "--actor", "a", "--primary-unit", "X.NO"), 1, "unit"),
        (("get", "--oid", "X", "--dsn", ""), 2, "--dsn"),
        (("get", "--oid", "X", "--dsn", "mysql://x"), 2, "postgresql://"),
        (("get", "--oid", "X", "--workspace", "nowhere"), 2, "no such folder"),
        (("nwe",), 2, 'did you mean "new"?'),
        ((), 2, "missing command"),
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_one_sentence(
    repo: Path, argv: tuple[str, ...], code: int, says: str
) -> None:
    called = call("scc", "oid", *argv)

    assert (code, "") == (called.code, called.out)
    assert says in called.err


def test_no_change_is_a_failure(repo: Path) -> None:
    oid = new().json["oid"]
    called = call(
        "scc",
        "oid",
        "migrate",
        "--oid",
        oid,
        "--path",
        "docs/a.md",
        "--reason",
        "r",
        "--actor",
        "a",
    )

    assert (1, True) == (called.code, "would not change" in called.err)


def test_a_taken_path_and_an_unknown_unit_are_refused(repo: Path) -> None:
    new()

    assert "which is active" in new().err
    assert 1 == new().code
    assert 1 == new("--tags", "X.NOPE").code
    assert 1 == new(unit="X.NOPE").code


def test_a_refusal_is_json_where_json_was_asked_for(repo: Path) -> None:
    error = call("scc", "oid", "get", "--oid", "X", "--json").json["error"]

    assert ("refused", 1) == (error["kind"], error["exit_code"])


def test_an_initialised_workspace_is_valid(repo: Path) -> None:
    called = call("scc", "oid", "validate", "--json-out", "out.json", "--report-dir", "reports")
    (report,) = (repo / "reports").iterdir()

    assert (0, "") == (called.code, called.err)
    assert called.json["ok"] is True
    assert called.json == json.loads((repo / "out.json").read_text())
    assert report.name.startswith("oid_validator__")
    assert "Result: PASS" in report.read_text()


def test_a_document_without_oid_is_a_failure(repo: Path) -> None:
    (repo / "docs" / "ssot" / "a.md").write_text("# a\n")
    called = call("scc", "oid", "validate")

    assert 1 == called.code
    assert "missing_frontmatter: docs/ssot/a.md" in called.err
    assert called.json["ok"] is False


def test_documents_that_bring_their_oid_are_adopted_once(repo: Path) -> None:
    page = "---\noid: 01KGCV31G462QJYM5HBWGSSDN3\nlayer: CANON\nprimary_unit: V.TESTS\n---\n"
    (repo / "docs" / "ssot" / "a.md").write_text(page)
    (repo / "docs" / "ssot" / "b.md").write_text("# b\n")
    before = call("scc", "oid", "validate")
    first, second = (call("scc", "oid", "adopt") for _ in range(2))

    assert "oid_missing_in_registry: docs/ssot/a.md" in before.err
    assert (1, {"adopted": 1, "known": 1, "left": 1}) == (first.code, first.json)
    assert "missing_frontmatter: docs/ssot/b.md" in first.err
    (repo / "docs" / "ssot" / "b.md").unlink()
    assert (1, {"adopted": 0, "known": 2, "left": 1}) == (second.code, second.json)
    assert (0, 0) == (call("scc", "oid", "adopt").code, call("scc", "oid", "validate").code)


def test_an_oid_of_another_path_is_not_adopted(repo: Path) -> None:
    oid = new().json["oid"]
    page = f"---\noid: {oid}\nlayer: CANON\nprimary_unit: V.TESTS\n---\n"
    (repo / "docs" / "ssot" / "a.md").write_text(page)
    called = call("scc", "oid", "adopt")

    assert 1 == called.code
    assert f"{oid} is that of docs/a.md" in called.err


def test_a_workspace_that_was_not_initialised_is_told_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    called = call("scc", "oid", "validate")

    assert 1 == called.code
    assert "signoff scc init" in called.err
    assert "signoff scc init" in new().err
    assert "signoff scc init" in call("scc", "oid", "adopt").err
    assert [] == [*tmp_path.iterdir()]


@pytest.mark.parametrize(
    "name", ["docs/ssot/05_runbooks/verdict.schema.json", ".signoff/oids.sqlite3"]
)
def test_what_was_deleted_later_is_a_failure(repo: Path, name: str) -> None:
    (repo / name).unlink()

    assert 1 == call("scc", "oid", "validate").code


def test_database_url_alone_is_ignored(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgresql://u:geheim@/none?host=/nowhere")

    assert 0 == call("scc", "oid", "validate").code


def test_a_registry_that_cannot_be_written_is_not_blamed_on_the_workspace(repo: Path) -> None:
    (repo / ".signoff" / "oids.sqlite3").write_text("x" * 1_000)
    called = new()

    assert 1 == called.code
    assert "oids.sqlite3" in called.err
    assert "scc init" not in called.err


def test_a_password_is_in_no_output(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCC_OID_PG_DSN", "postgresql://u:geheim@/none?host=/nowhere")
    outputs: list[Called] = [
        call("scc", "oid", "validate"),
        call("scc", "oid", "get", "--oid", "X", "--json"),
        call("scc", "init", "--json"),
        new(),
    ]

    assert all(one.code in {1, 4} for one in outputs)
    assert not any("geheim" in f"{one.out}{one.err}" for one in outputs)


@pytest.mark.parametrize(
    "argv",
    [
        ("init",),
        ("oid",),
        *(("oid", name) for name in ("new", "get", "migrate", "adopt", "validate")),
    ],
)
def test_help_has_examples_and_fits(argv: tuple[str, ...]) -> None:
    called = call("scc", *argv, "--help")
    page: Any = called.out

    assert (0, "") == (called.code, called.err)
    assert "Examples:\n    signoff scc " in page
    assert max(map(len, page.splitlines())) <= 88
