"""What foreign checks hand back, however odd, becomes a finding of one safe line."""

from __future__ import annotations

from typing import Any

import pytest

from signoff.contract import lock
from signoff.engine import Engine
from signoff.errors import NotJudged
from signoff.jsonvalue import shown
from signoff.model import Evidence, Finding, Subject, ToolCall, failed, passed
from signoff.registry import Registry
from signoff.status import Status
from tests.test_engine import assert_error, raising, verifier_of
from tests.test_engine import report_on as report_on_check


def report_on(check: Any, **options: Any) -> Any:
    try:
        return report_on_check(check, **options)
    except BaseException:
        pass
    pytest.fail("escaped from the engine", pytrace=False)


class Pretender:
    @property  # type: ignore[misc]  # odd on purpose
    def __class__(self) -> Any:
        raise ZeroDivisionError


class NamelessMeta(type):
    @property
    def __name__(cls) -> str:  # type: ignore[override]  # odd on purpose
        raise ZeroDivisionError


class Nameless(Exception, metaclass=NamelessMeta):
    pass


class Empty(NotJudged):
    def __init__(self) -> None:
        pass


class FakeInterrupt(KeyboardInterrupt):
    @property
    def __traceback__(self) -> Any:  # type: ignore[override]  # odd on purpose
        raise ZeroDivisionError


def test_class_that_raises() -> None:
    assert_error(report_on(lambda subject: Pretender()), "Verifier returned no finding.")


@pytest.mark.parametrize("own", [True, False])
def test_score_beyond_doubles(own: bool) -> None:
    f = Finding(status=Status.PASS, detail="", score=10**400)
    assert_error(report_on(lambda subject: f, own=own), "Verifier returned no finding.")


def test_name_of_exception_is_shown() -> None:
    kind = type("a\nb" * 200, (Exception,), {})
    detail = report_on(raising(kind)).results[1].finding.detail
    assert shown(detail, 4096) == detail
    assert len(detail) < 1_300


@pytest.mark.parametrize(
    "make",
    [Nameless, Empty, FakeInterrupt],
    ids=["nameless", "empty", "fake"],
)
def test_odd_exceptions(make: Any) -> None:
    assert Status.ERROR is report_on(raising(make)).results[1].finding.status


@pytest.mark.parametrize("at", ["nonsense", "/~2"])
def test_at_is_a_pointer(at: str) -> None:
    f = Finding(status=Status.PASS, detail="", at=at)
    assert_error(report_on(lambda subject: f), "Verifier returned no finding.")


def test_evidence_is_a_tuple() -> None:
    f = Finding(status=Status.PASS, detail="", evidence=[Evidence(digest="a", size=1)])  # type: ignore[arg-type]  # odd on purpose
    assert_error(report_on(lambda subject: f), "Verifier returned no finding.")


def test_check_has_no_right_to_skip() -> None:
    f = Finding(status=Status.SKIPPED, detail="")
    assert Status.SKIPPED is not report_on(lambda subject: f).results[1].finding.status


def test_check_cannot_change_the_recorded_calls_for_the_others() -> None:
    def changes(subject: Subject) -> Finding:
        subject.tools[0].status.append("ok")  # type: ignore[index]  # it was recorded
        return passed("done")

    def sees(subject: Subject) -> Finding:
        return passed("as it was") if [] == subject.tools[0].status else failed("changed")  # type: ignore[index]  # likewise

    registry = Registry([verifier_of("changes", changes), verifier_of("sees", sees, own=True)])
    criteria = [{"id": name, "verifier": name} for name in ("changes", "sees")]
    contract = lock({"id": "calls", "criteria": criteria}, registry)
    recorded = (ToolCall(name="search", status=[]),)

    assert Engine(registry).verify(contract, Subject(output=1, tools=recorded)).passed


def test_foreign_check_cannot_say_under_what_a_command_ran() -> None:
    claims = {"isolation": "L3", "assurance": "report+canaries", "missing": ("nothing",)}
    f = Finding(status=Status.PASS, detail="so I say", **claims)  # type: ignore[arg-type]  # by name
    found = report_on(lambda subject: f)

    assert ("so I say", None, None, ()) == (
        found.results[1].finding.detail,
        found.results[1].finding.isolation,
        found.results[1].finding.assurance,
        found.results[1].finding.missing,
    )
    assert (None, None, ()) == (found.isolation, found.assurance, found.missing)


@pytest.mark.parametrize(
    "odd", [{"isolation": "L4"}, {"isolation": 3}, {"assurance": "sworn"}, {"missing": "all"}]
)
def test_odd_claim_of_a_foreign_check_is_no_finding(odd: dict[str, Any]) -> None:
    f = Finding(status=Status.PASS, detail="", **odd)
    assert_error(report_on(lambda subject: f), "Verifier returned no finding.")
