"""junit: the report that a command writes decides, if the command wrote it and agrees with it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from signoff.errors import NotJudged, ParamsError
from signoff.evidence import MemoryStore
from signoff.model import Finding, Subject
from signoff.probes import PROBES
from signoff.registry import Powers
from signoff.sandbox import Sandbox
from signoff.status import Cause, Status
from tests.suites import found, write

GOOD = "<testsuites><testsuite><testcase classname='c' name='a'/></testsuite></testsuites>"
BAD = "<testsuite><testcase classname='c' name='a'><failure/></testcase></testsuite>"
SKIP = "<testsuite><testcase name='a'/><testcase name='b'><skipped/></testcase></testsuite>"


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox() as made:
        yield made


def writing(text: str, code: int = 0, path: str = "report.xml") -> list[str]:
    source = f"import sys; open({path!r}, 'w').write({text!r}); sys.exit({code})"
    return [sys.executable, "-I", "-c", source]


def says(sandbox: Sandbox, folder: Path, argv: list[str], **params: Any) -> Finding:
    params = {"report": "report.xml", "required_tests": ["c::a"], "timeout_s": 30} | params
    return found(sandbox, "junit", folder, argv=argv, **params)


def test_report_of_this_run_passes(sandbox: Sandbox, tmp_path: Path) -> None:
    store = MemoryStore()
    finding = says(sandbox, tmp_path, writing(GOOD), store=store)

    assert (Status.PASS, "report") == (finding.status, finding.assurance)
    assert finding.detail.startswith("1 passed, 0 skipped in ")
    assert GOOD.encode() in [store.read(one.digest) for one in finding.evidence]
    assert not (tmp_path / "report.xml").exists()


@pytest.mark.parametrize(
    ("run", "expected"),
    [
        ((BAD, 1, {}), "tests_failed: c::a (1 of 1 failed)"),
        ((BAD, 101, {}), "tests_failed: c::a (1 of 1 failed)"),
        ((BAD, 0, {}), "report_mismatch: exit 0, but c::a failed"),
        ((GOOD, 1, {}), "report_mismatch: exit 1, but no test failed"),
        ((GOOD, 0, {"required_tests": ["c::b"]}), "required_missing: c::b is not in the report"),
        ((GOOD, 0, {"required_tests": ["a"], "min_passed": 2}), "no_tests: 1 passed, 0 skipped; 2 must pass"),
        ((SKIP, 0, {"required_tests": ["b"]}), "required_missing: b is skipped"),
        ((SKIP, 0, {"max_skipped": 0}), "no_tests: 1 passed, 1 skipped; 0 may be skipped"),
        (("<testsuites/>", 0, {}), "no_tests: 0 passed, 0 skipped; 1 must pass"),
        (("<testsuite", 0, {}), "report_invalid: it is no well-formed XML: unclosed token: line 1, column 0"),
        (("<!DOCTYPE a><testsuite/>", 0, {}), "report_invalid: it declares a document type or entities"),
        ((" " * (2**24 + 1), 0, {}), "report_invalid: it is larger than 16777216 bytes"),
    ],
)  # fmt: skip
def test_what_does_not_hold(
    sandbox: Sandbox, tmp_path: Path, run: tuple[str, int, dict[str, Any]], expected: str
) -> None:
    text, code, params = run
    if len(text) > 2**24:
        argv = [sys.executable, "-I", "-c", "open('report.xml', 'w').write(' ' * (2**24 + 1))"]
    else:
        argv = writing(text, code)
    finding = says(sandbox, tmp_path, argv, **params)

    assert (Status.FAIL, expected) == (finding.status, finding.detail)
    assert finding.data["failure_class"] == expected.partition(":")[0]


def test_skips_and_no_required_tests_are_warnings(sandbox: Sandbox, tmp_path: Path) -> None:
    assert Status.WARN is says(sandbox, tmp_path, writing(GOOD), required_tests=[]).status
    assert Status.WARN is says(sandbox, tmp_path, writing(SKIP), required_tests=["a"]).status
    skips = says(sandbox, tmp_path, writing(SKIP), required_tests=["a"], max_skipped=1)
    assert Status.PASS is skips.status


def test_command_that_writes_nothing(sandbox: Sandbox, tmp_path: Path) -> None:
    quiet = says(sandbox, tmp_path, [sys.executable, "-c", "pass"])
    loud = says(sandbox, tmp_path, [sys.executable, "-c", "raise SystemExit('no compiler')"])

    assert "no_report: exit 0, but report.xml was not written" == quiet.detail
    assert (Cause.EVIDENCE_MISSING, "exit_code") == (quiet.cause, quiet.assurance)
    assert "command_failed: exit 1: no compiler" == loud.detail


def test_report_from_before_the_run_counts_for_nothing(sandbox: Sandbox, tmp_path: Path) -> None:
    write(tmp_path, {"report.xml": GOOD})
    finding = says(sandbox, tmp_path, [sys.executable, "-c", "pass"])

    assert (
        "no_report: exit 0, but report.xml is what it was before; remove it first" == finding.detail
    )


def test_report_that_is_only_touched_is_not_written(sandbox: Sandbox, tmp_path: Path) -> None:
    write(tmp_path, {"report.xml": GOOD})
    finding = says(sandbox, tmp_path, ["touch", "report.xml"])

    assert (
        "no_report: exit 0, but report.xml is what it was before; remove it first" == finding.detail
    )
    assert Status.PASS is says(sandbox, tmp_path, writing(GOOD + "\n")).status
    assert "tests_failed" == says(sandbox, tmp_path, writing(BAD, 1)).data["failure_class"]


@pytest.mark.parametrize(
    "source",
    [
        "import os; os.mkfifo('report.xml')",
        "import os; os.mkdir('report.xml')",
        "import os; os.symlink('/etc/passwd', 'report.xml')",
    ],
)
def test_what_is_no_regular_file_is_no_report(
    sandbox: Sandbox, tmp_path: Path, source: str
) -> None:
    finding = says(sandbox, tmp_path, [sys.executable, "-c", source])

    assert "no_report" == finding.data["failure_class"]


def test_command_that_does_not_end_by_itself(sandbox: Sandbox, tmp_path: Path) -> None:
    late = says(
        sandbox, tmp_path, [sys.executable, "-c", "import time; time.sleep(60)"], timeout_s=1
    )
    absent = says(sandbox, tmp_path, ["no-such-program"])

    assert "timeout: timed out after 1 s" == late.detail
    assert ("command_not_found: not found: no-such-program", Status.ERROR) == (
        absent.detail,
        absent.status,
    )
    assert absent.isolation is None
    assert absent.assurance is None


def test_report_and_folder_lie_below_the_workspace(sandbox: Sandbox, tmp_path: Path) -> None:
    write(tmp_path, {"part/build/keep": ""})
    argv = writing(GOOD, path="build/r.xml")
    finding = says(sandbox, tmp_path, argv, cwd="part", report="part/build/r.xml")

    assert Status.PASS is finding.status


def test_variables_of_the_contract_are_set(sandbox: Sandbox, tmp_path: Path) -> None:
    source = "import os; open('report.xml', 'w').write(os.environ['REPORT'])"
    finding = says(sandbox, tmp_path, [sys.executable, "-c", source], env={"REPORT": GOOD})

    assert Status.PASS is finding.status


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({"argv": "node --test"}, "params.argv must be"),
        ({"argv": []}, "params.argv must be"),
        ({"argv": [""]}, "params.argv must be"),
        ({"argv": ["a\0"]}, "params.argv must be"),
        ({"report": None}, "params.report must be path of a file below the workspace"),
        ({"report": "/etc/passwd"}, "params.report must be"),
        ({"report": "../r.xml"}, "params.report must be"),
        ({"report": "."}, "params.report must be"),
        ({"min_passed": 0}, "params.min_passed must be"),
        ({"required_tests": [""]}, "params.required_tests must be"),
        ({"canaries": True}, "params.canaries is not a parameter of junit"),
    ],
)
def test_wrong_parameters_are_refused(params: dict[str, Any], said: str) -> None:
    verifier = PROBES.get("junit")
    assert verifier is not None

    with pytest.raises(ParamsError, match=said):
        verifier.bind({"argv": ["a"], "report": "r.xml"} | params, Powers())


def test_without_a_sandbox_nothing_is_run(tmp_path: Path) -> None:
    verifier = PROBES.get("junit")
    assert verifier is not None
    check = verifier.bind({"argv": ["a"], "report": "r.xml"}, Powers(workspace=tmp_path))

    with pytest.raises(NotJudged, match="junit was not given the means: a sandbox"):
        check(Subject())
