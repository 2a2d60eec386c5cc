"""A plan binds what it can; the rest answers error, and what is not as it was is told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from signoff.canonical import digest_bytes
from signoff.contract import lock
from signoff.engine import Engine
from signoff.errors import LockCorrupt, NotInstalled
from signoff.model import Finding, Isolation, LockedContract, Subject, passed
from signoff.plan import prepare
from signoff.registry import Powers, Registry, Verifier
from signoff.status import Cause, Outcome, Status
from signoff.verifiers import STDLIB
from tests.scripted import ScriptedRunner

CONTRACT = {"id": "c", "criteria": [{"id": "it", "verifier": "mine", "params": {"n": 1}}]}


def mine(factory: Any, source: str = "shop 1.0") -> Registry:
    verifier = Verifier(id="mine", factory=factory, description="", source=source, free_params=True)
    return STDLIB | [verifier]


def fine(params: dict[str, Any]) -> Any:
    return lambda subject: passed("fine")


def locked(registry: Registry) -> LockedContract:
    return lock(CONTRACT, registry)


def judged(contract: LockedContract, registry: Registry) -> Finding:
    report = Engine(registry).verify(contract, Subject(output=1))

    assert report.passed is (report.results[0].finding.status is Status.PASS)
    return report.results[0].finding


def test_verifier_that_is_gone_is_an_error() -> None:
    found = judged(locked(mine(fine)), STDLIB)

    assert (Status.ERROR, Cause.NO_SUCH_VERIFIER) == (found.status, found.cause)
    assert 'No verifier registered for "mine".' == found.detail


def test_params_that_are_refused_now_are_an_error() -> None:
    contract = lock(
        {"id": "c", "criteria": [{"id": "it", "verifier": "equals", "params": {"value": 1}}]},
        STDLIB,
    )
    damaged = msgspec.json.decode(contract.canonical)
    damaged["criteria"][0]["params"] = {}
    canonical = msgspec.json.encode(damaged, order="sorted")
    found = judged(
        msgspec.structs.replace(contract, canonical=canonical, digest=digest_bytes(canonical)),
        STDLIB,
    )

    assert (Status.ERROR, Cause.BAD_PARAMS) == (found.status, found.cause)


def test_package_that_is_absent_now_is_an_error() -> None:
    def absent(params: dict[str, Any]) -> Any:
        raise NotInstalled("mine", "maps", "geo")

    found = judged(locked(mine(fine)), mine(absent))

    assert (Status.ERROR, Cause.NOT_INSTALLED) == (found.status, found.cause)
    assert "mine needs maps (install signoff[geo])." == found.detail


def test_contract_without_its_digest_is_not_bound() -> None:
    with pytest.raises(LockCorrupt):
        prepare(msgspec.structs.replace(locked(mine(fine)), digest="sha256:0"), mine(fine))


def test_verifier_in_another_version_is_a_warning() -> None:
    contract = locked(mine(fine))

    assert () == prepare(contract, mine(fine)).warnings
    assert ("mine: locked with shop 1.0, judged with shop 2.0",) == (
        prepare(contract, mine(fine, "shop 2.0")).warnings
    )


def test_plan_names_who_decides() -> None:
    plan = prepare(locked(mine(fine)), mine(fine))

    assert ["signoff", "shop"] == [*plan.engines]
    assert "1.0" == plan.engines["shop"]
    assert not plan.own


def test_source_without_a_version_is_no_engine() -> None:
    assert ["signoff"] == [*prepare(locked(mine(fine)), mine(fine, "shop")).engines]


def test_plan_is_good_for_many_subjects() -> None:
    contract = lock({"id": "c", "criteria": [{"id": "it", "verifier": "not_empty"}]}, STDLIB)
    engine = Engine(STDLIB)
    plan = engine.prepare(contract)

    assert plan.own
    assert [Outcome.PASSED, Outcome.FAILED] == [
        engine.verify(plan, Subject(output=output)).verdict.outcome for output in ([1], [])
    ]


def test_judging_alone_gives_the_results_of_the_report() -> None:
    contract = lock({"id": "c", "criteria": [{"id": "it", "verifier": "not_empty"}]}, STDLIB)
    engine = Engine(STDLIB)
    plan, subject = engine.prepare(contract), Subject.from_json(b"[1, 1]")
    report = engine.verify(plan, subject)
    results, verdict = engine.judge(plan, subject)

    assert report.verdict == verdict
    assert [one.finding for one in report.results] == [one.finding for one in results]


@pytest.mark.parametrize(
    ("wanted", "required"), [(None, []), ("L0", []), ("L1", ["L1"]), ("L3", ["L3"])]
)
def test_contract_says_under_what_its_commands_run(wanted: Any, required: list[str]) -> None:
    asked: list[str] = []
    handed: list[Powers] = []

    class Asked(ScriptedRunner):
        def requiring(self, level: Isolation) -> ScriptedRunner:
            asked.append(level)
            return self

    def factory(*, powers: Powers) -> Any:
        handed.append(powers)
        return lambda subject: passed("")

    runner = Asked([], Path())
    registry = Registry([Verifier(id="mine", factory=factory, description="")])
    contract = {"id": "c", "criteria": [{"id": "it", "verifier": "mine"}], "min_isolation": wanted}
    if wanted is None:
        del contract["min_isolation"]
    sealed = lock(contract, registry)
    handed.clear()
    plan = prepare(sealed, registry.with_powers(Powers(sandbox=runner)))

    assert required == asked
    assert runner is plan.runner
    assert [runner] == [powers.sandbox for powers in handed]


def test_no_sandbox_is_none_whatever_the_contract_wants() -> None:
    contract = {**CONTRACT, "min_isolation": "L3"}

    assert prepare(lock(contract, mine(fine)), mine(fine)).runner is None
