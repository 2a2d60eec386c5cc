"""
JUnit XML as test runners write it: which cases ran, and how each ended.

Two shapes are in use, ``testsuites`` around suites and a single ``testsuite``;
runners differ in what they call a case.  The text comes from the judged work, so
it is bounded, and may declare no entities and no document type.
"""

from __future__ import annotations

import pyexpat
from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from signoff.errors import ReportError
from signoff.jsonvalue import shown

__all__ = ["MAX_REPORT_BYTES", "Case", "Counts", "Ended", "JUnitReport", "read_report"]

MAX_REPORT_BYTES: Final = 16 * 2**20
MAX_CASES: Final = 200_000
MAX_ELEMENTS: Final = 1_000_000
MAX_DEPTH: Final = 32
MAX_NAME: Final = 4_096
_SUITES: Final = frozenset({"testsuites", "testsuite"})
_NOT_RUN: Final = frozenset({"notrun", "not_run", "disabled", "skipped", "suppressed", "ignored"})
_BAD: Final = frozenset({"failed", "failure", "error"})
_XFAIL: Final = "pytest.xfail"
# Node's test runner writes the failure of such a case too, which its exit code forgives.
_TODO: Final = "todo"


class Ended(Enum):
    """How a case ended, mildest first."""

    PASSED = "passed"
    XFAILED = "xfailed"
    SKIPPED = "skipped"
    FAILED = "failed"
    ERROR = "error"

    @property
    def is_bad(self) -> bool:
        """It says that something is wrong."""
        return self in {Ended.FAILED, Ended.ERROR}


_MILDEST_FIRST: Final = {ended: rank for rank, ended in enumerate(Ended)}


class Case(Struct, frozen=True, kw_only=True):
    """
    One case as the report has it.

    Args:
        name: The case's own name.
        classname: What it stands in, ``""`` where the runner does not say.
        file: The file it stands in, likewise.
        ended: How it ended; the worst where the report says several things.
        message: What the runner says of that, cut to 200 characters.
    """

    name: str
    classname: str
    file: str
    ended: Ended
    message: str = ""

    @property
    def id(self) -> str:
        """``classname::name``, or the name alone where there is no classname."""
        return f"{self.classname}::{self.name}" if self.classname else self.name

    @property
    def pytest_id(self) -> str:
        """
        The id that pytest itself prints, such as ``tests/test_a.py::TestB::test_c[1]``.

        pytest writes the classname as a dotted path.  Where it names the file too, that
        settles where the folders end and the classes begin; else the whole path is taken
        for the module's.
        """
        return self._id_in_file or (
            f"{self.classname.replace('.', '/')}.py::{self.name}" if self.classname else self.name
        )

    @property
    def pytest_id_in_file(self) -> str:
        """
        The id that pytest itself prints, where ``file`` is known to be the test's own.

        What disagrees with that gets an id that no test has: the dots of a classname
        may stand for folders or for themselves.
        """
        return self._id_in_file or (f"{self.file}::{self.id}" if self.classname else self.name)

    @property
    def _id_in_file(self) -> str:
        """The id, where the classname names the file; ``""`` where it does not."""
        module = self.file.removesuffix(".py").replace("\\", "/").replace("/", ".")
        if self.file and self.classname == module:
            return f"{self.file}::{self.name}"
        if self.file and self.classname.startswith(f"{module}."):
            inner = self.classname[len(module) + 1 :].replace(".", "::")
            return f"{self.file}::{inner}::{self.name}"
        return ""


class Counts(Struct, frozen=True, kw_only=True):
    """Numbers of cases by how they ended."""

    passed: int = 0
    failed: int = 0
    errors: int = 0
    skipped: int = 0
    xfailed: int = 0

    @classmethod
    def of(cls, cases: Iterable[Case]) -> Counts:
        """The numbers of some cases."""
        found = dict.fromkeys(Ended, 0)
        for case in cases:
            found[case.ended] += 1
        return cls(
            passed=found[Ended.PASSED],
            failed=found[Ended.FAILED],
            errors=found[Ended.ERROR],
            skipped=found[Ended.SKIPPED],
            xfailed=found[Ended.XFAILED],
        )

    @property
    def bad(self) -> int:
        """Cases that failed, or ended in an error."""
        return self.failed + self.errors

    @property
    def not_run(self) -> int:
        """Cases that prove nothing: skipped, or expected to fail."""
        return self.skipped + self.xfailed


class JUnitReport(Struct, frozen=True, kw_only=True):
    """
    What a report says.

    Args:
        cases: In the order of the report.
        counts: Their numbers.
    """

    cases: tuple[Case, ...]
    counts: Counts

    @property
    def first_bad(self) -> Case | None:
        """The first case that failed or ended in an error."""
        return next((case for case in self.cases if case.ended.is_bad), None)


def read_report(data: bytes) -> JUnitReport:
    """
    What a JUnit XML text says.

    Raises:
        ReportError: It is not well-formed, declares a document type or entities, exceeds a
            limit, is no JUnit report, or contradicts itself.
    """
    if len(data) > MAX_REPORT_BYTES:
        raise ReportError(f"it is larger than {MAX_REPORT_BYTES} bytes")
    reading = _Reading()
    try:
        reading.parser.Parse(data, True)
    except pyexpat.ExpatError as exc:
        raise ReportError(f"it is no well-formed XML: {exc}") from exc
    except ReportError:
        raise
    except (LookupError, ValueError) as exc:
        raise ReportError("it is written in an encoding that cannot be read") from exc
    counts = Counts.of(reading.cases)
    if reading.declares_bad and not counts.bad + counts.xfailed:
        raise ReportError("a suite counts failures or errors, and no case has one")
    return JUnitReport(cases=tuple(reading.cases), counts=counts)


class _Reading:
    """One pass over one text."""

    def __init__(self) -> None:
        self.parser = parser = pyexpat.ParserCreate()
        parser.buffer_text = False
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.StartDoctypeDeclHandler = _refuse
        parser.EntityDeclHandler = _refuse
        parser.SetParamEntityParsing(pyexpat.XML_PARAM_ENTITY_PARSING_NEVER)
        self.cases: list[Case] = []
        self.declares_bad = False
        self._path: list[str] = []
        self._elements = 0
        self._case: Case | None = None
        self._is_todo = False

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        self._elements += 1
        parent = self._path[-1] if self._path else ""
        self._path.append(tag)
        self._bounded()
        if not parent and tag not in _SUITES:
            raise ReportError(f"its root is <{shown(tag)}>, expected <testsuites> or <testsuite>")
        if tag in _SUITES:
            self._suite(parent, attributes)
        elif tag == "testcase":
            self._begin(parent, attributes)
        elif parent == "testcase" and self._case is not None:
            self._told(self._case, tag, attributes)

    def _end(self, tag: str) -> None:
        self._path.pop()
        if tag == "testcase" and self._case is not None:
            self.cases.append(self._case)
            self._case, self._is_todo = None, False

    def _bounded(self) -> None:
        if len(self._path) > MAX_DEPTH:
            raise ReportError(f"it is nested deeper than {MAX_DEPTH} levels")
        if self._elements > MAX_ELEMENTS or len(self.cases) > MAX_CASES:
            raise ReportError(f"it has more than {MAX_CASES} cases or {MAX_ELEMENTS} elements")

    def _suite(self, parent: str, attributes: Mapping[str, str]) -> None:
        if parent and parent not in _SUITES:
            raise ReportError(f"a suite stands in <{shown(parent)}>")
        if any(_is_some(attributes.get(name, "")) for name in ("failures", "errors")):
            self.declares_bad = True

    def _begin(self, parent: str, attributes: Mapping[str, str]) -> None:
        if parent not in _SUITES:
            raise ReportError(f"a case stands in <{shown(parent)}>")
        name = attributes.get("name", "")
        classname, file = attributes.get("classname", ""), attributes.get("file", "")
        if not name or max(len(name), len(classname), len(file)) > MAX_NAME:
            raise ReportError(f"a case has no name, or one of more than {MAX_NAME} characters")
        self._case = Case(name=name, classname=classname, file=file, ended=_stated(attributes))

    def _told(self, case: Case, tag: str, attributes: Mapping[str, str]) -> None:
        """Take note of an element inside a case; the worst of them decides."""
        kind = attributes.get("type")
        self._is_todo |= tag == "skipped" and kind == _TODO
        is_expected = self._is_todo or kind == _XFAIL
        ended = {
            "failure": Ended.XFAILED if self._is_todo else Ended.FAILED,
            "error": Ended.XFAILED if self._is_todo else Ended.ERROR,
            "skipped": Ended.XFAILED if is_expected else Ended.SKIPPED,
        }.get(tag)
        if ended is not None and _MILDEST_FIRST[ended] > _MILDEST_FIRST[case.ended]:
            self._case = replace(case, ended=ended, message=shown(attributes.get("message", "")))


def _stated(attributes: Mapping[str, str]) -> Ended:
    """How a case ended by its attributes, which some runners use instead of elements."""
    said = {attributes.get(name, "").lower() for name in ("status", "result")}
    if said & _BAD:
        return Ended.FAILED
    return Ended.SKIPPED if said & _NOT_RUN else Ended.PASSED


def _is_some(number: str) -> bool:
    """A number that is not nought; what is no number counts as some."""
    return bool(number.strip()) and number.strip().strip("0") != ""


def _refuse(*_: Any) -> None:
    raise ReportError("it declares a document type or entities")
