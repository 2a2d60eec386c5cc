"""The index of a repository is read as git reads it, or refused."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from signoff.errors import NotJudged
from signoff.git.index import staged
from signoff.git.objects import Entry, Objects
from signoff.git.program import Deadline, clean_git
from tests.repositories import NEEDS_GIT, Repo

pytestmark = NEEDS_GIT
ID = bytes(range(20))


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return Repo(tmp_path / "work")


@pytest.fixture
def objects(repo: Repo) -> Iterator[Objects]:
    folder = str(repo.root / ".git" / "objects")
    with (
        clean_git(str(repo.root), "sha1", Deadline.after(60)) as git,
        Objects.opened(git, folder) as found,
    ):
        yield found


def entry(path: bytes, *, cut: bytes = b"", flags: int | None = None, version: int = 2) -> bytes:
    """One entry, as ``gitformat-index`` has it; of version 4 with what it takes of the last."""
    length = min(len(path), 0xFFF) if flags is None else flags
    stat = struct.pack(">10I", *[0] * 6, 0o100644, *[0] * 3)
    made = stat + ID + struct.pack(">H", length)
    if version == 4:
        return made + cut + path + b"\0"
    made += path
    return made + bytes(8 - len(made) % 8)


def index(*entries: bytes, version: int = 2, count: int | None = None) -> bytes:
    head = b"DIRC" + struct.pack(">II", version, len(entries) if count is None else count)
    return head + b"".join(entries) + bytes(20)


def test_made_here_is_read_as_git_would(objects: Objects) -> None:
    """So that what is refused below is refused for what is wrong with it."""
    plain = staged(index(entry(b"a"), entry(b"b/c")), objects)
    cut = staged(
        index(
            entry(b"abc", cut=b"\0", version=4),
            entry(b"x", cut=b"\2", flags=2, version=4),
            version=4,
        ),
        objects,
    )

    assert [b"a", b"b/c"] == [path for path, _ in plain]
    assert [(b"abc", Entry(0o100644, ID.hex())), (b"ax", Entry(0o100644, ID.hex()))] == [*cut]


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "it has an unknown form"),
        (b"DIRC" + struct.pack(">II", 5, 0) + bytes(20), "it has an unknown form"),
        (b"XIRC" + struct.pack(">II", 2, 0) + bytes(20), "it has an unknown form"),
        (
            index(entry(b"x", cut=b"\1", version=4), version=4),
            "a path is shorter than nothing",
        ),
        (
            index(entry(b"x", cut=b"\xff\xff\xff\xff\xff\x7f", version=4), version=4),
            "a number is too large",
        ),
        (index(entry(b"abc", flags=2)), "a path has another length than it says"),
        (index(entry(b"a"))[:-1], "it ends early"),
        (index(entry(b"a"), count=2), ""),
        (index(entry(b"a"), count=2**32 - 1), ""),
    ],
)
def test_what_is_no_index_is_refused(objects: Objects, data: bytes, says: str) -> None:
    with pytest.raises(NotJudged, match=rf"The index cannot be read: {says}"):
        list(staged(data, objects))


@pytest.mark.parametrize("version", ["2", "4"])
def test_paths_of_any_length_are_those_that_git_lists(
    repo: Repo, objects: Objects, version: str
) -> None:
    """Of version 4 with so much in common, and so much not, that one byte cannot say it."""
    deep = "/".join(["d" * 200] * 25)
    names = ["a", f"{deep}/a", f"{deep}/b", "e", f"f/{'g' * 140}", f"f/{'h' * 140}", "z"]
    blob = repo.git("hash-object", "-w", "--stdin")
    repo.git("config", "index.version", version)
    for name in names:
        repo.git("update-index", "--add", "--cacheinfo", f"100755,{blob},{name}")
    data = (repo.root / ".git" / "index").read_bytes()

    assert int(version) == int.from_bytes(data[4:8])
    assert [(name.encode(), Entry(0o100755, blob)) for name in names] == [*staged(data, objects)]
