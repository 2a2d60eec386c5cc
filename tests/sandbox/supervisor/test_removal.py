from __future__ import annotations

import os
from pathlib import Path

import pytest

from signoff.sandbox.supervisor.removal import remove
from tests.sandbox.ordinary_user import NOBODY


def handles() -> int:
    """How many this process has open."""
    return sum(1 for _ in Path("/dev/fd").iterdir())


def test_links_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "file").touch()
    (tmp_path / "gone").mkdir()
    (tmp_path / "gone" / "link").symlink_to(tmp_path / "kept")

    assert remove(str(tmp_path / "gone"))
    assert [tmp_path / "kept"] == list(tmp_path.iterdir())
    assert (tmp_path / "kept" / "file").exists()


def test_a_link_in_its_own_place_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "kept")

    assert not remove(str(tmp_path / "link"))
    assert (tmp_path / "kept").is_dir()


def test_folders_without_permission(tmp_path: Path) -> None:
    inner = tmp_path / "gone" / "a" / "b"
    inner.mkdir(parents=True)
    (inner / "file").touch()
    for folder in (inner, inner.parent, inner.parent.parent):
        folder.chmod(0)

    assert remove(str(tmp_path / "gone"))
    assert not (tmp_path / "gone").exists()


def test_deeper_than_a_path_can_name(tmp_path: Path) -> None:
    """Folders in folders, until their path is far too long for the system."""
    gone = tmp_path / "gone"
    gone.mkdir()
    here = os.open(gone, os.O_RDONLY)
    for _ in range(3_000):
        os.mkdir("folder", dir_fd=here)
        os.mkdir("other", dir_fd=here)
        inner = os.open("folder", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = inner
    os.close(here)

    assert remove(str(gone))
    assert [] == list(tmp_path.iterdir())


def test_what_is_not_there_is_removed(tmp_path: Path) -> None:
    assert remove(str(tmp_path / "no"))


def test_folders_that_their_owner_may_not_enter_nor_move(unprivileged: Path) -> None:
    inner = unprivileged / "gone" / "a" / "b" / "c"
    inner.mkdir(parents=True)
    (inner / "file").touch()
    (unprivileged / "gone" / "shut").mkdir()
    (unprivileged / "gone" / "shut" / "file").touch()
    (unprivileged / "gone" / "shut").chmod(0)
    (unprivileged / "gone" / "a" / "full").mkdir()
    (unprivileged / "gone" / "a" / "full" / "file").touch()
    for folder in (inner.parent / "c", inner.parent, unprivileged / "gone" / "a" / "full"):
        folder.chmod(0)
    inner.parent.parent.chmod(0o500)

    assert remove(str(unprivileged / "gone"))
    assert not (unprivileged / "gone").exists()


def test_what_belongs_to_somebody_else_stays_and_all_else_goes(
    unprivileged: Path, tmp_path: Path
) -> None:
    if unprivileged == tmp_path:
        pytest.skip("only root can make a folder of somebody else")
    gone = unprivileged / "gone"
    (gone / "own").mkdir(parents=True)
    (gone / "own" / "file").touch()
    os.seteuid(0)
    for folder in (gone / "theirs", gone / "own" / "theirs"):
        folder.mkdir(mode=0o755)
        (folder / "file").touch()
    os.seteuid(NOBODY)
    before = handles()

    assert not remove(str(gone))
    assert before == handles()
    left = sorted(path.name for path in gone.rglob("*"))
    os.seteuid(0)
    assert remove(str(gone))
    os.seteuid(NOBODY)
    assert 2 == left.count("file")
    assert not gone.exists()


def test_what_may_not_be_listed_is_not_called_removed(unprivileged: Path) -> None:
    folder = unprivileged / "outer" / "gone"
    folder.mkdir(parents=True)
    folder.parent.chmod(0o500)
    there = remove(str(folder))
    folder.parent.chmod(0o700)

    assert not there
    assert folder.exists()


def test_what_somebody_else_removes_meanwhile_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "gone" / "inner").mkdir(parents=True)
    (tmp_path / "gone" / "inner" / "file").touch()
    listed = os.listdir
    monkeypatch.setattr(os, "listdir", lambda folder: [*listed(folder), "no-more"])
    done = remove(str(tmp_path / "gone"))
    monkeypatch.undo()

    assert done
    assert [] == [*tmp_path.iterdir()]


def test_what_bears_the_names_of_what_is_being_removed_is_removed(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    for name in ("a", "b", *(f".removed-{os.getpid()}-{number}" for number in range(50))):
        (gone / name / "inner").mkdir(parents=True)
        (gone / name / "inner" / "file").touch()

    assert remove(str(gone))
    assert [] == [*tmp_path.iterdir()]
