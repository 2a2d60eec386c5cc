"""Evidence comes back as it was put, or not at all."""

from __future__ import annotations

import io
import os
from hashlib import sha256
from pathlib import Path

import pytest

from signoff.errors import EvidenceCorrupt, EvidenceMissing, RunUnwritable
from signoff.evidence import DirectoryStore, EvidenceStore, MemoryStore
from signoff.model import Evidence

ABC = f"sha256:{sha256(b'abc').hexdigest()}"


@pytest.fixture(params=["memory", "folder"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> EvidenceStore:
    return MemoryStore() if request.param == "memory" else DirectoryStore(tmp_path / "kept")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "kept"


@pytest.mark.parametrize("data", [b"", b"abc", b"\0" * (2**20 + 1)], ids=len)
def test_bytes_come_back(store: EvidenceStore, data: bytes) -> None:
    kept = store.put(data, media_type="text/plain", name="x")

    assert Evidence(digest=kept.digest, size=len(data), media_type="text/plain", name="x") == kept
    assert data == store.read(kept.digest)
    assert store.has(kept.digest)


def test_stream_is_kept_like_bytes(store: EvidenceStore) -> None:
    data = b"abc" * 2**20

    assert store.put(data) == store.put(io.BytesIO(data))


def test_digest_is_of_the_bytes(store: EvidenceStore) -> None:
    assert ABC == store.put(b"abc").digest
    assert ABC == store.put(b"abc").digest


@pytest.mark.parametrize(
    "digest", [ABC, "", "sha256:", ABC.upper(), "../x", "sha256:../../x", ABC[7:], ABC + "\n"]
)
def test_absent_or_odd_digest_is_missing(store: EvidenceStore, digest: str) -> None:
    assert not store.has(digest)
    with pytest.raises(EvidenceMissing):
        store.read(digest)


def test_too_much_is_refused_and_leaves_nothing(folder: Path) -> None:
    for store in (MemoryStore(max_bytes=2), DirectoryStore(folder, max_bytes=2)):
        for data in (b"abc", io.BytesIO(b"abc")):
            with pytest.raises(ValueError, match="larger than 2 bytes"):
                store.put(data)
        assert 2 == store.put(b"ab").size
    assert 1 == len(list(folder.iterdir()))


def test_stream_that_breaks_leaves_nothing(folder: Path) -> None:
    class Broken(io.RawIOBase):
        def read(self, size: int = -1) -> bytes:
            raise OSError(5, "Input/output error")

    with pytest.raises(RunUnwritable, match="input/output error"):
        DirectoryStore(folder).put(Broken())  # type: ignore[arg-type]  # a raw stream is enough

    assert [] == list(folder.iterdir())


def test_changed_bytes_are_corrupt(folder: Path) -> None:
    store = DirectoryStore(folder)
    file = folder / store.put(b"abc").digest.removeprefix("sha256:")
    file.write_bytes(b"abd")

    assert store.has(ABC)
    with pytest.raises(EvidenceCorrupt, match="has the digest"):
        store.read(ABC)


def test_putting_again_mends(folder: Path) -> None:
    store = DirectoryStore(folder)
    file = folder / store.put(b"abc").digest.removeprefix("sha256:")
    file.write_bytes(b"")
    store.put(b"abc")

    assert b"abc" == store.read(ABC)


def test_link_is_corrupt_even_to_the_same_bytes(folder: Path, tmp_path: Path) -> None:
    store = DirectoryStore(folder)
    file = folder / store.put(b"abc").digest.removeprefix("sha256:")
    file.rename(tmp_path / "elsewhere")
    file.symlink_to(tmp_path / "elsewhere")

    with pytest.raises(EvidenceCorrupt, match="symbolic link"):
        store.read(ABC)


@pytest.mark.parametrize(("make", "kind"), [(os.mkfifo, "regular"), (os.mkdir, "folder")])
def test_what_is_no_file_is_corrupt(folder: Path, make: object, kind: str) -> None:
    store = DirectoryStore(folder)
    file = folder / store.put(b"abc").digest.removeprefix("sha256:")
    file.unlink()
    assert callable(make)
    make(file)

    with pytest.raises(EvidenceCorrupt, match=kind):
        store.read(ABC)


def test_larger_file_is_refused_by_its_size(folder: Path) -> None:
    DirectoryStore(folder).put(b"abc")
    file = folder / ABC.removeprefix("sha256:")
    os.truncate(file, 2**40)

    with pytest.raises(EvidenceCorrupt, match="is larger than"):
        DirectoryStore(folder).read(ABC)


def test_put_replaces_a_link_and_not_what_it_leads_to(folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "precious"
    other.write_bytes(b"precious")
    folder.mkdir()
    (folder / ABC.removeprefix("sha256:")).symlink_to(other)
    DirectoryStore(folder).put(b"abc")

    assert b"precious" == other.read_bytes()
    assert b"abc" == DirectoryStore(folder).read(ABC)


def test_folder_behind_a_link_is_not_used(folder: Path, tmp_path: Path) -> None:
    DirectoryStore(tmp_path / "real").put(b"abc")
    folder.symlink_to(tmp_path / "real")
    store = DirectoryStore(f"{folder}/")

    assert not store.has(ABC)
    with pytest.raises(EvidenceCorrupt, match="symbolic link"):
        store.read(ABC)
    with pytest.raises(RunUnwritable, match="symbolic link"):
        store.put(b"abc")


def test_folder_that_is_a_file_is_not_used(folder: Path) -> None:
    folder.write_bytes(b"")

    with pytest.raises(RunUnwritable, match="file, not a folder"):
        DirectoryStore(folder).put(b"abc")
