"""The gate trusts nothing that it can find out by itself."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
import pytest

from signoff.errors import LockCorrupt
from signoff.gate import GateReport, gate_run
from signoff.model import Finding, LockedContract, Subject, failed, passed, skipped, warned
from signoff.probes import PROBES
from signoff.record import subject_of
from signoff.registry import Check, Powers, Registry, Verifier
from signoff.rundir import begin_run
from signoff.status import Outcome, Status
from signoff.verifiers import STDLIB
from tests import sample_run as sample
from tests.scripted import ScriptedRunner


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return sample.written(tmp_path / "run")


def gated(folder: Path, contract: LockedContract | None = None, **options: Any) -> GateReport:
    return gate_run(
        folder, contract=contract or sample.locked(), **({"registry": STDLIB} | options)
    )


def verifier(id: str, finding: Finding, **options: Any) -> Verifier:
    def factory() -> Check:
        return lambda _: finding

    return Verifier(id=id, factory=factory, description="", **options)


def decided(folder: Path, *entries: Verifier, required: bool = True) -> LockedContract:
    """A run under a contract of one criterion for each verifier."""
    registry = Registry(entries)
    criteria = [{"id": f"c-{e.id}", "verifier": e.id, "required": required} for e in entries]
    criteria += (
        [] if required else [{"id": "few", "verifier": "count_between", "params": {"min": 1}}]
    )
    contract = sample.locked({"id": "own", "criteria": criteria}, STDLIB | registry)
    sample.written(folder, contract=contract, registry=STDLIB | registry)
    return contract


# -- what holds passes --


def test_good_run_passes(run: Path) -> None:
    found = gated(run)

    assert found.passed
    assert ("few", "some") == found.rechecked
    assert () == found.not_rechecked == found.problems
    assert found.report is not None
    assert found.report.passed


def test_same_output_spelt_otherwise_passes(run: Path) -> None:
    assert gated(run, output=b'[1,{"a":2.5}]').passed


def test_failed_run_fails_without_problems(tmp_path: Path) -> None:
    found = gated(sample.written(tmp_path / "run", sample.BAD))

    assert not found.passed
    assert Outcome.FAILED is found.outcome
    assert () == found.problems


def test_inconclusive_run_is_inconclusive(tmp_path: Path) -> None:
    locked = sample.locked()
    with begin_run(tmp_path / "run") as claimed:
        claimed.commit(locked, sample.engine().verify(locked, Subject()), Subject())

    found = gated(tmp_path / "run")
    assert Outcome.INCONCLUSIVE is found.outcome
    assert not found.passed


# -- what does not, does not --


def test_absent_run_fails(tmp_path: Path) -> None:
    found = gated(tmp_path / "run")

    assert not found.passed
    assert Outcome.FAILED is found.outcome
    assert None is found.report
    assert found.problems


def test_empty_folder_fails(tmp_path: Path) -> None:
    assert not gated(tmp_path).passed


def test_problems_outweigh_an_outcome() -> None:
    assert not GateReport(outcome=Outcome.PASSED, problems=("x",)).passed


@pytest.mark.parametrize(
    "change",
    [
        {"criteria": sample.CONTRACT["criteria"][:1]},
        {"title": "Another"},
        {"id": "other"},
    ],
    ids=str,
)
def test_run_under_another_contract_fails(run: Path, change: dict[str, Any]) -> None:
    found = gated(run, sample.locked(sample.CONTRACT | change))

    assert not found.passed
    assert "contract must be sha256:" in found.problems[0]


def test_contract_that_is_not_its_own_is_refused(run: Path) -> None:
    locked = msgspec.structs.replace(sample.locked(), digest=f"sha256:{'0' * 64}")

    with pytest.raises(LockCorrupt):
        gated(run, locked)


@pytest.mark.parametrize("output", [sample.BAD, b"", b"[1", b'"[1]"', b"null", b"[1, 2]"])
def test_another_output_fails(run: Path, output: bytes) -> None:
    found = gated(run, output=output)

    assert not found.passed
    assert "output must be sha256:" in found.problems[0]


def test_output_of_a_run_without_one_fails(tmp_path: Path) -> None:
    locked = sample.locked()
    with begin_run(tmp_path / "run") as claimed:
        claimed.commit(locked, sample.engine().verify(locked, Subject()), Subject())

    assert "output must be absent" in gated(tmp_path / "run", output=b"[1]").problems[0]


def test_text_is_compared_as_text(tmp_path: Path) -> None:
    contract = sample.locked(
        {"id": "t", "criteria": [{"id": "any", "verifier": "yes"}]},
        STDLIB | [verifier("yes", passed("x"))],
    )
    registry = STDLIB | [verifier("yes", passed("x"))]
    folder = sample.written(
        tmp_path / "run", b"[1]", text=True, contract=contract, registry=registry
    )

    assert gated(folder, contract, registry=registry, output=b"[1]", text=True).passed
    assert not gated(folder, contract, registry=registry, output=b"[1]").passed
    for other in (b"[1] ", b'"[1]"', b"\xff"):
        assert not gated(folder, contract, registry=registry, output=other, text=True).passed


def test_what_the_run_made_less_strict_needs_leave(tmp_path: Path) -> None:
    contract = sample.locked(
        {"id": "t", "criteria": [{"id": "any", "verifier": "yes"}]},
        STDLIB | [verifier("yes", passed("x"))],
    )
    registry = STDLIB | [verifier("yes", passed("x"))]
    folder = sample.written(
        tmp_path / "run",
        b"[1]",
        contract=contract,
        registry=registry,
        weakened=("locked_at_verify", "max_depth=100"),
    )
    found = gated(folder, contract, registry=registry)

    assert ("report.json: weakened by max_depth=100, which is not allowed here",) == found.problems
    assert gated(folder, contract, registry=registry, allow=["max_depth=100"]).passed


# -- what a forger writes --


def test_no_output_is_read_that_is_larger_than_allowed(run: Path) -> None:
    most = 64 * 2**20
    with (run / "output.json").open("ab") as file:
        file.truncate(most + 1)

    for allow in ((), ("max_bytes=",), ("max_bytes=-1",), (f"max_bytes={most}",)):
        problems = gated(run, allow=allow).problems
        assert (f"output.json: is larger than {most} bytes",) == problems

    problems = gated(run, allow=(f"max_bytes={most + 1}",)).problems
    assert "output.json: is not the file that the verdict is about" in problems


def forged_pass(report: Any) -> None:
    finding = report["results"][0]["finding"]
    finding.update(status="pass", detail="length=2, min=1, max=3")
    finding.pop("at", None)
    report["verdict"] = {"outcome": "passed", "cause": None, "blockers": []}


def test_forged_pass_of_bad_work_fails(tmp_path: Path) -> None:
    folder = sample.written(tmp_path / "run", sample.BAD)
    sample.forge(folder, "report.json", forged_pass)
    found = gated(folder)

    assert not found.passed
    assert 'criterion "few": recorded as pass, judged again fail' in found.problems[0]


def test_forged_pass_by_another_engine_fails(tmp_path: Path) -> None:
    folder = sample.written(tmp_path / "run", sample.BAD)
    sample.forge(folder, "report.json", forged_pass)
    sample.forge(folder, "report.json", lambda r: r["engines"].update(signoff="9.9"))

    assert not gated(folder).passed


def test_forged_advisory_pass_fails(tmp_path: Path) -> None:
    folder = sample.written(tmp_path / "run", b"[]")
    sample.forge(folder, "report.json", lambda r: r["results"][1]["finding"].update(status="pass"))

    assert 'criterion "some"' in gated(folder).problems[0]


@pytest.mark.parametrize(
    "change", [{"detail": "all is well"}, {"at": "/0"}, {"score": 1.0}, {"data": {"x": True}}]
)
def test_forged_words_fail(run: Path, change: dict[str, Any]) -> None:
    sample.forge(run, "report.json", lambda r: r["results"][0]["finding"].update(change))
    found = gated(run)

    assert not found.passed
    assert f"{next(iter(change))} is not what judging again gives" in found.problems[0]


def test_other_version_may_word_it_otherwise(run: Path) -> None:
    sample.forge(run, "report.json", lambda r: r["results"][0]["finding"].update(detail="2 items"))
    sample.forge(run, "report.json", lambda r: r["engines"].update(signoff="0.0.1"))

    assert gated(run).passed


def test_forged_failure_is_told_too(run: Path) -> None:
    def fail(report: Any) -> None:
        report["results"][0]["finding"].update(status="fail")
        report["results"][0]["finding"].update(cause="timed_out")
        report["verdict"] = {"outcome": "failed", "cause": "timed_out", "blockers": ["few"]}

    sample.forge(run, "report.json", fail)

    assert "recorded as fail, judged again pass" in gated(run).problems[0]


def test_output_swapped_with_its_digests_fails(run: Path) -> None:
    (run / "output.json").write_bytes(sample.BAD)
    digest = subject_of(sample.BAD).output_digest
    sample.forge(run, "report.json", lambda r: r.update(output_digest=digest))

    assert not gated(run).passed


def test_facts_are_judged_again(tmp_path: Path) -> None:
    def factory() -> Check:
        return lambda s: passed("fast") if (s.elapsed_s or 0) <= 2 else failed("slow")

    registry = STDLIB | [Verifier(id="fast", factory=factory, description="")]
    contract = sample.locked({"id": "f", "criteria": [{"id": "a", "verifier": "fast"}]}, registry)
    folder = sample.written(tmp_path / "run", contract=contract, registry=registry)

    assert gated(folder, contract, registry=registry).passed
    sample.forge(folder, "facts.json", lambda f: f.update(elapsed_s=3.0))
    assert not gated(folder, contract, registry=registry).passed


# -- what cannot be judged again --


def test_unknown_verifier_fails(tmp_path: Path) -> None:
    contract = decided(tmp_path / "run", verifier("yes", passed("x")))
    found = gated(tmp_path / "run", contract)

    assert not found.passed
    assert 'criterion "c-yes": no verifier registered for "yes"' in found.problems


def test_probe_stands_as_recorded(tmp_path: Path) -> None:
    probe = verifier("looks", passed("seen"))
    contract = decided(tmp_path / "run", probe)
    blind = verifier("looks", failed("not given the means"))
    options = {"registry": STDLIB | [blind], "probes": Registry([blind])}
    refused = gated(tmp_path / "run", contract, **options)
    found = gated(tmp_path / "run", contract, allow=["recorded"], **options)

    assert not refused.passed
    problem = "stands as recorded and cannot be judged again, which is not allowed here"
    assert (f'criterion "c-looks": {problem}',) == refused.problems
    assert found.passed
    assert ("c-looks",) == found.not_rechecked
    assert () == found.rechecked


COMMANDS = {
    "id": "commands",
    "criteria": [{"id": "unit", "verifier": "command", "params": {"argv": ["make"]}}],
}


@pytest.fixture
def ran(tmp_path: Path) -> Path:
    """A run of a contract whose one criterion started a command, without any output."""
    (tmp_path / "work").mkdir()
    done = {"ended": "exited", "exit_code": 0, "stdout": "fine", "isolation": "L2"}
    runner = ScriptedRunner([done], tmp_path / "left")
    contract = sample.locked(COMMANDS, STDLIB | PROBES)
    with begin_run(tmp_path / "run") as run:
        powers = Powers(store=run.store, workspace=tmp_path / "work", sandbox=runner)
        engine = sample.engine((STDLIB | PROBES).with_powers(powers))
        report = engine.verify(contract, Subject())
        run.commit(contract, report, Subject())
    return tmp_path / "run"


def gated_commands(folder: Path, *allow: str) -> GateReport:
    registry = STDLIB | PROBES
    return gated(folder, sample.locked(COMMANDS, registry), registry=registry, allow=allow)


def test_command_is_not_run_again_and_needs_leave(ran: Path) -> None:
    refused, found = gated_commands(ran), gated_commands(ran, "recorded")

    assert 1 == len(refused.problems)
    assert refused.problems[0].startswith('criterion "unit": rests on a command that was run then')
    assert found.passed
    assert found.report is not None
    assert ("L2", "exit_code") == (found.report.isolation, found.report.assurance)


def test_what_a_command_printed_must_be_there(ran: Path) -> None:
    (ran / "evidence" / sha256(b"fine").hexdigest()).unlink()

    assert not gated_commands(ran, "recorded").passed


def test_what_a_command_printed_must_be_as_it_was(ran: Path) -> None:
    (ran / "evidence" / sha256(b"fine").hexdigest()).write_bytes(b"fina")

    assert not gated_commands(ran, "recorded").passed


def test_pass_that_keeps_nothing_of_its_command_is_a_problem(ran: Path) -> None:
    def forget(report: Any) -> None:
        del report["results"][0]["finding"]["evidence"]

    sample.forge(ran, "report.json", forget)

    assert (
        'criterion "unit": its command kept no stdout',
        'criterion "unit": its command kept no stderr',
    ) == gated_commands(ran, "recorded").problems


def test_text_of_another_command_is_not_what_this_one_printed(ran: Path) -> None:
    def swap(report: Any) -> None:
        out, err = report["results"][0]["finding"]["evidence"]
        out["name"], err["name"] = err["name"], out["name"]

    sample.forge(ran, "report.json", swap)

    problem = "that is kept is not what its command printed"
    assert (
        f'criterion "unit": the stderr {problem}',
        f'criterion "unit": the stdout {problem}',
    ) == gated_commands(ran, "recorded").problems


def test_pass_of_another_command_is_a_problem(ran: Path) -> None:
    def say(report: Any) -> None:
        report["results"][0]["finding"]["data"]["argv"] = ["true"]

    sample.forge(ran, "report.json", say)

    problem = 'criterion "unit": its command is not that of the contract'
    assert (problem,) == gated_commands(ran, "recorded").problems


def test_report_of_tests_must_be_kept_too(ran: Path) -> None:
    def claim(report: Any) -> None:
        report["assurance"] = report["results"][0]["finding"]["assurance"] = "report+canaries"

    sample.forge(ran, "report.json", claim)

    problem = 'criterion "unit": its command kept no report.xml'
    assert (problem,) == gated_commands(ran, "recorded").problems


def test_skipped_stands_as_recorded(tmp_path: Path) -> None:
    locked = sample.locked()
    subject = subject_of(sample.BAD)
    report = sample.engine().verify(locked, subject, fail_fast=True)
    with begin_run(tmp_path / "run") as claimed:
        claimed.commit(locked, report, subject, output=sample.BAD)
    found = gated(tmp_path / "run")

    assert Status.SKIPPED is report.results[1].finding.status
    assert () == found.problems
    assert ("few",) == found.rechecked
    assert ("some",) == found.not_rechecked
    assert not found.passed


def test_required_skip_is_no_pass(tmp_path: Path) -> None:
    contract = decided(tmp_path / "run", skip := verifier("skip", skipped("nothing to run")))

    assert not gated(tmp_path / "run", contract, registry=STDLIB | [skip]).passed


def test_checks_get_no_powers_over_the_world(tmp_path: Path) -> None:
    handed: list[Powers] = []

    def factory(*, powers: Powers) -> Check:
        handed.append(powers)
        return lambda _: passed("x")

    registry = STDLIB | [Verifier(id="asks", factory=factory, description="")]
    contract = sample.locked({"id": "a", "criteria": [{"id": "a", "verifier": "asks"}]}, registry)
    sample.written(tmp_path / "run", contract=contract, registry=registry)
    predicates = {"p": len}
    powerful = Powers(workspace=tmp_path, services={"s": 1}, predicates=predicates)
    found = gated(tmp_path / "run", contract, registry=registry.with_powers(powerful))

    assert found.passed
    assert Powers(predicates=predicates) == handed[-1]


def test_check_that_breaks_now_fails(tmp_path: Path) -> None:
    contract = decided(tmp_path / "run", verifier("yes", passed("x")))

    def factory() -> Check:
        def check(_: Subject) -> Finding:
            raise SystemExit(0)

        return check

    broken = Verifier(id="yes", factory=factory, description="")
    found = gated(tmp_path / "run", contract, registry=STDLIB | [broken])

    assert "recorded as pass, judged again error" in found.problems[0]


# -- strict --


def test_strict_counts_a_required_warning(tmp_path: Path) -> None:
    warns = verifier("warns", warned("0 items"))
    contract = decided(tmp_path / "run", warns)
    registry = STDLIB | [warns]

    assert gated(tmp_path / "run", contract, registry=registry).passed
    found = gated(tmp_path / "run", contract, registry=registry, strict=True)
    assert not found.passed
    assert Outcome.FAILED is found.outcome
    assert ('criterion "c-warns": warns (0 items)',) == found.problems


def test_strict_leaves_advisory_warnings_alone(tmp_path: Path) -> None:
    warns = verifier("warns", warned("0 items"))
    contract = decided(tmp_path / "run", warns, required=False)

    assert gated(tmp_path / "run", contract, registry=STDLIB | [warns], strict=True).passed


# -- whatever lies in the folder --


@pytest.mark.parametrize("name", sample.FILES)
def test_gate_never_raises(run: Path, name: str) -> None:
    data = (run / name).read_bytes()
    for content in (b"", b"{}", data[:-1], data + data, b"\xff", json.dumps(name).encode()):
        (run / name).write_bytes(content)

        assert not gated(run).passed
