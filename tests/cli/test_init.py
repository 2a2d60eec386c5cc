"""``signoff init``: what it writes locks and verifies out of the box, and replaces nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.calling import call, wrote


@pytest.fixture(autouse=True)
def _empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("kind", ["yaml", "json", "toml"])
def test_starter_locks_and_passes(kind: str) -> None:
    called = call("init", "work/here", "--format", kind)

    assert (0, "") == (called.code, called.err)
    assert called.out.startswith(f"wrote work/here/contract.{kind}\nwrote work/here/output.json\n")
    for line in called.out.splitlines()[-2:]:
        assert 0 == call(*line.split()[1:], "--json").code


def test_every_format_says_the_same() -> None:
    digests = set()
    for kind in ("yaml", "json", "toml"):
        call("init", kind, "--format", kind)
        digests.add(call("lock", f"{kind}/contract.{kind}", "--json").json["digest"])

    assert 1 == len(digests)


@pytest.mark.parametrize("name", ["contract.yaml", "output.json"])
def test_nothing_is_replaced_without_force(tmp_path: Path, name: str) -> None:
    wrote(tmp_path, name, "mine")
    called = call("init")

    assert (2, "") == (called.code, called.out)
    assert f"signoff: {name} exists already, so nothing was written" in called.err
    assert [name] == [path.name for path in tmp_path.iterdir()]
    assert "mine" == (tmp_path / name).read_text()
    assert 0 == call("init", "--force").code
    assert "mine" != (tmp_path / name).read_text()


def test_link_is_not_written_through(tmp_path: Path) -> None:
    (tmp_path / "output.json").symlink_to("elsewhere.json")

    assert 2 == call("init").code
    assert not (tmp_path / "elsewhere.json").exists()


def test_folder_that_cannot_be_made_is_code_4(tmp_path: Path) -> None:
    wrote(tmp_path, "file", "")

    assert 4 == call("init", "file/sub").code


def test_json_says_what_was_written() -> None:
    called = call("init", "--json", "--format", "toml")

    assert ["contract.toml", "output.json"] == called.json["written"]
