"""Files of a workspace are read without following links, and as they are spelt on the disk."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from signoff.errors import DocumentError
from signoff.scc.metadata import MetadataError, read_front_matter
from signoff.scc.workspace import PathMissing, PathUnsafe, Workspace


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    found = Workspace.at(tmp_path)
    found.write("a/b.txt", b"text")
    (tmp_path / "link.txt").symlink_to("a/b.txt")
    (tmp_path / "link").symlink_to("a")
    return found


def test_a_file_is_read_and_measured(workspace: Workspace) -> None:
    digest = f"sha256:{hashlib.sha256(b'text').hexdigest()}"

    assert b"text" == workspace.read("a/b.txt")
    assert (digest, 4) == workspace.measure("a/b.txt", max_bytes=4)


@pytest.mark.parametrize("path", ["a/c.txt", "c/b.txt"])
def test_what_is_not_there(workspace: Workspace, path: str) -> None:
    for attempt in (workspace.read, workspace.require_spelling):
        with pytest.raises(PathMissing):
            attempt(path)
    with pytest.raises(PathMissing):
        workspace.measure(path, max_bytes=9)


@pytest.mark.parametrize(
    "path", ["link.txt", "link/b.txt", "a", "a/b.txt/c", "A/b.txt", "a/B.txt", "../x", "/etc/passwd", "a//b.txt", "./a/b.txt", "", "a\0", "a\\b.txt"]
)  # fmt: skip
def test_what_may_not_be_followed(workspace: Workspace, path: str) -> None:
    with pytest.raises(PathUnsafe):
        workspace.read(path)
    with pytest.raises(PathUnsafe):
        workspace.measure(path, max_bytes=9)


def test_a_file_that_is_too_large(workspace: Workspace) -> None:
    with pytest.raises(PathUnsafe, match="larger than 3 bytes"):
        workspace.read("a/b.txt", max_bytes=3)


def test_links_are_told_and_not_walked(workspace: Workspace) -> None:
    workspace.write("top/x/y", b"")
    (workspace.root / "top" / "z").symlink_to("../a")

    assert [("top/x/y", True), ("top/z", False)] == [*workspace.walk("top")]
    assert [("link", False)] == [*workspace.walk("link")]
    assert [] == [*workspace.walk("nowhere")]


def test_nothing_is_written_through_a_link(workspace: Workspace) -> None:
    with pytest.raises(OSError, match="link"):
        workspace.write("link/new.txt", b"x")

    assert not (workspace.root / "a" / "new.txt").exists()


def test_a_workspace_may_lie_behind_a_link(workspace: Workspace, tmp_path: Path) -> None:
    assert tmp_path.resolve() / "a" == Workspace.at(tmp_path / "link").root


@pytest.mark.parametrize("name", ["nowhere", "a/b.txt", "a\0b"])
def test_what_is_no_workspace(workspace: Workspace, name: str) -> None:
    with pytest.raises(DocumentError):
        Workspace.at(workspace.root / name)


def test_settings_behind_a_link_are_not_read(workspace: Workspace) -> None:
    (workspace.root / ".signoff").mkdir()
    (workspace.root / ".signoff" / "scc.toml").symlink_to("../a/b.txt")

    with pytest.raises(DocumentError, match="link"):
        workspace.settings()


def test_front_matter_that_is_not_utf_8_is_invalid() -> None:
    with pytest.raises(MetadataError) as caught:
        read_front_matter(b"---\noid: \xff\n---\n")

    assert "frontmatter_invalid" == caught.value.code
