"""``signoff verifiers``: the list, and a page whose every example is true."""

from __future__ import annotations

from importlib import metadata
from pathlib import Path

import pytest

from signoff.cli.reading import own_registry
from tests.cli.calling import call
from tests.importing import forgotten

KNOWN = own_registry()


def test_list_has_every_verifier_with_its_origin() -> None:
    called = call("verifiers")

    assert (0, "") == (called.code, called.err)
    assert [*KNOWN.ids()] == [line.split()[0] for line in called.out.splitlines()]
    assert all(line.endswith("(signoff 0.1.0)") for line in called.out.splitlines())


def test_list_is_json_where_asked() -> None:
    entries = call("verifiers", "--json").json["verifiers"]

    assert [*KNOWN.ids()] == [entry["id"] for entry in entries]
    assert all(entry["in_use"] and entry["description"] for entry in entries)


@pytest.mark.parametrize("id_", KNOWN.ids())
def test_page_explains_every_parameter(id_: str) -> None:
    called, document = call("verifiers", id_), call("verifiers", id_, "--json").json
    verifier = KNOWN.get(id_)

    assert verifier is not None
    assert (0, "") == (called.code, called.err)
    assert [param.name for param in verifier.params] == [one["name"] for one in document["params"]]
    assert all(param["meaning"] and param["type"] for param in document["params"])
    assert all(f"  {param.name}  " in called.out for param in verifier.params)
    assert "``" not in called.out


def test_page_shows_what_a_check_says() -> None:
    called = call("verifiers", "count_between")

    assert (
        '  params  {"min": 1, "max": 3}\n'
        '  pass    ["a", "b"]\n'
        "          length=2, min=1, max=3\n"
        '  fail    ["a", "b", "c", "d"]\n'
        "          length=4, min=1, max=3\n"
    ) in called.out


def test_installed_verifier_is_listed_and_not_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    info = tmp_path / "extra_checks-2.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: extra-checks\nVersion: 2.0\n")
    (info / "entry_points.txt").write_text("[signoff.verifiers]\nalways = nowhere:always\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert [*metadata.entry_points(group="signoff.verifiers")]

    called = call("verifiers")
    assert called.out.endswith("installed, not in use (extra-checks 2.0)\n")
    assert {"id": "always", "description": None, "origin": "extra-checks 2.0", "in_use": False} == (
        call("verifiers", "--json").json["verifiers"][-1]
    )
    assert 2 == call("verifiers", "always").code


def test_page_of_somebody_else_controls_no_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sly.py").write_text(
        "from signoff import Verifier\n"
        "def factory(*, a: int = 1):\n"
        '    """S.\x1b[2J\n\n    Note.\u202e\n\n    Args:\n        a: M.\x9b2J\n\n    Source: X\x1b[2J."""\n'
        "sly = Verifier(id='sly', factory=factory, description='S.\\x1b[2J', source='x\\x1b[2J 1')\n",
        encoding="utf-8",
    )
    monkeypatch.chdir(tmp_path)
    with forgotten(tmp_path):
        called = call("verifiers", "sly", "--with", "sly:sly")

    assert 0 == called.code
    assert called.out.replace("\n", "").isprintable()
