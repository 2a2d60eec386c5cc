"""Files that a command left are found by globs, and told from those that were there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from signoff import left_files
from signoff.left_files import files_left
from signoff.pathglob import parse_glob


def found(after: Path, before: Path, *globs: str) -> dict[str, list[tuple[str, bool]]]:
    left = files_left([*map(parse_glob, globs)], after=str(after), before=str(before))
    return {text: [(one.path, one.written) for one in files] for text, files in left.items()}


@pytest.fixture
def after(tmp_path: Path) -> Path:
    folder = tmp_path / "after"
    (folder / "a" / "b").mkdir(parents=True)
    (folder / "a" / "b" / "one.txt").write_text("1")
    (folder / "a" / "two.txt").write_text("2")
    (folder / "empty.txt").touch()
    return folder


@pytest.fixture
def before(tmp_path: Path) -> Path:
    folder = tmp_path / "before"
    folder.mkdir()
    return folder


def test_files_stand_in_the_order_of_their_names(after: Path, before: Path) -> None:
    assert {
        "**/*.txt": [("a/two.txt", True), ("a/b/one.txt", True)],
        "a/two.txt": [("a/two.txt", True)],
        "empty.txt": [],
        "a": [],
    } == found(after, before, "**/*.txt", "a/two.txt", "empty.txt", "a")


def test_what_was_there_with_the_same_time_and_size_was_not_written(
    after: Path, before: Path
) -> None:
    (before / "a").mkdir()
    (before / "a" / "two.txt").write_text("2")
    facts = (after / "a" / "two.txt").stat()
    os.utime(before / "a" / "two.txt", ns=(facts.st_atime_ns, facts.st_mtime_ns))

    assert [("a/two.txt", False)] == found(after, before, "a/two.txt")["a/two.txt"]

    os.utime(before / "a" / "two.txt", ns=(facts.st_atime_ns, facts.st_mtime_ns - 1))

    assert [("a/two.txt", True)] == found(after, before, "a/two.txt")["a/two.txt"]


def test_links_and_pipes_are_no_files(after: Path, before: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("s")
    (after / "l").symlink_to(secret)
    (after / "d").symlink_to(after / "a")
    os.mkfifo(after / "p")

    assert {"l": [], "p": [], "d/two.txt": [], "*": [], "d/**": []} == found(
        after, before, "l", "p", "d/two.txt", "*", "d/**"
    )


def test_folder_reached_by_a_link_of_the_kernel_is_looked_into(after: Path, before: Path) -> None:
    handle = os.open(after, os.O_RDONLY)
    try:
        place = Path(f"/proc/self/fd/{handle}")
        if not place.exists():
            pytest.skip("needs /proc")
        assert [("a/two.txt", True)] == found(place, before, "a/*")["a/*"]
    finally:
        os.close(handle)


def test_too_many_files_are_refused(
    after: Path, before: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(left_files, "MAX_ENTRIES", 3)

    with pytest.raises(OSError, match="more than 3 files"):
        found(after, before, "**/*.txt")
