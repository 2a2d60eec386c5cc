"""
What runs the tests of the work from inside, here within our own pytest.

That it keeps its promises as a program of its own, in the sandbox, is tested with the checks.
"""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from signoff.suite import launcher
from tests.suites import PASSING, write

CANARY = "def test_bird():\n    assert True\n"
TURNED = """
import pytest

@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    outcome.get_result().outcome = "passed"
"""


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty workspace, which is the current folder; what a run changes here is put back."""
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path])
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    for name, attribute in (
        ("importlib._bootstrap_external", "cache_from_source"),
        ("_pytest.assertion.rewrite", "get_cache_dir"),
    ):
        module = importlib.import_module(name)
        monkeypatch.setattr(module, attribute, getattr(module, attribute))
    before = {*sys.modules}
    yield folder
    for name in {*sys.modules} - before:
        del sys.modules[name]


class Ran:
    """What came of a run."""

    def __init__(self, code: int, out: Path) -> None:
        self.code = code
        facts = out / "facts.json"
        self.facts: dict[str, Any] = json.loads(facts.read_text()) if facts.exists() else {}
        cases = ET.parse(out / "report.xml").iter("testcase")
        self.cases = [(one.get("file"), one.get("name"), one.get("more")) for one in cases]

    @property
    def names(self) -> list[str | None]:
        return [name for _, name, _ in self.cases]


def ran(work: Path, *args: str, canary: bool = True) -> Ran:
    out = work.parent / "out"
    out.mkdir()
    place = work.parent / "test_canary_1.py"
    place.write_text(CANARY)
    spec = {
        "args": ["-p", "no:cacheprovider", *args],
        "root": ".",
        "report": str(out / "report.xml"),
        "facts": str(out / "facts.json"),
        "bytecode": str(out / "bytecode"),
        "canary": str(place) if canary else "",
    }
    (work.parent / "spec.json").write_text(json.dumps(spec))
    return Ran(launcher.main(str(work.parent / "spec.json")), out)


def test_tests_run_and_the_canary_last(work: Path) -> None:
    write(work, {"tests/test_work.py": PASSING})
    done = ran(work, "tests")

    assert 0 == done.code
    assert ["test_one", "test_two", "test_bird"] == done.names
    assert ("tests/test_work.py", "test_one", None) == done.cases[0]
    assert {"collected": 2, "deselected": 0, "turned": [], "hooks": []} == done.facts


def test_without_a_canary_there_is_none(work: Path) -> None:
    write(work, {"tests/test_work.py": PASSING})

    assert ["test_one", "test_two"] == ran(work, "tests", canary=False).names


def test_without_tests_the_canary_alone_runs_and_is_counted_by_nobody(work: Path) -> None:
    write(work, {"tests/test_work.py": ""})
    done = ran(work, "tests")

    assert ["test_bird"] == done.names
    assert (0, 0) == (done.facts["collected"], done.facts["deselected"])


def test_what_the_work_takes_away_is_noticed_and_the_canary_stays(work: Path) -> None:
    hook = "def pytest_collection_modifyitems(items):\n    items[:] = items[:1]\n"
    write(work, {"tests/test_work.py": PASSING, "conftest.py": hook})
    done = ran(work, "tests")

    assert ["test_one", "test_bird"] == done.names
    assert (2, 1) == (done.facts["collected"], done.facts["deselected"])
    assert ["conftest.py: pytest_collection_modifyitems"] == done.facts["hooks"]


def test_what_is_deselected_by_name_is_told(work: Path) -> None:
    write(work, {"tests/test_work.py": PASSING})
    done = ran(work, "tests", "-k", "two")

    assert ["test_two", "test_bird"] == done.names
    assert (2, 1) == (done.facts["collected"], done.facts["deselected"])


def test_a_failure_that_is_reported_as_passed_is_noticed(work: Path) -> None:
    failing = "def test_one():\n    assert False\n\n\ndef test_two():\n    pass\n"
    write(work, {"tests/test_work.py": failing, "tests/conftest.py": TURNED})
    done = ran(work, "tests")

    assert ["tests/test_work.py::test_one"] == done.facts["turned"]
    assert ["tests/conftest.py: pytest_runtest_makereport"] == done.facts["hooks"]


def test_a_failure_that_is_told_is_none_that_was_turned(work: Path) -> None:
    write(work, {"tests/test_work.py": "def test_one():\n    assert False\n"})
    done = ran(work, "tests")

    assert (1, []) == (done.code, done.facts["turned"])


def test_no_test_takes_the_name_of_another_and_what_else_it_says_is_kept(work: Path) -> None:
    says = "\n".join(
        f"    record_xml_attribute({name!r}, 'x')" for name in ("name", "classname", "file", "more")
    )
    ignored = "pytestmark = __import__('pytest').mark.filterwarnings('ignore')\n"
    write(
        work,
        {"tests/test_work.py": f"{ignored}def test_one(record_xml_attribute):\n{says}\n"},
    )

    assert ("tests/test_work.py", "test_one", "x") == ran(work, "tests").cases[0]


def test_a_test_that_stands_elsewhere_is_told_where_it_was_found(work: Path) -> None:
    write(work, {"shared.py": PASSING, "tests/test_work.py": "from shared import *\n"})
    done = ran(work, "tests", "-o", "pythonpath=.")

    assert {("tests/test_work.py", "test_one"), ("tests/test_work.py", "test_two")} == {
        case[:2] for case in done.cases[:2]
    }


def test_a_compiled_file_of_the_work_stands_for_no_source(work: Path) -> None:
    write(work, {"tests/test_work.py": PASSING, "tests/__pycache__/kept": ""})
    ran(work, "tests")

    assert ["kept"] == [path.name for path in (work / "tests" / "__pycache__").iterdir()]


@pytest.mark.parametrize("kind", [str, Path])
def test_compiled_files_of_the_work_alone_lie_elsewhere(tmp_path: Path, kind: type[Any]) -> None:
    work, other = tmp_path / "work", tmp_path / "working"
    found = launcher._elsewhere(lambda path: kind(f"{path}c"), str(work), "/bytecode")

    assert kind(f"/bytecode{work}/a.pyc") == found(work / "a.py")
    assert kind(f"{other}/a.pyc") == found(f"{other}/a.py")


def test_a_python_without_pytest_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "pytest", None)
    with pytest.raises(SystemExit) as caught:
        launcher._pytest()

    assert launcher.NO_PYTEST == caught.value.code
    assert f"{sys.executable} cannot import pytest" in capsys.readouterr().err


def test_only_what_lies_beneath_a_folder_lies_beneath_it() -> None:
    assert launcher._is_beneath("/a/b", "/a")
    assert launcher._is_beneath("/a/b", "/a/")
    assert launcher._is_beneath("/a", "/")
    assert not launcher._is_beneath("/ab", "/a")
    assert not launcher._is_beneath("/a", "/a")
