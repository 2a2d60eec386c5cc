"""pytest: a run passes when its report shows it, and no trick of the workspace makes one pass."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from signoff.errors import ParamsError
from signoff.evidence import MemoryStore
from signoff.model import Finding, Isolation, Subject
from signoff.probes import PROBES
from signoff.registry import Powers
from signoff.sandbox import Sandbox
from signoff.sandbox.command import Limits
from signoff.status import Cause, Status
from tests.sandbox.given import absent
from tests.suites import PASSING, digest_of, found, write

REQUIRED = ("tests/test_a.py::test_one",)


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox() as made:
        yield made


class Suite:
    """A workspace, and what the probe says of it."""

    def __init__(self, sandbox: Sandbox, folder: Path) -> None:
        self.sandbox = sandbox
        self.folder = folder

    def says(self, files: Mapping[str, str], **params: Any) -> Finding:
        write(self.folder, files)
        params = {"args": ["tests"], "required_tests": list(REQUIRED), "timeout_s": 60} | params
        return found(self.sandbox, "pytest", self.folder, **params)


@pytest.fixture(scope="module")
def warm() -> Iterator[Sandbox]:
    with Sandbox(warm=True) as made:
        yield made


@pytest.fixture
def suite(warm: Sandbox, tmp_path: Path) -> Suite:
    """What does not depend on the isolation is shown in a warm process, to save time."""
    return Suite(warm, tmp_path)


@pytest.fixture
def isolated(sandbox: Sandbox, tmp_path: Path) -> Suite:
    """At the highest level that there is here."""
    return Suite(sandbox, tmp_path)


def failure(finding: Finding) -> str:
    """The failure class, having seen that the finding is no pass and begins with it."""
    assert not finding.status.holds, finding
    failure_class = str(finding.data["failure_class"])
    assert finding.detail.startswith(f"{failure_class}: "), finding.detail
    return failure_class


def a(text: str = PASSING) -> dict[str, str]:
    return {"tests/test_a.py": text}


# -- what passes --


def test_tests_that_pass_pass(isolated: Suite) -> None:
    finding = isolated.says(a())

    assert Status.PASS is finding.status
    assert finding.detail.startswith("2 passed, 0 skipped in ")
    assert finding.detail.endswith(" s")
    assert {"passed": 2, "failed": 0, "errors": 0, "skipped": 0, "xfailed": 0} == finding.data[
        "counts"
    ]
    assert "report+canaries" == finding.assurance
    assert finding.isolation in {"L1", "L2", "L3"}


def test_without_canaries_the_assurance_is_less(suite: Suite) -> None:
    finding = suite.says(a(), canaries=False)

    assert (Status.PASS, "report", 0) == (
        finding.status,
        finding.assurance,
        finding.data["exit_code"],
    )


def test_no_required_tests_are_a_warning(isolated: Suite) -> None:
    finding = isolated.says(a(), required_tests=[])

    assert Status.WARN is finding.status
    assert finding.detail.endswith("; no required tests are named")


def test_report_and_streams_are_kept(suite: Suite) -> None:
    store = MemoryStore()
    finding = suite.says(a(), store=store)
    kept = {one.name: store.read(one.digest) for one in finding.evidence}

    assert {"report.xml", "stdout", "stderr"} == kept.keys()
    assert b"<testsuite " in kept["report.xml"]
    assert b"1 failed, 3 passed" in kept["stdout"]  # with the canaries


def test_data_say_what_was_run_without_random_names(suite: Suite) -> None:
    data = suite.says(a()).data

    assert ["{private}/launcher.py", "{private}/spec.json"] == data["argv"][1:]
    assert ["tests"] == data["args"]
    assert (2, 0, []) == (data["collected"], data["deselected"], data["hooks"])


def test_required_test_without_parameters_means_all_its_cases(suite: Suite) -> None:
    text = "import pytest\n@pytest.mark.parametrize('x', [1, 2])\ndef test_one(x):\n    assert x < {}\n"

    assert suite.says(a(text.format(3))).status.holds
    assert "tests_failed" == failure(suite.says(a(text.format(2))))


def test_configuration_of_the_workspace_counts_but_for_addopts(suite: Suite) -> None:
    ini = "[tool.pytest.ini_options]\npythonpath = ['lib']\ntestpaths = ['tests']\n"
    files = {"pyproject.toml": ini, "lib/tool.py": "x = 1\n"}

    assert suite.says(files | a(f"import tool\n{PASSING}"), args=[]).status.holds


def test_tests_may_stand_below_a_subfolder(isolated: Suite) -> None:
    files = {"part/tests/test_a.py": PASSING, "conftest.py": "import os\n"}

    assert isolated.says(files, cwd="part").status.holds


def test_selection_of_the_contract_leaves_the_canaries_in(suite: Suite) -> None:
    finding = suite.says(a(), args=["tests", "-k", "test_one", "-x"])

    assert Status.PASS is finding.status
    assert finding.detail.startswith("1 passed")


# -- what does not hold --


def test_failing_test_is_named_first(isolated: Suite) -> None:
    finding = isolated.says(a(PASSING + "\n\ndef test_bad():\n    assert 0\n"))

    assert "tests_failed: tests/test_a.py::test_bad (1 of 3 failed)" == finding.detail
    assert (Status.FAIL, Cause.COMMAND_FAILED) == (finding.status, finding.cause)


def test_first_failure_that_ends_the_run_is_no_matter_of_canaries(suite: Suite) -> None:
    finding = suite.says(a("def test_bad():\n    assert 0\n" + PASSING), args=["tests", "-x"])

    assert "tests_failed" == failure(finding)


SKIPPED = "import pytest\n\n\n@pytest.mark.skip\ndef test_one():\n    pass\n"
XFAILED = "import pytest\n\n\n@pytest.mark.xfail\ndef test_one():\n    assert 0\n"


@pytest.mark.parametrize("text", [SKIPPED, XFAILED, "", "def test_one(:\n"])
@pytest.mark.parametrize("canaries", [True, False])
def test_nothing_that_ran_is_no_pass(suite: Suite, text: str, canaries: bool) -> None:
    finding = suite.says(a(text), canaries=canaries, required_tests=[])

    assert ("runner_error" if ":" in text[-3:] else "no_tests") == failure(finding)


def test_everything_deselected_is_no_pass(suite: Suite) -> None:
    assert "no_tests" == failure(suite.says(a(), args=["tests", "-k", "nothing"]))


def test_skip_is_for_a_person_unless_the_contract_says(suite: Suite) -> None:
    files = a(PASSING + SKIPPED.replace("test_one", "test_three"))
    free = suite.says(files)

    assert Status.WARN is free.status
    assert free.detail.startswith("2 passed, 1 skipped in ")
    assert Status.PASS is suite.says(files, max_skipped=1).status
    assert "no_tests" == failure(suite.says(files, max_skipped=0))


def test_fewer_passed_than_demanded(suite: Suite) -> None:
    finding = suite.says(a(), min_passed=3)

    assert "no_tests: 2 passed, 0 skipped; 3 must pass" == finding.detail


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (PASSING.replace("test_one", "test_other"), "not in the report"),
        (PASSING.replace("test_two", "test_other") + SKIPPED, "skipped"),
        (PASSING.replace("test_one", "test_other") + XFAILED, "xfailed"),
    ],
)
def test_required_test_must_have_passed(suite: Suite, text: str, said: str) -> None:
    finding = suite.says(a(text))

    assert f"required_missing: tests/test_a.py::test_one is {said}" == finding.detail


def test_exit_codes_have_their_class(suite: Suite) -> None:
    ends = "import os\ndef pytest_sessionfinish(session):\n    session.exitstatus = {}\n"
    expected = {2: "runner_error", 3: "runner_error", 4: "runner_error", 77: "command_failed"}

    for code, name in expected.items():
        assert name == failure(suite.says(a() | {"conftest.py": ends.format(code)}))
    assert "no_tests" == failure(suite.says(a() | {"conftest.py": ends.format(5)}))
    killed = "import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)\n"
    assert "signal: ended by SIGSEGV" == suite.says(a(killed) | {"conftest.py": ""}).detail


def test_wrong_argument_of_pytest_is_told_in_its_words(suite: Suite) -> None:
    finding = suite.says(a(), args=["--no-such-option"])

    assert "runner_error" == failure(finding)
    assert "unrecognized arguments" in finding.detail or "exit 4" in finding.detail


# -- how it may end otherwise --


def test_sleeper_is_ended_and_its_output_kept(suite: Suite) -> None:
    store = MemoryStore()
    text = "import time\nprint('so far', flush=True)\ntime.sleep(60)\n"
    finding = suite.says(a(text), args=["-s", "tests"], timeout_s=6, store=store)

    assert "timeout: timed out after 6 s" == finding.detail
    assert Cause.TIMED_OUT is finding.cause
    assert b"so far" in b"".join(store.read(one.digest) for one in finding.evidence)


@pytest.mark.parametrize("level", ["L1", "L2"])
def test_process_that_is_left_behind_is_no_pass(tmp_path: Path, level: Isolation) -> None:
    text = (
        "import subprocess, sys\n\n\ndef test_one():\n"
        "    subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'],"
        " start_new_session=True)\n"
    )
    with Sandbox(level=level) as sandbox:
        finding = Suite(sandbox, tmp_path).says(a(text))
    if finding.cause is Cause.ISOLATION_UNAVAILABLE:
        absent(level, finding.detail)

    assert "left_processes" == failure(finding)


def test_missing_folder_and_interpreter_have_their_class(sandbox: Sandbox, suite: Suite) -> None:
    assert "cwd_missing" == failure(suite.says(a(), cwd="nowhere"))
    verifier = PROBES.get("pytest")
    assert verifier is not None
    powers = Powers(sandbox=sandbox, workspace=suite.folder, python="/no/such/python")

    assert "command_not_found" == failure(verifier.bind({}, powers)(Subject()))


@pytest.mark.skipif(not Path("/usr/bin/python3").exists(), reason="no Python of the system")
def test_interpreter_without_pytest_says_so(sandbox: Sandbox, suite: Suite) -> None:
    write(suite.folder, a())
    verifier = PROBES.get("pytest")
    assert verifier is not None
    powers = Powers(sandbox=sandbox, workspace=suite.folder, python="/usr/bin/python3")
    finding = verifier.bind({}, powers)(Subject())
    if finding.status.holds:
        pytest.skip("the system's Python has pytest")

    assert "runner_error" == failure(finding)
    assert "cannot import pytest" in finding.detail


# -- tricks of the workspace --


@pytest.mark.parametrize("code", [0, 1])
@pytest.mark.parametrize("place", ["tests/test_a.py", "conftest.py", "tests/conftest.py"])
def test_run_that_ends_itself_has_no_report(isolated: Suite, code: int, place: str) -> None:
    finding = isolated.says(a() | {place: f"import os\nos._exit({code})\n"})

    assert "no_report" == failure(finding)


def test_test_that_ends_the_run_has_no_report(suite: Suite) -> None:
    text = f"{PASSING}\n\ndef test_last():\n    import os\n    os._exit(0)\n"

    assert "no_report" == failure(suite.says(a(text)))


def test_pytest_of_the_workspace_is_not_run(isolated: Suite) -> None:
    fake = "import sys\nsys.exit(0)\n"
    names = ("pytest.py", "_pytest/__init__.py", "pluggy.py", "tests/pytest.py")
    finding = isolated.says(a() | dict.fromkeys(names, fake))

    assert Status.PASS is finding.status
    assert "tests_failed" == failure(isolated.says(a("def test_one():\n    assert 0\n")))


def test_sitecustomize_of_the_workspace_is_not_run(isolated: Suite) -> None:
    ends = "import os\nos._exit(0)\n"
    finding = isolated.says(a() | dict.fromkeys(("sitecustomize.py", "usercustomize.py"), ends))

    assert Status.PASS is finding.status


def test_exit_status_set_to_nought_over_a_failure_is_a_mismatch(suite: Suite) -> None:
    sets = "def pytest_sessionfinish(session):\n    session.exitstatus = 0\n"
    bad = a(PASSING + "\n\ndef test_bad():\n    assert 0\n") | {"conftest.py": sets}

    assert "report_mismatch" == failure(suite.says(bad, canaries=False))
    assert "report_mismatch" == failure(suite.says(bad))
    assert "report_mismatch" == failure(suite.says(a() | {"conftest.py": sets}))


REWRITES = """
import pytest


@pytest.hookimpl(hookwrapper=True{first})
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    if {when}:
        report.outcome, report.longrepr = "passed", None
"""
BAD = "def test_one():\n    assert 0\n"


@pytest.mark.parametrize("place", ["conftest.py", "tests/conftest.py"])
@pytest.mark.parametrize("first", ["", ", tryfirst=True"])
def test_reports_that_are_rewritten_lose_a_canary(isolated: Suite, first: str, place: str) -> None:
    conftest = {place: REWRITES.format(when="True", first=first)}

    assert "canary" == failure(isolated.says(a(BAD) | conftest))


@pytest.mark.parametrize("first", ["", ", tryfirst=True"])
def test_rewriting_that_spares_the_canaries_is_seen(suite: Suite, first: str) -> None:
    when = "item.name == 'test_one'"
    finding = suite.says(a(BAD) | {"conftest.py": REWRITES.format(when=when, first=first)})

    assert (
        "report_mismatch: tests/test_a.py::test_one raised, and is reported as passed"
        == finding.detail
    )
    assert ["conftest.py: pytest_runtest_makereport"] == finding.data["hooks"]


def test_rewriting_where_reports_are_logged_is_seen(suite: Suite) -> None:
    conftest = (
        "import pytest\n@pytest.hookimpl(tryfirst=True)\ndef pytest_runtest_logreport(report):\n"
        "    if 'test_a.py' in report.nodeid:\n        report.outcome = 'passed'\n"
    )

    assert "report_mismatch" == failure(suite.says(a(BAD) | {"conftest.py": conftest}))


def test_failing_test_that_is_deselected_is_missed(suite: Suite) -> None:
    conftest = (
        "def pytest_collection_modifyitems(items):\n"
        "    items[:] = [one for one in items if one.name != 'test_one']\n"
    )
    files = a(PASSING.replace("1 + 1 == 2", "0")) | {"conftest.py": conftest}

    assert "required_missing" == failure(suite.says(files))
    unnamed = suite.says(files, required_tests=["tests/test_a.py::test_two"])
    assert (Status.WARN, True) == (unnamed.status, "1 collected but not run" in unnamed.detail)


HIDES = {"tests/conftest.py": "collect_ignore = ['test_a.py', 'sub/test_a.py']\n"}
NAMED_ANEW = """
def test_other(record_xml_attribute):
    record_xml_attribute("classname", "tests.test_a")
    record_xml_attribute("name", "test_one")
    record_xml_attribute("file", "tests/test_a.py")
    record_xml_attribute("noted", "yes")
"""


def test_test_that_takes_the_name_of_another_is_not_that_one(suite: Suite) -> None:
    files = a(BAD) | HIDES | {"tests/test_b.py": NAMED_ANEW}
    finding = suite.says(files)

    assert "required_missing" == failure(finding)
    assert suite.says({}, required_tests=["tests/test_b.py::test_other"]).status.holds


@pytest.mark.parametrize(
    ("required", "folder"),
    [
        ("tests/sub/test_a.py", "tests.sub"),
        ("tests/sub/test_a.py", "tests/sub/test_a.py::test_one["),
    ],
)
def test_file_whose_path_reads_like_the_id_of_a_test_is_not_that_one(
    suite: Suite, required: str, folder: str
) -> None:
    files = {
        required: BAD,
        "tests/sub/conftest.py": "collect_ignore = ['test_a.py']\n",
        "honest/test_first.py": PASSING,
        f"{folder}/lent.py": PASSING,
        f"{folder}/test_a.py": "from lent import test_one\n",
    }
    finding = suite.says(files, args=["honest", "."], required_tests=[f"{required}::test_one"])

    assert "required_missing" == failure(finding)


def test_test_that_is_written_in_another_file_has_the_id_that_pytest_prints(suite: Suite) -> None:
    files = {
        "tests/lent.py": f"{PASSING}class Given:\n    def test_in(self):\n        pass\n",
        "tests/test_a.py": "from lent import *\nclass TestIt(Given):\n    pass\n",
    }
    required = ["tests/test_a.py::test_one", "tests/test_a.py::TestIt::test_in"]

    assert Status.PASS is suite.says(files, required_tests=required).status


def test_canary_that_is_deselected_is_missed(suite: Suite) -> None:
    conftest = (
        "import pytest\n@pytest.hookimpl(tryfirst=True)\ndef pytest_runtestloop(session):\n"
        "    session.items[:] = [i for i in session.items if 'test_a.py' in i.nodeid]\n"
    )

    assert "canary" == failure(suite.says(a() | {"conftest.py": conftest}))


@pytest.mark.parametrize(
    "files",
    [
        {"pytest.ini": "[pytest]\naddopts = --deselect tests/test_a.py::test_one\n"},
        {"pyproject.toml": "[tool.pytest.ini_options]\naddopts = '-k nothing'\n"},
        {"setup.cfg": "[tool:pytest]\naddopts = -p no:junitxml\n"},
        {"tox.ini": "[pytest]\naddopts = --collect-only\n"},
    ],
)
def test_addopts_do_not_count(suite: Suite, files: Mapping[str, str]) -> None:
    finding = suite.says(a() | dict(files))

    assert Status.PASS is finding.status
    assert finding.detail.startswith("2 passed")


def test_environment_of_signoff_does_not_reach_the_tests(
    isolated: Suite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTEST_ADDOPTS", "--collect-only")
    monkeypatch.setenv("SIGNOFF_SECRET", "hush")
    text = f"{PASSING}\n\ndef test_env():\n    import os\n    assert 'SIGNOFF_SECRET' not in os.environ\n"

    assert Status.PASS is isolated.says(a(text)).status


def test_plug_ins_are_not_loaded_unless_named(isolated: Suite) -> None:
    text = (
        "def test_one(request):\n    assert not request.config.pluginmanager.has_plugin('xdist')\n"
    )

    assert Status.PASS is isolated.says(a(text)).status


def test_report_in_the_workspace_counts_for_nothing(suite: Suite) -> None:
    ends = "import os\nos._exit(0)\n"
    report = "<testsuite><testcase classname='tests.test_a' name='test_one'/></testsuite>"

    assert "no_report" == failure(
        suite.says(a(ends) | {"report.xml": report, "out/report.xml": report})
    )


@pytest.mark.parametrize("junit", ["--junitxml=report.xml", "-pno:junitxml"])
def test_arguments_that_lead_the_report_elsewhere_are_no_pass(suite: Suite, junit: str) -> None:
    assert failure(suite.says(a(), args=["tests", junit])) in {"no_report", "runner_error"}


FORGED = """
import glob, json, os, sys


def forge(text):
    spec = json.load(open(sys.argv[1]))
    os.unlink(spec["report"]) if os.path.lexists(spec["report"]) else None
    {how}


def pytest_unconfigure(config):
    forge({text!r})
"""


@pytest.mark.parametrize(
    ("how", "text", "expected"),
    [
        ("open(spec['report'], 'w').write(text)", "<testsuite", "report_invalid"),
        ("open(spec['report'], 'w').write(text)", "<!DOCTYPE a><testsuite/>", "report_invalid"),
        ("open(spec['report'], 'w').write(' ' * 17000000)", "", "report_invalid"),
        ("os.symlink('/etc/passwd', spec['report'])", "", "no_report"),
        ("os.mkfifo(spec['report'])", "", "no_report"),
        ("open(spec['report'], 'w').write(text); os._exit(1)", "<testsuite/>", "canary"),
    ],
)
def test_report_that_is_none_is_never_waited_for(
    isolated: Suite, how: str, text: str, expected: str
) -> None:
    conftest = FORGED.format(how=how, text=text)

    assert expected == failure(isolated.says(a(BAD) | {"conftest.py": conftest}))


def test_run_that_ends_itself_after_its_report_is_a_mismatch(suite: Suite) -> None:
    ends = "def pytest_unconfigure(config):\n    import os\n    os._exit(1)\n"

    assert "report_mismatch" == failure(suite.says(a() | {"conftest.py": ends}))


def test_compiled_file_does_not_stand_in_for_its_source(isolated: Suite) -> None:
    import importlib.util
    import marshal
    import struct

    good = "def answer():\n    return 42\n"
    wrong = "def answer():\n    return 41\n"
    test = "from tool import answer\n\n\ndef test_one():\n    assert answer() == 42\n"
    write(isolated.folder, {"tests/tool.py": wrong} | a(test))
    source = isolated.folder / "tests" / "tool.py"
    facts = source.stat()
    header = importlib.util.MAGIC_NUMBER + struct.pack(
        "<III", 0, int(facts.st_mtime), facts.st_size
    )
    compiled = Path(importlib.util.cache_from_source(str(source)))
    compiled.parent.mkdir()
    compiled.write_bytes(header + marshal.dumps(compile(good, str(source), "exec")))

    assert "tests_failed" == failure(isolated.says({}))


# -- protected files --


def test_test_file_that_the_run_changes_is_told(suite: Suite) -> None:
    text = f"{PASSING}\n\ndef test_last():\n    open(__file__, 'a').write('# more')\n"
    finding = suite.says(a(text))

    assert "tampered" == failure(finding)
    assert (Cause.EVIDENCE_CORRUPT, True) == (finding.cause, "after the run" in finding.detail)


def test_named_files_must_have_their_digest(suite: Suite) -> None:
    named = {"path": "tests/test_a.py", "digest": digest_of(PASSING)}

    assert suite.says(a(), protected_paths=[named]).status.holds
    finding = suite.says(a(PASSING + "#"), protected_paths=[named])
    assert "tampered" == failure(finding)
    assert "exit_code" not in finding.data  # it was not run


def test_named_file_may_be_forbidden(suite: Suite) -> None:
    absent = {"path": "conftest.py", "digest": None}

    assert suite.says(a(), protected_paths=[absent, "README"]).status.holds
    assert "tampered" == failure(suite.says({"conftest.py": ""}, protected_paths=[absent]))


def test_protected_file_behind_a_link_out_is_no_file(isolated: Suite, tmp_path: Path) -> None:
    write(isolated.folder, a())
    (isolated.folder / "tests" / "data").symlink_to("/etc/hostname")

    assert "tampered" == failure(isolated.says({}, protected_paths=["tests/data"]))


def test_workspace_itself_is_left_as_it_was(isolated: Suite) -> None:
    text = f"{PASSING}\n\ndef test_last():\n    open('left.txt', 'w').write('x')\n"
    isolated.says(a(text))

    assert ["test_a.py"] == [one.name for one in isolated.folder.rglob("*") if one.is_file()]


# -- parameters --


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({"args": "tests"}, "params.args must be"),
        ({"args": ["a\0b"]}, "params.args must be"),
        ({"args": ["a\nb"]}, "params.args must be"),
        ({"args": ["@more.txt"]}, "params.args must be"),
        ({"required_tests": [""]}, "params.required_tests must be"),
        ({"min_passed": 0}, "params.min_passed must be integer >= 1"),
        ({"max_skipped": -1}, "params.max_skipped must be"),
        ({"canaries": 1}, "params.canaries must be boolean"),
        ({"timeout_s": 0}, "params.timeout_s must be"),
        ({"cwd": "../x"}, "leaves the workspace"),
        ({"protected_paths": ["/etc/passwd"]}, "params.protected_paths must be"),
        ({"protected_paths": [{"path": "a"}]}, "params.protected_paths must be"),
        ({"protected_paths": [{"path": "a", "digest": "md5:0"}]}, "params.protected_paths must"),
        ({"protected_paths": ["a/../../b"]}, "params.protected_paths must be"),
        ({"report": "x"}, "params.report is not a parameter of pytest"),
    ],
)
def test_wrong_parameters_are_refused(params: dict[str, Any], said: str) -> None:
    verifier = PROBES.get("pytest")
    assert verifier is not None

    with pytest.raises(ParamsError, match=said):
        verifier.bind(params, Powers())


def test_without_a_sandbox_nothing_is_run(sandbox: Sandbox, tmp_path: Path) -> None:
    from signoff.errors import NotJudged

    verifier = PROBES.get("pytest")
    assert verifier is not None
    with pytest.raises(NotJudged, match="pytest was not given the means: a sandbox"):
        verifier.bind({}, Powers(workspace=tmp_path))(Subject())
    with pytest.raises(NotJudged, match="No workspace was recorded"):
        verifier.bind({}, Powers(sandbox=sandbox))(Subject())


def test_grandchild_that_holds_the_pipe_is_not_waited_for(suite: Suite) -> None:
    text = (
        "import subprocess, sys\n\n\ndef test_one():\n    hold = 'import time; time.sleep(60)'\n"
        "    subprocess.Popen([sys.executable, '-c', hold], stdout=1, stderr=2)\n"
    )
    begin = time.monotonic()
    suite.says(a(text), args=["-s", "tests"])

    assert time.monotonic() - begin < 30


def test_endless_output_is_a_limit(tmp_path: Path) -> None:
    text = "def test_one():\n    while True:\n        print('y' * 1000)\n"
    with Sandbox(limits=Limits(output_bytes=2**20)) as sandbox:
        finding = Suite(sandbox, tmp_path).says(a(text), args=["-s", "tests"])

    assert "output_limit" == failure(finding)
    assert Cause.OUTPUT_LIMIT is finding.cause


def test_output_that_is_no_text_does_no_harm(suite: Suite) -> None:
    text = f"import os\n{PASSING}\n\ndef test_raw():\n    os.write(1, b'\\xff\\xfe\\r\\n')\n"

    assert Status.PASS is suite.says(a(text), args=["-s", "tests"]).status


def test_test_cannot_write_what_judges_it(isolated: Suite, tmp_path: Path) -> None:
    write(tmp_path, {"contract.yaml": "id: c\n"})
    text = (
        "def test_one():\n"
        f"    for name in ({str(tmp_path / 'contract.yaml')!r}, __file__):\n"
        "        try:\n            open(name, 'w').close()\n        except OSError:\n            pass\n"
    )
    finding = isolated.says(a(text))

    assert "tampered" == failure(finding)
    if finding.isolation != "L1":
        assert text == (tmp_path / "tests" / "test_a.py").read_text("utf-8")
        assert "id: c\n" == (tmp_path / "contract.yaml").read_text("utf-8")


def test_module_that_exits_is_no_pass(suite: Suite) -> None:
    assert "runner_error" == failure(suite.says(a("import sys\nsys.exit(0)\n")))


REPLACES = """
def pytest_collection_modifyitems(items):
    for item in items:
        if {when}:
            item.obj = lambda: None
"""


def test_bodies_that_are_replaced_lose_a_canary(suite: Suite) -> None:
    conftest = {"conftest.py": REPLACES.format(when="True")}

    assert "canary" == failure(suite.says(a(BAD) | conftest))


def test_one_body_that_is_replaced_is_not_seen_but_its_hook_is_named(suite: Suite) -> None:
    conftest = REPLACES.format(when="item.name == 'test_one'")
    finding = suite.says(a(BAD) | {"conftest.py": conftest})

    assert (Status.PASS, "report+canaries") == (finding.status, finding.assurance)
    assert ["conftest.py: pytest_collection_modifyitems"] == finding.data["hooks"]
    named = {"path": "conftest.py", "digest": None}
    assert "tampered" == failure(suite.says({}, protected_paths=[named]))
