"""Whatever a check does, its criterion gets one result, never a pass by accident, and the others are judged."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from math import inf, nan
from typing import Any

import msgspec
import pytest

from signoff.contract import lock
from signoff.engine import Engine
from signoff.errors import NotJudged
from signoff.model import (
    Evidence,
    Finding,
    LockedContract,
    Report,
    Result,
    Subject,
    failed,
    inconclusive,
    passed,
    warned,
)
from signoff.registry import Check, Registry, Verifier
from signoff.status import Cause, Outcome, Status
from signoff.verifiers import STDLIB

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
OUTPUT = {"items": [1, 2]}


def verifier_of(id_: str, check: Check, *, own: bool = False) -> Verifier:
    return Verifier(id=id_, factory=lambda params: check, description="", own=own, free_params=True)


def sees_the_output(subject: Subject) -> Finding:
    return passed("as it was") if subject.output == OUTPUT else failed("changed")


def around(check: Check, *, own: bool = False) -> tuple[Registry, LockedContract]:
    """The check twice, each time between checks of whether all is as it was."""
    registry = Registry(
        [verifier_of("tried", check, own=own), verifier_of("sees", sees_the_output)]
    )
    names = ("sees", "tried", "sees", "tried", "sees")
    criteria = [{"id": f"{i}", "verifier": name} for i, name in enumerate(names)]
    return registry, lock({"id": "c", "criteria": criteria}, registry)


def report_on(check: Check, *, own: bool = False) -> Report:
    registry, contract = around(check, own=own)
    return Engine(registry).verify(contract, Subject(output={"items": [1, 2]}))


def assert_error(report: Report, detail: str) -> None:
    assert [str(i) for i in range(5)] == [result.criterion for result in report.results]
    assert ["as it was"] * 3 == [result.finding.detail for result in report.results[::2]]
    for result in report.results[1::2]:
        assert Status.ERROR is result.finding.status
        assert Cause.VERIFIER_BROKE is result.finding.cause
        assert detail == result.finding.detail
    assert Outcome.FAILED is report.verdict.outcome
    assert Cause.VERIFIER_BROKE is report.verdict.cause
    assert ("1", "3") == report.verdict.blockers


def raising(make: Callable[[], BaseException]) -> Check:
    def check(subject: Subject) -> Finding:
        raise make()

    return check


class OwnBaseError(BaseException):
    """Not below ``Exception``, so that ``except Exception`` lets it through."""


class NoTextError(Exception):
    def __str__(self) -> str:
        raise ValueError("no text either")


class ExitingTextError(Exception):
    def __str__(self) -> str:
        raise SystemExit(0)


class NumberTextError(Exception):
    def __str__(self) -> str:
        return 5  # type: ignore[return-value]  # noqa: PLE0307  on purpose


BOTH = pytest.mark.parametrize("own", [True, False], ids=["own", "foreign"])


@BOTH
@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ValueError("no"), "no"),
        (lambda: SystemExit(0), "0"),
        (lambda: SystemExit("passed"), "passed"),
        (SystemExit, "SystemExit"),
        (KeyboardInterrupt, "KeyboardInterrupt"),
        (lambda: KeyboardInterrupt("by code"), "by code"),
        (MemoryError, "MemoryError"),
        (lambda: RecursionError("too deep"), "too deep"),
        (GeneratorExit, "GeneratorExit"),
        (lambda: StopIteration(passed("x")), str(passed("x"))),
        (lambda: OwnBaseError("mine"), "mine"),
        (lambda: BaseExceptionGroup("all", [KeyboardInterrupt()]), "all (1 sub-exception)"),
        (NoTextError, "NoTextError"),
        (ExitingTextError, "ExitingTextError"),
        (NumberTextError, "NumberTextError"),
        (lambda: ValueError("a\nb\r\tc\u2028d\x1b[31m"), r"a\u000ab\u000d\u0009c\u2028d\u001b[31m"),
        (lambda: ValueError("\ud800"), r"\ud800"),
        (lambda: ValueError("x" * 10_000), "x" * 200 + "..."),
        (lambda: ValueError("\n" * 10_000), r"\u000a" * 200 + "..."),
    ],
)
def test_check_that_raises_is_an_error(
    own: bool, make: Callable[[], BaseException], message: str
) -> None:
    assert_error(report_on(raising(make), own=own), f"Verifier threw: {message}")


def test_check_that_recurses_for_ever_is_an_error() -> None:
    def check(subject: Subject) -> Finding:
        return check(subject)

    assert_error(report_on(check), "Verifier threw: maximum recursion depth exceeded")


def test_check_that_wants_too_much_memory_is_an_error() -> None:
    def check(subject: Subject) -> Finding:
        return passed(str(len(bytearray(2**62))))

    assert_error(report_on(check), "Verifier threw: MemoryError")


def test_check_that_raises_with_a_cause_and_a_context_is_an_error() -> None:
    def check(subject: Subject) -> Finding:
        try:
            raise KeyboardInterrupt
        except KeyboardInterrupt as exc:
            raise ValueError("after") from exc

    assert_error(report_on(check), "Verifier threw: after")


def nested(levels: int) -> Any:
    value: Any = []
    for _ in range(levels - 1):
        value = [value]
    return value


def generator(subject: Subject) -> Any:
    yield passed("never asked")


class Lookalike:
    status = Status.PASS
    detail = "almost"
    cause = score = at = data = None
    evidence = ()


class SubFinding(Finding, frozen=True, kw_only=True):
    """Could be anything that a finding is not."""


@BOTH
@pytest.mark.parametrize(
    "answer",
    [
        None,
        True,
        1,
        "pass",
        {"pass": True},
        [passed("in a list")],
        (Status.PASS, "a tuple"),
        Status.PASS,
        Finding,
        passed,
        Lookalike(),
        SubFinding(status=Status.PASS, detail="sub"),
        Result(criterion="1", finding=passed("a result")),
        Finding(status="pass", detail="text"),  # type: ignore[arg-type]  # on purpose
        Finding(status=True, detail="boolean"),  # type: ignore[arg-type]  # on purpose
        Finding(status=None, detail="null"),  # type: ignore[arg-type]  # on purpose
        Finding(status=Outcome.PASSED, detail="outcome"),  # type: ignore[arg-type]  # on purpose
        Finding(status=Status.PASS, detail=None),  # type: ignore[arg-type]  # on purpose
        Finding(status=Status.PASS, detail=b"bytes"),  # type: ignore[arg-type]  # on purpose
        Finding(status=Status.PASS, detail="", score=nan),
        Finding(status=Status.PASS, detail="", score=inf),
        Finding(status=Status.PASS, detail="", score=-inf),
        Finding(status=Status.PASS, detail="", score=True),
        Finding(status=Status.PASS, detail="", score="1"),  # type: ignore[arg-type]  # on purpose
        Finding(status=Status.PASS, detail="", cause=Cause.NO_RESULT),
        Finding(status=Status.WARN, detail="", cause=Cause.NOT_RECORDED),
        Finding(status=Status.FAIL, detail="", cause="timed_out"),  # type: ignore[arg-type]  # on purpose
    ],
)
def test_check_that_returns_no_finding_is_an_error(own: bool, answer: Any) -> None:
    assert_error(report_on(lambda subject: answer, own=own), "Verifier returned no finding.")


@pytest.mark.parametrize(
    "answer",
    [
        Finding(status=Status.PASS, detail="", at=5),  # type: ignore[arg-type]  # on purpose
        Finding(status=Status.PASS, detail="", at="\ud800"),
        Finding(status=Status.PASS, detail="\ud800"),
        Finding(status=Status.PASS, detail="", data=nan),
        Finding(status=Status.PASS, detail="", data={1: 2}),
        Finding(status=Status.PASS, detail="", data={"a": {1, 2}}),
        Finding(status=Status.PASS, detail="", data="\ud800"),
        Finding(status=Status.PASS, detail="", data=nested(5_000)),
        Finding(status=Status.PASS, detail="", data=object()),
        Finding(status=Status.PASS, detail="", evidence=("a",)),  # type: ignore[arg-type]  # on purpose
        Finding(status=Status.PASS, detail="", evidence=None),  # type: ignore[arg-type]  # on purpose
        Finding(status=Status.PASS, detail="", evidence=(Evidence(digest=5, size=1),)),  # type: ignore[arg-type]  # on purpose
    ],
)
def test_foreign_finding_that_could_not_be_kept_is_an_error(answer: Finding) -> None:
    assert_error(report_on(lambda subject: answer), "Verifier returned no finding.")


def test_finding_with_data_that_holds_itself_is_an_error() -> None:
    data: list[Any] = []
    data.append(data)
    finding = Finding(status=Status.PASS, detail="", data=data)

    assert_error(report_on(lambda subject: finding), "Verifier returned no finding.")


def test_check_that_is_a_generator_is_an_error() -> None:
    assert_error(report_on(generator), "Verifier returned no finding.")


@pytest.mark.filterwarnings("ignore:coroutine .* was never awaited")
def test_check_that_is_async_is_an_error() -> None:
    async def async_check(subject: Subject) -> Finding:
        return passed("never awaited")

    assert_error(report_on(async_check), "Verifier returned no finding.")  # type: ignore[arg-type]  # on purpose


def test_exception_that_is_returned_is_an_error() -> None:
    assert_error(report_on(lambda subject: ValueError("x")), "Verifier threw: x")  # type: ignore[arg-type, return-value]  # on purpose


def test_check_that_cannot_be_called_is_an_error() -> None:
    found = report_on("pass").results[1].finding  # type: ignore[arg-type]  # on purpose

    assert "Verifier threw: 'str' object is not callable" == found.detail


@pytest.mark.parametrize(
    "finding",
    [
        passed("good"),
        warned("good, but", at="/items"),
        failed("bad", at="/items/0", cause=Cause.NO_TESTS),
        inconclusive("who knows", Cause.EVIDENCE_UNREACHABLE),
        Finding(status=Status.PASS, detail="", score=0, data={"a": [1, None, 2.5]}),
        Finding(status=Status.PASS, detail="", evidence=(Evidence(digest="sha256:", size=1),)),
    ],
)
@BOTH
def test_finding_is_taken_as_it_is(own: bool, finding: Finding) -> None:
    assert finding == report_on(lambda subject: finding, own=own).results[1].finding


@BOTH
def test_check_may_end_early_with_a_finding(own: bool) -> None:
    def check(subject: Subject) -> Finding:
        raise NotJudged(failed("nothing there", at="/x"))

    assert failed("nothing there", at="/x") == report_on(check, own=own).results[1].finding


@pytest.mark.parametrize("carried", [None, True, "pass", Status.PASS])
def test_check_that_ends_early_without_a_finding_is_an_error(carried: Any) -> None:
    assert_error(report_on(raising(lambda: NotJudged(carried))), "Verifier returned no finding.")


def test_detail_of_a_foreign_finding_is_one_bounded_line() -> None:
    found = report_on(lambda subject: passed("a\nb" + "x" * 10_000)).results[1].finding

    assert found.detail.startswith("a\\u000abx")
    assert len(found.detail) < 5_000


@pytest.mark.parametrize(
    "change",
    [
        lambda output: output["items"].append(3),
        lambda output: output.pop("items"),
        lambda output: output["items"].__setitem__(0, True),
        lambda output: output["items"].__setitem__(1, 2.5),
        lambda output: output["items"].append(output),
        lambda output: output.update(items=(1, 2)),
    ],
)
def test_check_that_changes_the_output_is_an_error_and_nobody_sees_the_change(
    change: Callable[[Any], Any],
) -> None:
    def check(subject: Subject) -> Finding:
        change(subject.output)
        return passed("done")

    assert_error(report_on(check), "Verifier changed the output.")


def test_check_that_changes_the_output_and_raises_changed_the_output() -> None:
    def check(subject: Subject) -> Finding:
        subject.output.clear()
        raise SystemExit(0)

    assert_error(report_on(check), "Verifier changed the output.")


def test_check_cannot_exchange_the_output_for_the_others() -> None:
    def check(subject: Subject) -> Finding:
        import msgspec

        msgspec.structs.force_setattr(subject, "output", {"items": []})
        return failed("tried")

    report = report_on(check)

    assert ["as it was"] * 3 == [result.finding.detail for result in report.results[::2]]


def test_order_of_members_and_the_way_a_number_is_written_are_no_change() -> None:
    def check(subject: Subject) -> Finding:
        subject.output["items"][0] = 1.0
        subject.output["items"] = subject.output.pop("items")
        return passed("the same JSON value")

    assert report_on(check).passed


def test_fail_fast_skips_what_follows_a_broken_check() -> None:
    registry, contract = around(raising(lambda: SystemExit(0)))
    report = Engine(registry).verify(contract, Subject(output=OUTPUT), fail_fast=True)

    assert [Status.PASS, Status.ERROR, *[Status.SKIPPED] * 3] == [
        result.finding.status for result in report.results
    ]
    assert not report.passed


def test_advisory_check_that_is_broken_decides_nothing() -> None:
    registry = Registry(
        [
            verifier_of("tried", raising(lambda: SystemExit(0))),
            verifier_of("sees", sees_the_output),
        ]
    )
    criteria = [
        {"id": "a", "verifier": "tried", "required": False},
        {"id": "b", "verifier": "sees"},
    ]
    contract = lock({"id": "c", "criteria": criteria}, registry)
    report = Engine(registry, clock=lambda: NOW).verify(contract, Subject(output=OUTPUT))

    assert report.passed
    assert Status.ERROR is report.results[0].finding.status
    assert NOW == report.started


SCRIPT = """
import signal
from signoff.contract import lock
from signoff.engine import Engine
from signoff.model import Subject, passed
from signoff.registry import Registry, Verifier

def check(subject):
    print("judging", flush=True)
    {wait}
    return passed("too late")

signal.signal(signal.SIGINT, signal.default_int_handler)
registry = Registry([Verifier(id="v", factory=lambda params: check, description="", free_params=True)])
contract = lock({{"id": "c", "criteria": [{{"id": "a", "verifier": "v"}}]}}, registry)
report = Engine(registry).verify(contract, Subject(output=1))
print("verdict", report.verdict.outcome.value, flush=True)
"""


@pytest.mark.parametrize(
    "wait",
    [
        "while True: pass",
        "any(map(lambda _: None, iter(int, 1)))",
        "__import__('re').match('(a+)+$', 'a' * 100 + '!')",
    ],
)
def test_interrupt_by_a_person_ends_the_run_without_a_verdict(wait: str) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT.format(wait=wait)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None

        assert "judging\n" == process.stdout.readline()

        process.send_signal(signal.SIGINT)
        rest, errors = process.communicate(timeout=60)
    finally:
        process.kill()
        process.wait()

    assert "verdict" not in rest
    assert "KeyboardInterrupt" in errors
    assert 0 != process.returncode


def test_factory_that_raises_is_an_error_of_its_criterion_alone() -> None:
    def factory() -> Check:
        raise ZeroDivisionError("no luck")

    sound = Verifier(id="odd", factory=lambda: lambda _: passed("fine"), description="")
    broken = msgspec.structs.replace(sound, factory=factory, engines=factory)
    criteria = [{"id": "a", "verifier": "odd"}, {"id": "b", "verifier": "not_empty"}]
    locked = lock({"id": "c", "criteria": criteria}, STDLIB | [sound])
    report = Engine(STDLIB | [broken]).verify(locked, Subject(output=[1]))

    assert ["Verifier threw: no luck", "Output is not empty."] == [
        result.finding.detail for result in report.results
    ]
    assert Outcome.FAILED is report.verdict.outcome
    assert "unknown" == report.engines["odd"]
