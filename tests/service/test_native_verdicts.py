"""One output, one report: what the native API says of outputs, and of requests it cannot judge."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest

from signoff import STDLIB, lock, verify
from signoff.ledger import open_ledger
from signoff.lockfile import encode_lock
from signoff.model import Finding, Report, Subject, passed
from signoff.probes import PROBES
from signoff.record import encode_report
from signoff.registry import Check, Verifier
from signoff.strictjson import Limits
from tests.service.native import BAD, CONTRACT, GOOD, Native, Reply

CORPUS = Path(__file__).resolve().parents[2] / "conformance" / "json" / "loading.json"


@pytest.fixture
def native(tmp_path: Path) -> Iterator[Native]:
    with Native(tmp_path) as made:
        yield made


def ask(native: Native, **body: Any) -> Reply:
    return native.call("POST", "/v1/verify", body)


def timeless(report: Report) -> Report:
    """The report without what no two runs have in common."""
    results = tuple(msgspec.structs.replace(one, elapsed_s=0.0) for one in report.results)
    return msgspec.structs.replace(report, started=None, elapsed_s=0.0, results=results)


def report_of(reply: Reply) -> Report:
    return msgspec.json.decode(reply.body, type=Report)


# -- verdicts --


@pytest.mark.parametrize("output", [GOOD, BAD, [], {}, None, "text", 1.0])
def test_report_is_that_of_the_library(native: Native, output: Any) -> None:
    reply = ask(native, contract=native.locked(), output=output)
    expected = verify(lock(CONTRACT, STDLIB), output)

    assert 200 == reply.status
    assert timeless(expected) == timeless(report_of(reply))


def test_report_is_written_as_the_command_line_writes_it(native: Native) -> None:
    reply = ask(native, contract=native.locked(), output=GOOD)

    assert encode_report(report_of(reply)) == reply.body


def test_quick_verdict_is_given_at_once(native: Native) -> None:
    digest = native.locked()
    first = ask(native, contract=digest, output=GOOD)
    waited = native.was_inline
    ask(native, contract=digest, output=BAD)

    assert (200, False, True) == (first.status, waited, native.was_inline)
    assert {"contract": digest, "outcome": "failed"} == native.notes


def test_large_output_is_judged_beside_the_loop(native: Native) -> None:
    digest = native.locked()
    ask(native, contract=digest, output=GOOD)
    reply = ask(native, contract=digest, output=[{"score": 1}] * 10_000)

    assert (200, False) == (reply.status, native.was_inline)


@pytest.mark.parametrize("output", [[[]] * 60_000, {str(name): 0 for name in range(30_000)}])
def test_large_body_is_read_beside_the_loop(native: Native, output: Any) -> None:
    ask(native, contract=native.locked(), output=GOOD)
    reply = ask(native, contract="sha256:", output=output)

    assert (422, "/contract", False) == (reply.status, reply.json["pointer"], native.was_inline)


@pytest.mark.parametrize("locked", [False, True])
def test_contract_can_be_sent_along(native: Native, locked: bool, tmp_path: Path) -> None:
    contract = json.loads(encode_lock(lock(CONTRACT, STDLIB))) if locked else CONTRACT
    reports = [report_of(ask(native, contract=contract, output=GOOD)) for _ in range(2)]

    assert [() if locked else ("locked_at_verify",)] * 2 == [one.weakened for one in reports]
    assert [lock(CONTRACT, STDLIB).digest] * 2 == [one.contract_digest for one in reports]
    assert not (tmp_path / "contracts").exists()


def test_contract_that_is_sent_along_again_is_not_locked_again(native: Native) -> None:
    waited = []
    for _ in range(2):
        ask(native, contract=CONTRACT, output=GOOD)
        waited.append(not native.was_inline)

    assert [True, False] == waited


def test_facts_are_judged(native: Native) -> None:
    criteria = [
        {"id": "fast", "verifier": "latency_under", "params": {"max": 500}},
        {"id": "tools", "verifier": "tool_success"},
    ]
    facts = {"elapsed_s": 0.1, "exit_code": 0, "tools": [{"name": "search", "status": "ok"}]}
    digest = native.locked({"id": "facts", "criteria": criteria})
    good = report_of(ask(native, contract=digest, output=None, **facts))
    slow = report_of(ask(native, contract=digest, output=None, **{**facts, "elapsed_s": 2}))
    none = report_of(ask(native, contract=digest, output=None))

    assert good.passed
    assert ("fast",) == slow.verdict.blockers
    assert not none.passed


def test_limits_that_are_wider_than_usual_are_told(tmp_path: Path) -> None:
    with Native(tmp_path, limits=Limits(max_depth=100)) as native:
        reply = ask(native, contract=CONTRACT, output=GOOD)

    assert ["locked_at_verify", "max_depth=100"] == reply.json["weakened"]


@pytest.mark.parametrize(("depth", "status"), [(64, 200), (65, 400)])
def test_output_may_be_as_deep_as_anywhere(native: Native, depth: int, status: int) -> None:
    output = b"[" * depth + b"]" * depth
    digest = native.locked()
    body = b'{"contract": "%b", "output": %b}' % (digest.encode(), output)

    assert status == native.call("POST", "/v1/verify", body).status


DEAR = {
    "enumeration": {"schema": {"enum": [f"word-{number}" for number in range(20_000)]}},
    "pattern": {"schema": {"pattern": "^(a{0,200}){0,200}$"}},
    "subschemas": {"schema": {"items": {"anyOf": [{"const": number} for number in range(2_000)]}}},
}


@pytest.mark.parametrize("kind", DEAR)
def test_dear_contract_is_judged_beside_the_loop(native: Native, kind: str) -> None:
    """A small output too may be held to very much."""
    criterion = {"id": "a", "verifier": "json_schema", "params": DEAR[kind]}
    digest = native.locked({"id": "c", "criteria": [criterion]})
    found = [ask(native, contract=digest, output=["x" * 100]).status for _ in range(2)]

    assert ([200, 200], False) == (found, native.was_inline)


def test_words_are_looked_through_beside_the_loop(native: Native) -> None:
    fields = [f"field-{number}" for number in range(900)]
    criterion = {"id": "a", "verifier": "contains_fields", "params": {"fields": fields}}
    digest = native.locked({"id": "c", "criteria": [criterion]})
    found = [ask(native, contract=digest, output=[{}] * 300).status for _ in range(2)]

    assert ([200, 200], False) == (found, native.was_inline)


# -- checks of others --


def foreign(check: Check, id_: str = "theirs") -> Any:
    """Signoff's verifiers and one that is not its own."""
    mine = Verifier(id=id_, factory=lambda: check, description="Theirs.", source="theirs 1")
    return (STDLIB | PROBES) | [mine]


def test_check_of_others_runs_beside_the_loop(tmp_path: Path) -> None:
    seen: list[str] = []

    def check(subject: Subject) -> Finding:
        seen.append(threading.current_thread().name)
        return passed("fine")

    contract = {"id": "c", "criteria": [{"id": "a", "verifier": "theirs"}]}
    with Native(tmp_path, foreign(check)) as native:
        digest = native.locked(contract)
        reports = [report_of(ask(native, contract=digest, output=1)) for _ in range(2)]

    assert all(one.passed for one in reports)
    assert threading.main_thread().name not in seen
    assert "1" == reports[0].engines["theirs"]


@pytest.mark.parametrize("error", [RuntimeError("lost"), SystemExit(0), MemoryError()])
def test_broken_check_is_in_the_report(tmp_path: Path, error: BaseException) -> None:
    def check(subject: Subject) -> Finding:
        raise error

    contract = {"id": "c", "criteria": [{"id": "a", "verifier": "theirs"}]}
    with Native(tmp_path, foreign(check)) as native:
        reply = ask(native, contract=contract, output=1)

    assert (200, "failed") == (reply.status, reply.json["verdict"]["outcome"])
    assert "error" == reply.json["results"][0]["finding"]["status"]


# -- requests that cannot be judged --


@pytest.mark.parametrize(
    ("change", "pointer"),
    [
        ({"contract": None}, "/contract"),
        ({"contract": "answers"}, "/contract"),
        ({"contract": "sha256:" + "A" * 64}, "/contract"),
        ({"contract": 1}, "/contract"),
        ({"colour": 1}, "/colour"),
        ({"evidence": []}, "/evidence"),
        ({"workspace": "/"}, "/workspace"),
        ({"id": ""}, "/id"),
        ({"id": "x" * 201}, "/id"),
        ({"id": True}, "/id"),
        ({"elapsed_s": "1"}, "/elapsed_s"),
        ({"elapsed_s": -1}, "/elapsed_s"),
        ({"elapsed_s": True}, "/elapsed_s"),
        ({"exit_code": 1.5}, "/exit_code"),
        ({"tools": {}}, "/tools"),
        ({"tools": [{"status": 1}]}, "/tools/0"),
        ({"tools": [{"name": "a"}, {"name": 1}]}, "/tools/1/name"),
        ({"tools": [{"name": "a", "colour": 1}]}, "/tools/0/colour"),
        ({"base": 1}, "/base"),
    ],
)
def test_wrong_shape_is_told_with_its_place(
    native: Native, change: dict[str, Any], pointer: str
) -> None:
    reply = ask(native, **({"contract": native.locked(), "output": GOOD} | change))

    assert (422, "wrong_shape", pointer) == (
        reply.status,
        reply.json["code"],
        reply.json["pointer"],
    )


def test_seconds_beyond_every_double_are_refused(native: Native) -> None:
    reply = ask(native, contract=native.locked(), output=1, elapsed_s=10**400)

    assert (422, "/elapsed_s") == (reply.status, reply.json["pointer"])


@pytest.mark.parametrize("missing", ["contract", "output"])
def test_missing_member_is_told(native: Native, missing: str) -> None:
    body = {"contract": native.locked(), "output": GOOD}
    del body[missing]
    reply = ask(native, **body)

    assert (422, f"{missing} is required") == (reply.status, reply.json["detail"])


@pytest.mark.parametrize("body", [[], 1, "text", None])
def test_other_value_than_an_object_is_refused(native: Native, body: Any) -> None:
    assert 422 == native.call("POST", "/v1/verify", body).status


def test_unknown_contract_is_not_found(native: Native) -> None:
    reply = ask(native, contract="sha256:" + "0" * 64, output=1)

    assert (404, "contract_unknown") == (reply.status, reply.json["code"])


def test_contract_with_faults_is_refused_with_all_of_them(native: Native) -> None:
    reply = ask(native, contract={"id": "c", "criteria": []}, output=1)

    assert (422, "contract_refused") == (reply.status, reply.json["code"])


# -- malformed JSON --


def corpus() -> list[Any]:
    cases = json.loads(CORPUS.read_text("utf-8"))["cases"]
    return [pytest.param(case, id=case["name"]) for case in cases]


def text_of(case: dict[str, Any]) -> bytes:
    if "hex" in case:
        return bytes.fromhex(case["hex"])
    if "repeat" in case:
        before, n, middle, after, m = case["repeat"]
        return str(before * n + middle + after * m).encode()
    return str(case["text"]).encode()


@pytest.mark.parametrize("case", corpus())
@pytest.mark.parametrize("path", ["/v1/verify", "/v1/contracts"])
def test_what_is_no_strict_json_is_a_bad_request(
    native: Native, case: dict[str, Any], path: str
) -> None:
    """What must be read is read, and refused for its shape alone."""
    reply = native.call("POST", path, text_of(case))
    # A request stands around an output, which may have 64 levels.
    around = path == "/v1/verify" and case["name"].startswith("n_65_levels")
    expected = 422 if case["name"].startswith("y_") or around else 400

    assert expected == reply.status, reply.body
    assert ("bad_json" == reply.json["code"]) is (expected == 400)


@pytest.mark.parametrize("case", corpus())
def test_output_is_read_or_refused_as_anywhere(native: Native, case: dict[str, Any]) -> None:
    """An output inside of a request is held to the same rules as one in a file."""
    data = text_of(case)
    if case["name"].startswith("n_") and b"}" in data:
        pytest.skip("it may be whole when something stands around it")
    body = b'{"contract": "%b", "output": %b}' % (native.locked().encode(), data)

    assert (200 if case["name"].startswith("y_") else 400) == native.call(
        "POST", "/v1/verify", body
    ).status


# -- the ledger --


def test_verdict_is_in_the_ledger_before_it_is_told(tmp_path: Path) -> None:
    place = tmp_path / "ledger.sqlite3"
    with Native(tmp_path, ledger=lambda: open_ledger(place)) as native:
        reply = ask(native, contract=native.locked(), output=BAD, id="task-7")
    with open_ledger(place, may_write=False) as ledger:
        [kept] = ledger.verdicts(subject="task-7")

    assert (reply.body, "failed") == (kept.report, kept.outcome.value)


def test_verdict_that_cannot_be_kept_is_not_told(tmp_path: Path) -> None:
    place = tmp_path / "ledger.sqlite3"
    with Native(tmp_path, ledger=lambda: open_ledger(place, timeout_s=0.05)) as native:
        digest = native.locked()
        with closing(sqlite3.connect(place, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            reply = ask(native, contract=digest, output=GOOD)
            other.execute("ROLLBACK")
        kept = ask(native, contract=digest, output=GOOD)
    with open_ledger(place, may_write=False) as ledger:
        count = len([*ledger.verdicts()])

    assert (503, "ledger_unusable") == (reply.status, reply.json["code"])
    assert (200, 1) == (kept.status, count)


# -- about the worker --


def test_verifiers_are_those_that_contracts_may_name(native: Native) -> None:
    listed = native.call("GET", "/v1/verifiers").json["verifiers"]
    used = [one["id"] for one in listed if one["in_use"]]

    assert {"sorted_by", "json_schema", "remote"} <= {*used}
    assert {"command", "pytest"} <= {one["id"] for one in listed if not one["in_use"]}


def test_worker_lives_and_is_ready(native: Native) -> None:
    assert {"status": "ok"} == native.call("GET", "/health").json
    assert {"status": "ready"} == native.call("GET", "/ready").json


def test_worker_that_was_told_to_stop_is_not_ready(native: Native) -> None:
    native.worker.draining = True

    assert 503 == native.call("GET", "/ready").status


def test_verdicts_are_counted(native: Native) -> None:
    digest = native.locked()
    for output in (GOOD, GOOD, BAD):
        ask(native, contract=digest, output=output)
    totals = native.worker.metrics.board.totals()
    counts = {one.labels: value for one, value in totals.items() if one.name == "signoff_verdicts"}

    assert {(("outcome", "passed"),): 2.0, (("outcome", "failed"),): 1.0} == counts
