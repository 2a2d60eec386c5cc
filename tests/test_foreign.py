"""from_function: what a function of another shape answers is held to the letter."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from types import MappingProxyType
from typing import Any

import pytest

from signoff.contract import lock
from signoff.engine import Engine
from signoff.foreign import from_function
from signoff.model import LockedContract, Report, Subject, failed, passed
from signoff.registry import Registry, Verifier
from signoff.status import Cause, Status
from signoff.verifiers import STDLIB


def verifier_of(fn: Callable[..., Any]) -> Verifier:
    return from_function("theirs", "Holds when they say so.", fn)


def locked(registry: Registry, params: dict[str, Any] | None = None) -> LockedContract:
    """Their verifier, then one of ours that sees whether the output is still what it was."""
    theirs = {"id": "theirs", "verifier": "theirs"} | ({} if params is None else {"params": params})
    ours = {"id": "ours", "verifier": "equals", "params": {"value": {"items": [1, 2.5]}}}
    return lock({"id": "c", "criteria": [theirs, ours]}, registry)


def report_on(fn: Callable[..., Any], params: dict[str, Any] | None = None) -> Report:
    registry = STDLIB | [verifier_of(fn)]
    return Engine(registry).verify(locked(registry, params), Subject(output={"items": [1, 2.5]}))


def assert_broken(report: Report, detail: str) -> None:
    finding = report.results[0].finding

    assert Status.ERROR is finding.status
    assert Cause.VERIFIER_BROKE is finding.cause
    assert detail == finding.detail
    assert not report.passed
    assert Status.PASS is report.results[1].finding.status


def test_pass_with_details() -> None:
    report = report_on(lambda output, params: {"pass": True, "details": "fine"})

    assert passed("fine") == report.results[0].finding
    assert report.passed


def test_failure_with_details_is_about_the_whole_output() -> None:
    report = report_on(lambda output, params: {"pass": False, "details": "poor"})

    assert failed("poor", at="") == report.results[0].finding
    assert not report.passed


@pytest.mark.parametrize("details", [{}, {"details": None}, {"details": ""}])
def test_details_may_be_absent(details: dict[str, Any]) -> None:
    for holds in (True, False):
        finding = report_on(lambda output, params: {"pass": holds} | details).results[0].finding  # noqa: B023  called at once

        assert holds is finding.status.holds
        assert finding.detail


def test_other_members_are_not_looked_at() -> None:
    assert report_on(lambda output, params: {"pass": True, "score": 0, "warnings": []}).passed


def test_mapping_of_another_type_is_read() -> None:
    assert report_on(lambda output, params: MappingProxyType({"pass": True})).passed


def test_function_gets_the_output_and_the_params() -> None:
    assert report_on(
        lambda output, params: {"pass": output == {"items": [1, 2.5]} and params == {"a": [1]}},
        {"a": [1]},
    ).passed


def test_params_are_an_empty_object_when_absent() -> None:
    assert report_on(lambda output, params: {"pass": params == {}}).passed


def test_any_params_are_taken() -> None:
    params = {"path": "no pointer", "powers": None, "free": {"a": [None, True]}}

    assert report_on(lambda output, given: {"pass": given == params}, params).passed


def test_async_function_is_awaited() -> None:
    async def fn(output: Any, params: Any) -> dict[str, Any]:
        await asyncio.sleep(0)
        return {"pass": output["items"] == [1, 2.5], "details": "awaited"}

    assert passed("awaited") == report_on(fn).results[0].finding


def test_async_function_is_awaited_inside_a_running_loop() -> None:
    async def fn(output: Any, params: Any) -> dict[str, Any]:
        await asyncio.sleep(0)
        return {"pass": True}

    async def service() -> Report:
        return report_on(fn)

    assert asyncio.run(service()).passed


def test_object_that_can_be_awaited_is_awaited() -> None:
    class Later:
        def __await__(self) -> Any:
            yield from ()
            return {"pass": True}

    assert report_on(lambda output, params: Later()).passed


def test_awaited_answer_is_not_awaited_again() -> None:
    class Later:
        def __await__(self) -> Any:
            yield from ()
            return Later()

    assert_broken(
        report_on(lambda output, params: Later()),
        "Verifier threw: expected an object with pass and details, got Later",
    )


def test_async_generator_is_an_error() -> None:
    async def fn(output: Any, params: Any) -> AsyncIterator[dict[str, Any]]:
        yield {"pass": True}

    assert_broken(
        report_on(fn),
        "Verifier threw: expected an object with pass and details, got async_generator",
    )


@pytest.mark.parametrize("raised", [ValueError("no"), SystemExit(0), KeyboardInterrupt("no")])
def test_async_function_that_raises_is_an_error(raised: BaseException) -> None:
    async def fn(output: Any, params: Any) -> dict[str, Any]:
        await asyncio.sleep(0)
        raise raised

    assert_broken(report_on(fn), f"Verifier threw: {raised}")


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (True, "bool"),
        (None, "NoneType"),
        (1, "int"),
        ("pass", "str"),
        ([True], "list"),
        ([("pass", True)], "list"),
        (passed("a finding is not of this shape"), "Finding"),
    ],
)
def test_answer_that_is_no_object_is_an_error(answer: Any, kind: str) -> None:
    assert_broken(
        report_on(lambda output, params: answer),
        f"Verifier threw: expected an object with pass and details, got {kind}",
    )


@pytest.mark.parametrize(
    "answer",
    [
        {},
        {"pass": None},
        {"pass": 1},
        {"pass": 1.0},
        {"pass": "true"},
        {"pass": [0]},
        {"passed": True},
        {"pass": Status.PASS},
    ],
)
def test_pass_that_is_no_boolean_is_an_error(answer: Any) -> None:
    assert_broken(
        report_on(lambda output, params: answer),
        f"Verifier threw: pass must be boolean, got {answer.get('pass')!r}",
    )


@pytest.mark.parametrize(("details", "kind"), [(5, "int"), (b"a", "bytes"), (["a"], "list")])
def test_details_that_are_no_text_are_an_error(details: Any, kind: str) -> None:
    assert_broken(
        report_on(lambda output, params: {"pass": True, "details": details}),
        f"Verifier threw: details must be string, got {kind}",
    )


def test_details_become_one_line() -> None:
    finding = report_on(lambda output, params: {"pass": True, "details": "a\r\nb\u2028c"})

    assert "a\\u000d\\u000ab\\u2028c" == finding.results[0].finding.detail


def test_function_that_raises_is_an_error() -> None:
    def fn(output: Any, params: Any) -> dict[str, Any]:
        raise LookupError("nothing there")

    assert_broken(report_on(fn), "Verifier threw: nothing there")


def test_function_of_another_signature_is_an_error() -> None:
    finding = report_on(lambda: {"pass": True}).results[0].finding

    assert Status.ERROR is finding.status


def test_function_that_changes_its_params_changes_them_for_itself_alone() -> None:
    seen = []

    def fn(output: Any, params: Any) -> dict[str, Any]:
        seen.append(params["list"].copy())
        params["list"].append("more")
        params["new"] = True
        return {"pass": True}

    registry = STDLIB | [verifier_of(fn)]
    contract = locked(registry, {"list": []})
    plan = Engine(registry).prepare(contract)
    for _ in range(2):
        Engine(registry).judge(plan, Subject(output={"items": [1, 2.5]}))

    assert [[], []] == seen
    assert {"list": []} == contract.contract.criteria[0].params


@pytest.mark.parametrize(
    "change",
    [
        lambda output: output["items"].append(3),
        lambda output: output.clear(),
        lambda output: output.update(more=1),
        lambda output: output["items"].reverse(),
        lambda output: output["items"].__setitem__(0, True),
        lambda output: output["items"].__setitem__(0, {1, 2}),
        lambda output: output.update({5: 6}),
        lambda output: output["items"].append(output),
        lambda output: output.update(deep=float("nan")),
        lambda output: output.update(text="\ud800"),
    ],
)
def test_function_that_changes_the_output_is_an_error_and_nobody_sees_the_change(
    change: Callable[[Any], Any],
) -> None:
    def fn(output: Any, params: Any) -> dict[str, Any]:
        change(output)
        return {"pass": True}

    assert_broken(report_on(fn), "Verifier changed the output.")


def test_async_function_that_changes_the_output_is_an_error() -> None:
    async def fn(output: Any, params: Any) -> dict[str, Any]:
        output["items"].pop()
        return {"pass": True}

    assert_broken(report_on(fn), "Verifier changed the output.")


def test_function_that_changes_the_output_and_raises_changed_the_output() -> None:
    def fn(output: Any, params: Any) -> dict[str, Any]:
        output["items"].pop()
        raise ValueError

    assert_broken(report_on(fn), "Verifier changed the output.")


def test_function_sees_no_output_that_was_not_recorded() -> None:
    registry = STDLIB | [verifier_of(lambda output, params: {"pass": True})]
    finding = Engine(registry).verify(locked(registry), Subject()).results[0].finding

    assert (Status.INCONCLUSIVE, Cause.NOT_RECORDED) == (finding.status, finding.cause)


def test_verifier_says_who_provides_it() -> None:
    def fn(output: Any, params: Any) -> dict[str, Any]:
        return {"pass": True}

    assert __name__ == verifier_of(fn).source
    assert "shop 2" == from_function("theirs", "", fn, source="shop 2").source
    assert not verifier_of(fn).own
