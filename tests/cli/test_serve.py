"""``signoff serve`` as an operator meets it: options, the line when it is ready, and the end."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from signoff.cli.exits import Refusal
from signoff.cli.serving import is_every_address, listen_of
from signoff.ledger import open_ledger
from tests.cli.calling import call
from tests.cli.streams import ENTRY, environment
from tests.service.native import BAD, CONTRACT, GOOD
from tests.service.running import Running

JSON = {"Content-Type": "application/json"}
NDJSON = {"Content-Type": "application/x-ndjson"}


def post(server: Running, path: str, body: object, **headers: str) -> object:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    reply = server.request("POST", path, data, {**JSON, **headers})
    assert reply.status in {200, 201}, reply.body
    return reply.json


def locked(server: Running, **headers: str) -> str:
    found = post(server, "/v1/contracts", CONTRACT, **headers)
    assert isinstance(found, dict)
    return str(found["digest"])


# -- serving --


def test_contract_is_locked_and_judged_over_http() -> None:
    with Running.signoff() as server:
        digest = locked(server)
        reply = server.request(
            "POST",
            "/v1/verify",
            json.dumps({"contract": digest, "output": BAD}).encode(),
            JSON,
        )
        lines = b"".join(json.dumps({"output": one}).encode() + b"\n" for one in (GOOD, BAD))
        batch = server.request("POST", f"/v1/verify/batch?contract={digest}", lines, NDJSON)
        health = server.request("GET", "/health")
        code = server.stop()

    assert (200, "failed") == (reply.status, reply.json["verdict"]["outcome"])
    assert [2, 1, 1] == [
        json.loads(batch.body.splitlines()[-1])[name] for name in ("lines", "passed", "failed")
    ]
    assert (b'{"status":"ok"}', 0) == (health.body, code)


def test_every_path_of_the_document_is_answered() -> None:
    with Running.signoff() as server:
        document = server.request("GET", "/openapi.json").json
        status = {
            path: server.request("GET", path.replace("{digest}", "x")).status
            for path in document["paths"]
        }

    assert {404: 1, 405: 3} == {
        code: [*status.values()].count(code) for code in status.values() if code not in {200, 501}
    }


def test_state_outlasts_the_server(tmp_path: Path) -> None:
    state = tmp_path / "a" / "state"
    with Running.signoff("--state-dir", str(state)) as server:
        digest = locked(server)
    with Running.signoff("--state-dir", str(state), "--workers", "2") as server:
        found = [server.request("GET", f"/v1/contracts/{digest}").status for _ in range(8)]

    assert {200} == {*found}


def test_state_without_a_place_is_gone_at_the_end(tmp_path: Path) -> None:
    with Running.signoff("--workers", "2", env={"TMPDIR": str(tmp_path)}) as server:
        locked(server)
        during = [*tmp_path.glob("signoff-*/contracts/*.json")]

    assert 1 == len(during)
    assert [] == [*tmp_path.glob("signoff-*")]


def test_verdicts_are_in_the_ledger(tmp_path: Path) -> None:
    place = tmp_path / "ledger.sqlite3"
    with Running.signoff("--ledger", str(place), "--workers", "2") as server:
        digest = locked(server)
        for number in range(6):
            post(server, "/v1/verify", {"contract": digest, "output": GOOD, "id": number})
        lines = b"".join(b'{"output": [], "id": "b%d"}\n' % number for number in range(4))
        server.request("POST", f"/v1/verify/batch?contract={digest}", lines, NDJSON)
    with open_ledger(place, may_write=False) as ledger:
        names = [one.subject for one in ledger.verdicts()]
        audit = ledger.verify()

    assert sorted([*map(str, range(6)), *(f"b{number}" for number in range(4))]) == sorted(names)
    assert () == audit.faults


def test_verifiers_of_the_operator_are_used(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "from signoff import Finding, Subject, passed, verifier\n\n\n"
        "@verifier\ndef is_fine():\n    '''It is fine.'''\n    return lambda subject: passed('fine')\n"
    )
    contract = {"id": "c", "criteria": [{"id": "a", "verifier": "is_fine"}]}
    env = {"PYTHONPATH": f"{tmp_path}:{environment().get('PYTHONPATH', 'src')}"}
    with Running.signoff("--with", "mine:is_fine", env=env) as server:
        report = post(server, "/v1/verify", {"contract": contract, "output": 1})

    assert isinstance(report, dict)
    assert "passed" == report["verdict"]["outcome"]


def test_token_is_asked_for(tmp_path: Path) -> None:
    tokens = tmp_path / "tokens"
    tokens.write_text("first-token-of-two\nsecond-token-of-two\n")
    with Running.signoff("--token-file", str(tokens)) as server:
        status = {
            path: server.request("GET", path).status
            for path in ("/health", "/ready", "/docs", "/openapi.json", "/v1/verifiers")
        }
        locked(server, Authorization="Bearer second-token-of-two")
        told = server.output()

    assert {"/v1/verifiers": 401} == {path: one for path, one in status.items() if one != 200}
    assert "token-of-two" not in told


def test_line_says_where_it_serves() -> None:
    process = subprocess.Popen(
        [*ENTRY, "serve", "--listen", "127.0.0.1:0", "--json", "--no-log"],
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert process.stdout is not None
    told = json.loads(process.stdout.readline())
    process.send_signal(signal.SIGINT)
    rest, _ = process.communicate(timeout=30)

    assert told["url"].startswith("http://127.0.0.1:")
    assert (0, b"", False) == (process.returncode, rest, told["wattswarm"])


def test_line_of_a_runtime_says_what_becomes_of_evidence() -> None:
    hosts = ("--evidence-host", "a.example", "--evidence-host", "b.example")
    with Running.signoff("--wattswarm", "--evidence", "advisory", *hosts) as server:
        told = server.line(lambda line: line.startswith("signoff: serving"))
        status = {path: server.request("GET", path).status for path in ("/capabilities", "/docs")}

    assert "evidence advisory, fetched from a.example, b.example" in told
    assert {"/capabilities": 200, "/docs": 200} == status


def test_every_address_is_served_under_a_public_url() -> None:
    options = ("--listen", "0.0.0.0:0", "--insecure", "--public-url", "https://swarm.example/")
    with Running.signoff("--wattswarm", *options) as server:
        told = server.line(lambda line: line.startswith("note:"))

    assert "note: --insecure: whoever reaches it may use it" == told


def test_evidence_that_will_not_last_is_told(tmp_path: Path) -> None:
    proposing = ("--wattswarm", "--executor", "call:signoff.executors:echo")
    with Running.signoff(*proposing) as server:
        told = server.line(lambda line: line.startswith("note:"))
    with Running.signoff(*proposing, "--state-dir", str(tmp_path)) as server:
        lasting = server.output()

    assert "note: without --state-dir evidence is gone when the server ends" == told
    assert "note:" not in lasting


def test_socket_in_the_file_system_is_served(tmp_path: Path) -> None:
    place = tmp_path / "s"
    with Running.signoff("--listen", f"unix:{place}") as server, server.connect() as connection:
        connection.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        with connection.makefile("rb") as reply:
            said = reply.read()

    assert said.startswith(b"HTTP/1.1 200 ")
    assert not place.exists()


# -- what cannot be served --


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["--listen", "8787"], "--listen must be HOST:PORT"),
        (["--listen", "localhost"], "--listen must be HOST:PORT"),
        (["--listen", "::1:8787"], "--listen must be HOST:PORT"),
        (["--listen", ":8787"], "--listen must be HOST:PORT"),
        (["--listen", "localhost:65536"], "--listen must be HOST:PORT"),
        (["--listen", "localhost:x"], "--listen must be HOST:PORT"),
        (["--listen", "unix:"], "--listen must be HOST:PORT"),
        (["--listen", "0.0.0.0:0"], "can be reached by other machines, which needs a token"),
        (["--listen", "[::]:0"], "can be reached by other machines, which needs a token"),
        (["--listen", "192.0.2.1:0", "--insecure"], "cannot listen on 192.0.2.1:0"),
        (["--workers", "0"], "--workers"),
        (["--max-body", "0"], "--max-body"),
        (["--read-timeout", "0"], "--read-timeout"),
        (["--read-timeout", "nan"], "no number of seconds"),
        (["--token-file", "absent"], "absent: cannot be read"),
        (["--token-env", "SIGNOFF_TEST_ABSENT"], "SIGNOFF_TEST_ABSENT holds no token"),
        (["--config", "absent.toml"], "absent.toml: no such file"),
        (["--with", "nothing"], "--with must be package.module:name"),
        (["--with", "no.such.module:name"], "no.such.module"),
        (["--ledger", "."], "is no regular file"),
        (["--state-dir", "file/below"], "--state-dir file/below cannot be made"),
        (["--state-dir", "/proc"], "--state-dir /proc cannot be written"),
        (["--wattswarm", "--model-id", " "], "model_id is blank"),
        (["--wattswarm", "--profiles", " , "], "--profiles names nothing"),
        (["--wattswarm", "--policy-hash", "vp.schema_only.v1"], "--policy-hash must be ID=HASH"),
        (["--wattswarm", "--evidence-net", "10.0.0.1/8"], "10.0.0.0/8"),
        (["--wattswarm", "--executor", "perl:x"], "must begin with call:, cmd: or openai:"),
        (["--wattswarm", "--evidence", "maybe"], "--evidence"),
        (["--wattswarm", "--listen", "unix:s"], "on a unix socket needs --public-url"),
        (
            ["--wattswarm", "--listen", "0.0.0.0:0", "--insecure"],
            "--wattswarm on every address needs --public-url",
        ),
        (
            ["--wattswarm", "--listen", "[::]:0", "--insecure"],
            "--wattswarm on every address needs --public-url",
        ),
        (
            ["--wattswarm", "--listen", "0:0", "--insecure"],
            "--wattswarm on every address needs --public-url",
        ),
        (
            ["--wattswarm", "--public-url", "https://a.example/?b"],
            "--public-url must have no query",
        ),
        (
            ["--wattswarm", "--policy-hash", f"vp.schema_onyl.v1={'0' * 64}"],
            '--policy-hash: no policy is named "vp.schema_onyl.v1"',
        ),
        (
            ["--wattswarm", "--executor", "openai:http://a.example/v1#m"],
            "url must be https, or lead to this machine",
        ),
        (["--evidence-host", "a.example"], "--evidence-host goes with --wattswarm"),
        (["--executor", "call:signoff.executors:echo"], "--executor goes with --wattswarm"),
        (["--wattswarm", "--public-url", "nonsense"], "public URL"),
    ],
)
def test_bad_option_is_one_sentence(
    argv: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("")
    called = call("serve", *argv)

    assert 2 == called.code
    assert said in called.err
    assert "" == called.out
    assert called.err.startswith("signoff: ")
    assert "Traceback" not in called.err


def test_address_that_is_taken_is_told() -> None:
    with Running.signoff() as server:
        called = call("serve", "--listen", f"127.0.0.1:{server.port}", "--json")

    assert 2 == called.code
    assert "cannot listen on" in called.json["error"]["message"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("127.0.0.1:8787", ("127.0.0.1", 8787)),
        ("[::1]:0", ("::1", 0)),
        ("localhost:80", ("localhost", 80)),
        ("unix:/run/signoff.sock", ("unix:/run/signoff.sock", 0)),
    ],
)
def test_address_is_read(text: str, expected: tuple[str, int]) -> None:
    assert expected == listen_of(text)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "0", "0x0", "0.0", "::ffff:0.0.0.0"])
def test_every_address_has_many_names(host: str) -> None:
    assert is_every_address(host)


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "x", "localhost", "10.0.0.0", "0a.example"])
def test_one_address_is_not_every_address(host: str) -> None:
    assert not is_every_address(host)


@pytest.mark.parametrize("text", ["", ":", "[]:1", "a:b:1", "[::1]", "host:٣", "host:-1"])
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(Refusal, match="--listen"):
        listen_of(text)


def test_missing_extra_is_told(tmp_path: Path) -> None:
    program = (
        "import sys\n"
        "sys.modules['httptools'] = None\n"
        "from signoff.cli import main\n"
        "sys.argv[1:] = ['serve', '--listen', '127.0.0.1:0']\n"
        "main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=environment(),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert 2 == done.returncode
    assert "signoff[service]" in done.stderr


def test_other_commands_bring_no_server() -> None:
    program = (
        "import sys\n"
        "import signoff.cli.serve\n"
        "print([one for one in ('asyncio', 'httptools', 'uvloop', 'signoff.service', 'sqlite3')"
        " if one in sys.modules])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
    )

    assert "[]\n" == done.stdout
