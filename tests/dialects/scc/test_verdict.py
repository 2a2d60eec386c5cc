"""verdict.json: what is accepted, what each cause comes to, what a report comes to."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signoff.dialects.scc.contract import Check
from signoff.dialects.scc.outcome import failure_of, failure_of_report, settled
from signoff.dialects.scc.verdict import (
    FIELDS,
    FailClass,
    Failure,
    decode_verdict,
    encode_verdict,
    utc_of,
    verdict_document,
)
from signoff.engine import judge
from signoff.errors import VerdictRefused
from signoff.model import Criterion, Finding, Report, Result
from signoff.status import Cause, Status
from tests.dialects.scc.vectors import cases, document

NOW = utc_of(document("verdicts.json")["now"], "now")


@pytest.mark.parametrize("case", cases("verdicts.json"))
def test_verdict_vector_holds(case: dict[str, Any]) -> None:
    data = json.dumps(case["document"]).encode()
    strict = case.get("strict", False)
    if case["expect"]["accepted"]:
        found = decode_verdict(data, now=NOW, strict=strict)

        assert case["document"]["verdict"] == found.verdict
        assert tuple(case["document"]["evidence_paths"]) == found.evidence_paths
        return

    with pytest.raises(VerdictRefused):
        decode_verdict(data, now=NOW, strict=strict)


@pytest.mark.parametrize("case", cases("not_json.json"))
def test_what_is_not_strict_json_is_no_verdict(case: dict[str, Any]) -> None:
    with pytest.raises(VerdictRefused):
        decode_verdict(case["text"].encode("utf-8", "surrogatepass"), now=NOW)


@given(st.binary(max_size=200))
def test_random_bytes_are_no_verdict(data: bytes) -> None:
    with pytest.raises(VerdictRefused):
        decode_verdict(data, now=NOW)


@pytest.mark.parametrize("case", cases("fail_classes.json"))
def test_fail_class_vector_holds(case: dict[str, Any]) -> None:
    cause = {None: None, **{one.value: one for one in Cause}}[case["cause"]]
    failure = failure_of(
        Finding(status=Status.FAIL, detail="x", cause=cause, data=case.get("data"))
    )

    assert case["expect"]["fail_class"] == failure.fail_class.value
    assert case["expect"]["exit_code"] == failure.exit_code


CHECK = Check(name="a", command="x", exit_code=3)


@pytest.mark.parametrize(
    ("status", "cause", "data", "fail_class"),
    [
        (Status.WARN, None, {"ended": "exited", "exit_code": 3}, "artifact_missing"),
        (
            Status.FAIL,
            Cause.COMMAND_FAILED,
            {"ended": "exited", "exit_code": 3},
            "artifact_missing",
        ),
        (Status.FAIL, Cause.COMMAND_FAILED, {"ended": "exited", "exit_code": 0}, "command_failed"),
        (
            Status.FAIL,
            Cause.COMMAND_FAILED,
            {"ended": "exited", "exit_code": 3, "left_processes": 1},
            "command_failed",
        ),
        (Status.FAIL, Cause.TIMED_OUT, {"ended": "timed_out"}, "timeout"),
    ],
)
def test_missing_and_stale_evidence_is_told_apart_from_a_failed_command(
    status: Status, cause: Cause | None, data: dict[str, Any], fail_class: str
) -> None:
    finding = settled(CHECK, Finding(status=status, detail="x", cause=cause, data=data))

    assert finding.status is Status.FAIL
    assert fail_class == failure_of(finding).fail_class.value


def test_a_check_that_passed_is_settled_as_it_is() -> None:
    finding = Finding(status=Status.PASS, detail="x", data={"ended": "exited", "exit_code": 3})

    assert finding == settled(CHECK, finding)


def test_every_cause_has_a_vector() -> None:
    causes = {case["cause"] for case in document("fail_classes.json")["cases"]}

    assert {None, *(cause.value for cause in Cause)} == causes


def test_there_are_seven_classes_of_the_seed() -> None:
    seed = (
        "command_failed command_denied timeout verifier_error artifact_missing verdict_missing"
        " unknown"
    )

    assert seed.split() == [one.value for one in FailClass]


def report(*statuses: tuple[Status, Cause | None], lost: bool = False) -> Report:
    findings = [Finding(status=status, detail="x", cause=cause) for status, cause in statuses]
    results = tuple(Result(criterion=f"c{i}", finding=one) for i, one in enumerate(findings))
    criteria = tuple(Criterion(id=f"c{i}", verifier="v") for i in range(len(findings) + lost))
    return Report(
        contract_id="c",
        contract_digest="sha256:",
        output_digest=None,
        results=results,
        verdict=judge(criteria, results),
        started=NOW,
        elapsed_s=0.0,
        engines={},
    )


def test_a_report_that_passed_is_no_failure() -> None:
    assert failure_of_report(report((Status.PASS, None), (Status.WARN, None))) is None


def test_the_first_blocker_in_contract_order_decides() -> None:
    found = failure_of_report(
        report(
            (Status.PASS, None),
            (Status.FAIL, Cause.TIMED_OUT),
            (Status.ERROR, Cause.ISOLATION_UNAVAILABLE),
        )
    )

    assert found is not None
    assert (FailClass.TIMEOUT, 124, "c1") == (found.fail_class, found.exit_code, found.criterion)


def test_inconclusive_skipped_and_lost_results_are_failures() -> None:
    inconclusive = failure_of_report(report((Status.INCONCLUSIVE, Cause.NOT_RECORDED)))
    skipped = failure_of_report(report((Status.SKIPPED, None)))
    lost = failure_of_report(report((Status.PASS, None), lost=True))
    nothing = failure_of_report(report())

    assert inconclusive is not None
    assert FailClass.ARTIFACT_MISSING is inconclusive.fail_class
    assert skipped is not None
    assert FailClass.UNKNOWN is skipped.fail_class
    assert lost is not None
    assert (FailClass.VERIFIER_ERROR, 125) == (lost.fail_class, lost.exit_code)
    assert nothing is not None
    assert (FailClass.VERIFIER_ERROR, 2) == (nothing.fail_class, nothing.exit_code)


def test_a_warning_is_a_failure_under_strict() -> None:
    found = failure_of_report(report((Status.WARN, None)), strict=True)

    assert found is not None
    assert (FailClass.UNKNOWN, 1) == (found.fail_class, found.exit_code)


def test_what_is_written_has_five_keys_and_reads_back() -> None:
    failure = Failure(fail_class=FailClass.TIMEOUT, exit_code=124)
    moment = datetime(2026, 1, 31, 13, 0, tzinfo=timezone(timedelta(hours=1)))
    made = verdict_document(failure, ["b", "a", "b"], moment)
    data = encode_verdict(made)

    assert list(FIELDS) == list(json.loads(data))
    assert ("a", "b") == made.evidence_paths
    assert "2026-01-31T12:00:00.000000Z" == made.generated_utc
    assert made == decode_verdict(data, now=NOW, strict=True)


@pytest.mark.parametrize(
    ("failure", "paths"),
    [
        (None, []),
        (Failure(fail_class=FailClass.TIMEOUT, exit_code=124), []),
        (Failure(fail_class=FailClass.TIMEOUT, exit_code=0), ["a"]),
        (Failure(fail_class=FailClass.VERDICT_MISSING, exit_code=1), ["a"]),
        (None, ["../a"]),
        (None, ["a\udcff"]),
        (None, ["evidence/verdict.json"]),
    ],
)
def test_what_no_reader_would_accept_is_not_written(
    failure: Failure | None, paths: list[str]
) -> None:
    with pytest.raises(VerdictRefused):
        encode_verdict(verdict_document(failure, paths, datetime.now(UTC)))
