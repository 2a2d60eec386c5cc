"""The bytes of a file, or one sentence."""

from __future__ import annotations

import errno
import io
import os
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from signoff.document import beneath
from signoff.document.filebytes import read_bytes, read_stdin
from signoff.errors import DocumentError

NOBODY = 65534


@contextmanager
def without_privileges() -> Iterator[None]:
    """Root may read everything, so its rights are laid down for a while."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


def refusal(path: Path | str, *, folder: Path | None = None, max_bytes: int = 100) -> str:
    with pytest.raises(DocumentError) as caught:
        read_bytes(path, max_bytes=max_bytes, folder=folder)
    return str(caught.value)


def test_a_file_is_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(b"x" * 100)
    assert read_bytes(path, max_bytes=100) == b"x" * 100
    assert read_bytes(str(path), max_bytes=100) == b"x" * 100


def test_an_empty_file_has_no_bytes(tmp_path: Path) -> None:
    (tmp_path / "a.json").touch()
    assert read_bytes(tmp_path / "a.json", max_bytes=1) == b""


def test_a_link_to_a_file_is_the_file(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x")
    (tmp_path / "b").symlink_to("a")
    assert read_bytes(tmp_path / "b", max_bytes=1) == b"x"


def test_one_byte_too_many_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(b"x" * 101)
    assert refusal(path) == f"{path}: is larger than 100 bytes (101)"


def test_a_file_of_a_gigabyte_is_refused_without_being_read(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.touch()
    os.truncate(path, 2**30)
    start = time.monotonic()
    assert refusal(path, max_bytes=8388608) == f"{path}: is larger than 8388608 bytes (1073741824)"
    assert time.monotonic() - start < 1


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has files that hide their size")
def test_the_cap_holds_for_a_file_larger_than_it_says() -> None:
    assert Path("/proc/self/status").stat().st_size == 0
    assert refusal("/proc/self/status", max_bytes=10) == (
        "/proc/self/status: is larger than 10 bytes"
    )


def test_what_is_no_file_is_named(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert refusal(tmp_path) == f"{tmp_path}: is a folder, not a file"
    assert refusal(tmp_path / "pipe") == f"{tmp_path}/pipe: is a named pipe, not a file"
    assert refusal("/dev/zero") == "/dev/zero: is a device, not a file"


def test_a_socket_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # the name of a socket is short
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("s")
        assert refusal("s") == "s: is a socket, not a file"


def test_what_cannot_be_opened_is_told(tmp_path: Path) -> None:
    (tmp_path / "a").touch()
    (tmp_path / "loop").symlink_to("loop")
    assert refusal(tmp_path / "none") == f"{tmp_path}/none: no such file"
    assert refusal(tmp_path / "a" / "b") == f"{tmp_path}/a/b: no such file"
    assert refusal("") == ": no such file"
    assert refusal(tmp_path / "loop") == f"{tmp_path}/loop: links that lead to one another"
    assert refusal("n" * 5000) == "n" * 200 + "...: the name is too long"
    assert refusal("a\0b") == "a\\u0000b: no file can have this name"
    assert refusal("\ud800") == "\\ud800: no file can have this name"


def test_a_file_without_read_permission_is_told(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text("secret")
    path.chmod(0)
    with without_privileges():
        assert refusal(path) == f"{path}: permission denied"


def test_no_handle_stays_open(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x")
    os.mkfifo(tmp_path / "pipe")
    next_handle = os.dup(0)
    os.close(next_handle)
    read_bytes(tmp_path / "a", max_bytes=9)
    read_bytes("a", max_bytes=9, folder=tmp_path)
    refusal(tmp_path / "pipe")
    refusal("pipe", folder=tmp_path)
    refusal("../a", folder=tmp_path)
    again = os.dup(0)
    os.close(again)
    assert again == next_handle


def kernel_answers(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    """As on a system whose kernel gives this error for every openat2."""

    def openat2(root: int, name: str, flags: int) -> int:
        raise OSError(number, os.strerror(number), name)

    monkeypatch.setattr(beneath, "_openat2", openat2)


@pytest.fixture(params=["openat2", "walk"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both ways to stay below a folder; the second is that of systems without openat2."""
    if request.param == "walk":
        kernel_answers(monkeypatch, errno.ENOSYS)
    return str(request.param)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "outside.json").write_text("secret")
    folder = tmp_path / "folder"
    (folder / "sub").mkdir(parents=True)
    (folder / "sub" / "a.json").write_text("inside")
    (folder / "out.json").symlink_to("../outside.json")
    (folder / "absolute.json").symlink_to(tmp_path / "outside.json")
    (folder / "up").symlink_to("..")
    (folder / "in.json").symlink_to("sub/a.json")
    (folder / "loop").symlink_to("loop")
    return folder


@pytest.mark.parametrize("name", ["sub/a.json", "./sub/a.json", "sub//a.json", "sub/./a.json"])
def test_a_file_below_the_folder_is_read(way: str, folder: Path, name: str) -> None:
    assert way
    assert read_bytes(name, max_bytes=9, folder=folder) == b"inside"


@pytest.mark.parametrize(
    "name",
    [
        "../outside.json",
        "sub/../../outside.json",
        "sub/../sub/a.json",
        "out.json",
        "absolute.json",
        "up/outside.json",
        "up/folder/sub/a.json",
        "/etc/passwd",
        "//etc/passwd",
    ],
)
def test_a_name_that_leaves_the_folder_is_refused(way: str, folder: Path, name: str) -> None:
    assert way
    assert refusal(name, folder=folder) == f"{name}: leaves the folder"


def test_a_link_within_the_folder_is_followed_where_the_kernel_does_it(folder: Path) -> None:
    probe = beneath._openat2
    root = os.open(folder, os.O_RDONLY)
    try:
        os.close(probe(root, "sub/a.json", os.O_RDONLY))
    except OSError as exc:
        pytest.skip(f"no openat2 here: {exc}")
    finally:
        os.close(root)
    assert read_bytes("in.json", max_bytes=9, folder=folder) == b"inside"


def test_a_link_within_the_folder_is_refused_where_it_is_walked(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel_answers(monkeypatch, errno.ENOSYS)
    assert refusal("in.json", folder=folder) == "in.json: leaves the folder"


def test_other_faults_below_a_folder_are_told(way: str, folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    assert refusal("none.json", folder=folder) == "none.json: no such file"
    assert refusal("none/a.json", folder=folder) == "none/a.json: no such file"
    assert refusal("sub/a.json/b", folder=folder) == "sub/a.json/b: no such file"
    assert refusal("sub", folder=folder) == "sub: is a folder, not a file"
    assert refusal(".", folder=folder) == ".: is a folder, not a file"
    assert refusal("pipe", folder=folder) == "pipe: is a named pipe, not a file"
    assert refusal("a\0b", folder=folder) == "a\\u0000b: no file can have this name"
    assert refusal("sub/a.json", folder=folder / "none") == "sub/a.json: no such file"
    loop = "links that lead to one another" if way == "openat2" else "leaves the folder"
    assert refusal("loop", folder=folder) == f"loop: {loop}"


@pytest.mark.parametrize("number", [errno.ENOSYS, errno.EPERM])
def test_without_openat2_the_name_is_walked(
    folder: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    kernel_answers(monkeypatch, number)
    assert read_bytes("sub/a.json", max_bytes=9, folder=folder) == b"inside"
    assert refusal("out.json", folder=folder) == "out.json: leaves the folder"


def test_a_folder_that_keeps_changing_is_given_up(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel_answers(monkeypatch, errno.EAGAIN)
    assert refusal("sub/a.json", folder=folder) == (
        "sub/a.json: cannot be read (the folder keeps changing)"
    )


def test_standard_input_is_read_to_its_end_and_no_further_than_the_cap() -> None:
    assert read_stdin(io.BytesIO(b"x" * 10), max_bytes=10) == b"x" * 10
    with pytest.raises(DocumentError, match=r"^standard input: is larger than 9 bytes$"):
        read_stdin(io.BytesIO(b"x" * 10), max_bytes=9)
    with (
        Path("/dev/zero").open("rb") as endless,
        pytest.raises(DocumentError, match=r"^standard input: is larger than 9 bytes$"),
    ):
        read_stdin(endless, max_bytes=9)


def test_standard_input_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    closed = io.BytesIO()
    closed.close()
    with pytest.raises(DocumentError, match=r"^standard input: is closed$"):
        read_stdin(closed, max_bytes=9)

    class Waiting:
        def read(self, size: int, /) -> bytes | None:
            return None

    with pytest.raises(DocumentError, match=r"^standard input: has nothing to read yet"):
        read_stdin(Waiting(), max_bytes=9)

    class Folder:
        def read(self, size: int, /) -> bytes | None:
            return os.read(handle, size)

    handle = os.open(tmp_path, os.O_RDONLY)
    try:
        with pytest.raises(DocumentError, match=r"^standard input: is a folder, not a file$"):
            read_stdin(Folder(), max_bytes=9)
    finally:
        os.close(handle)
