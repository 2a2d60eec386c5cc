"""artifact_exists: files that are no files, change while they are looked at, or cannot be read."""

from __future__ import annotations

import errno
import os
import socket
import sys
import threading
import time
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from signoff.contract import lock
from signoff.engine import Engine
from signoff.evidence import DirectoryStore, EvidenceStore, MemoryStore
from signoff.model import Finding, Subject
from signoff.probes import PROBES
from signoff.registry import Powers
from signoff.rundir import begin_run, read_run
from signoff.status import Cause, Outcome, Status

SECRET = b"content that nobody may be told"
DIGEST = f"sha256:{sha256(SECRET).hexdigest()}"


def finding(
    entries: list[dict[str, Any]], *, powers: Powers | None = None, **facts: Any
) -> Finding:
    engine = Engine(PROBES.with_powers(powers or Powers()))
    params = {"evidence": entries}
    criteria = [{"id": "it", "verifier": "artifact_exists", "params": params}]
    locked = lock({"id": "c", "criteria": criteria}, engine.registry)
    return engine.verify(locked, Subject(output=None, **facts)).results[0].finding


def found_in(folder: Path, *entries: dict[str, Any]) -> Finding:
    return finding(list(entries), workspace=str(folder))


def missing(ref: str) -> tuple[Status, str, Cause | None]:
    return Status.FAIL, f"Missing artifact: {ref}", None


def unreadable(ref: str) -> tuple[Status, str, Cause | None]:
    return (
        Status.INCONCLUSIVE,
        f"Artifact cannot be read: {ref}",
        Cause.EVIDENCE_UNREACHABLE,
    )


def summary(found: Finding) -> tuple[Status, str, Cause | None]:
    return found.status, found.detail, found.cause


# -- what is no file --


def test_named_pipe_is_missing_and_never_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")

    assert missing("pipe") == summary(found_in(tmp_path, {"ref": "pipe"}))


def test_socket_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # the whole path may be too long for a socket
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("s")

        assert missing("s") == summary(found_in(tmp_path, {"ref": "s"}))


def test_device_is_missing() -> None:
    assert missing("null") == summary(found_in(Path("/dev"), {"ref": "null"}))


def test_special_file_is_no_directory_either(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")

    assert missing("pipe") == summary(found_in(tmp_path, {"ref": "pipe", "kind": "dir"}))


def test_name_that_is_too_long_is_missing(tmp_path: Path) -> None:
    name = "x" * 300

    assert missing("x" * 200 + "...") == summary(found_in(tmp_path, {"ref": name}))


# -- links --


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere every link is refused")
def test_link_that_stays_inside_is_followed(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(SECRET)
    (tmp_path / "link").symlink_to("a.txt")

    assert found_in(tmp_path, {"ref": "link", "checksum": DIGEST}).status.holds


def test_link_to_outside_is_missing_even_where_the_checksum_would_fit(tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(SECRET)
    workspace = tmp_path / "w"
    workspace.mkdir()
    (workspace / "relative").symlink_to("../secret")
    (workspace / "absolute").symlink_to(tmp_path / "secret")
    (workspace / "folder").symlink_to(tmp_path)

    for ref in ("relative", "absolute", "folder/secret"):
        assert missing(ref) == summary(found_in(workspace, {"ref": ref, "checksum": DIGEST}))
    assert missing("folder") == summary(found_in(workspace, {"ref": "folder", "kind": "dir"}))


@pytest.mark.parametrize("named", ["real", "link"])
@pytest.mark.parametrize("meant", ["real", "link"])
def test_url_and_workspace_may_name_a_folder_by_its_link(
    tmp_path: Path, named: str, meant: str
) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "a.txt").write_bytes(SECRET)
    (tmp_path / "link").symlink_to("real")
    found = found_in(tmp_path / named, {"ref": f"file://{tmp_path / meant}/a.txt"})

    # A link can lead elsewhere tomorrow, so a URL through one that is not the
    # workspace's own name is not taken for the workspace.
    expected = (
        (Status.ERROR, Cause.BAD_PARAMS)
        if (named, meant) == ("real", "link")
        else (Status.PASS, None)
    )
    assert expected == (found.status, found.cause)


# -- races --


def test_opened_file_decides_when_another_takes_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    artifact = tmp_path / "a.txt"
    artifact.write_bytes(SECRET)
    read = os.read

    def swaps(handle: int, size: int) -> bytes:
        if artifact.read_bytes() == SECRET:
            (tmp_path / "b.txt").write_bytes(b"other")
            (tmp_path / "b.txt").rename(artifact)
        return read(handle, size)

    monkeypatch.setattr(os, "read", swaps)
    found = found_in(tmp_path, {"ref": "a.txt", "checksum": DIGEST})

    assert b"other" == artifact.read_bytes()
    assert Status.PASS is found.status


def test_name_that_flickers_between_a_file_and_a_link_never_leads_out(tmp_path: Path) -> None:
    (tmp_path / "outside").write_bytes(SECRET)
    workspace = tmp_path / "w"
    workspace.mkdir()
    (workspace / "inside").write_bytes(b"harmless")
    ended = threading.Event()

    def flicker() -> None:
        while not ended.is_set():
            os.link(workspace / "inside", workspace / "next")
            (workspace / "next").rename(workspace / "a")
            (workspace / "a").unlink(missing_ok=True)
            (workspace / "a").symlink_to("../outside")
            (workspace / "a").unlink()

    thread = threading.Thread(target=flicker)
    thread.start()
    try:
        seen = {found_in(workspace, {"ref": "a", "checksum": DIGEST}).detail for _ in range(300)}
    finally:
        ended.set()
        thread.join()
    harmless = f"sha256:{sha256(b'harmless').hexdigest()}"

    assert seen <= {
        "Missing artifact: a",
        "Artifact cannot be read: a",
        f"Checksum mismatch for a: expected {DIGEST}, got {harmless}",
    }


# -- what cannot be read --


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
def test_file_that_may_not_be_read_is_not_missing(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(SECRET)
    (tmp_path / "a.txt").chmod(0)

    assert unreadable("a.txt") == summary(found_in(tmp_path, {"ref": "a.txt"}))


@pytest.mark.parametrize("number", [errno.EACCES, errno.EIO, errno.EMFILE, errno.ENOMEM])
def test_trouble_with_opening_is_not_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    module = sys.modules["signoff.probes.artifact_exists"]

    def fails(*_: object) -> int:
        raise OSError(number, "trouble")

    monkeypatch.setattr(module, "open_beneath", fails)

    assert unreadable("a.txt") == summary(found_in(tmp_path, {"ref": "a.txt"}))


def test_trouble_with_reading_is_not_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.txt").write_bytes(SECRET)

    def fails(*_: object) -> bytes:
        raise OSError(errno.EIO, "input/output error")

    monkeypatch.setattr(os, "read", fails)
    found = found_in(tmp_path, {"ref": "a.txt", "checksum": DIGEST})

    assert unreadable("a.txt") == summary(found)


def test_workspace_that_is_a_file_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "w").write_bytes(b"")

    assert unreadable("a.txt") == summary(found_in(tmp_path / "w", {"ref": "a.txt"}))


# -- large files --


def test_file_is_read_in_pieces_and_only_for_a_checksum(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (tmp_path / "large").open("wb") as file:
        file.truncate(2**25)
    sizes: list[int] = []
    read = os.read

    def reads(handle: int, size: int) -> bytes:
        sizes.append(size)
        return read(handle, size)

    monkeypatch.setattr(os, "read", reads)
    found_in(tmp_path, {"ref": "large"})

    assert [] == sizes
    checksum = f"sha256:{sha256(bytes(2**25)).hexdigest()}"

    assert found_in(tmp_path, {"ref": "large", "checksum": checksum}).status.holds
    assert max(sizes) <= 2**20


def test_file_that_takes_too_long_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (tmp_path / "huge").open("wb") as file:
        file.truncate(2**40)
    monkeypatch.setattr(sys.modules["signoff.probes.artifact_exists"], "HASH_S", 0.05)
    begin = time.monotonic()
    found = found_in(tmp_path, {"ref": "huge", "checksum": DIGEST})

    assert unreadable("huge") == summary(found)
    assert time.monotonic() - begin < 60  # all of it takes many minutes


# -- recorded evidence --


class Stubborn:
    """A store that gives what it was made with, whatever it is asked."""

    def __init__(self, answer: bytes | Exception) -> None:
        self._answer = answer

    def read(self, digest: str) -> bytes:
        if isinstance(self._answer, Exception):
            raise self._answer
        return self._answer


def recorded(store: Any) -> Finding:
    kept = MemoryStore().put(SECRET)
    return finding([{"ref": DIGEST}], powers=Powers(store=store), evidence=(kept,))


def test_recorded_evidence_is_listed_as_it_was_recorded(tmp_path: Path) -> None:
    store: EvidenceStore = DirectoryStore(tmp_path / "evidence")
    kept = store.put(SECRET, name="report", media_type="text/plain")
    other = store.put(b"other")
    found = finding(
        [{"ref": DIGEST, "checksum": DIGEST}],
        powers=Powers(store=store),
        evidence=(other, kept),
    )

    assert (Status.PASS, (kept,)) == (found.status, found.evidence)


def test_altered_evidence_fails(tmp_path: Path) -> None:
    store = DirectoryStore(tmp_path / "evidence")
    store.put(SECRET)
    (tmp_path / "evidence" / DIGEST.removeprefix("sha256:")).write_bytes(b"altered")
    found = recorded(store)
    got = f"sha256:{sha256(b'altered').hexdigest()}"

    assert (Status.FAIL, Cause.EVIDENCE_CORRUPT) == (found.status, found.cause)
    assert f"Checksum mismatch for {DIGEST}: expected {DIGEST}, got {got}" == found.detail


def test_store_is_not_believed() -> None:
    found = recorded(Stubborn(b"something else"))

    assert (Status.FAIL, Cause.EVIDENCE_CORRUPT) == (found.status, found.cause)


def test_evidence_that_is_a_link_cannot_be_read(tmp_path: Path) -> None:
    store = DirectoryStore(tmp_path / "evidence")
    store.put(SECRET)
    kept = tmp_path / "evidence" / DIGEST.removeprefix("sha256:")
    kept.rename(tmp_path / "elsewhere")
    kept.symlink_to("../elsewhere")

    assert unreadable(DIGEST) == summary(recorded(store))


def test_store_that_has_trouble_leaves_it_open() -> None:
    assert unreadable(DIGEST) == summary(recorded(Stubborn(OSError(errno.EIO, "trouble"))))


# -- what is told, and kept --


def test_no_message_holds_what_a_file_holds(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(SECRET)
    (tmp_path / "d").mkdir()
    (tmp_path / "out").symlink_to("/etc/hostname")
    entries: list[dict[str, Any]] = [
        {"ref": "a.txt"},
        {"ref": "a.txt", "checksum": "sha512:00"},
        {"ref": "a.txt", "kind": "dir"},
        {"ref": "a.txt/x"},
        {"ref": "d"},
        {"ref": "out"},
    ]
    told = [repr(found_in(tmp_path, entry)) for entry in entries]

    assert not any(SECRET.decode() in text for text in told)


def test_run_with_artifacts_is_kept_and_reads_back(tmp_path: Path) -> None:
    workspace = tmp_path / "w"
    workspace.mkdir()
    (workspace / "a.txt").write_bytes(SECRET)
    engine = Engine(PROBES)
    params = {"evidence": [{"ref": "a.txt", "checksum": DIGEST}]}
    criteria = [{"id": "it", "verifier": "artifact_exists", "params": params}]
    locked = lock({"id": "c", "criteria": criteria}, PROBES)
    subject = Subject(output=None, workspace=str(workspace))
    with begin_run(tmp_path / "run") as run:
        run.commit(locked, engine.verify(locked, subject), subject)
    found = read_run(tmp_path / "run").report

    assert Outcome.PASSED is found.verdict.outcome
    assert params == found.results[0].finding.data


def test_output_is_not_read() -> None:
    verifier = PROBES.get("artifact_exists")
    assert verifier is not None
    check: Any = verifier.bind({"evidence": [{"ref": "a.txt"}]}, Powers())

    assert () == check.reads
