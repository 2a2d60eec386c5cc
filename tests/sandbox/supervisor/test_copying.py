from __future__ import annotations

import errno
import os
import socket
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from signoff.sandbox.command import Ended
from signoff.sandbox.supervisor import copying
from signoff.sandbox.supervisor.copying import (
    Copied,
    TooMuch,
    _copy_file,
    _copy_range,
    copy_tree,
)
from tests.sandbox.attacks import Marked


def copied(source: Path, target: Path, *, max_bytes: int = 10**9) -> Copied:
    done = Copied(lambda: None, max_bytes)
    copy_tree(str(source), str(target), done)
    return done


def refusing(code: int) -> Callable[..., int]:
    """A call of the system that fails."""

    def refused(*_: object) -> int:
        raise OSError(code, os.strerror(code))

    return refused


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "source"
    (folder / "a" / "b").mkdir(parents=True)
    (folder / "a" / "b" / "file").write_bytes(b"text")
    (folder / "tool").write_bytes(b"#!/bin/sh\n")
    (folder / "tool").chmod(0o4755)
    (folder / "a").chmod(0o750)
    (folder / "link").symlink_to("a/b/file")
    (folder / "out").symlink_to("/etc")
    (folder / "dangling").symlink_to("no/such/file")
    (folder / "empty").touch()
    os.utime(folder / "tool", ns=(1, 1_000_000_007))
    return folder


def test_files_folders_and_links_with_modes_and_times(source: Path, tmp_path: Path) -> None:
    target = tmp_path / "target"
    copied(source, target)

    assert b"text" == (target / "a" / "b" / "file").read_bytes()
    assert b"" == (target / "empty").read_bytes()
    assert "a/b/file" == str((target / "link").readlink())
    assert "/etc" == str((target / "out").readlink())
    assert "no/such/file" == str((target / "dangling").readlink())
    assert 0o750 == stat.S_IMODE((target / "a").stat().st_mode)
    # nothing that a copy is owned by somebody else for
    assert 0o755 == stat.S_IMODE((target / "tool").stat().st_mode)
    assert 1_000_000_007 == (target / "tool").stat().st_mtime_ns


def test_what_is_no_file_is_left_out_and_said(source: Path, tmp_path: Path) -> None:
    os.mkfifo(source / "pipe")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(source / "socket"))
        done = copied(source, tmp_path / "target")

    assert {"a", "tool", "link", "out", "dangling", "empty"} == {
        path.name for path in (tmp_path / "target").iterdir()
    }
    assert 2 == done.left_out
    assert "lacks 2 that could not be copied" in done.missing()[0]


def test_holes_stay_holes(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    with (source / "sparse").open("wb") as file:
        file.write(b"begin")
        file.seek(50_000_000)
        file.write(b"middle")
        file.truncate(10**12)
    copied(source, tmp_path / "target", max_bytes=10**8)
    about = (tmp_path / "target" / "sparse").stat()
    with (tmp_path / "target" / "sparse").open("rb") as file:
        begin = file.read(5)
        file.seek(50_000_000)
        middle = file.read(6)

    assert 10**12 == about.st_size
    assert about.st_blocks * 512 < 10**6
    assert (b"begin", b"middle") == (begin, middle)


def test_large_files_whole(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    (source / "large").write_bytes(os.urandom(9_000_001))
    done = copied(source, tmp_path / "target")

    assert (source / "large").read_bytes() == (tmp_path / "target" / "large").read_bytes()
    assert 9_000_001 == done.size


@pytest.mark.parametrize("shortcut", ["clone", "range"])
def test_without_shortcuts_of_the_system(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shortcut: str
) -> None:
    def refused(*args: object) -> int:
        raise OSError(95, "not supported")

    monkeypatch.setattr("fcntl.ioctl", refused)
    if shortcut == "range":
        monkeypatch.delattr(os, "copy_file_range", raising=False)
    copied(source, tmp_path / "target")

    assert b"text" == (tmp_path / "target" / "a" / "b" / "file").read_bytes()


def test_a_clone_of_the_system_counts_as_a_copy(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fcntl.ioctl", lambda *_: 0)

    assert 14 == copied(source, tmp_path / "target").size
    with pytest.raises(TooMuch, match="more than 13 bytes"):
        copied(source, tmp_path / "other", max_bytes=13)


@pytest.mark.parametrize("code", [errno.EINVAL, errno.EOPNOTSUPP])
def test_where_the_system_tells_no_holes_all_is_data(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    monkeypatch.setattr(os, "lseek", refusing(code))
    copied(source, tmp_path / "target")

    assert b"text" == (tmp_path / "target" / "a" / "b" / "file").read_bytes()


@pytest.mark.parametrize("call", ["lseek", "copy_file_range"])
def test_a_disk_that_fails_is_no_shortcut_refused(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    monkeypatch.setattr("fcntl.ioctl", refusing(errno.EOPNOTSUPP))
    monkeypatch.setattr(os, call, refusing(errno.EIO), raising=False)
    with pytest.raises(OSError, match=f"Errno {errno.EIO}"):
        copied(source, tmp_path / "target")


def test_a_file_that_becomes_shorter_ends_where_it_does(tmp_path: Path) -> None:
    (tmp_path / "short").write_bytes(b"12345")
    done = Copied(lambda: None, 10**9)
    with (tmp_path / "short").open("rb") as reading, (tmp_path / "copy").open("wb") as writing:
        _copy_range(reading.fileno(), writing.fileno(), 0, 10_000, done)

    assert b"12345" == (tmp_path / "copy").read_bytes()


def test_what_goes_after_a_folder_was_listed_is_not_there(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed = os.listdir
    monkeypatch.setattr(os, "listdir", lambda folder: ["gone", *listed(folder)])
    done = copied(source, tmp_path / "target")
    monkeypatch.undo()

    assert [] == done.missing()
    assert {path.name for path in source.iterdir()} == {
        path.name for path in (tmp_path / "target").iterdir()
    }


def test_a_pipe_put_in_the_place_of_a_file_holds_nobody_up(tmp_path: Path) -> None:
    """It was a file when the folder was looked through."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "target").mkdir()
    done = Copied(lambda: None, 10**9)
    folder = os.open(tmp_path, os.O_RDONLY)
    target = os.open(tmp_path / "target", os.O_RDONLY)
    try:
        _copy_file(folder, target, "pipe", done)
    finally:
        os.close(folder)
        os.close(target)

    assert ["pipe"] == done.names
    assert [] == [*(tmp_path / "target").iterdir()]


def test_what_may_not_be_read_is_left_out_and_said(unprivileged: Path) -> None:
    folder = unprivileged / "source"
    (folder / "inner").mkdir(parents=True)
    for name in ("inner/file", "one", "two", "three", "read"):
        (folder / name).write_text(name)
    for name in ("inner", "one", "two", "three"):
        (folder / name).chmod(0)
    done = copied(folder, unprivileged / "target")
    (folder / "inner").chmod(0o700)

    assert ["read"] == [path.name for path in (unprivileged / "target").iterdir()]
    (said,) = done.missing()
    assert "lacks 4 that could not be copied" in said
    assert 3 == sum(f"'{name}'" in said for name in ("inner", "one", "two", "three"))


def test_a_copy_occupies_a_block_for_each_entry_besides_its_bytes(
    source: Path, tmp_path: Path
) -> None:
    done = copied(source, tmp_path / "target")

    assert (14, 8) == (done.size, done.entries)
    assert 14 + 8 * copying.BLOCK == done.occupied


def test_too_many_bytes(source: Path, tmp_path: Path) -> None:
    with pytest.raises(TooMuch, match="more than 5 bytes"):
        copied(source, tmp_path / "target", max_bytes=5)


def test_too_many_files(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copying, "MAX_ENTRIES", 3)
    with pytest.raises(TooMuch, match="more than 3 files"):
        copied(source, tmp_path / "target")


def test_too_deep(tmp_path: Path) -> None:
    deep = tmp_path / "source"
    for _ in range(copying.MAX_DEPTH + 2):
        deep /= "d"
    deep.mkdir(parents=True)
    with pytest.raises(TooMuch, match="deeper than"):
        copied(tmp_path / "source", tmp_path / "target")


def test_copying_can_be_ended(source: Path, tmp_path: Path) -> None:
    for number in range(100):
        (source / f"{number}").touch()

    def tick() -> None:
        raise TimeoutError

    with pytest.raises(TimeoutError):
        copy_tree(str(source), str(tmp_path / "target"), Copied(tick, 10**9))


def test_a_workspace_too_large_to_copy(plain: Marked, tmp_path: Path) -> None:
    (tmp_path / "large").write_bytes(bytes(200_000))
    done = plain.run("pass", workspace=str(tmp_path), disk_bytes=100_000)
    done.close()

    assert (Ended.DISK_LIMIT, None) == (done.ended, done.isolation and done.exit_code)
    assert "the workspace cannot be copied: it has more than 100000 bytes" == done.reason


def test_what_a_command_does_to_its_workspace(marked: Marked, source: Path) -> None:
    """It sees all, changes what it likes, and the workspace itself is as before."""
    program = """
import os, shutil
print(sorted(os.listdir('.')))
open('new', 'w').write('new'); os.remove('tool'); open('a/b/file', 'a').write(' more')
"""
    before = sorted(path.name for path in source.iterdir())
    with marked.run(program, workspace=str(source)) as done:
        assert done.workspace is not None
        left = Path(done.workspace)

        assert f"{before}\n".encode() == done.stdout.head
        assert b"text more" == (left / "a" / "b" / "file").read_bytes()
        assert "new" == (left / "new").read_text()
        assert not (left / "tool").exists()

    assert before == sorted(path.name for path in source.iterdir())
    assert b"text" == (source / "a" / "b" / "file").read_bytes()


def test_a_live_workspace_is_changed(plain: Marked, source: Path) -> None:
    with plain.run("open('new', 'w').close()", workspace=str(source), live=True) as done:
        assert str(source) == done.workspace

    assert (source / "new").exists()


def test_closing_removes_the_copy(plain: Marked, source: Path) -> None:
    deep = (
        "import os\nfor _ in range(1500):\n    os.mkdir('d'); os.chmod('.', 0o500); os.chdir('d')"
    )
    done = plain.run(deep, workspace=str(source))
    assert done.workspace is not None
    folder = Path(done.workspace)
    there = folder.exists()
    done.close()
    done.close()

    assert (True, False) == (there, folder.exists())
