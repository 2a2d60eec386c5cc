"""Acceptance rows 12, 13 and 14, as a kernel meets them: status, codes and total time."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from time import monotonic
from typing import Any

import msgspec
import pytest

from signoff.service.evidence_store import OwnEvidence
from tests.servers import Script, Server, Talk, message
from tests.service.fetches import DATA, Trap, digest_of
from tests.service.running import Running

OUTPUT = {"answer": "40"}
KERNEL_HASH = "a52d250d216f425973eb5a13c392d4dbc172357181b683e86caa4a5c64db94a7"
FAILED, INCONCLUSIVE = "failed", "inconclusive"


def request(*uris: str, output: Any = OUTPUT, data: bytes = DATA, **changes: Any) -> dict[str, Any]:
    raw = msgspec.json.encode(output)
    ref = {"mime": "text/plain", "created_at": 1, "producer": "p"}
    named = ref | {"digest": digest_of(data), "size_bytes": len(data)} | changes
    own = {"digest": f"sha256:{sha256(raw).hexdigest()}", "size_bytes": len(raw)}
    return {
        "candidate": {
            "candidate_id": "c",
            "execution_id": "e",
            "output_ref": ref | own | {"uri": "artifact:x"},
            "output": output,
            "evidence_inline": [],
            "evidence_refs": [named | {"uri": uri} for uri in uris],
        },
        "output_schema": {"type": "object", "required": ["answer"]},
        "policy": {
            "policy_id": "vp.schema_only.v1",
            "policy_version": "1",
            "policy_hash": KERNEL_HASH,
            "policy_params": {},
        },
    }


def answers() -> dict[str, bytes]:
    status = {str(code): message("", status=f"{code} x") for code in STATUSES}
    return status | {
        "right": message(DATA),
        "bit": message(b'{"sum": 41}\n'),
        "long": message(DATA + b"x"),
        "short": message(DATA[:-1]),
        "gzip": message(DATA, headers="Content-Encoding: gzip\r\n"),
        "moved": message("", status="302 x", headers="Location: /right\r\n"),
    }


STATUSES = (401, 403, 404, 407, 410, 429, 500, 503)


def script() -> Script:
    known = answers()

    def talk_of(talk: Talk) -> None:
        asked = talk.request()
        path = asked.head.split()[1].strip("/").partition("?")[0] if asked else ""
        if path == "silent":
            talk.wait()
        elif path == "drip":
            talk.drip(message(DATA), every_s=0.2)
        elif path == "endless":
            talk.send(b"HTTP/1.1 200 OK\r\n\r\n")
            while not talk.ended.is_set():
                talk.send(bytes(65_536))
        else:
            talk.send(known[path])

    return talk_of


@pytest.fixture(scope="module")
def files() -> Iterator[Server]:
    with Server(script()) as server:
        yield server


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("state")


def options(files: Server) -> list[str]:
    return [
        *("--wattswarm", "--evidence-host", f"http://127.0.0.1:{files.port}"),
        *("--evidence-net", "127.0.0.0/8", "--evidence-timeout", "0.5", "--evidence-total", "1.2"),
    ]


@pytest.fixture(scope="module")
def running(files: Server, state: Path) -> Iterator[Running]:
    with Running.signoff(*options(files), "--state-dir", str(state)) as server:
        yield server


def told(running: Running, *uris: str, **how: Any) -> tuple[str, list[int]]:
    reply = running.post("/verify", request(*uris, **how))
    assert 200 == reply.status, reply.body
    assert (reply.json["verification_status"] == "passed") is reply.json["passed"]
    return reply.json["verification_status"], reply.json["reason_codes"]


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("right", ("passed", [100])),
        *((path, (FAILED, [100, 203])) for path in ("bit", "long", "short", "endless")),
        *((path, (FAILED, [100, 200])) for path in ("404", "410")),
        *((path, (INCONCLUSIVE, [100, 202])) for path in ("401", "403", "407")),
        *((path, (INCONCLUSIVE, [100, 200])) for path in ("429", "500", "503", "gzip", "moved")),
        *((path, (INCONCLUSIVE, [100, 201])) for path in ("silent", "drip")),
    ],
)
def test_what_the_host_answers_decides(
    path: str, expected: tuple[str, list[int]], running: Running, files: Server
) -> None:
    """Acceptance row 12."""
    begin = monotonic()
    found = told(running, f"http://127.0.0.1:{files.port}/{path}")

    assert expected == found
    assert monotonic() - begin < 5


def test_many_references(running: Running, files: Server) -> None:
    """Acceptance row 12: 32 and 33 references, duplicates, over the cap, and the total time."""
    base = f"http://127.0.0.1:{files.port}"
    many = [f"{base}/right?{number}" for number in range(33)]
    before = len(files.requests)

    assert (INCONCLUSIVE, [100, 200]) == told(running, *many)
    assert (INCONCLUSIVE, [100, 200]) == told(running, *many[:1] * 33)
    assert (INCONCLUSIVE, [100, 200]) == told(running, many[0], size_bytes=2**23 + 1)
    assert 0 == len(files.requests) - before
    assert ("passed", [100]) == told(running, *many[:1] * 32)
    assert 1 == len(files.requests) - before
    begin = monotonic()
    assert (INCONCLUSIVE, [100, 201]) == told(
        running, *[f"{base}/silent?{number}" for number in range(32)]
    )
    assert monotonic() - begin < 8


def test_every_reference_counts(running: Running, files: Server) -> None:
    base = f"http://127.0.0.1:{files.port}"
    all_of_them = [f"{base}/{path}" for path in ("right", "bit", "401", "silent", "500")]

    assert (FAILED, [100, 200, 201, 202, 203]) == told(running, *all_of_them)
    assert (INCONCLUSIVE, [100, 200, 201, 202]) == told(
        running, *(uri for uri in all_of_them if not uri.endswith("/bit"))
    )


def test_nobody_is_sent_elsewhere(running: Running, files: Server) -> None:
    """Acceptance row 13: no connection beyond the allowed host, never a pass."""
    with Trap() as trap:
        uris = [
            *(f"http://{host}:{trap.port}/" for host in ("127.0.0.1", "localhost", "127.1")),
            *(f"http://{host}:{trap.port}/" for host in ("2130706433", "0x7f000001", "[::1]")),
            *(f"http://１２７.0.0.1:{trap.port}/", f"http://u@127.0.0.1:{trap.port}/"),
            f"http://127.0.0.1:{files.port}@127.0.0.1:{trap.port}/",
            *("http://169.254.169.254/latest/", "http://168.63.129.16/", "http://100.64.0.1/"),
            *("file:///etc/passwd", "gopher://127.0.0.1/", "data:,x", "artifact:x", ""),
        ]
        for uri in uris:
            assert (INCONCLUSIVE, [100, 200]) == told(running, uri)
        assert 0 == trap.count()


def test_candidate_that_fails_anyway_costs_no_request(running: Running, files: Server) -> None:
    """Acceptance row 14: references are fetched only where they can decide."""
    before = len(files.requests)

    assert (FAILED, [101]) == told(
        running, f"http://127.0.0.1:{files.port}/right", output={"other": 1}
    )
    assert 0 == len(files.requests) - before


def test_own_evidence_needs_no_host(running: Running, state: Path) -> None:
    """Acceptance row 21: what is given out to others is read without asking ourselves."""
    digest = OwnEvidence(state).put(b"own").digest
    name = digest.removeprefix("sha256:")

    for path in (f"/evidence/{name}", f"/evidence/{digest}", f"/wattswarm/evidence/{name}"):
        assert (200, b"own") == (
            running.request("GET", path).status,
            running.request("GET", path).body,
        )
        assert ("passed", [100]) == told(running, f"{running.url}{path}", data=b"own")
    assert (FAILED, [100, 200]) == told(running, f"{running.url}/evidence/{'0' * 64}")


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("off", ("passed", [100])),
        ("advisory", ("passed", [100])),
        ("required", (FAILED, [100, 203])),
    ],
)
def test_mode_decides_what_wrong_evidence_does(
    mode: str, expected: tuple[str, list[int]], files: Server
) -> None:
    """Acceptance row 14: a candidate whose only fault is its evidence."""
    before = len(files.requests)
    with Running.signoff(*options(files), "--evidence", mode) as running:
        found = told(running, f"http://127.0.0.1:{files.port}/bit")

    assert expected == found
    assert (0 if mode == "off" else 1) == len(files.requests) - before


def test_proxy_variables_are_not_obeyed(files: Server) -> None:
    """Acceptance row 13."""
    with Trap() as trap:
        proxy = f"http://127.0.0.1:{trap.port}"
        env = dict.fromkeys(("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY"), proxy)
        with Running.signoff(*options(files), env=env) as running:
            assert ("passed", [100]) == told(running, f"http://127.0.0.1:{files.port}/right")
        assert 0 == trap.count()


def test_stop_is_not_held_up_by_a_silent_host(files: Server) -> None:
    with Running.signoff(*options(files)) as running:
        with running.connect() as asking:
            body = msgspec.json.encode(request(f"http://127.0.0.1:{files.port}/silent?stop"))
            head = f"POST /verify HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
            asking.sendall(head.encode() + body)
            begin = monotonic()
            assert 0 == running.stop(signal.SIGTERM)
        assert monotonic() - begin < 10


def test_bad_option_is_one_sentence() -> None:
    for option, text in (
        ("--evidence-host=http://*", "* allows https on port 443 alone"),
        ("--evidence-net=10.0.0.1/8", "perhaps 10.0.0.0/8 is meant"),
    ):
        running = Running.signoff("--wattswarm", option, env={"PATH": os.environ["PATH"]})
        with pytest.raises(AssertionError, match="no such line"), running:
            pass

        assert 2 == running.process.returncode
        assert text in running.output()
