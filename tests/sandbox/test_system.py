"""What of the system is shown to a command, and where what is temporary goes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from signoff.sandbox import Sandbox, system
from signoff.sandbox.bubblewrap import find_bubblewrap
from signoff.sandbox.command import Command, Ended
from signoff.sandbox.folders import Folders


def test_only_what_everybody_may_read_is_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Root could read more."""
    etc = tmp_path / "etc"
    (etc / "fonts" / "inner").mkdir(parents=True)
    (etc / "fonts" / "inner" / "font").write_text("font")
    (etc / "fonts" / "secret").write_text("secret")
    (etc / "fonts" / "secret").chmod(0o600)
    (etc / "fonts" / "large").write_bytes(bytes(11))
    (etc / "fonts" / "link").symlink_to("../elsewhere")
    os.mkfifo(etc / "fonts" / "pipe")
    (etc / "dangling").symlink_to("no-more")
    (tmp_path / "copy").mkdir()
    monkeypatch.setattr(system, "MAX_SETTING_BYTES", 10)
    for path in etc.iterdir():
        system._copy(path, tmp_path / "copy" / path.name)
    fonts = tmp_path / "copy" / "fonts"

    assert ["inner", "link"] == sorted(path.name for path in fonts.iterdir())
    assert "font" == (fonts / "inner" / "font").read_text()
    assert "../elsewhere" == str((fonts / "link").readlink())


def test_what_goes_while_it_is_copied_is_not_there(tmp_path: Path) -> None:
    system._copy(tmp_path / "gone", tmp_path / "copy")

    assert [] == [*tmp_path.iterdir()]


def test_places_are_made_once(tmp_path: Path) -> None:
    folder, file = Path("/etc"), Path("/etc/passwd")
    (tmp_path / "passwd").write_text("kept")
    system.make_places(tmp_path, [folder, file, file.parent / "no" / "such"])

    assert "kept" == (tmp_path / "passwd").read_text()
    assert b"" == (tmp_path / "no" / "such").read_bytes()


def test_bubblewrap_is_a_program_that_can_be_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("signoff.sandbox.bubblewrap.USUAL", ())
    for name, mode in (("shut", 0o644), ("open", 0o755)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "bwrap").touch()
        (tmp_path / name / "bwrap").chmod(mode)
    (tmp_path / "folder" / "bwrap").mkdir(parents=True)
    usable, *others = (str(tmp_path / name) for name in ("open", "folder", "shut"))

    assert f"{usable}/bwrap" == find_bubblewrap([*others, usable])
    assert find_bubblewrap([*others, str(tmp_path / "none")]) is None


@pytest.mark.parametrize("kind", ["as new", "gone", "changed", "wider"])
def test_a_folder_is_used_again_only_as_long_as_it_is_as_new(tmp_path: Path, kind: str) -> None:
    folders = Folders()
    taken = Path(folders.take(str(tmp_path)))
    if kind != "gone":
        for name in ("home", "tmp"):
            (taken / name).mkdir(parents=True, mode=0o700)
    if kind == "changed":
        (taken / "tmp" / "left").touch()
    if kind == "wider":
        (taken / "home").chmod(0o755)
    folders.give_back(str(taken))

    assert (kind == "as new") == (str(taken) == folders.take(str(tmp_path))) == taken.exists()


@pytest.mark.parametrize("said", [None, "relative"])
def test_what_is_temporary_has_a_place_where_none_is_said(
    monkeypatch: pytest.MonkeyPatch, said: str | None
) -> None:
    for name in ("TMPDIR", "TEMP", "TMP"):
        monkeypatch.delenv(name, raising=False)
    if said is not None:
        monkeypatch.setenv("TMPDIR", said)
    with Sandbox(level="L1") as sandbox:
        assert Path("/tmp").resolve() == Path(sandbox.scratch).parent


def test_the_first_absolute_place_that_is_said_is_taken(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TMPDIR", "relative")
    monkeypatch.setenv("TEMP", str(tmp_path))
    with Sandbox(level="L1") as sandbox:
        assert tmp_path.resolve() == Path(sandbox.scratch).parent


@pytest.mark.parametrize("preload", ["", "import json"])
def test_nothing_is_run_in_a_closed_sandbox(preload: str) -> None:
    """Neither what would be started nor what would be forked from a warm process."""
    sandbox = Sandbox(warm=True)
    sandbox.close()
    done = sandbox.run(Command(argv=("python3", "-c", "pass"), preload=preload))

    assert Ended.BROKEN is done.ended
    assert done.reason.endswith("the sandbox is closed")
