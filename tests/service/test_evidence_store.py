"""Acceptance row 21: our own evidence, kept for all workers and given out by its digest."""

from __future__ import annotations

import errno
import fcntl
import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
import pytest

from signoff.errors import EvidenceCorrupt, EvidenceMissing, RunUnwritable, StoreFull
from signoff.folder import Folder
from signoff.service.evidence_store import OwnEvidence
from signoff.service.fetching import MAX_REFERENCE_BYTES
from tests.servers import Server
from tests.service.calls import call, code
from tests.service.fetches import DATA, Watch, allowed, at, digest_of, fetch, reference, silent
from tests.service.running import ROOT, Running

HEX = sha256(DATA).hexdigest()
JSON_TYPE = "application/json"
BLOCK = 4096
URL = "http://127.0.0.1:8787"


def file_of(state: Path, data: bytes = DATA) -> Path:
    return state / "evidence" / "bytes" / sha256(data).hexdigest()


# -- the store --


def test_bytes_are_found_by_their_digest(tmp_path: Path) -> None:
    kept = OwnEvidence(tmp_path).put(DATA, media_type=JSON_TYPE)
    store = OwnEvidence(tmp_path)  # of another process

    assert (digest_of(DATA), len(DATA), JSON_TYPE) == (kept.digest, kept.size, kept.media_type)
    assert DATA == store.read(kept.digest)
    assert JSON_TYPE == store.media_type(kept.digest)


def test_first_media_type_stays(tmp_path: Path) -> None:
    store = OwnEvidence(tmp_path)
    store.put(DATA, media_type="text/plain; charset=utf-8")

    assert "text/plain; charset=utf-8" == store.put(DATA, media_type=JSON_TYPE).media_type


@pytest.mark.parametrize(
    "media_type",
    ["", "text", "text/", "a/b\r\nX: y", "a/b\n", "a/b;c", "é/x", "a b/c", "a/" + "b" * 126],
)
def test_media_type_that_no_header_can_carry_is_that_of_any_bytes(
    media_type: str, tmp_path: Path
) -> None:
    store = OwnEvidence(tmp_path)

    assert "application/octet-stream" == store.put(DATA, media_type=media_type).media_type


def test_media_type_that_was_tampered_with_is_that_of_any_bytes(tmp_path: Path) -> None:
    store = OwnEvidence(tmp_path)
    store.put(DATA, media_type=JSON_TYPE)
    for content in (b"a/b\r\nX: y", b"a/b" * 100, b"\xff"):
        (tmp_path / "evidence" / "types" / HEX).write_bytes(content)

        assert "application/octet-stream" == store.media_type(digest_of(DATA))


@pytest.mark.parametrize("digest", ["", HEX, "sha256:../../x", f"sha256:{HEX.upper()}", "sha256:"])
def test_what_is_no_digest_is_missing(digest: str, tmp_path: Path) -> None:
    store = OwnEvidence(tmp_path)
    store.put(DATA)
    with pytest.raises(EvidenceMissing):
        store.read(digest)


def test_damaged_bytes_are_not_given_and_may_be_put_again(tmp_path: Path) -> None:
    store = OwnEvidence(tmp_path)
    digest = store.put(DATA).digest
    file_of(tmp_path).write_bytes(DATA[::-1])
    with pytest.raises(EvidenceCorrupt):
        store.read(digest)
    store.put(DATA)

    assert DATA == store.read(digest)


def test_link_is_not_followed(tmp_path: Path) -> None:
    store = OwnEvidence(tmp_path)
    digest = store.put(DATA).digest
    (tmp_path / "elsewhere").write_bytes(DATA)
    file_of(tmp_path).unlink()
    file_of(tmp_path).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(EvidenceCorrupt, match="symbolic link"):
        store.read(digest)


def test_each_piece_can_be_fetched_by_ourselves(tmp_path: Path) -> None:
    store = OwnEvidence(tmp_path)
    store.put(bytes(MAX_REFERENCE_BYTES))
    with pytest.raises(ValueError, match="larger than"):
        store.put(bytes(MAX_REFERENCE_BYTES + 1))


# -- room --


def test_full_store_takes_nothing_and_loses_nothing(tmp_path: Path) -> None:
    """Acceptance row 21: store full."""
    store = OwnEvidence(tmp_path, max_bytes=5 * BLOCK)
    kept = [store.put(b"a"), store.put(b"b")]  # each a block, and one for its media type
    for _ in range(2):
        with pytest.raises(StoreFull, match="takes 16384 of 20480 bytes, 8192 more do not fit"):
            store.put(b"c")
    with pytest.raises(StoreFull):
        store.require_room(1)
    store.require_room(0)

    assert [b"a", b"b"] == [store.read(one.digest) for one in kept]
    assert kept[0] == store.put(b"a")  # costs nothing
    assert 2 == len([*(tmp_path / "evidence" / "bytes").iterdir()])


def test_what_others_put_counts(tmp_path: Path) -> None:
    one, other = (OwnEvidence(tmp_path, max_bytes=6 * BLOCK) for _ in range(2))
    one.put(b"1")
    other.put(b"2")
    one.put(b"3")
    with pytest.raises(StoreFull):
        other.put(b"4")


def test_who_puts_waits_for_who_is_putting(tmp_path: Path) -> None:
    store = OwnEvidence(tmp_path)
    store.put(b"1")
    with ThreadPoolExecutor(1) as threads, (tmp_path / "evidence" / "used").open() as used:
        fcntl.flock(used, fcntl.LOCK_EX)
        putting = threads.submit(store.put, DATA)
        with pytest.raises(TimeoutError):
            putting.result(0.2)
        fcntl.flock(used, fcntl.LOCK_UN)

        assert digest_of(DATA) == putting.result(20).digest


def test_processes_and_threads_that_put_at_once_stay_within_the_cap(tmp_path: Path) -> None:
    program = (
        "import sys; from concurrent.futures import ThreadPoolExecutor;"
        "from signoff.errors import StoreFull;"
        "from signoff.service.evidence_store import OwnEvidence;"
        f"store = OwnEvidence(sys.argv[1], max_bytes={20 * BLOCK})\n"
        "def put(number):\n"
        "    try: store.put(f'{sys.argv[2]}.{number}'.encode())\n"
        "    except StoreFull: return 0\n"
        "    return 1\n"
        "print(sum(ThreadPoolExecutor(4).map(put, range(10))))"
    )
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    running = [
        subprocess.Popen(
            [sys.executable, "-c", program, str(tmp_path), str(number)],
            stdout=subprocess.PIPE,
            env=env,
        )
        for number in range(3)
    ]
    kept = [int(process.communicate(timeout=60)[0]) for process in running]

    assert 10 == sum(kept)
    assert 10 == len([*(tmp_path / "evidence" / "bytes").iterdir()])


def test_what_was_left_unfinished_is_removed_and_the_rest_counted_anew(tmp_path: Path) -> None:
    OwnEvidence(tmp_path).put(b"1")
    (tmp_path / "evidence" / "used").write_bytes(b"9" * 32)
    leftover = tmp_path / "evidence" / "bytes" / f".unfinished-{'0' * 16}"
    leftover.write_bytes(bytes(100 * BLOCK))
    store = OwnEvidence(tmp_path, max_bytes=4 * BLOCK)
    store.put(b"2")

    assert not leftover.exists()
    with pytest.raises(StoreFull):
        store.put(b"3")


@pytest.mark.parametrize("text", ["", "0", "x" * 32, "-" + "9" * 31, "0" * 33])
def test_count_that_was_spoiled_is_made_anew(text: str, tmp_path: Path) -> None:
    store = OwnEvidence(tmp_path, max_bytes=2 * BLOCK)
    store.put(b"1")
    used = tmp_path / "evidence" / "used"
    used.write_text(text)
    with pytest.raises(StoreFull):
        store.put(b"2")
    used.unlink()
    with pytest.raises(StoreFull):
        store.put(b"2")


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_full_disk_is_a_full_store(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = OwnEvidence(tmp_path, max_bytes=2 * BLOCK)

    def full(*_: object) -> None:
        raise OSError(number, "no space left")

    with monkeypatch.context() as patch:
        patch.setattr(Folder, "sync", full)
        with pytest.raises(StoreFull, match="disk"):
            store.put(DATA)
    store.put(DATA)  # what failed is not counted


def test_folder_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "evidence").write_text("a file")
    with pytest.raises(RunUnwritable, match="evidence cannot be written"):
        OwnEvidence(tmp_path).put(DATA)


# -- references to ourselves --


def own(state: Path, *paths: str, base: str = URL, **changes: Any) -> list[str]:
    store = OwnEvidence(state)
    refs = [reference(f"{base}{path}", **changes) for path in paths]
    with Watch.on() as connected:
        found = fetch(*refs, own=store, public_url=base)

    assert [] == connected
    return found.causes


def test_own_evidence_is_read_without_a_network(tmp_path: Path) -> None:
    """Section 7.2: a uri below our own public URL, with no host allowed."""
    OwnEvidence(tmp_path).put(DATA)
    paths = [
        f"/evidence/{HEX}",
        f"/evidence/sha256:{HEX}",
        f"/evidence/{HEX}?x",
        f"/evidence/{HEX}#",
    ]

    assert ["ok"] * 5 == own(tmp_path, *paths, f"/wattswarm/evidence/{HEX}")
    assert ["ok"] == own(tmp_path, f"/evidence/{HEX}", base="https://a.example/signoff")


def test_own_evidence_that_is_not_there_is_absent(tmp_path: Path) -> None:
    OwnEvidence(tmp_path).put(DATA)
    paths = ["", "/", "/health", "/evidence/", f"/evidence/{HEX}/", f"/evidence/{HEX.upper()}"]
    paths += [f"/evidence/{'0' * 64}", f"/x/../evidence/{HEX}", f"//evidence/{HEX}", f"/{HEX}"]
    paths += [f"/evidence/../evidence/{HEX}", f"/evidence/%73ha256:{HEX}", "/evidence/../used"]

    assert ["evidence_missing"] * len(paths) == own(tmp_path, *paths)
    assert ["evidence_missing"] == own(tmp_path / "empty", f"/evidence/{HEX}")


def test_own_evidence_of_another_digest_is_corrupt(tmp_path: Path) -> None:
    OwnEvidence(tmp_path).put(DATA)
    path = f"/evidence/{HEX}"

    assert ["evidence_corrupt"] == own(tmp_path, path, digest=digest_of(b"x"))
    assert ["evidence_corrupt"] == own(tmp_path, path, size_bytes=len(DATA) + 1)
    assert ["evidence_corrupt"] == own(tmp_path, path, size_bytes=1)


def test_own_evidence_that_is_damaged_is_out_of_reach(tmp_path: Path) -> None:
    """As the 500 that anybody else would get; it is no fault of the candidate."""
    OwnEvidence(tmp_path).put(DATA)
    file_of(tmp_path).write_bytes(DATA[::-1])

    assert ["evidence_unreachable"] == own(tmp_path, f"/evidence/{HEX}")


def test_own_evidence_does_not_wait_for_strangers(tmp_path: Path) -> None:
    store = OwnEvidence(tmp_path)
    store.put(DATA)
    with Server(silent) as server:
        refs = [reference(at(server, f"/{number}")) for number in range(20)]
        found = fetch(
            *refs,
            reference(f"{URL}/evidence/{HEX}"),
            own=store,
            public_url=URL,
            hosts=allowed(server),
            total_s=0.5,
        )

    assert [*["evidence_timed_out"] * 20, "ok"] == found.causes


def test_others_are_not_ourselves() -> None:
    uris = ["http://127.0.0.1:8788", "https://127.0.0.1:8787", "http://localhost:8787"]
    uris += ["http://2130706433:8787", "http://u@127.0.0.1:8787", "http://127.0.0.1"]
    with Watch.on() as connected:
        found = fetch(*(reference(f"{uri}/evidence/{HEX}") for uri in uris), public_url=URL)

    assert ["evidence_unreachable"] * 6 == found.causes
    assert [] == connected


# -- given out --


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("state")


@pytest.fixture(scope="module")
def running(state: Path) -> Iterator[Running]:
    told = msgspec.json.encode({"port": 0, "tokens": ["t" * 16]}).decode()
    with Running((sys.executable, "-m", "tests.service.evidence_app", told, str(state))) as server:
        yield server


@pytest.mark.parametrize("name", [HEX, f"sha256:{HEX}", f"{HEX}?x=y"])
def test_evidence_is_given_to_anybody(name: str, running: Running, state: Path) -> None:
    """Acceptance row 21, and row 18: no token is needed."""
    OwnEvidence(state).put(DATA, media_type=JSON_TYPE)
    reply = running.request("GET", f"/evidence/{name}")

    assert (200, DATA) == (reply.status, reply.body)
    assert {
        "content-type": JSON_TYPE,
        "content-length": str(len(DATA)),
        "etag": f'"{HEX}"',
        "cache-control": "public, max-age=31536000, immutable",
        "x-content-type-options": "nosniff",
        "content-disposition": "attachment",
    }.items() <= reply.headers.items()
    assert "set-cookie" not in reply.headers


def test_head_is_that_of_get(running: Running, state: Path) -> None:
    """Acceptance row 21: HEAD."""
    OwnEvidence(state).put(DATA, media_type=JSON_TYPE)
    get, head = (running.request(method, f"/evidence/{HEX}") for method in ("GET", "HEAD"))
    volatile = {"x-request-id", "date"}

    assert (200, b"") == (head.status, head.body)
    assert {k: v for k, v in get.headers.items() if k not in volatile} == {
        k: v for k, v in head.headers.items() if k not in volatile
    }


@pytest.mark.parametrize(
    "path",
    [
        *(f"/evidence/{'0' * 64}", f"/evidence/sha256:{'0' * 64}", f"/evidence/{HEX.upper()}"),
        *(f"/evidence/SHA256:{HEX}", f"/evidence/sha256:sha256:{HEX}", f"/evidence/sha512:{HEX}"),
        *(f"/evidence/{HEX[:-1]}", f"/evidence/{HEX}0", f"/evidence/{HEX}/", f"/evidence//{HEX}"),
        *("/evidence/..", "/evidence/../used", "/evidence/%2e%2e", "/evidence/..%2fused"),
        *(f"/evidence/../evidence/{HEX}", f"/evidence/{HEX}%00", f"/evidence/%20{HEX}"),
        *("/evidence/", "/evidence", "/evidence/used", "/evidence/bytes", f"/evidence/bytes/{HEX}"),
        *(f"/evidence/{HEX[:-1]}%61", f"/EVIDENCE/{HEX}", "/evidence/.", f"/evidence/{HEX};x"),
        *("/evidence//etc/passwd", "/evidence/%2fetc%2fpasswd", "/evidence/\\..\\used"),
    ],
)
@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_any_other_text_is_not_found(path: str, method: str, running: Running, state: Path) -> None:
    """Acceptance row 21: unknown digest, ``..``, upper case."""
    OwnEvidence(state).put(DATA)
    reply = running.request(method, path)

    assert 404 == reply.status
    assert (method == "HEAD") is (reply.body == b"")
    assert method == "HEAD" or "not_found" == reply.json["code"]


@pytest.mark.parametrize("method", ["GET", "HEAD"])
@pytest.mark.parametrize("damaged", [b"", b"x", DATA[::-1], DATA + b"x", bytes(2**23 + 1)])
def test_damaged_evidence_is_never_sent(
    damaged: bytes, method: str, running: Running, state: Path
) -> None:
    """Acceptance row 21: stored file damaged by hand."""
    data = f"{method}{len(damaged)}{damaged[:1]!r}".encode()
    digest = OwnEvidence(state).put(data).digest
    file_of(state, data).write_bytes(damaged)
    reply = running.request(method, f"/evidence/{digest}")

    assert 500 == reply.status
    assert (method == "HEAD") is (reply.body == b"")
    assert method == "HEAD" or "internal" == reply.json["code"]
    assert "error" == running.logged(evidence_damaged=digest)["level"]


def test_evidence_is_not_written_over_http(running: Running) -> None:
    for method in ("POST", "PUT", "DELETE"):
        reply = running.request(method, f"/evidence/{HEX}", b"{}")

        assert 405 == reply.status
        assert "GET, HEAD" == reply.headers["allow"]


def test_many_ask_at_once(running: Running, state: Path) -> None:
    large = bytes(2**20) + b"many"
    digest = OwnEvidence(state).put(large).digest
    with ThreadPoolExecutor(8) as threads:
        replies = [*threads.map(lambda _: running.request("GET", f"/evidence/{digest}"), range(24))]

    assert {(200, large)} == {(reply.status, reply.body) for reply in replies}


@pytest.mark.parametrize("workers", ["1", "2"])
def test_full_store_refuses_to_propose_and_still_gives_out(workers: str, tmp_path: Path) -> None:
    """Acceptance row 21: store full."""
    options = ["--wattswarm", "--executor", "call:signoff.executors:echo", "--workers", workers]
    with Running.signoff(*options, "--state-dir", str(tmp_path)) as server:
        for number in range(4):
            assert 200 == server.post("/execute", call({"prompt": str(number)})).status
        kept = [*(tmp_path / "evidence" / "bytes").iterdir()]
        with (tmp_path / "evidence" / "bytes" / ("f" * 64)).open("wb") as filling:
            filling.truncate(2**30)
        (tmp_path / "evidence" / "used").unlink()  # so that it is counted anew
        refused = server.post("/execute", call({"prompt": "more"}))
        given = [server.request("GET", f"/evidence/{file.name}") for file in kept]

    assert (503, "store_full") == code(refused)
    assert len(kept) >= 4
    assert {200} == {reply.status for reply in given}
