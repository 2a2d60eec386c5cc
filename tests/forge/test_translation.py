"""Forge and core, each as the other: every member of every list, in both directions."""

from __future__ import annotations

from typing import Any

import pytest

from signoff.dialects.forge import (
    CLASS_OF_CAUSE,
    CORE_STATUS,
    FORGE_STATUS,
    FailureClass,
    Remedy,
    VerificationResult,
    VerificationStatus,
    acceptance_results,
    benchmark_status,
    failure_class,
    failure_signature,
    is_verified,
    overall_status,
    retry_may_help,
    to_finding,
    to_result,
    to_verdict,
)
from signoff.model import Finding
from signoff.status import Cause, Outcome, Status
from signoff.suite.failure import Failure

PASS, FAIL, WARN, SKIPPED = (
    VerificationStatus(word) for word in ("pass", "fail", "warn", "skipped")
)

# The table of the dialect, written out a second time: a new member breaks this.
CLASSES = {
    "json_invalid": (None, "retry"),
    "schema_invalid": (None, "retry"),
    "not_json": (None, "retry"),
    "input_invalid": (None, "none"),
    "tests_failed": ("command_failed", "retry"),
    "no_tests": ("no_tests", "retry"),
    "no_report": ("evidence_missing", "retry"),
    "report_invalid": ("evidence_missing", "retry"),
    "required_missing": ("evidence_missing", "retry"),
    "report_mismatch": ("report_mismatch", "escalate"),
    "canary": ("report_mismatch", "escalate"),
    "tampered": ("evidence_corrupt", "escalate"),
    "output_limit": ("output_limit", "retry"),
    "command_failed": ("command_failed", "retry"),
    "signal": ("command_failed", "retry"),
    "left_processes": ("command_failed", "retry"),
    "timeout": ("timed_out", "retry"),
    "isolation_unavailable": ("isolation_unavailable", "repair"),
    "runner_error": ("verifier_broke", "repair"),
    "command_not_found": ("verifier_broke", "repair"),
    "permission_denied": ("verifier_broke", "repair"),
    "cwd_missing": ("verifier_broke", "repair"),
    "verifier_error": ("verifier_broke", "repair"),
    "bad_return": ("verifier_broke", "repair"),
    "subject_changed": ("verifier_broke", "repair"),
    "unknown_verifier": ("no_such_verifier", "none"),
    "contract_missing": ("bad_params", "none"),
    "contract_invalid": ("bad_params", "none"),
    "policy_invalid": ("bad_params", "none"),
    "unspecified": (None, "none"),
}


def one(status: VerificationStatus, **evidence: Any) -> VerificationResult:
    return VerificationResult(status, "a", "s", evidence, ("e",) if status is FAIL else ())


def failing(word: str) -> VerificationResult:
    return one(FAIL, failure_class=word)


def test_row_43_the_list_of_classes_is_closed() -> None:
    assert CLASSES == {
        member.value: (member.cause and member.cause.value, member.remedy.value)
        for member in FailureClass
    }


def test_row_43_every_cause_has_a_class() -> None:
    assert {*Cause} == CLASS_OF_CAUSE.keys()


def test_row_43_classes_of_test_runs_are_in_the_list_with_their_causes() -> None:
    assert {member.value: member.cause for member in Failure} == {
        member.value: FailureClass[member.name].cause for member in Failure
    }


@pytest.mark.parametrize("status", Status)
def test_row_43_every_core_status_has_a_forge_status(status: Status) -> None:
    expected = {"inconclusive": "fail", "error": "fail"}.get(status.value, status.value)

    assert expected == FORGE_STATUS[status]


@pytest.mark.parametrize("status", VerificationStatus)
def test_row_43_every_forge_status_has_a_core_status(status: VerificationStatus) -> None:
    assert status == CORE_STATUS[status].value
    assert status is FORGE_STATUS[CORE_STATUS[status]]


@pytest.mark.parametrize("member", FailureClass)
def test_row_43_every_class_comes_back(member: FailureClass) -> None:
    finding = to_finding(failing(member.value))
    back = to_result("a", finding)

    assert member.cause is finding.cause
    assert finding.status is (member.cause.status if member.cause else Status.FAIL)
    assert member is failure_class(back)
    assert FAIL is back.status
    assert finding == to_finding(back) or {"core_cause", "core_status"} <= back.evidence.keys()


@pytest.mark.parametrize("cause", Cause)
def test_row_43_every_finding_that_does_not_hold_fails_with_a_class(cause: Cause) -> None:
    found = to_result("a", Finding(status=cause.status, detail="d", cause=cause))

    assert (FAIL, cause.value, cause.status.value) == (
        found.status,
        found.evidence["core_cause"],
        found.evidence["core_status"],
    )
    assert CLASS_OF_CAUSE[cause] is failure_class(found)
    assert ("d",) == found.errors


@pytest.mark.parametrize("cause", Cause)
def test_row_43_the_verdict_of_one_finding_is_the_core_s(cause: Cause) -> None:
    verdict = to_verdict([to_result("a", Finding(status=cause.status, detail="d", cause=cause))])

    assert (cause.status.outcome, cause) == (verdict.outcome, verdict.cause)


def test_row_43_a_timeout_is_never_passed() -> None:
    timeout = failing("timeout")

    assert FAIL is overall_status([one(PASS), timeout])
    assert not is_verified([one(PASS), timeout])
    assert "fail" == benchmark_status([timeout])
    assert [{"pass": False, "details": "s"}] == acceptance_results([timeout])
    assert (Outcome.FAILED, Cause.TIMED_OUT) == (
        to_verdict([timeout]).outcome,
        to_verdict([timeout]).cause,
    )


def test_row_43_inconclusive_only_if_every_failure_is() -> None:
    unreachable = to_result(
        "a",
        Finding(status=Status.INCONCLUSIVE, detail="d", cause=Cause.EVIDENCE_UNREACHABLE),
    )

    assert Outcome.INCONCLUSIVE is to_verdict([one(PASS), unreachable]).outcome
    assert Outcome.FAILED is to_verdict([failing("timeout"), unreachable]).outcome
    assert Outcome.FAILED is to_verdict([one(SKIPPED), unreachable]).outcome
    assert ("a",) == to_verdict([one(PASS), unreachable]).blockers


def test_row_43_nothing_is_no_pass_in_the_core_either() -> None:
    assert (Outcome.FAILED, Cause.NO_RESULT) == (to_verdict([]).outcome, to_verdict([]).cause)


def test_row_43_acceptance_is_pass_or_warn() -> None:
    found = acceptance_results([one(PASS), one(WARN), one(SKIPPED), one(FAIL)])

    assert [True, True, False, False] == [entry["pass"] for entry in found]


@pytest.mark.parametrize(
    ("statuses", "expected"),
    [
        ([], FAIL),
        ([SKIPPED, SKIPPED], FAIL),
        ([PASS, WARN], WARN),
        ([PASS, SKIPPED], FAIL),
        ([WARN, FAIL], FAIL),
        ([PASS, PASS], PASS),
    ],
)
def test_row_40_the_total(statuses: list[VerificationStatus], expected: Any) -> None:
    results = [one(status) for status in statuses]

    assert expected is overall_status(results)
    assert (expected in {PASS, WARN}) is is_verified(iter(results))


def test_row_40_required_ids_must_be_among_the_results() -> None:
    assert is_verified([one(PASS)], require=["a"])
    assert not is_verified([one(PASS)], require=["a", "b"])
    with pytest.raises(TypeError):
        is_verified([one(PASS)], require="a")


def test_row_44_what_was_not_run_is_never_a_pass() -> None:
    assert "not_run" == benchmark_status(None)
    assert "fail" == benchmark_status([])
    assert ["pass", "warn", "fail"] == [benchmark_status([one(s)]) for s in (PASS, WARN, SKIPPED)]


def test_the_same_failure_twice_ends_the_retries() -> None:
    def schema(*paths: str) -> VerificationResult:
        entries = [{"path": path, "keyword": "type", "message": path} for path in paths]
        return one(FAIL, failure_class="schema_invalid", output_errors=entries)

    assert retry_may_help(schema("/a"))
    assert retry_may_help(schema("/a"), before=schema("/b"))
    assert not retry_may_help(schema("/a", "/b"), before=schema("/b", "/a"))
    assert failure_signature(schema("/a", "/b")) == failure_signature(schema("/b", "/a"))
    assert retry_may_help(schema("/a"), before=one(PASS))
    assert not retry_may_help(one(PASS))
    assert not retry_may_help(one(SKIPPED))


@pytest.mark.parametrize("member", FailureClass)
def test_only_some_failures_are_worth_a_retry(member: FailureClass) -> None:
    assert retry_may_help(failing(member.value)) is (member.remedy is Remedy.RETRY)
