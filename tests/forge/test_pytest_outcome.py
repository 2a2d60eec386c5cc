"""What runs come to, honest and cheating."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from signoff.forge import (
    ContractSpec,
    PytestVerifier,
    VerificationResult,
    VerifierRegistry,
    verify_task_result,
)
from signoff.model import Isolation
from signoff.probes.pytest import pytest as probe
from signoff.registry import Powers
from signoff.sandbox import Sandbox
from tests.sandbox.given import absent

PYTEST = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
GOOD = "def test_x():\n    pass\n"
BAD = "def test_x():\n    assert False\n"
FORGING = """
import pytest
@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    call.excinfo = None
    yield
"""


def written(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text)
    return folder


def ran(folder: Path, *args: str, **options: Any) -> VerificationResult:
    return PytestVerifier([*PYTEST, *args], cwd=folder, **options).verify({}, {})


def came_to(found: VerificationResult) -> tuple[str, str | None]:
    return found.status.value, found.evidence.get("failure_class")


def probed(folder: Path, *, level: Isolation | None = None, **params: Any) -> VerificationResult:
    """What the product's own probe says, registered under the same id."""
    with Sandbox(level=level) as sandbox:
        powers = Powers(sandbox=sandbox, workspace=folder, python=sys.executable)
        registry = VerifierRegistry()
        registry.register("pytest.subprocess", probe, params=params, powers=powers)
        spec = ContractSpec("t", verification_policy={"verifier_ids": ["pytest.subprocess"]})
        (found,) = verify_task_result(spec, {}, registry=registry)
    return found


def test_row_17_one_passing_test_passes_with_counts(tmp_path: Path) -> None:
    found = ran(written(tmp_path, test_a=GOOD))

    assert ("pass", None) == came_to(found)
    assert {"passed": 1, "failed": 0, "errors": 0, "skipped": 0, "xfailed": 0} == found.evidence[
        "counts"
    ]
    assert ("L1", "report", 0) == tuple(
        found.evidence[name] for name in ("isolation", "assurance", "exit_code")
    )
    assert [*PYTEST] == found.evidence["argv"]


def test_row_17_a_failing_test_fails(tmp_path: Path) -> None:
    found = ran(written(tmp_path, test_a=BAD))

    assert ("fail", "tests_failed") == came_to(found)
    assert "test_a.py::test_x failed" in found.summary


@pytest.mark.parametrize(
    ("code", "failure"),
    [
        (1, "tests_failed"),
        (2, "runner_error"),
        (3, "runner_error"),
        (4, "runner_error"),
        (5, "no_tests"),
        (77, "command_failed"),
    ],
)
def test_row_17_exit_codes_have_their_classes(code: int, failure: str) -> None:
    found = PytestVerifier([sys.executable, "-c", f"raise SystemExit({code})"]).verify({}, {})

    assert ("fail", failure) == came_to(found)
    assert code == found.evidence["exit_code"]


def test_row_17_a_signal_is_named() -> None:
    program = "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)"
    found = PytestVerifier([sys.executable, "-c", program]).verify({}, {})

    assert ("fail", "signal") == came_to(found)
    assert "SIGSEGV" == found.evidence["signal"]


@pytest.mark.parametrize(
    ("text", "args"),
    [
        ("import pytest\n@pytest.mark.skip\ndef test_x(): pass\n", ()),
        ("import pytest\n@pytest.mark.xfail\ndef test_x(): assert False\n", ()),
        ("", ()),
        (GOOD, ("-k", "nothing")),
    ],
    ids=["skipped", "expected to fail", "none collected", "deselected"],
)
def test_row_18_a_run_without_a_passed_test_fails(
    text: str, args: tuple[str, ...], tmp_path: Path
) -> None:
    assert ("fail", "no_tests") == came_to(ran(written(tmp_path, test_a=text), *args))


def test_row_19_ending_at_once_leaves_no_report(tmp_path: Path) -> None:
    found = ran(written(tmp_path, test_a="import os\nos._exit(0)\n"))

    assert ("fail", "no_report") == came_to(found)


def test_row_19_a_pytest_of_the_workspace_leaves_no_report(tmp_path: Path) -> None:
    found = ran(written(tmp_path, test_a=BAD, pytest="print('1 passed')\n"))

    assert ("fail", "no_report") == came_to(found)


def test_row_19_another_program_passes_by_its_exit_code_with_a_warning() -> None:
    found = PytestVerifier([sys.executable, "-c", ""]).verify({}, {})

    assert ("pass", None) == came_to(found)
    assert ("exit code only",) == found.warnings
    assert "exit_code" == found.evidence["assurance"]


def test_row_19_without_the_report_plugin_it_fails(tmp_path: Path) -> None:
    found = ran(written(tmp_path, test_a=GOOD), "-p", "no:junitxml")

    assert "fail" == found.status


def test_row_20_a_forced_exit_status_disagrees_with_the_report(tmp_path: Path) -> None:
    conftest = "def pytest_sessionfinish(session):\n    session.exitstatus = 0\n"
    found = ran(written(tmp_path, test_a=BAD, conftest=conftest))

    assert ("fail", "report_mismatch") == came_to(found)


def test_row_20_forged_reports_pass_the_class_and_fail_the_probe(tmp_path: Path) -> None:
    written(tmp_path, test_a=BAD, conftest=FORGING)

    assert ("pass", None) == came_to(ran(tmp_path))
    found = probed(tmp_path, args=["test_a.py"])
    assert ("fail", "canary") == came_to(found)
    assert "report+canaries" == found.evidence["assurance"]


def fake(folder: Path, does: str) -> list[str]:
    """A command that is called pytest and writes what it likes into r.xml."""
    program = folder / "bin" / "pytest"
    program.parent.mkdir()
    program.write_text(f"#!{sys.executable}\n{does}\n")
    program.chmod(0o755)
    return [str(program), "--junitxml=r.xml"]


GOOD_REPORT = '<testsuite><testcase classname="a" name="b"/></testsuite>'


def test_row_21_a_stale_report_is_no_report(tmp_path: Path) -> None:
    (tmp_path / "r.xml").write_text(GOOD_REPORT)
    found = PytestVerifier(fake(tmp_path, ""), cwd=tmp_path).verify({}, {})

    assert ("fail", "no_report") == came_to(found)


def test_row_21_a_report_that_is_written_anew_counts(tmp_path: Path) -> None:
    (tmp_path / "r.xml").write_text(GOOD_REPORT)
    argv = fake(tmp_path, f"open('r.xml', 'w').write({GOOD_REPORT!r})")

    assert ("pass", None) == came_to(PytestVerifier(argv, cwd=tmp_path).verify({}, {}))


@pytest.mark.parametrize("option", ["--junitxml=r.xml", "--junit-xml=r.xml", "--junitxml r.xml"])
def test_row_21_the_report_that_argv_names_is_read(option: str, tmp_path: Path) -> None:
    found = ran(written(tmp_path, test_a=GOOD), *option.split())

    assert ("pass", None) == came_to(found)
    assert (tmp_path / "r.xml").exists()


@pytest.mark.parametrize(
    "text",
    [
        f"'<!DOCTYPE testsuite>' + {GOOD_REPORT!r}",
        "'<!DOCTYPE a [<!ENTITY b \"c\">]><testsuite>&b;</testsuite>'",
        "'<testsuite>' + ' ' * 100_000_000 + '</testsuite>'",
        "'<testsuite><testcase name=\"a\">'",
        "''",
    ],
    ids=["document type", "entities", "100 MB", "broken", "empty"],
)
def test_row_21_a_report_that_cannot_be_read_fails(text: str, tmp_path: Path) -> None:
    argv = fake(tmp_path, f"open('r.xml', 'w').write({text})")
    found = PytestVerifier(argv, cwd=tmp_path).verify({}, {})

    assert ("fail", "report_invalid") == came_to(found)
    assert str(tmp_path) not in found.summary


SKIPS = "import pytest\ndef test_x(): pass\n@pytest.mark.skip\ndef test_y(): pass\n"


@pytest.mark.parametrize("id_", ["test_a.py::test_gone", "test_a.py::test_y"])
def test_row_22_a_required_test_that_did_not_pass_fails(id_: str, tmp_path: Path) -> None:
    written(tmp_path, test_a=SKIPS)

    assert ("fail", "required_missing") == came_to(
        probed(tmp_path, args=["test_a.py"], required_tests=[id_])
    )
    assert ("fail", "required_missing") == came_to(ran(tmp_path, required_tests=(id_,)))


def test_row_22_a_required_test_that_fails_fails(tmp_path: Path) -> None:
    written(tmp_path, test_a=GOOD + BAD.replace("test_x", "test_y"))
    found = probed(tmp_path, args=["test_a.py"], required_tests=["test_a.py::test_y"])

    assert "fail" == found.status
    assert found.evidence["failure_class"] in {"required_missing", "tests_failed"}


def test_row_22_addopts_cannot_leave_a_required_test_out(tmp_path: Path) -> None:
    written(tmp_path, test_a=GOOD + BAD.replace("test_x", "test_y"))
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = --deselect test_a.py::test_y\n")
    required = ["test_a.py::test_y"]

    assert "fail" == probed(tmp_path, args=["test_a.py"], required_tests=required).status
    assert ("fail", "required_missing") == came_to(ran(tmp_path, required_tests=required))


def test_row_22_a_changed_test_file_is_told(tmp_path: Path) -> None:
    changing = "import pathlib\npathlib.Path(__file__).write_text('')\n" + GOOD
    written(tmp_path, test_a=changing)

    found = probed(tmp_path, required_tests=["test_a.py::test_x"])
    assert ("fail", "tampered") == came_to(found)

    written(tmp_path, test_a=changing)
    assert ("fail", "tampered") == came_to(ran(tmp_path, protected_paths=("test_a.py",)))


LEVELS: tuple[Isolation, ...] = ("L1", "L2", "L3")


@pytest.mark.parametrize("level", LEVELS)
def test_a_level_of_isolation_is_had_or_refused(level: Isolation, tmp_path: Path) -> None:
    written(tmp_path, test_a="def test_x():\n    open('made', 'w').close()\n")
    found = ran(tmp_path, isolation=level)

    if "isolation_unavailable" == found.evidence.get("failure_class"):
        assert not (tmp_path / "made").exists()
        absent(level, found.summary)
    assert ("pass", None) == came_to(found)
    assert found.evidence["isolation"] >= level
    assert (tmp_path / "made").exists()


def test_more_skips_than_allowed_fail(tmp_path: Path) -> None:
    written(tmp_path, test_a=SKIPS)

    assert ("pass", None) == came_to(ran(tmp_path, max_skipped=1))
    assert ("fail", "no_tests") == came_to(ran(tmp_path, max_skipped=0))
