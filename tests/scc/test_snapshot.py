"""What was judged is what was there from the first look to the last."""

from __future__ import annotations

import os
from hashlib import sha256
from pathlib import Path

import pytest

from signoff.scc import snapshot as snapshots
from signoff.scc.snapshot import Kind, Snapshot
from signoff.scc.workspace import Workspace


@pytest.fixture
def root(tmp_path: Path) -> Path:
    made = tmp_path / "work"
    (made / "a" / "b").mkdir(parents=True)
    (made / "a" / "b" / "file").write_text("text")
    (made / "a" / "link").symlink_to("b")
    (made / "a" / "file-link").symlink_to("b/file")
    os.mkfifo(made / "a" / "pipe")
    return made


def snapshot(root: Path) -> Snapshot:
    return Snapshot(Workspace.at(root))


def test_a_file_is_told_from_what_is_none(root: Path) -> None:
    with snapshot(root) as seen:
        found = seen.look("a/b/file", keep=True)
        kinds = {
            path: seen.look(path).kind
            for path in ("a/b", "a/link", "a/file-link", "a/pipe", "a/link/file", "a/no", "no/no")
        }

        assert (Kind.FILE, b"text", sha256(b"text").hexdigest(), 4) == (
            found.kind,
            found.data,
            found.sha256,
            found.size,
        )
        assert () == seen.changed()
    assert {Kind.ODD} == {
        kinds[p] for p in ("a/b", "a/link", "a/file-link", "a/pipe", "a/link/file")
    }
    assert {Kind.ABSENT} == {kinds[path] for path in ("a/no", "no/no")}


def test_all_below_a_folder_is_listed_and_what_cannot_be_opened_by_itself(root: Path) -> None:
    with snapshot(root) as seen:
        assert {
            "a/b/file": Kind.FILE,
            "a/link": Kind.ODD,
            "a/file-link": Kind.ODD,
            "a/pipe": Kind.ODD,
        } == seen.below("a")
        assert {"a/link": Kind.ODD} == seen.below("a/link")
        assert {"no": Kind.ABSENT} == seen.below("no")


def test_a_folder_of_too_many_names_is_odd(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshots, "MAX_NAMES", 3)
    with snapshot(root) as seen:
        assert (Kind.ODD, ()) == seen.names("a")
        assert (Kind.FOLDER, ("file",)) == seen.names("a/b")


def test_a_folder_that_goes_while_it_is_looked_through_is_named(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder was there when its neighbours were listed."""
    entries = Snapshot._entries

    def racing(self: Snapshot, folder: str) -> tuple[Kind, dict[str, Kind]]:
        found = entries(self, folder)
        if folder == "a":
            (root / "a" / "b").rename(root / "moved")
        return found

    monkeypatch.setattr(Snapshot, "_entries", racing)
    with snapshot(root) as seen:
        assert Kind.ABSENT is seen.below("a")["a/b"]
        assert "a" in seen.changed()


@pytest.mark.parametrize("change", ["written", "exchanged", "removed", "moved"])
def test_what_is_changed_after_the_look_is_named(root: Path, change: str) -> None:
    file = root / "a" / "b" / "file"
    with snapshot(root) as seen:
        seen.look("a/b/file")
        if change == "written":
            file.write_text("tex2")
        elif change == "exchanged":
            (root / "other").write_text("text")
            (root / "other").rename(file)
        elif change == "removed":
            file.unlink()
        else:
            (root / "a" / "b").rename(root / "a" / "c")

        assert "a/b/file" in seen.changed()


def test_a_folder_that_is_exchanged_for_an_equal_one_is_named(root: Path) -> None:
    """The file in it is the very same."""
    with snapshot(root) as seen:
        seen.look("a/b/file")
        (root / "c").mkdir()
        (root / "a" / "b" / "file").rename(root / "c" / "file")
        (root / "a" / "b").rmdir()
        (root / "c").rename(root / "a" / "b")

        assert "a/b" in seen.changed()


def test_a_file_that_grows_while_it_is_read_has_changed(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = os.read

    def growing(handle: int, size: int) -> bytes:
        with (root / "a" / "b" / "file").open("a") as file:
            file.write("more")
        return read(handle, size)

    monkeypatch.setattr(os, "read", growing)
    with snapshot(root) as seen:
        found = seen.look("a/b/file", keep=True)
        monkeypatch.undo()

        assert (Kind.CHANGED, None, False) == (found.kind, found.data, found.is_file)
        assert ("a/b/file",) == seen.changed()


def test_a_disk_that_fails_leaves_nothing_judged(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*_: int) -> bytes:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "read", failing)
    with snapshot(root) as seen:
        assert Kind.UNREADABLE is seen.look("a/b/file").kind
