"""Acceptance rows 12 and 14: what comes of references to a host that is allowed."""

from __future__ import annotations

import asyncio
import ssl
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from signoff._version import __version__
from signoff.errors import NotInstalled
from signoff.service.download import Downloader
from signoff.service.evidence_url import place_of
from signoff.service.fetching import (
    MAX_REFERENCE_BYTES,
    MAX_REFERENCES,
    Fetcher,
    FetchSettings,
)
from tests.servers import WAIT_S, Script, Server, Talk, answering, message, once
from tests.service.fetches import (
    DATA,
    LOOPBACK,
    Watch,
    allowed,
    at,
    fetch,
    made_certificate,
    one,
    reference,
    silent,
)

OK = message(DATA)
UNREACHABLE = "evidence_unreachable"
CORRUPT = "evidence_corrupt"
DENIED = "evidence_denied"
MISSING = "evidence_missing"
TIMED_OUT = "evidence_timed_out"


def outcome(script: Script, data: bytes = DATA) -> tuple[str, str]:
    with Server(script) as server:
        found = one(at(server), data, hosts=allowed(server))
    return ("ok" if found.cause is None else found.cause.value), found.detail


# -- what the server answers --


def test_right_bytes_are_had() -> None:
    """Acceptance row 12."""
    with Server(answering(OK)) as server:
        found = one(at(server, "/a/b?c=d#e"), hosts=allowed(server))

    assert (DATA, None) == (found.data, found.cause)
    assert [
        "GET /a/b?c=d HTTP/1.1",
        f"Host: 127.0.0.1:{server.port}",
        "Accept-Encoding: identity",
        f"User-Agent: signoff/{__version__}",
    ] == server.requests[0].head.split("\r\n")
    assert b"" == server.requests[0].body


@pytest.mark.parametrize("data", [b"", b"x", bytes(100_000)])
def test_bytes_of_any_number_are_had(data: bytes) -> None:
    """Acceptance row 12."""
    assert ("ok", "") == outcome(answering(message(data)), data)


@pytest.mark.parametrize(
    ("got", "expected"),
    [
        (b'{"sum": 41}\n', "the bytes have another digest"),
        (DATA + b" ", "more than 12 bytes"),
        (DATA * 1000, "more than 12 bytes"),
        (DATA[:-1], "fewer than 12 bytes"),
        (b"", "fewer than 12 bytes"),
    ],
    ids=["one bit changed", "one byte too long", "far too long", "one byte too short", "empty"],
)
def test_wrong_bytes_are_corrupt(got: bytes, expected: str) -> None:
    """Acceptance row 12."""
    assert (CORRUPT, expected) == outcome(answering(message(got)))


def test_nothing_is_read_beyond_one_byte_too_many() -> None:
    """Acceptance row 12: an endless body."""
    sent = 0

    def endless(talk: Talk) -> None:
        nonlocal sent
        talk.request()
        talk.send(b"HTTP/1.1 200 OK\r\n\r\n")
        while not talk.ended.is_set():
            talk.send(bytes(65_536))
            sent += 65_536

    assert (CORRUPT, "more than 12 bytes") == outcome(endless)
    assert sent < 64 * 2**20  # what the system's buffers take


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        *((status, DENIED) for status in (401, 403, 407)),
        *((status, MISSING) for status in (404, 410)),
        *((status, UNREACHABLE) for status in (201, 204, 206, 300, 301, 302, 303, 304, 307, 308)),
        *((status, UNREACHABLE) for status in (400, 402, 405, 406, 408, 409, 411, 412, 429, 451)),
        *((status, UNREACHABLE) for status in (500, 501, 502, 503, 504, 599)),
    ],
)
def test_status_decides(status: int, expected: str) -> None:
    """Acceptance row 12."""
    head = f"HTTP/1.1 {status} x\r\nContent-Length: 0\r\nLocation: /y\r\n\r\n".encode()

    assert (expected, f"status {status}") == outcome(answering(head))


@pytest.mark.parametrize("encoding", ["gzip", "br", "deflate", "GZIP, identity", "x"])
def test_encoded_reply_is_not_taken(encoding: str) -> None:
    """Acceptance row 12."""
    answer = message(DATA, headers=f"Content-Encoding: {encoding}\r\n")

    assert (UNREACHABLE, "the reply is encoded") == outcome(answering(answer))


def test_reply_may_say_that_it_is_plain() -> None:
    assert "ok" == outcome(answering(message(DATA, headers="Content-Encoding: identity\r\n")))[0]


def test_chunked_reply_is_had() -> None:
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    chunks = b"".join(b"1\r\n%c\r\n" % byte for byte in DATA) + b"0\r\n\r\n"

    assert ("ok", "") == outcome(answering(head + chunks))


def test_reply_that_ends_with_the_connection_is_had() -> None:
    assert ("ok", "") == outcome(once(b"HTTP/1.0 200 OK\r\n\r\n" + DATA))


# -- time --


def test_server_that_is_silent_is_late() -> None:
    """Acceptance row 12."""
    with Server(silent) as server:
        found = fetch(reference(at(server)), hosts=allowed(server), timeout_s=0.2)

    assert [TIMED_OUT] == found.causes
    assert 0.15 < found.elapsed_s < 2


@pytest.mark.parametrize("head", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n"])
def test_server_that_drips_is_late(head: bytes) -> None:
    """Acceptance row 12: a byte now and then, of the head or of the body."""

    def drips(talk: Talk) -> None:
        talk.request()
        talk.send(head)
        talk.drip((OK + DATA * 100)[len(head) :], every_s=0.05)

    with Server(drips) as server:
        found = fetch(reference(at(server)), hosts=allowed(server), timeout_s=0.3)

    assert [TIMED_OUT] == found.causes
    assert found.elapsed_s < 2


def test_time_for_all_references_is_bounded() -> None:
    """Acceptance row 12: total time; what had an answer by then keeps it."""

    def script(talk: Talk) -> None:
        request = talk.request()
        if request and "/quick" in request.head:
            talk.send(OK)
        talk.wait()

    with Server(script) as server:
        uris = ["/quick", *(f"/{number}" for number in range(20))]
        refs = [reference(at(server, uri)) for uri in uris]
        found = fetch(*refs, hosts=allowed(server), timeout_s=0.4, total_s=0.6)

    assert ["ok", *[TIMED_OUT] * 20] == found.causes
    assert 0.5 < found.elapsed_s < 2.5


def test_look_up_that_hangs_is_late() -> None:
    """Acceptance row 12: the time begins with the look-up."""
    ended = threading.Event()

    def hangs(*_: object) -> list[object]:
        ended.wait(WAIT_S)
        return []

    try:
        found = fetch(
            reference("https://a.example/"), hosts=["a.example"], resolve=hangs, timeout_s=0.2
        )
    finally:
        ended.set()

    assert [TIMED_OUT] == found.causes
    assert found.elapsed_s < 2


def test_look_ups_that_hang_do_not_pile_up() -> None:
    ended, calls = threading.Event(), []

    def hangs(*call: object) -> list[object]:
        calls.append(call)
        ended.wait(WAIT_S)
        return []

    async def run() -> list[object]:
        rounds = [
            [reference(f"https://a.example/{turn}/{number}") for number in range(32)]
            for turn in range(3)
        ]
        found = [await fetcher.fetch_all(refs) for refs in rounds]
        return [one.cause.value for got in found for one in got.values() if one.cause]

    with ThreadPoolExecutor(32) as threads:
        settings = FetchSettings.read(hosts=["a.example"], timeout_s=0.05)
        fetcher = Fetcher(settings, threads, resolve=hangs)
        try:
            causes = asyncio.run(run())
        finally:
            ended.set()

    assert [TIMED_OUT] * 96 == causes
    assert 64 == len(calls)


def test_look_up_that_cannot_begin_takes_no_place(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_thread(*_: object) -> None:
        raise RuntimeError("can't start new thread")

    downloader = Downloader(resolve=lambda *_: [])
    place = place_of("https://a.example/")

    def details(count: int) -> set[str]:
        found = [
            downloader.download(place, max_bytes=1, named=False, seconds=0.2) for _ in range(count)
        ]
        return {one.detail for one in found}

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", no_thread)

        assert {"the host cannot be looked up now"} == details(70)
    assert {"the host has no address that may be connected to"} == details(1)


# -- how many, how much --


def test_more_than_32_references_are_not_fetched_at_all() -> None:
    """Acceptance row 12: 33 references."""
    with Server(answering(OK)) as server:
        refs = [reference(at(server, f"/{number}")) for number in range(MAX_REFERENCES + 1)]
        many = fetch(*refs, hosts=allowed(server))
        at_most = len(server.requests)
        few = fetch(*refs[:-1], hosts=allowed(server))

    assert [UNREACHABLE] * 33 == many.causes
    assert 0 == at_most
    assert ["ok"] * 32 == few.causes


def test_same_bytes_are_fetched_once() -> None:
    """Acceptance row 12: duplicates."""
    with Server(answering(OK)) as server:
        ref = reference(at(server))
        other = reference(at(server), size_bytes=len(DATA) + 1)
        less = reference(at(server), size_bytes=len(DATA) - 1)
        found = fetch(less, ref, ref, other, ref, hosts=allowed(server))

    assert [CORRUPT, "ok", "ok", CORRUPT, "ok"] == found.causes
    assert 1 == len(server.requests)


def test_same_place_with_another_digest_is_another_question() -> None:
    with Server(answering(OK)) as server:
        found = fetch(
            reference(at(server)), reference(at(server), DATA[::-1]), hosts=allowed(server)
        )

    assert ["ok", CORRUPT] == found.causes
    assert 2 == len(server.requests)


def test_thirty_three_copies_of_one_are_too_many() -> None:
    with Server(answering(OK)) as server:
        found = fetch(*[reference(at(server))] * 33, hosts=allowed(server))

    assert {UNREACHABLE} == set(found.causes)
    assert [] == server.requests


def test_reference_over_its_cap_is_not_fetched() -> None:
    """Acceptance row 12: over the cap."""
    with Server(answering(OK)) as server:
        large = reference(at(server), size_bytes=MAX_REFERENCE_BYTES + 1)
        huge = reference(at(server), size_bytes=2**64 - 1)
        found = fetch(large, huge, hosts=allowed(server))

    assert [UNREACHABLE] * 2 == found.causes
    assert [] == server.requests


def test_references_over_the_cap_of_a_request_are_not_fetched() -> None:
    """Acceptance row 12: over the cap of all; what still fits is fetched."""
    large = bytes(MAX_REFERENCE_BYTES)

    def script(talk: Talk) -> None:
        request = talk.request()
        talk.send(message(DATA if request and "/small" in request.head else large))

    with Server(script) as server:
        refs = [reference(at(server, f"/{number}"), large) for number in range(3)]
        refs += [reference(at(server, "/small")), reference(at(server, "/4"), large)]
        refs += [reference(at(server, "/small2"))]
        found = fetch(*refs, hosts=allowed(server), timeout_s=60.0, total_s=60.0)

    assert ["ok", "ok", "ok", "ok", UNREACHABLE, "ok"] == found.causes
    assert 5 == len(server.requests)
    assert "leave 8388596 of 33554432 bytes" in found.found[4].detail


def test_no_more_than_8_at_a_time_for_a_request() -> None:
    assert 8 == most_at_a_time(requests=1, references=20, expected=8)


def test_no_more_than_32_at_a_time_for_a_process() -> None:
    assert 32 == most_at_a_time(requests=6, references=8, expected=32)


def most_at_a_time(*, requests: int, references: int, expected: int) -> int:
    """How many connections were open together; none is answered before so many are."""
    lock, enough, too_many = threading.Lock(), threading.Event(), threading.Event()
    now = most = 0

    def script(talk: Talk) -> None:
        nonlocal now, most
        talk.request()
        with lock:
            now += 1
            most = max(most, now)
            if now >= expected:
                enough.set()
            if now > expected:
                too_many.set()
        enough.wait(WAIT_S)
        too_many.wait(0.3)
        with lock:
            now -= 1
        talk.send(OK)

    async def run() -> None:
        groups = [
            [reference(at(server, f"/{group}/{number}")) for number in range(references)]
            for group in range(requests)
        ]
        for found in await asyncio.gather(*map(fetcher.fetch_all, groups)):
            assert {None} == {got.cause for got in found.values()}

    with Server(script) as server, ThreadPoolExecutor(64) as threads:
        settings = FetchSettings.read(hosts=allowed(server), networks=LOOPBACK)
        fetcher = Fetcher(settings, threads)
        asyncio.run(run())
    return most


def test_fetch_that_is_given_up_leaves_nothing_behind() -> None:
    async def run() -> None:
        task = asyncio.ensure_future(fetcher.fetch_all(refs))
        assert await asyncio.to_thread(asked.wait, WAIT_S)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert {asyncio.current_task()} == asyncio.all_tasks()

    asked = threading.Event()

    def script(talk: Talk) -> None:
        talk.request()
        asked.set()
        talk.wait()

    with Server(script) as server, ThreadPoolExecutor(4) as threads:
        refs = [reference(at(server, f"/{number}")) for number in range(20)]
        settings = FetchSettings.read(hosts=allowed(server), networks=LOOPBACK, timeout_s=0.5)
        fetcher = Fetcher(settings, threads)
        asyncio.run(run())


# -- TLS --


def secured(certificate: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    return context


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_certificate(tmp_path_factory.mktemp("tls"), "evidence.example")


def over_tls(server: Server, host: str = "evidence.example") -> tuple[str, str]:
    found = one(
        at(server, host=host, tls=True),
        hosts=allowed(server, host=host, tls=True),
        resolve=lambda _, port: [(2, ("127.0.0.1", port))],
    )
    return ("ok" if found.cause is None else found.cause.value), found.detail


def test_server_proves_its_name(certificate: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Acceptance row 12; the name of the URL is asked for, at the address that was chosen."""
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    names: list[object] = []
    context = secured(certificate)
    context.sni_callback = lambda _, name, __: names.append(name)
    with Server(answering(OK), tls=context) as server:
        found = over_tls(server)

    assert ("ok", "") == found
    assert ["evidence.example"] == names
    assert f"Host: evidence.example:{server.port}" in server.requests[0].head


def test_certificate_that_nobody_vouches_for_is_refused(certificate: Path) -> None:
    """Acceptance row 12: certificate wrong."""
    with Server(answering(OK), tls=secured(certificate)) as server:
        found = over_tls(server)

    assert (UNREACHABLE, "its certificate is not trusted") == found
    assert [] == server.requests


@pytest.mark.parametrize("host", ["other.example", "127.0.0.1", "a.evidence.example"])
def test_certificate_of_another_name_is_refused(
    host: str, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Acceptance row 12: certificate wrong."""
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    with Server(answering(OK), tls=secured(certificate)) as server:
        found = over_tls(server, host)

    assert (UNREACHABLE, "its certificate is not trusted") == found
    assert [] == server.requests


def test_certificate_that_has_expired_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Acceptance row 12: certificate wrong."""
    expired = made_certificate(tmp_path, "evidence.example", days=-1)
    monkeypatch.setenv("SSL_CERT_FILE", str(expired))
    with Server(answering(OK), tls=secured(expired)) as server:
        found = over_tls(server)

    assert (UNREACHABLE, "its certificate is not trusted") == found


def test_server_without_tls_is_not_asked() -> None:
    def script(talk: Talk) -> None:
        talk.send(b"hello, who is there?\r\n" * 10)
        talk.wait()

    with Server(script) as server:
        cause, _ = over_tls(server)

    assert UNREACHABLE == cause
    assert [] == server.requests


# -- settings --


def test_nothing_is_fetched_where_no_host_is_allowed() -> None:
    """Acceptance row 14: whatever the mode, nobody is asked whom the operator did not name."""
    with Server(answering(OK)) as server, Watch.on() as connected:
        found = fetch(reference(at(server)), reference("https://a.example/"))

    assert [UNREACHABLE] * 2 == found.causes
    assert [] == connected


def test_candidate_is_told_apart_by_its_evidence_alone() -> None:
    """Acceptance row 14: the same references give the same causes, every time."""

    def script(talk: Talk) -> None:
        while (request := talk.request()) is not None:
            path = request.head.split()[1]
            talk.send(message(DATA, status="404 x") if path == "/gone" else OK)

    with Server(script) as server:
        refs = [
            reference(at(server)),
            reference(at(server, "/gone")),
            reference(at(server), DATA + DATA),
            reference("https://a.example/"),
        ]
        found = [fetch(*refs, hosts=allowed(server)) for _ in range(3)]

    assert ["ok", MISSING, CORRUPT, UNREACHABLE] == found[0].causes
    assert found[0].found == found[1].found == found[2].found


def test_digest_that_can_never_match_is_not_fetched() -> None:
    digest = reference("").digest
    wrong = ["", digest.upper(), digest[:-1], digest[7:], digest.replace("256", "512"), "sha256:x…"]
    with Server(answering(OK)) as server:
        refs = [reference(at(server), digest=text) for text in wrong]
        found = fetch(*refs, hosts=allowed(server))

    assert [CORRUPT] * len(wrong) == found.causes
    assert [] == server.requests


def test_fault_of_ours_is_no_answer_about_evidence() -> None:
    class Broken:
        def read(self, digest: str) -> bytes:
            raise ZeroDivisionError

    uri = f"https://a.example/evidence/{'0' * 64}"
    with pytest.raises(ZeroDivisionError):
        fetch(reference(uri), own=Broken(), public_url="https://a.example")


def test_nothing_comes_of_no_references() -> None:
    assert [] == fetch().found


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"timeout_s": 0.0}, "more than 0 seconds"),
        ({"total_s": -1.0}, "more than 0 seconds"),
        ({"total_s": float("nan")}, "more than 0 seconds"),
        ({"timeout_s": float("inf")}, "more than 0 seconds"),
        ({"public_url": "ftp://x"}, "the public URL has the scheme ftp, expected https"),
        ({"public_url": ""}, "the public URL is empty"),
        ({"hosts": ["a/b"]}, "'a/b' is no host"),
        ({"networks": ["10.0.0.1/8"]}, "perhaps 10.0.0.0/8 is meant"),
    ],
)
def test_settings_are_refused(settings: dict[str, object], expected: str) -> None:
    with pytest.raises(ValueError, match=expected):
        FetchSettings.read(**settings)  # type: ignore[arg-type]  # wrong ones are the subject


def test_what_fetches_is_missed_at_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "h11", None)
    for name in ("signoff.connection", "signoff.exchange", "signoff.service.download"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    with ThreadPoolExecutor(1) as threads:
        with pytest.raises(NotInstalled, match=r"needs h11 \(install signoff\[service\]\)"):
            Fetcher(FetchSettings.read(hosts=["a.example"]), threads)

        Fetcher(FetchSettings.read(), threads)
