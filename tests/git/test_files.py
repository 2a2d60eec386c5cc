"""A repository's own files are read whole, within bounds, and never waited for."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from signoff.errors import NotJudged
from signoff.git.files import file_bytes


def test_what_is_there_is_read_to_its_bound(tmp_path: Path) -> None:
    file = tmp_path / "HEAD"
    file.write_bytes(bytes(10))

    assert bytes(10) == file_bytes(str(file), 10)
    with pytest.raises(NotJudged, match="Repository cannot be read: HEAD"):
        file_bytes(str(file), 9)


def test_no_file_of_a_name_is_none(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    assert [None] * 3 == [
        file_bytes(str(tmp_path / name), 9) for name in ("gone", "file/HEAD", ".")
    ]


@pytest.mark.parametrize("name", ["loop", "n\0l", "pipe", "x" * 300])
def test_what_cannot_be_read_is_said_without_its_folder(tmp_path: Path, name: str) -> None:
    (tmp_path / "loop").symlink_to("loop")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(NotJudged) as caught:
        file_bytes(f"{tmp_path}/{name}", 9)

    assert "Repository cannot be read" in str(caught.value)
    assert str(tmp_path) not in str(caught.value)


def test_a_disk_that_fails_leaves_nothing_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "HEAD").touch()
    before = sum(1 for _ in Path("/dev/fd").iterdir())

    def failing(*_: object) -> bytes:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "read", failing)
    with pytest.raises(NotJudged, match="Repository cannot be read: HEAD"):
        file_bytes(str(tmp_path / "HEAD"), 9)
    monkeypatch.undo()

    assert before == sum(1 for _ in Path("/dev/fd").iterdir())
