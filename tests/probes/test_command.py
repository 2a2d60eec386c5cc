"""command: what real commands come to, and what they cannot do."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from signoff.contract import lock
from signoff.engine import Engine
from signoff.errors import ContractError
from signoff.evidence import MemoryStore
from signoff.model import Finding, Report, Subject, passed
from signoff.probes import PROBES
from signoff.registry import Check, Powers, Registry, verifier
from signoff.sandbox import Sandbox
from signoff.status import Cause, Outcome, Status
from signoff.verifiers import STDLIB
from tests.scripted import ScriptedRunner

REGISTRY = STDLIB | PROBES


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox() as made:
        yield made


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "a.txt").write_text("a\n")
    return folder


def contract(*params: dict[str, Any], **fields: Any) -> dict[str, Any]:
    criteria = [
        {"id": f"c{i}", "verifier": "command", "params": one} for i, one in enumerate(params)
    ]
    return {"id": "c", "criteria": criteria, **fields}


def report_on(
    sandbox: Sandbox,
    workspace: Path,
    *params: dict[str, Any],
    registry: Registry = REGISTRY,
    store: MemoryStore | None = None,
    **fields: Any,
) -> Report:
    powers = Powers(sandbox=sandbox, workspace=workspace, store=store)
    engine = Engine(registry.with_powers(powers))
    return engine.verify(lock(contract(*params, **fields), engine.registry), Subject())


def finding(sandbox: Sandbox, workspace: Path, *argv: str, **params: Any) -> Finding:
    asked = {"argv": list(argv), "timeout_s": 30, **params}
    return report_on(sandbox, workspace, asked).results[0].finding


def shell(sandbox: Sandbox, workspace: Path, script: str, **params: Any) -> Finding:
    return finding(sandbox, workspace, "sh", "-c", script, **params)


def test_true_holds_and_false_does_not(sandbox: Sandbox, workspace: Path) -> None:
    held, failed = finding(sandbox, workspace, "true"), finding(sandbox, workspace, "false")

    assert Status.PASS is held.status
    assert "exit 0 in 0." == held.detail[:12]
    assert (Status.FAIL, "exit 1, expected 0") == (failed.status, failed.detail)


def test_report_says_what_it_rests_on(sandbox: Sandbox, workspace: Path) -> None:
    report = report_on(sandbox, workspace, {"argv": ["true"]}, {"argv": ["true"]})

    assert report.isolation in {"L1", "L2", "L3"}
    assert "exit_code" == report.assurance
    assert report.results[0].finding.isolation == report.isolation


def test_printed_text_is_kept_as_evidence(sandbox: Sandbox, workspace: Path) -> None:
    store = MemoryStore()
    script = {"argv": ["sh", "-c", "echo out; echo err >&2"]}
    found = report_on(sandbox, workspace, script, store=store).results[0].finding

    assert [("stdout", b"out\n"), ("stderr", b"err\n")] == [
        (one.name, store.read(one.digest)) for one in found.evidence
    ]
    assert 4 == found.data["stdout"]["size"]


def test_files_that_it_writes_count_and_stay_out_of_the_workspace(
    sandbox: Sandbox, workspace: Path
) -> None:
    script = "mkdir -p build/x && echo 1 > build/x/r.json && echo b > a.txt"
    files = ["build/**/*.json", "a.txt"]
    found = shell(sandbox, workspace, script, expect_files=files)

    assert Status.PASS is found.status
    assert [("a.txt", 2), ("build/x/r.json", 2)] == sorted(
        (one["path"], one["size"]) for one in found.data["files"]
    )
    assert [workspace / "a.txt"] == [*workspace.iterdir()]
    assert "a\n" == (workspace / "a.txt").read_text()


def test_file_that_was_there_before_says_nothing_of_the_command(
    sandbox: Sandbox, workspace: Path
) -> None:
    found = shell(sandbox, workspace, "exit 0", expect_files=["a.txt"])

    assert Status.WARN is found.status
    assert found.detail.endswith("; not written by it: a.txt")


def test_it_starts_in_its_folder(sandbox: Sandbox, workspace: Path) -> None:
    (workspace / "sub").mkdir()
    (workspace / "sub" / "here").write_text("x")

    assert Status.PASS is finding(sandbox, workspace, "cat", "here", cwd="sub").status


@pytest.mark.parametrize("target", ["absent", "a.txt", "out"])
def test_folder_that_is_none_is_no_pass(sandbox: Sandbox, workspace: Path, target: str) -> None:
    (workspace / "out").symlink_to("/")
    found = finding(sandbox, workspace, "true", cwd=target)

    assert (Status.FAIL, "cwd is no folder of the workspace") == (found.status, found.detail)


def test_its_environment_is_what_the_contract_says(
    sandbox: Sandbox, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SIGNOFF_SECRET", "s3cr3t")
    said = {"verifier": "equals", "params": {"value": "-given-\n"}}
    script = 'echo "$SIGNOFF_SECRET-$GIVEN-"'

    found = shell(sandbox, workspace, script, env={"GIVEN": "given"}, stdout=[said])
    assert Status.PASS is found.status, found.detail


def test_no_shell_reads_arguments(sandbox: Sandbox, workspace: Path) -> None:
    said = {"verifier": "equals", "params": {"value": "$(id);`id`*|"}}

    assert (
        Status.PASS
        is finding(sandbox, workspace, "printf", "%s", "$(id);`id`*|", stdout=[said]).status
    )


def test_printed_json_is_judged_by_other_checks(sandbox: Sandbox, workspace: Path) -> None:
    check = {"verifier": "number_between", "params": {"path": "/n", "min": 1}}
    held = shell(sandbox, workspace, "echo '{\"n\": 1}'", stdout=[check], stdout_json=True)
    failed = shell(sandbox, workspace, "echo '{\"n\": 0}'", stdout=[check], stdout_json=True)

    assert Status.PASS is held.status
    assert Status.FAIL is failed.status
    assert failed.detail.startswith("stdout, number_between: value=0, min=1")
    assert failed.at is None


def test_long_output_is_judged_whole(sandbox: Sandbox, workspace: Path) -> None:
    script = "head -c 3000000 /dev/zero | tr '\\0' a; echo end"
    said = {"verifier": "regex_match", "params": {"pattern": "aaaend\\n$"}}

    assert Status.PASS is shell(sandbox, workspace, script, stdout=[said]).status


def test_output_that_is_not_kept_whole_cannot_hold(tmp_path: Path, workspace: Path) -> None:
    long = ScriptedRunner([{"ended": "exited", "exit_code": 0, "stdout": "ab"}], tmp_path / "x")

    class Cutting(ScriptedRunner):
        def run(self, command: Any) -> Any:
            done = long.run(command)
            return replace(done, stdout=replace(done.stdout, size=10))

    asked = {"argv": ["x"], "stdout": [{"verifier": "not_empty"}]}
    runner: Any = Cutting([], tmp_path)
    found = report_on(runner, workspace, asked).results[0].finding

    assert (Status.FAIL, Cause.OUTPUT_LIMIT) == (found.status, found.cause)
    assert "stdout has 10 bytes, too many to be judged" == found.detail


def test_text_that_is_no_utf_8_is_no_pass(sandbox: Sandbox, workspace: Path) -> None:
    said = {"verifier": "not_empty"}
    found = shell(sandbox, workspace, "printf 'a\\377b'", stdout=[said])

    assert (Status.FAIL, "stdout is not UTF-8 at byte 1") == (found.status, found.detail)


@verifier
def claims(*, holds: bool) -> Check:
    """It says what it is told to."""
    return lambda subject: passed("so") if holds else True  # type: ignore[return-value]  # on purpose


@verifier
def raises() -> Check:
    """It breaks."""

    def check(subject: Subject) -> Finding:
        raise SystemExit(0)

    return check


@pytest.mark.parametrize(
    ("asked", "status"),
    [
        ({"verifier": "claims", "params": {"holds": True}}, Status.PASS),
        ({"verifier": "claims", "params": {"holds": False}}, Status.ERROR),
        ({"verifier": "raises"}, Status.ERROR),
    ],
)
def test_checks_of_what_is_printed_may_come_from_anywhere(
    sandbox: Sandbox, workspace: Path, asked: dict[str, Any], status: Status
) -> None:
    registry = REGISTRY | [claims, raises]
    params = {"argv": ["true"], "stdout": [asked]}
    report = report_on(sandbox, workspace, params, registry=registry)

    assert status is report.results[0].finding.status


def test_faults_of_checks_of_what_is_printed_have_their_places() -> None:
    asked = [{"verifier": "nope"}, {"verifier": "count_between", "params": {"min": -1, "x": 1}}]
    with pytest.raises(ContractError) as caught:
        lock(contract({"argv": ["true"], "stdout": asked}), REGISTRY)

    where = "/criteria/0/params/stdout"
    assert {f"{where}/0/verifier", f"{where}/1/params/min", f"{where}/1/params/x"} == {
        fault.where for fault in caught.value.faults
    }


def test_warning_of_a_check_of_what_is_printed_is_told_at_lock() -> None:
    schema = {"type": "object", "requierd": ["a"]}
    asked = [{"verifier": "json_schema", "params": {"schema": schema}}]
    locked = lock(contract({"argv": ["true"], "stdout": asked, "stdout_json": True}), REGISTRY)

    assert 1 == len(locked.warnings)
    assert locked.warnings[0].startswith("c0: stdout, json_schema: ")


def test_no_sandbox_is_an_error(workspace: Path) -> None:
    nothing: Any = None
    found = report_on(nothing, workspace, {"argv": ["true"]}).results[0].finding

    assert (Status.ERROR, Cause.NOT_INSTALLED) == (found.status, found.cause)


def test_workspace_outside_what_may_be_read_is_not_touched(
    sandbox: Sandbox, workspace: Path, tmp_path: Path
) -> None:
    powers = Powers(sandbox=sandbox, workspace=workspace)
    engine = Engine(REGISTRY.with_powers(powers))
    locked = lock(contract({"argv": ["true"]}), engine.registry)
    found = engine.verify(locked, Subject(workspace=str(tmp_path))).results[0].finding

    assert (Status.INCONCLUSIVE, Cause.EVIDENCE_DENIED) == (found.status, found.cause)


def test_time_is_up(sandbox: Sandbox, workspace: Path) -> None:
    found = shell(sandbox, workspace, "echo partly; sleep 30", timeout_s=2)

    assert (Status.FAIL, "timed out after 2 s") == (found.status, found.detail)
    assert 7 == found.data["stdout"]["size"]


def test_process_that_is_left_is_told(workspace: Path) -> None:
    with Sandbox(level="L1") as low:
        found = shell(low, workspace, "sleep 30 & exit 0")

    assert (Status.FAIL, "left 1 process running") == (found.status, found.detail)


def test_missing_program_is_told(sandbox: Sandbox, workspace: Path) -> None:
    found = finding(sandbox, workspace, "no-such-program")

    assert (Status.ERROR, "not found: no-such-program") == (found.status, found.detail)


def test_program_without_permission_is_denied(sandbox: Sandbox, workspace: Path) -> None:
    (workspace / "run").write_text("#!/bin/sh\n")
    found = finding(sandbox, workspace, "./run")

    assert (Status.FAIL, "denied: ./run") == (found.status, found.detail)


@pytest.mark.parametrize("lowest", ["L0", "L1"])
def test_lowest_levels_are_always_to_be_had(sandbox: Sandbox, workspace: Path, lowest: str) -> None:
    report = report_on(sandbox, workspace, {"argv": ["true"]}, min_isolation=lowest)

    assert Outcome.PASSED is report.verdict.outcome


def test_contract_that_wants_more_than_there_is_gets_an_error(workspace: Path) -> None:
    with Sandbox(level="L1") as low:
        report = report_on(low, workspace, {"argv": ["true"]}, min_isolation="L3")
    found = report.results[0].finding

    assert (Status.ERROR, Cause.ISOLATION_UNAVAILABLE) == (found.status, found.cause)
    assert (None, None) == (report.isolation, found.isolation)
    assert "L3" in found.detail


def test_attack_on_the_report_has_no_effect(sandbox: Sandbox, workspace: Path) -> None:
    """A command that rewrites what it can reach changes neither finding nor workspace."""
    script = f"""
import os, pathlib
for name in ("a.txt", "new.txt", "{workspace}/a.txt", "{workspace}/new.txt"):
    try:
        pathlib.Path(name).write_text("forged")
    except OSError:
        pass
print('{{"status": "pass"}}')
os._exit(3)
"""
    (workspace / "attack.py").write_text(script)
    found = finding(sandbox, workspace, sys.executable, "attack.py")

    assert (Status.FAIL, "exit 3, expected 0") == (found.status, found.detail)
    if found.isolation != "L1":  # there the folder itself can be reached by its name
        assert "a\n" == (workspace / "a.txt").read_text()
        assert not (workspace / "new.txt").exists()


def test_workspace_that_cannot_be_looked_at_is_an_error(tmp_path: Path, workspace: Path) -> None:
    done = {"ended": "exited", "exit_code": 0, "isolation": "L1"}

    class Losing(ScriptedRunner):
        def run(self, command: Any) -> Any:
            return replace(super().run(command), workspace=None)

    runner: Any = Losing([done], tmp_path / "left")
    asked = {"argv": ["x"], "expect_files": ["a.txt"]}
    found = report_on(runner, workspace, asked).results[0].finding

    assert (Status.ERROR, Cause.VERIFIER_BROKE) == (found.status, found.cause)
