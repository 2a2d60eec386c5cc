from __future__ import annotations

import os
from pathlib import Path

from signoff.sandbox.supervisor.removal import remove


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
