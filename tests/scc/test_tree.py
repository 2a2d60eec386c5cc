"""The digest of a tree is of what is there, or there is none."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from signoff.errors import NotJudged
from signoff.scc.tree import tree_digest
from signoff.scc.workspace import Workspace
from tests.repositories import NEEDS_GIT, Repo


@pytest.fixture
def root(tmp_path: Path) -> Path:
    made = tmp_path / "work"
    (made / "a" / "b").mkdir(parents=True)
    (made / "a" / "b" / "file").write_text("text")
    (made / "top").write_text("top")
    return made


def scanning(monkeypatch: pytest.MonkeyPatch, last: bytes, act: Callable[[], object]) -> None:
    """Something happens just before a folder is looked through."""
    scandir = os.scandir

    def scan(path: Any) -> Any:
        if os.fsencode(path).rstrip(b"/").endswith(last):
            act()
        return scandir(path)

    monkeypatch.setattr(os, "scandir", scan)


def test_every_part_of_it_counts(root: Path) -> None:
    workspace = Workspace.at(root)
    seen = {tree_digest(workspace)}
    (root / "a" / "b" / "file").write_text("tex2")
    seen.add(tree_digest(workspace))
    (root / "a" / "b" / "file").chmod(0o755)
    seen.add(tree_digest(workspace))
    (root / "link").symlink_to("top")
    seen.add(tree_digest(workspace))
    (root / "link").unlink()
    (root / "link").symlink_to("a")
    seen.add(tree_digest(workspace))
    (root / "link").unlink()
    os.mkfifo(root / "link")
    seen.add(tree_digest(workspace))

    assert 6 == len(seen)


def test_a_folder_that_goes_meanwhile_is_not_there(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scanning(monkeypatch, b"a/b", lambda: (root / "a" / "b").rename(root.parent / "aside"))
    during = tree_digest(Workspace.at(root))
    monkeypatch.undo()

    assert tree_digest(Workspace.at(root)) == during


def test_a_workspace_that_cannot_be_read_has_none(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing() -> None:
        raise OSError(5, os.strerror(5))

    scanning(monkeypatch, b"a/b", failing)
    with pytest.raises(NotJudged, match="The workspace cannot be read: input/output error"):
        tree_digest(Workspace.at(root))


def test_a_workspace_that_goes_has_none(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scanning(monkeypatch, b"work", lambda: root.rename(root.parent / "aside"))
    with pytest.raises(NotJudged, match="The workspace cannot be read"):
        tree_digest(Workspace.at(root))


@NEEDS_GIT
def test_a_repository_with_nothing_in_it_has_one(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "work")
    (tmp_path / "plain").mkdir()

    assert tree_digest(Workspace.at(tmp_path / "plain")) == tree_digest(Workspace.at(repo.root))
