"""The registry of OIDs: the same laws in SQLite and PostgreSQL."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

from signoff.errors import DatabaseUnusable, NotGiven, RegistryRefused
from signoff.ledger.database import open_database
from signoff.scc.oid_object import NewObject, OidObject
from signoff.scc.registry import OidRegistry
from signoff.scc.store import open_registry, place_of
from signoff.scc.ulid import is_oid, mint_oid
from signoff.scc.workspace import Workspace

NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)


def new(path: str = "docs/a.md", **fields: Any) -> NewObject:
    given = {"kind": "doc", "layer": "CANON", "primary_unit": "V.TESTS", **fields}
    return NewObject(path=path, **given)


def test_an_object_is_found_as_it_was_issued(place: str | Path) -> None:
    given = new(tags=("X.DISPATCH", "K.SCHEMA"), stable_key="k", hint="für dich", sha256="a" * 64)
    with open_registry(place) as registry:
        issued = registry.issue(given)
    with open_registry(place, may_write=False) as registry:
        found = registry.find(issued.oid)
        events = registry.events(issued.oid)

    assert issued.issued
    assert is_oid(issued.oid)
    assert isinstance(found, OidObject)
    assert given == NewObject(**{n: getattr(found, n) for n in NewObject.__struct_fields__})
    assert found.created_at == found.updated_at
    assert [("ISSUED", {"path": "docs/a.md"})] == [(one.kind, one.payload) for one in events]
    assert is_oid(events[0].event_id)


def test_a_known_stable_key_gives_its_oid(place: str | Path) -> None:
    with open_registry(place) as registry:
        first = registry.issue(new(stable_key="k"))
        second = registry.issue(new("docs/other.md", stable_key="k"))

        assert (first.oid, False) == (second.oid, second.issued)
        assert registry.find_key("k") == registry.find(first.oid)
        assert 1 == len(registry.events(first.oid))


def test_without_stable_key_each_is_another(place: str | Path) -> None:
    with open_registry(place) as registry:
        first, second = registry.issue_all((new("a"), new("b")))

    assert first.oid != second.oid


def test_an_active_path_is_refused_and_nothing_is_kept(place: str | Path) -> None:
    with open_registry(place) as registry:
        registry.issue(new("a"))
        with pytest.raises(RegistryRefused, match="active"):
            registry.issue_all((new("b"), new("a")))
        with pytest.raises(RegistryRefused, match="twice"):
            registry.issue_all((new("c"), new("c")))

        assert ["a"] == [path for path, _ in registry.active_paths()]


def test_a_path_whose_object_moved_is_free(place: str | Path) -> None:
    with open_registry(place) as registry:
        first = registry.issue(new("a"))
        registry.migrate(first.oid, {"status": "moved"}, reason="r", actor="x")
        second = registry.issue(new("a"))
        with pytest.raises(RegistryRefused, match="active"):
            registry.migrate(first.oid, {"status": "active"}, reason="r", actor="x")

        assert [("a", second.oid)] == registry.active_paths()


def test_a_digest_is_sealed_once(place: str | Path) -> None:
    with open_registry(place) as registry:
        first, second = registry.issue_all((new("a"), new("b")))
        registry.seal({first.oid: "a" * 64, second.oid: "b" * 64})
        registry.seal({first.oid: "a" * 64})
        for digests in ({first.oid: "c" * 64}, {"X": "a" * 64}):
            with pytest.raises(RegistryRefused):
                registry.seal(digests)
        found = registry.find(first.oid)

    assert found is not None
    assert "a" * 64 == found.sha256


def test_ten_thousand_in_one_transaction(place: str | Path) -> None:
    many = [new(f"logs/{i}", stable_key=f"run:1:{i}") for i in range(10_000)]
    with open_registry(place) as registry:
        issued = registry.issue_all(many)
        again = registry.issue_all(many)
        found = registry.find_all([one.oid for one in issued])

    assert 10_000 == len({one.oid for one in issued}) == len(found)
    assert [one.oid for one in issued] == [one.oid for one in again]
    assert not any(one.issued for one in again)


def test_a_stable_key_twice_in_one_request_is_one_object(place: str | Path) -> None:
    with open_registry(place) as registry:
        first, second = registry.issue_all((new("a", stable_key="k"), new("b", stable_key="k")))

    assert (first.oid, True, False) == (second.oid, first.issued, second.issued)


def test_migrate_keeps_the_oid_and_says_why(place: str | Path) -> None:
    with open_registry(place) as registry:
        oid = registry.issue(new("a")).oid
        other = registry.issue(new("b")).oid
        changes: dict[str, Any] = {
            "path": "c",
            "tags": ["K.SCHEMA"],
            "status": "deprecated",
            "replaced_by": other,
        }
        after = registry.migrate(oid, changes, reason="moved", actor="ada")
        event = registry.events(oid)[-1]

        assert after == registry.find(oid)
    assert (oid, "c", ("K.SCHEMA",), "deprecated", other) == (
        after.oid, after.path, after.tags, after.status, after.replaced_by,
    )  # fmt: skip
    assert "MIGRATED" == event.kind
    assert {
        "from": {"path": "a", "tags": [], "status": "active", "replaced_by": ""},
        "to": {"path": "c", "tags": ["K.SCHEMA"], "status": "deprecated", "replaced_by": other},
        "reason": "moved",
        "actor": "ada",
    } == event.payload


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({}, "would not change"),
        ({"path": "a"}, "would not change"),
        ({"oid": "x"}, "no field"),
        ({"stable_key": "x"}, "no field"),
        ({"created_at": "x"}, "no field"),
        ({"pth": "x"}, "no field"),
        ({"path": 1}, "must be string"),
        ({"path": None}, "must be string"),
        ({"path": "../x"}, "no plain path"),
        ({"path": ""}, "non-empty"),
        ({"tags": "x"}, "array"),
        ({"layer": "NOPE"}, "layer"),
        ({"status": "gone"}, "status"),
        ({"replaced_by": "01KGCV31W0C42YQHMVAT6FSR1H"}, "not registered"),
    ],
)
def test_what_cannot_be_migrated_changes_nothing(
    tmp_path: Path, changes: dict[str, Any], why: str
) -> None:
    with open_registry(tmp_path / "r.sqlite3") as registry:
        oid = registry.issue(new("a")).oid
        before = registry.find(oid)
        with pytest.raises(RegistryRefused, match=why):
            registry.migrate(oid, changes, reason="r", actor="x")

        assert before == registry.find(oid)
        assert 1 == len(registry.events(oid))


def test_migrate_needs_an_object_a_reason_and_an_actor(place: str | Path) -> None:
    with open_registry(place) as registry:
        oid = registry.issue(new("a")).oid
        for named, reason, actor in (("X", "r", "x"), (oid, " ", "x"), (oid, "r", "")):
            with pytest.raises(RegistryRefused):
                registry.migrate(named, {"path": "b"}, reason=reason, actor=actor)


@pytest.mark.parametrize(
    "fields",
    [{"layer": "canon"}, {"status": "x"}, {"kind": ""}, {"primary_unit": ""}, {"hint": "\0"}],
)
def test_an_object_with_a_wrong_field_is_refused(tmp_path: Path, fields: dict[str, Any]) -> None:
    with open_registry(tmp_path / "r.sqlite3") as registry, pytest.raises(RegistryRefused):
        registry.issue(new(**fields))


@pytest.mark.parametrize("path", ["", "/a", "a/", "../a", "a/../b", "./a", "a\\b", "a//b", "a\0"])
def test_an_object_with_an_unsafe_path_is_refused(tmp_path: Path, path: str) -> None:
    with open_registry(tmp_path / "r.sqlite3") as registry, pytest.raises(RegistryRefused):
        registry.issue(new(path))


def test_an_oid_that_was_minted_before_is_a_collision_and_minted_again(place: str | Path) -> None:
    given = [mint_oid(NOW) for _ in range(2)]
    order = iter([given[0], given[0], given[1]])
    registry = OidRegistry(open_database(place), clock=lambda: NOW, mint=lambda _: next(order))
    with registry:
        first, second = registry.issue(new("a")), registry.issue(new("b"))
        kinds = sorted(one.kind for one in registry.events(given[0]))

    assert given == [first.oid, second.oid]
    assert ["COLLISION", "ISSUED"] == kinds


def test_an_adopted_oid_is_that_of_its_file(place: str | Path) -> None:
    oid = mint_oid(NOW)
    with open_registry(place) as registry:
        first = registry.adopt(oid, new("a"))
        again = registry.adopt(oid, new("a"))
        with pytest.raises(RegistryRefused):
            registry.adopt(oid, new("b"))
        with pytest.raises(RegistryRefused):
            registry.adopt("x", new("c"))

    assert (True, False) == (first.issued, again.issued)


def issued_elsewhere(place: str | Path) -> str:
    with open_registry(place) as registry:
        return registry.issue(new(stable_key="k")).oid


def test_eight_processes_that_ask_for_one_stable_key_get_one_oid(place: str | Path) -> None:
    with ProcessPoolExecutor(8, mp_context=get_context("spawn")) as pool:
        oids = [*pool.map(issued_elsewhere, [place] * 8)]

    assert 1 == len({*oids})
    with open_registry(place) as registry:
        assert 1 == len(registry.events(oids[0]))


def test_nothing_is_read_where_nothing_is(tmp_path: Path) -> None:
    with pytest.raises(DatabaseUnusable):
        open_registry(tmp_path / "r.sqlite3", may_write=False)

    assert not (tmp_path / "r.sqlite3").exists()


def test_an_index_that_cannot_be_made_is_an_error(tmp_path: Path) -> None:
    with open_registry(tmp_path / "r.sqlite3") as registry:
        registry.issue(new())
    database = open_database(tmp_path / "r.sqlite3")
    with database, database.writing("objects") as transaction:
        transaction.run("DELETE FROM signoff_schema")

    with pytest.raises(DatabaseUnusable):
        open_registry(tmp_path / "r.sqlite3")


@pytest.mark.parametrize(
    ("dsn", "env", "found"),
    [
        (None, {}, None),
        (None, {"DATABASE_URL": "postgresql://x"}, None),
        ("postgresql://a", {"SCC_OID_PG_DSN": "postgresql://b"}, "postgresql://a"),
        (
            None,
            {"SCC_OID_PG_DSN": "postgresql://b", "SCC_OID_DATABASE_URL": "postgres://c"},
            "postgresql://b",
        ),
        (None, {"SCC_OID_DATABASE_URL": "postgres://c"}, "postgres://c"),
    ],
)
def test_where_the_registry_is(
    tmp_path: Path, dsn: str | None, env: dict[str, str], found: str | None
) -> None:
    workspace = Workspace.at(tmp_path)
    default = tmp_path.resolve() / ".signoff" / "oids.sqlite3"

    assert (found or default) == place_of(workspace, env, dsn=dsn)


@pytest.mark.parametrize(
    ("env", "error"),
    [({"SCC_OID_PG_DSN": " "}, NotGiven), ({"SCC_OID_PG_DSN": "mysql://x"}, DatabaseUnusable)],
)
def test_a_dsn_that_is_none_is_refused(
    tmp_path: Path, env: dict[str, str], error: type[Exception]
) -> None:
    with pytest.raises(error):
        place_of(Workspace.at(tmp_path), env)


@pytest.mark.parametrize("name", [".signoff", ".signoff/oids.sqlite3"])
def test_a_registry_behind_a_link_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).symlink_to(tmp_path / "elsewhere")

    with pytest.raises(DatabaseUnusable, match="symbolic link"):
        place_of(Workspace.at(tmp_path), {})


def test_a_password_is_in_no_text(server: Any) -> None:
    with open_registry(server.fresh()) as registry:
        assert "geheim" not in registry.name
    with pytest.raises(DatabaseUnusable) as caught:
        open_registry("postgresql://u:geheim@/none?host=/nowhere")

    assert "geheim" not in str(caught.value)
