"""Commands run side by side, and a report does not say so."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable
from threading import Barrier, Event, get_ident
from typing import Any

import pytest

from signoff.contract import lock
from signoff.engine import Engine
from signoff.errors import NotJudged
from signoff.model import Finding, Isolation, Report, Result, Subject, failed, inconclusive, passed
from signoff.parallel import SideBySide
from signoff.registry import Check, Powers, Registry, Verifier, starts_commands
from signoff.status import Cause, Outcome, Status

PATIENCE_S = 20


class Runner:
    """Commands that wait until their thread is told to end."""

    limits = None
    scratch = ""

    def __init__(self) -> None:
        self.ends: dict[int, Event] = {}

    def run(self, command: Event) -> bool:
        self.ends[get_ident()] = Event()
        command.set()
        return self.ends[get_ident()].wait(PATIENCE_S)

    def requiring(self, level: Isolation) -> Runner:
        return self

    def cancel(self, thread: int) -> None:
        if thread in self.ends:
            self.ends[thread].set()


def verifier_of(id_: str, check: Check, *, own: bool = True) -> Verifier:
    return Verifier(id=id_, factory=lambda params: check, description="", own=own, free_params=True)


def report_on(
    *checks: Check,
    jobs: int,
    own: bool = True,
    runner: Runner | None = None,
    on_result: Callable[[Result], object] | None = None,
    fail_fast: bool = False,
    subject: Subject | None = None,
) -> Report:
    found = Registry([verifier_of(f"v{i}", check, own=own) for i, check in enumerate(checks)])
    registry = found.with_powers(Powers(sandbox=runner))
    criteria = [{"id": f"c{i}", "verifier": f"v{i}"} for i in range(len(checks))]
    locked = lock({"id": "c", "criteria": criteria}, registry)
    return Engine(registry).verify(
        locked, subject or Subject(output=1), jobs=jobs, fail_fast=fail_fast, on_result=on_result
    )


def commanding(answer: Callable[[], Any]) -> Check:
    return starts_commands(lambda subject: answer())


def meeting(barrier: Barrier) -> Check:
    """Holds only if as many as the barrier wants wait at the same time."""

    def answer() -> Finding:
        barrier.wait(PATIENCE_S)
        return passed("met")

    return commanding(answer)


def raises(exc: BaseException) -> Any:
    raise exc


def test_checks_that_start_commands_run_at_the_same_time() -> None:
    barrier = Barrier(3)
    report = report_on(*[meeting(barrier) for _ in range(3)], jobs=3)

    assert Outcome.PASSED is report.verdict.outcome


def test_one_at_a_time_is_the_default_and_needs_no_thread() -> None:
    threads = set()

    def answer() -> Finding:
        threads.add(get_ident())
        return passed("")

    report_on(*[commanding(answer)] * 3, jobs=1)

    assert {get_ident()} == threads


def test_no_more_run_at_a_time_than_were_asked_for() -> None:
    most, now = [0], [0]
    gate = Barrier(2)

    def answer() -> Finding:
        now[0] += 1
        most[0] = max(most[0], now[0])
        gate.wait(PATIENCE_S)  # an even number of them, so that each finds a partner
        now[0] -= 1
        return passed("")

    report_on(*[commanding(answer)] * 6, jobs=2)

    assert most[0] <= 2


@pytest.mark.parametrize("own", [True, False])
def test_other_checks_stay_where_they_are(own: bool) -> None:
    threads = set()

    def check(subject: Subject) -> Finding:
        threads.add(get_ident())
        return passed("")

    # A foreign check may say what it likes: it could change the output under the others.
    report_on(*[check if own else starts_commands(check)] * 3, jobs=3, own=own)

    assert {get_ident()} == threads


def test_results_stand_in_contract_order_and_come_in_it() -> None:
    first = Event()
    told: list[str] = []

    def slow() -> Finding:
        assert first.wait(PATIENCE_S)
        return passed("slow")

    def fast() -> Finding:
        first.set()
        return passed("fast")

    report = report_on(
        commanding(slow), commanding(fast), jobs=2, on_result=lambda one: told.append(one.criterion)
    )

    assert ["slow", "fast"] == [one.finding.detail for one in report.results]
    assert ["c0", "c1"] == told


@pytest.mark.parametrize("jobs", [1, 2, 4])
def test_whatever_a_check_does_the_report_is_the_same(jobs: int) -> None:
    answers: list[Callable[[], Any]] = [
        lambda: passed("fine"),
        lambda: raises(ValueError("broken")),
        lambda: None,
        lambda: True,
        lambda: raises(NotJudged(inconclusive("unknown", Cause.NOT_RECORDED))),
        lambda: raises(RecursionError()),
        lambda: failed("not so"),
    ]
    report = report_on(*map(commanding, answers), jobs=jobs)

    assert [
        (Status.PASS, "fine"),
        (Status.ERROR, "Verifier threw: broken"),
        (Status.ERROR, "Verifier returned no finding."),
        (Status.ERROR, "Verifier returned no finding."),
        (Status.INCONCLUSIVE, "unknown"),
        (Status.ERROR, "Verifier threw: RecursionError"),
        (Status.FAIL, "not so"),
    ] == [(one.finding.status, one.finding.detail) for one in report.results]


@pytest.mark.parametrize("kind", [SystemExit, KeyboardInterrupt])
def test_check_that_would_end_the_program_is_an_error(kind: type[BaseException]) -> None:
    report = report_on(commanding(lambda: raises(kind())), commanding(passing), jobs=2)

    assert [Status.ERROR, Status.PASS] == [one.finding.status for one in report.results]


def passing() -> Finding:
    return passed("")


def test_time_is_that_of_the_check_not_of_waiting_for_it() -> None:
    waited = Event()

    def slow() -> Finding:
        waited.wait(0.2)
        return passed("")

    report = report_on(commanding(slow), commanding(slow), jobs=2)

    assert [True, True] == [one.elapsed_s >= 0.2 for one in report.results]


def test_what_follows_a_failure_is_skipped_though_it_ran() -> None:
    ran = Event()

    def late() -> Finding:
        assert ran.wait(PATIENCE_S)
        return failed("no")

    def early() -> Finding:
        ran.set()
        return passed("in vain")

    report = report_on(commanding(late), commanding(early), jobs=2, fail_fast=True)

    assert [Status.FAIL, Status.SKIPPED] == [one.finding.status for one in report.results]
    assert (None, None) == (report.isolation, report.assurance)


def test_command_that_runs_in_vain_is_ended() -> None:
    runner, begun = Runner(), Event()
    ended: list[bool] = []

    def endless() -> Finding:
        ended.append(runner.run(begun))
        return passed("never told")

    def fails() -> Finding:
        assert begun.wait(PATIENCE_S)
        return failed("no")

    report_on(commanding(fails), commanding(endless), jobs=2, fail_fast=True, runner=runner)

    assert [True] == ended


def test_caller_that_gives_up_ends_the_commands() -> None:
    runner, begun = Runner(), Event()
    ended: list[bool] = []

    def endless() -> Finding:
        ended.append(runner.run(begun))
        return passed("never told")

    def give_up(_: Result) -> None:
        assert begun.wait(PATIENCE_S)
        raise TimeoutError

    with pytest.raises(TimeoutError):
        report_on(
            commanding(passing), commanding(endless), jobs=2, runner=runner, on_result=give_up
        )

    assert [True] == ended


def test_output_that_is_no_json_starts_no_command() -> None:
    asked = Event()

    def answer() -> Finding:
        asked.set()
        return passed("")

    subject = Subject.from_json(b"[")
    report = report_on(*[commanding(answer)] * 2, jobs=2, subject=subject)

    assert [Status.FAIL] * 2 == [one.finding.status for one in report.results]
    assert not asked.is_set()


@pytest.mark.parametrize("jobs", [0, -1])
def test_no_job_at_all_is_refused(jobs: int) -> None:
    with pytest.raises(ValueError, match=f"jobs must be at least 1, got {jobs}"):
        report_on(commanding(passing), jobs=jobs)


INTERRUPTED = """
import os, signal, threading
from signoff import Engine, Powers, Registry, Subject, lock
from tests.test_parallel import Runner, commanding, verifier_of

runner, begun = Runner(), [threading.Event(), threading.Event()]
ended = []
free = list(begun)

def endless():
    ended.append(runner.run(free.pop()))

def interrupt():
    for event in begun:
        event.wait(20)
    os.kill(os.getpid(), signal.SIGINT)

names = ("a", "b")
registry = Registry([verifier_of(name, commanding(endless)) for name in names])
registry = registry.with_powers(Powers(sandbox=runner))
contract = lock({"id": "c", "criteria": [{"id": n, "verifier": n} for n in names]}, registry)
threading.Thread(target=interrupt).start()
try:
    Engine(registry).verify(contract, Subject(output=1), jobs=2)
except KeyboardInterrupt:
    print("interrupted", ended, threading.active_count())
"""


def test_persons_interrupt_ends_the_commands_and_leaves_no_verdict() -> None:
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED], capture_output=True, text=True, timeout=60, check=False
    )

    assert ("", "interrupted [True, True] 1\n") == (done.stderr, done.stdout)
    assert signal.SIGINT != -done.returncode


def test_plan_without_commands_begins_nothing() -> None:
    registry = Registry([verifier_of("v", lambda subject: passed(""))])
    engine = Engine(registry)
    plan = engine.prepare(lock({"id": "c", "criteria": [{"id": "a", "verifier": "v"}]}, registry))

    with SideBySide(plan, Subject(output=1), jobs=1) as ahead:
        assert plan.bound is ahead.bound
