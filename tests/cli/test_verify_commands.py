"""``signoff verify`` where checks start commands: on the workspace, isolated, ended with it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from time import monotonic, sleep
from xml.etree import ElementTree as ET

import pytest

from tests.cli.calling import call, wrote
from tests.cli.streams import ENTRY, environment

COMMANDS = """\
id: change
criteria:
  - {id: reads, verifier: command, params: {argv: [cat, a.txt], timeout_s: 30}}
  - id: writes
    verifier: command
    params: {argv: [sh, -c, "echo done > out.txt"], timeout_s: 30, expect_files: [out.txt]}
"""
PATIENCE_S = 20


@pytest.fixture
def work(folder: Path) -> Path:
    """A workspace beside the contract of commands."""
    wrote(folder, "commands.yaml", COMMANDS)
    (folder / "work").mkdir()
    wrote(folder / "work", "a.txt", "a\n")
    return folder / "work"


def test_work_is_judged_without_an_output(work: Path) -> None:
    called = call("verify", "commands.yaml", "--workspace", "work")

    assert 0 == called.code, called.err
    assert called.out.splitlines()[0].startswith("pass  reads   exit 0 in ")
    assert "    commands  ran under isolation L" in called.out
    assert called.out.endswith("passed: 2 of 2 required criteria hold\n")
    assert [work / "a.txt"] == [*work.iterdir()]


def test_work_that_fails_is_told(work: Path) -> None:
    (work / "a.txt").unlink()
    called = call("verify", "commands.yaml", "--workspace", "work")

    assert 1 == called.code
    assert "fail  reads   exit 1, expected 0\n" in called.out


def test_report_says_what_the_commands_rest_on(work: Path) -> None:
    report = call("verify", "commands.yaml", "--workspace", "work", "--json").json

    assert report["isolation"] in {"L1", "L2", "L3"}
    assert "exit_code" == report["assurance"]
    assert type(report["missing"]) is list
    assert report["output_digest"] is None


def test_junit_says_what_the_commands_rest_on(work: Path) -> None:
    call("verify", "commands.yaml", "--workspace", "work", "--junit", "j.xml")
    facts = {one.get("name"): one.get("value") for one in ET.parse("j.xml").iter("property")}

    assert facts["isolation"] in {"L1", "L2", "L3"}
    assert "exit_code" == facts["assurance"]
    assert "missing" in facts


@pytest.mark.parametrize("jobs", ["1", "2", "9"])
def test_number_of_jobs_changes_nothing_but_time(work: Path, jobs: str) -> None:
    report = call("verify", "commands.yaml", "--workspace", "work", "--jobs", jobs, "--json").json

    assert [("reads", "pass"), ("writes", "pass")] == [
        (one["criterion"], one["finding"]["status"]) for one in report["results"]
    ]


@pytest.mark.parametrize("jobs", ["0", "-1", "257", "two"])
def test_odd_number_of_jobs_is_refused(work: Path, jobs: str) -> None:
    assert 2 == call("verify", "commands.yaml", "--workspace", "work", "--jobs", jobs).code


def test_nothing_to_judge_is_refused_and_leaves_no_older_answer(work: Path) -> None:
    wrote(work.parent, "j.xml", "older")
    called = call("verify", "commands.yaml", "--junit", "j.xml")

    assert (2, "") == (called.code, called.out)
    assert (
        "signoff: there is nothing to judge: no OUTPUT, and no --workspace\n"
        "next: name the output, - for standard input, or the folder of the work\n"
    ) == called.err
    assert not (work.parent / "j.xml").exists()


def test_text_without_an_output_is_refused(work: Path) -> None:
    called = call("verify", "commands.yaml", "--workspace", "work", "--text")

    assert 2 == called.code
    assert "signoff: --text says how OUTPUT is read, and there is none\n" in called.err


def test_checks_that_read_the_output_are_inconclusive_without_one(work: Path) -> None:
    called = call("verify", "contract.yaml", "--workspace", "work")

    assert 3 == called.code
    assert "No output was recorded." in called.out


def test_commands_without_workspace_are_not_run(work: Path) -> None:
    called = call("verify", "commands.yaml", "good.json")

    assert 3 == called.code
    assert "No workspace was recorded." in called.out


def test_run_without_output_is_kept_and_read_back(work: Path) -> None:
    assert 0 == call("verify", "commands.yaml", "--workspace", "work", "--out", "run").code
    refused = call("gate", "run", "--contract", "commands.yaml")
    allowed = call("gate", "run", "--contract", "commands.yaml", "--allow", "recorded")

    assert {"contract.json", "evidence", "report.json", "verdict.json", ".signoff-run"} == {
        path.name for path in (work.parent / "run").iterdir()
    }
    assert 1 == refused.code
    assert 'problem: criterion "reads": rests on a command that was run then' in refused.out
    assert 0 == allowed.code
    assert "    commands  ran under isolation L" in allowed.out


def test_configuration_says_how_commands_are_run(
    work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrote(work.parent, "signoff.toml", '[commands]\npass_env = ["SEEN"]\nmin_isolation = "L1"\n')
    contract = COMMANDS.replace("[cat, a.txt]", '[sh, -c, "test $SEEN = yes"]')
    wrote(work.parent, "commands.yaml", contract)

    monkeypatch.setenv("SEEN", "yes")

    assert 0 == call("verify", "commands.yaml", "--workspace", "work").code


@pytest.mark.parametrize("level", ["L0", "L4", "l3"])
def test_odd_level_is_refused(work: Path, level: str) -> None:
    argv = ("verify", "commands.yaml", "--workspace", "work", "--min-isolation", level)

    assert 2 == call(*argv).code


def test_contract_without_commands_imports_no_sandbox(folder: Path) -> None:
    code = (
        "import sys\nfrom signoff.cli import run\n"
        "code = run(['verify', 'contract.lock.json', 'good.json'], None, sys.stdout, sys.stderr)\n"
        "print([name for name in sys.modules if name.startswith('signoff.sandbox')])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment(), check=True
    )

    assert "[]" == done.stdout.splitlines()[-1]


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_persons_interrupt_ends_the_commands_and_leaves_no_verdict(work: Path, jobs: str) -> None:
    marker = f"{os.getpid()}{int(monotonic() * 1e6)}"
    script = f"sleep 60.{marker} & sleep 60.{marker}"
    contract = (
        "id: c\ncriteria:\n"
        f'  - {{id: a, verifier: command, params: {{argv: [sh, -c, "{script}"]}}}}\n'
        f'  - {{id: b, verifier: command, params: {{argv: [sh, -c, "{script}"]}}}}\n'
    )
    wrote(work.parent, "commands.yaml", contract)
    argv = [*ENTRY, "verify", "commands.yaml", "--workspace", "work", "--jobs", jobs]
    process = subprocess.Popen(
        [*argv, "--out", "run"], env=environment(), stderr=subprocess.PIPE, cwd=work.parent
    )
    until(lambda: running(marker))
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=PATIENCE_S)

    assert 130 == process.returncode, said
    until(lambda: not running(marker))
    assert not (work.parent / "run" / "verdict.json").exists()


def running(marker: str) -> bool:
    """Some process of this machine has the marker in its command line."""
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if f"sleep\x0060.{marker}\0".encode() == place.read_bytes():
                return True
        except OSError:
            continue
    return False


def until(holds: object) -> None:
    """Wait until it holds, which it must before long."""
    assert callable(holds)
    end = monotonic() + PATIENCE_S
    while not holds():
        assert monotonic() < end
        sleep(0.01)
