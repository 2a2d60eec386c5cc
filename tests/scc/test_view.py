"""What checks see of a workspace, and what is copied out of it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from signoff.pathglob import parse_glob
from signoff.sandbox.supervisor.copying import TooMuch
from signoff.scc import view as viewing
from signoff.scc.run_names import LOCKS, STAGING
from signoff.scc.view import copy_out, folder_state, given_up, laid_out, stamps
from signoff.scc.workspace import PathUnsafe


@pytest.fixture
def root(tmp_path: Path) -> Path:
    made = tmp_path / "work"
    for path in ("a/b/file", f"{STAGING}/x", f"{LOCKS}/x", ".signoff/kept", "top"):
        (made / path).parent.mkdir(parents=True, exist_ok=True)
        (made / path).write_text(path)
    (made / "link").symlink_to("a")
    (made / "dangling").symlink_to("no/more")
    os.mkfifo(made / "pipe")
    (made / "top").chmod(0o755)
    (made / "a").chmod(0o750)
    return made


def test_the_view_is_all_but_what_is_the_verifiers_own(root: Path, tmp_path: Path) -> None:
    seen = laid_out(root, str(tmp_path))
    base = Path(seen.root)

    assert {".signoff", "a", "top", "link", "dangling"} == {path.name for path in base.iterdir()}
    assert ["kept"] == [path.name for path in (base / ".signoff").iterdir()]
    assert ("a", "no/more") == tuple(str((base / n).readlink()) for n in ("link", "dangling"))
    assert ("a/b/file", "top") == tuple((base / n).read_text() for n in ("a/b/file", "top"))
    assert (0o755, 0o750) == tuple((base / n).stat().st_mode & 0o777 for n in ("top", "a"))
    assert {0o700} == {Path(one).stat().st_mode & 0o777 for one in (seen.home, seen.temporary)}

    given_up(seen)

    assert not base.parent.exists()


def test_too_large_a_workspace_is_not_seen_in_part(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(viewing, "MAX_BYTES", 3)
    with pytest.raises(TooMuch):
        laid_out(root, str(tmp_path))


@pytest.mark.parametrize(
    ("path", "state"),
    [
        ("", "folder"),
        ("a/b", "folder"),
        ("./a//b/", "folder"),
        ("link", "link"),
        ("link/b", "link"),
        ("a/b/file", "absent"),
        ("a/b/file/more", "absent"),
        ("no", "absent"),
        ("a\0b", "absent"),
    ],
)
def test_folders_are_told_from_what_is_none(root: Path, path: str, state: str) -> None:
    assert state == folder_state(str(root), path)


def test_a_file_is_copied_out_as_it_was_measured(root: Path, tmp_path: Path) -> None:
    found = copy_out(str(root), "a/b/file", tmp_path / "run", "collected/file")

    assert "a/b/file" == (tmp_path / "run" / "collected" / "file").read_text()
    assert ("collected/file", 8) == (found.path, found.size)


@pytest.mark.parametrize("path", ["link/b/file", "dangling", "pipe", "a", "no", "a/no/file"])
def test_nothing_is_copied_out_that_is_no_file_reached_through_no_link(
    root: Path, tmp_path: Path, path: str
) -> None:
    with pytest.raises(PathUnsafe, match=f"^.?{path}"):
        copy_out(str(root), path, tmp_path / "run", "collected/file")

    assert not (tmp_path / "run" / "collected" / "file").exists()


def test_a_copy_that_breaks_off_is_no_evidence(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pieces = iter([b"a/b"])

    def read(*_: int) -> bytes:
        for piece in pieces:
            return piece
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "read", read)
    with pytest.raises(OSError, match="Input/output"):
        copy_out(str(root), "a/b/file", tmp_path / "run", "collected/file")

    assert not (tmp_path / "run" / "collected" / "file").exists()


def test_patterns_match_files_behind_no_link_and_with_something_in_them(root: Path) -> None:
    (root / "a" / "empty").touch()
    (root / "a" / "file-link").symlink_to("b/file")
    globs = [parse_glob(text) for text in ("a/**", "link/b/file", "top", "pipe", "no")]

    assert {
        "a/**": ["a/b/file"],
        "link/b/file": [],
        "top": ["top"],
        "pipe": [],
        "no": [],
    } == {text: sorted(found) for text, found in stamps(str(root), globs).items()}


def test_too_many_files_are_not_looked_through(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(viewing, "MAX_ENTRIES", 2)
    with pytest.raises(OSError, match="more than 2 files"):
        stamps(str(root), [parse_glob("**")])
    assert {"top": ["top"]} == {
        text: sorted(found) for text, found in stamps(str(root), [parse_glob("top")]).items()
    }
