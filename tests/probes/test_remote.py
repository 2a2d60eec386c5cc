"""remote: what becomes of a criterion when a real service answers, misbehaves, or is not there."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from signoff.canonical import canonical_bytes
from signoff.contract import lock
from signoff.engine import Engine
from signoff.errors import ContractError
from signoff.model import Finding, Result, Subject
from signoff.probes import PROBES
from signoff.record import encode_report
from signoff.registry import Powers, Registry
from signoff.remote_service import Service
from signoff.status import Cause, Status
from signoff.strictjson import loads
from tests.servers import Script, Server, Talk, answering, message, once

PASS = message('{"pass": true, "details": "fine", "score": 0.5}')
ANSWERED = (Status.INCONCLUSIVE, 'Service "judge" did not answer.')
UNREACHABLE = (*ANSWERED, Cause.EVIDENCE_UNREACHABLE)
LATE = (*ANSWERED, Cause.EVIDENCE_TIMED_OUT)
NONSENSE = (Status.ERROR, 'Service "judge" answered nonsense.', Cause.VERIFIER_BROKE)
SHORT_S = 0.3
SECRET = "s3cr3t-of-the-operator"


def registry(service: Service) -> Registry:
    return PROBES.with_powers(Powers(services={"judge": service}))


def contract(**params: Any) -> dict[str, Any]:
    given = {"service": "judge"} | params
    return {"id": "c", "criteria": [{"id": "it", "verifier": "remote", "params": given}]}


def finding(service: Service, output: Any = None, **params: Any) -> Finding:
    engine = Engine(registry(service))
    report = engine.verify(lock(contract(**params), engine.registry), Subject(output=output))
    return report.results[0].finding


def told(script: Script, *, timeout_s: float = 5.0) -> Finding:
    with Server(script) as server:
        return finding(Service(url=server.url, timeout_s=timeout_s))


def summary(found: Finding) -> tuple[Status, str, Cause | None]:
    return found.status, found.detail, found.cause


def reason(found: Finding) -> str:
    assert isinstance(found.data, dict)
    return str(found.data["reason"])


# -- a service that works --


def test_pass_of_the_service_passes() -> None:
    found = told(answering(PASS))

    assert (Status.PASS, "fine", None) == summary(found)
    assert (0.5, None, ()) == (found.score, found.at, found.evidence)


def test_fail_of_the_service_fails_at_the_path() -> None:
    with Server(answering(message('{"pass": false, "details": "too short"}'))) as server:
        found = finding(Service(url=server.url), {"a": {"b": 1}}, path="/a")

    assert (Status.FAIL, "too short", "/a") == (found.status, found.detail, found.at)


def test_service_is_sent_the_value_the_params_and_the_criterion() -> None:
    with Server(answering(PASS)) as server:
        url = f"{server.url}check/it?x=1"
        finding(Service(url=url), {"a": [1, 2**70]}, path="/a", params={"k": "é"})
        request = server.requests[0]

    assert {"output": [1, 2**70], "params": {"k": "é"}, "criterion": "it"} == loads(request.body)
    assert request.head.startswith("POST /check/it?x=1 HTTP/1.1\r\n")
    assert f"host: 127.0.0.1:{server.port}\r\n" in request.head.lower()
    assert "content-type: application/json\r\n" in request.head.lower()


def test_params_are_an_empty_object_when_absent() -> None:
    with Server(answering(PASS)) as server:
        finding(Service(url=server.url))
        request = server.requests[0]

    assert {"output": None, "params": {}, "criterion": "it"} == loads(request.body)


def test_path_that_is_not_there_is_not_asked_about() -> None:
    with Server(answering(PASS)) as server:
        found = finding(Service(url=server.url), {}, path="/a")

    assert (Status.FAIL, 'Path "/a" not found.', "") == (found.status, found.detail, found.at)
    assert [] == server.requests


@pytest.mark.parametrize(("holds", "verb"), [("true", "passed"), ("false", "failed")])
@pytest.mark.parametrize("more", ["", ', "details": ""'])
def test_reply_without_details_still_says_something(holds: str, verb: str, more: str) -> None:
    assert (
        f'Service "judge" {verb}.' == told(answering(message(f'{{"pass": {holds}{more}}}'))).detail
    )


def test_details_are_one_safe_line_of_200_characters() -> None:
    body = canonical_bytes({"pass": True, "details": "a\nb\u2028\x1b[31m" + "x" * 300})
    found = told(answering(message(body)))

    assert found.detail.startswith("a\\u000ab\\u2028\\u001b[31mxxx")
    assert found.detail.endswith("x...")
    assert len(found.detail) <= 203 + 20


# -- a service that is not there --


def test_nobody_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    found = finding(Service(url=f"http://127.0.0.1:{port}/"))

    assert UNREACHABLE == summary(found)
    assert "connection refused" == reason(found)


def test_name_that_leads_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object, **__: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "not known")

    monkeypatch.setattr(socket, "getaddrinfo", fails)
    found = finding(Service(url="https://judge.invalid/"))

    assert UNREACHABLE == summary(found)
    assert "has no address" == reason(found)


@pytest.mark.parametrize("status", ["500 Oops", "502 Bad Gateway", "503 Busy", "599 Odd"])
def test_status_from_500_up_is_no_answer(status: str) -> None:
    found = told(answering(message('{"pass": true}', status=status)))

    assert UNREACHABLE == summary(found)
    assert f"status {status[:3]}" == reason(found)


def closes_at_once(talk: Talk) -> None:
    talk.request()


def closes_within_the_head(talk: Talk) -> None:
    talk.request()
    talk.send(b"HTTP/1.1 200 OK\r\nContent-Ty")


def closes_within_the_body(talk: Talk) -> None:
    talk.request()
    talk.send(b'HTTP/1.1 200 OK\r\nContent-Length: 14\r\n\r\n{"pass"')


def closes_within_a_chunk(talk: Talk) -> None:
    talk.request()
    talk.send(b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nff\r\n{"pass": true}')


def promises_more_than_it_sends(talk: Talk) -> None:
    talk.request()
    talk.send(b'HTTP/1.1 200 OK\r\nContent-Length: 60000\r\n\r\n{"pass": true}')


@pytest.mark.parametrize(
    "script",
    [
        closes_at_once,
        closes_within_the_head,
        closes_within_the_body,
        closes_within_a_chunk,
        promises_more_than_it_sends,
    ],
)
def test_connection_that_ends_too_early_is_no_answer(script: Script) -> None:
    assert UNREACHABLE == summary(told(script))


# -- a service that is late --


def never_answers(talk: Talk) -> None:
    talk.request()
    talk.wait()


def never_reads(talk: Talk) -> None:
    talk.wait()


def drips_its_head(talk: Talk) -> None:
    talk.request()
    talk.drip(b"HTTP/1.1 200 OK\r\n" + b"X-Slow: " + b"z" * 10_000)


def drips_its_body(talk: Talk) -> None:
    talk.request()
    talk.send(b"HTTP/1.1 200 OK\r\nContent-Length: 10014\r\n\r\n")
    talk.drip(b" " * 10_000 + b'{"pass": true}')


def drips_chunks(talk: Talk) -> None:
    talk.request()
    talk.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    talk.drip(b"1\r\n \r\n" * 2_000)


def drips_informational_answers(talk: Talk) -> None:
    talk.request()
    talk.drip(b"HTTP/1.1 102 Processing\r\n\r\n" * 1_000)


def holds_back_the_last_byte(talk: Talk) -> None:
    talk.request()
    talk.send(PASS[:-1])
    talk.wait()


SLOW = [
    never_answers,
    never_reads,
    drips_its_head,
    drips_its_body,
    drips_chunks,
    drips_informational_answers,
    holds_back_the_last_byte,
]


@pytest.mark.parametrize("script", SLOW)
def test_slow_service_is_late_by_one_deadline(script: Script) -> None:
    with Server(script) as server:
        service = Service(url=server.url, timeout_s=SHORT_S)
        engine = Engine(registry(service))
        report = engine.verify(lock(contract(), engine.registry), Subject(output=None))

    assert LATE == summary(report.results[0].finding)
    assert SHORT_S <= report.results[0].elapsed_s < SHORT_S + 3


def test_service_that_does_not_take_a_large_question_is_late() -> None:
    with Server(never_reads) as server:
        found = finding(Service(url=server.url, timeout_s=SHORT_S), "x" * 2**25)

    assert LATE == summary(found)


def test_look_up_that_hangs_is_late(monkeypatch: pytest.MonkeyPatch) -> None:
    real: Any = socket.getaddrinfo
    with Server(never_answers) as server:

        def hangs(*args: Any, flags: int = 0, **more: Any) -> Any:
            if flags & socket.AI_NUMERICHOST:
                return real(*args, flags=flags, **more)
            server.ended.wait(10)
            raise OSError

        monkeypatch.setattr(socket, "getaddrinfo", hangs)
        found = finding(Service(url="https://judge.invalid/", timeout_s=SHORT_S))

    assert LATE == summary(found)


# -- a service that answers what it may not --


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ("201 Created", "status 201, expected 200"),
        ("400 Bad Request", "status 400, expected 200"),
        ("401 Unauthorized", "status 401, expected 200"),
        ("404 Not Found", "status 404, expected 200"),
        ("429 Too Many", "status 429, expected 200"),
    ],
)
def test_other_status_is_nonsense(status: str, expected: str) -> None:
    found = told(answering(message('{"pass": true}', status=status)))

    assert NONSENSE == summary(found)
    assert expected == reason(found)


@pytest.mark.parametrize(
    "answer",
    [b"HTTP/1.1 204 No Content\r\n\r\n", b"HTTP/1.1 304 Not Modified\r\n\r\n"],
    ids=["204", "304"],
)
def test_status_without_a_body_is_nonsense(answer: bytes) -> None:
    assert NONSENSE == summary(told(answering(answer)))


@pytest.mark.parametrize("status", ["301 Moved", "302 Found", "303 See", "307 Keep", "308 Keep"])
def test_redirect_is_not_followed(status: str) -> None:
    with Server(answering(PASS)) as elsewhere:
        away = message("", status=status, headers=f"Location: {elsewhere.url}\r\n")
        found = told(answering(away))

    assert NONSENSE == summary(found)
    assert [] == elsewhere.requests


@pytest.mark.parametrize(
    "body",
    [
        "",
        "yes",
        "<html>",
        "true",
        "[]",
        "null",
        "{}",
        '{"pass": "yes"}',
        '{"pass": 1}',
        '{"pass": null}',
        '{"Pass": true}',
        '{"details": "fine"}',
        '{"pass": true, "details": null}',
        '{"pass": true, "details": 1}',
        '{"pass": true, "score": null}',
        '{"pass": true, "score": "1"}',
        '{"pass": true, "score": true}',
        '{"pass": true, "score": NaN}',
        '{"pass": true, "score": Infinity}',
        '{"pass": true, "score": 1e999}',
        '{"pass": true, "score": 1' + "0" * 400 + "}",
        '{"pass": true, "error": "out of memory"}',
        '{"pass": false, "pass": true}',
        '{"pass": true, "p\\u0061ss": true}',
        '{"pass": true} {"pass": true}',
        '{"pass": true},',
        "{'pass': true}",
        '\ufeff{"pass": true}',
        '{"pass": true, "details": "\\ud800"}',
        '{"pass": true, "details": ' + "[" * 10_000 + "]" * 10_000 + "}",
    ],
)
def test_body_that_is_no_reply_is_nonsense(body: str) -> None:
    assert NONSENSE == summary(told(answering(message(body))))


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16"])
def test_body_that_is_not_utf_8_is_nonsense(encoding: str) -> None:
    body = '{"pass": true, "details": "é"}'.encode(encoding)

    assert NONSENSE == summary(told(answering(message(body))))


@pytest.mark.parametrize(
    "answer",
    [
        b"hello\r\n\r\n",
        b"HTTP/0.9 200 OK\r\n\r\n",
        b'HTTP/1.1 200 OK\r\nContent-Length: 14\r\nContent-Length: 15\r\n\r\n{"pass": true}',
        b'HTTP/1.1 200 OK\r\nContent-Length: -14\r\n\r\n{"pass": true}',
        b"HTTP/1.1 200 OK\r\nContent-Length: " + b"9" * 5_000 + b'\r\n\r\n{"pass": true}',
        b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{"pass": true}\r\n0\r\n\r\n',
        b'HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n{"pass": true}',
        b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 50_000 + b"\r\n",
        b"HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
    ],
)
def test_what_http_does_not_allow_is_nonsense(answer: bytes) -> None:
    def script(talk: Talk) -> None:
        talk.request()
        talk.send(answer)
        talk.wait()

    assert NONSENSE == summary(told(script))


def test_gzip_is_nonsense() -> None:
    headers = "Content-Encoding: gzip\r\n"

    assert NONSENSE == summary(told(answering(message('{"pass": true}', headers=headers))))


def test_less_was_promised_than_is_sent() -> None:
    answer = b'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n{"pass": true}'

    assert NONSENSE == summary(told(answering(answer)))


def sends_without_end(talk: Talk) -> None:
    talk.request()
    talk.send(b"HTTP/1.1 200 OK\r\n\r\n")
    while not talk.ended.is_set():
        talk.send(b" " * 65_536)


def sends_chunks_without_end(talk: Talk) -> None:
    talk.request()
    talk.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    while not talk.ended.is_set():
        talk.send(b"400\r\n" + b" " * 1_024 + b"\r\n")


def promises_too_much(talk: Talk) -> None:
    talk.request()
    talk.send(b"HTTP/1.1 200 OK\r\nContent-Length: 65537\r\n\r\n")
    talk.wait()


@pytest.mark.parametrize("script", [sends_without_end, sends_chunks_without_end, promises_too_much])
def test_huge_body_is_nonsense(script: Script) -> None:
    found = told(script)

    assert NONSENSE == summary(found)
    assert "larger than 65536 bytes" == reason(found)


@pytest.mark.parametrize(("spaces", "expected"), [(65_522, Status.PASS), (65_523, Status.ERROR)])
@pytest.mark.parametrize("framed", [True, False])
def test_body_may_have_64_kib_and_no_more(spaces: int, expected: Status, framed: bool) -> None:
    body = b" " * spaces + b'{"pass": true}'
    answer = message(body) if framed else b"HTTP/1.1 200 OK\r\n\r\n" + body

    assert expected is told(once(answer)).status


# -- what must not leak --


@pytest.mark.parametrize(
    "script",
    [answering(PASS), once(message("", status="500 Oops")), once(b"junk\r\n\r\n"), closes_at_once],
)
def test_header_value_comes_from_the_environment_and_goes_nowhere_else(
    script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JUDGE_KEY", SECRET)
    headers = {"Authorization": "env:JUDGE_KEY", "X-Team": "blue"}
    with Server(script) as server:
        service = Service(url=f"{server.url}?token={SECRET}", headers=headers)
        engine = Engine(registry(service))
        report = engine.verify(lock(contract(), engine.registry), Subject(output=None))
        head = server.requests[0].head

    assert f"authorization: {SECRET}".lower() in head.lower()
    assert "x-team: blue" in head.lower()
    assert SECRET not in encode_report(report).decode()
    assert SECRET not in repr(service)


@pytest.mark.parametrize("value", [None, "", f"{SECRET}\r\nX: y", f"{SECRET}\x00", "é", " x"])
def test_header_value_that_cannot_be_sent_is_not_given(
    value: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("JUDGE_KEY", raising=False)
    if value is not None and "\x00" not in value:
        monkeypatch.setenv("JUDGE_KEY", value)
    with Server(answering(PASS)) as server:
        found = finding(Service(url=server.url, headers={"X-Key": "env:JUDGE_KEY"}))

    assert (Status.ERROR, Cause.NOT_INSTALLED) == (found.status, found.cause)
    assert found.detail.startswith("remote was not given the means: ")
    unset = "the environment variable JUDGE_KEY has no value"
    assert found.detail.endswith("cannot be sent" if os.environ.get("JUDGE_KEY") else unset)
    assert SECRET not in found.detail
    assert [] == server.requests


def test_reply_of_the_service_is_not_told_when_it_is_nonsense() -> None:
    found = told(answering(message(SECRET)))

    assert SECRET not in repr(found)


def test_cookies_are_not_kept() -> None:
    with Server(answering(message('{"pass": true}', headers="Set-Cookie: a=b\r\n"))) as server:
        service = Service(url=server.url)
        finding(service)
        finding(service)

    assert 2 == len(server.requests)
    assert not any("cookie" in request.head.lower() for request in server.requests)


def test_proxies_and_credentials_of_the_environment_are_not_used(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text(f"machine 127.0.0.1 login me password {SECRET}\n")
    with Server(answering(PASS)) as proxy, Server(answering(PASS)) as server:
        for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, proxy.url)
        monkeypatch.delenv("no_proxy", raising=False)
        monkeypatch.setenv("NETRC", str(netrc))
        found = finding(Service(url=server.url))

    assert Status.PASS is found.status
    assert [] == proxy.requests
    assert "authorization" not in server.requests[0].head.lower()


# -- at lock --


def faults(configured: Service, **params: Any) -> list[tuple[str, str]]:
    with pytest.raises(ContractError) as caught:
        lock(contract(**params), registry(configured))
    return [(fault.where, fault.message) for fault in caught.value.faults]


def test_unknown_service_is_a_fault() -> None:
    assert [("/criteria/0/params/service", 'no service named "other"')] == faults(
        Service(url="https://judge.example/"), service="other"
    )


def test_nothing_is_configured_until_somebody_does() -> None:
    with pytest.raises(ContractError, match='no service named "judge"'):
        lock(contract(), PROBES)


def test_anything_but_a_service_is_named_where_it_is_asked() -> None:
    odd = PROBES.with_powers(Powers(services={"judge": {"url": "https://judge.example/"}}))

    with pytest.raises(ContractError, match="must hold Service, got dict"):
        lock(contract(), odd)


def test_missing_package_is_a_fault_of_the_contract(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "signoff.exchange", raising=False)
    monkeypatch.setitem(sys.modules, "h11", None)

    assert [("/criteria/0/verifier", "remote needs h11 (install signoff[http])")] == faults(
        Service(url="https://judge.example/")
    )


# -- every criterion is judged --


def test_silent_service_does_not_keep_others_from_being_judged() -> None:
    with Server(never_answers) as silent, Server(answering(PASS)) as server:
        services = {
            "silent": Service(url=silent.url, timeout_s=0.1),
            "judge": Service(url=server.url),
        }
        powers = PROBES.with_powers(Powers(services=services))
        criteria = [
            {"id": name, "verifier": "remote", "params": {"service": name}} for name in services
        ]
        locked = lock({"id": "c", "criteria": criteria}, powers)
        seen: list[Result] = []
        report = Engine(powers).verify(locked, Subject(output=[]), on_result=seen.append)

    assert [Status.INCONCLUSIVE, Status.PASS] == [one.finding.status for one in report.results]
    assert 2 == len(seen)


# -- the services of examples/remote --

EXAMPLES = Path(__file__).parents[2] / "examples" / "remote"
NODE = shutil.which("node")
LANGUAGES = pytest.mark.parametrize(
    "command",
    [
        pytest.param([sys.executable, "service.py"], id="python"),
        pytest.param(
            [NODE or "node", "service.mjs"],
            id="node",
            marks=pytest.mark.skipif(NODE is None, reason="Node, which runs it, is not installed"),
        ),
    ],
)


@contextmanager
def started(command: list[str]) -> Iterator[str]:
    """The URL of an example's service, which ends with the block."""
    with subprocess.Popen(
        [*command, "0"], cwd=EXAMPLES, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


@LANGUAGES
def test_service_of_the_examples_is_asked_as_its_contract_says(command: list[str]) -> None:
    locked_in = loads((EXAMPLES / "contract.json").read_bytes())
    texts = [
        "six words are not too many",
        "nine words are more than this contract would allow",
        7,
    ]
    with started(command) as url:
        engine = Engine(PROBES.with_powers(Powers(services={"words": Service(url=url)})))
        plan = engine.prepare(lock(locked_in, engine.registry))
        results = [
            engine.judge(plan, Subject(output={"summary": text}))[0][0].finding for text in texts
        ]

    assert [
        (Status.PASS, "6 words, at most 8", 6, None),
        (Status.FAIL, "9 words, at most 8", 9, "/summary"),
        (Status.FAIL, "the output is no text", None, "/summary"),
    ] == [(one.status, one.detail, one.score, one.at) for one in results]


@LANGUAGES
def test_service_of_the_examples_refuses_what_is_no_question(command: list[str]) -> None:
    with started(command) as url:
        service = Service(url=url)
        found = [
            finding(service, "a text"),
            finding(service, "a text", params={"max_words": "8"}),
            finding(service, "x" * 2**21, params={"max_words": 8}),
            finding(service, "a text", params={"max_words": 2}),
        ]

    assert ["error", "error"] == [one.status.value for one in found[:2]]
    assert not found[2].status.holds
    assert Status.PASS is found[3].status
