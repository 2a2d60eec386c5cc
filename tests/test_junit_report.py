"""JUnit XML: what runners write is read, and nothing that could not be judged gets through."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from signoff.errors import ReportError
from signoff.junit_report import (
    MAX_CASES,
    MAX_DEPTH,
    MAX_REPORT_BYTES,
    Case,
    Counts,
    Ended,
    read_report,
)


def suite(*cases: str, **attributes: object) -> bytes:
    said = "".join(f' {name}="{value}"' for name, value in attributes.items())
    return f"<testsuite{said}>{''.join(cases)}</testsuite>".encode()


def ended(*inside: str, attributes: str = "") -> Ended:
    report = read_report(suite(f'<testcase name="a"{attributes}>{"".join(inside)}</testcase>'))
    return report.cases[0].ended


PYTEST = b"""<?xml version="1.0" encoding="utf-8"?><testsuites name="pytest tests">
<testsuite name="pytest" errors="1" failures="1" skipped="2" tests="6">
<testcase classname="t.test_a" name="test_ok" file="t/test_a.py" line="1" time="0.001" />
<testcase classname="t.test_a" name="test_bad" file="t/test_a.py"><failure message="assert 0">x
</failure></testcase>
<testcase classname="t.test_a" name="test_s"><skipped type="pytest.skip" message="no"/></testcase>
<testcase classname="t.test_a" name="test_x"><skipped type="pytest.xfail" message=""/></testcase>
<testcase classname="t.test_a.TestC" name="test_m[c::d]" file="t/test_a.py" />
<testcase classname="t.test_a" name="test_ok" file="t/test_a.py"><error message="teardown"/>
</testcase></testsuite></testsuites>"""

NODE = b"""<?xml version="1.0" encoding="utf-8"?>
<testsuites>
  <testcase name="ok" time="0.002013" classname="test"/>
  <testcase name="todo" classname="test" failure="x">
    <skipped type="todo" message="true"/><failure type="testCodeFailure" message="x">x</failure>
  </testcase>
  <testsuite name="suite" errors="0" tests="1" failures="1" skipped="0">
    <testcase name="inner" classname="test" failure="1"><failure message="1">y</failure></testcase>
  </testsuite>
  <!-- tests 3 -->
</testsuites>"""


def test_pytest_report_is_read() -> None:
    report = read_report(PYTEST)

    assert Counts(passed=2, failed=1, errors=1, skipped=1, xfailed=1) == report.counts
    assert 2 == report.counts.bad == report.counts.not_run
    assert report.first_bad is not None
    assert ("t.test_a::test_bad", "assert 0") == (report.first_bad.id, report.first_bad.message)


def test_nested_suites_and_cases_without_one_are_read() -> None:
    report = read_report(NODE)

    assert ["test::ok", "test::todo", "test::inner"] == [case.id for case in report.cases]
    assert [Ended.PASSED, Ended.XFAILED, Ended.FAILED] == [case.ended for case in report.cases]


def test_no_cases_are_no_fault_of_the_text() -> None:
    assert Counts() == read_report(b"<testsuites/>").counts
    assert read_report(b"<testsuite></testsuite>").first_bad is None


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "iso-8859-1"])
def test_encodings_that_xml_names_are_read(encoding: str) -> None:
    text = f'<?xml version="1.0" encoding="{encoding}"?><testsuite><testcase name="é"/></testsuite>'

    assert "é" == read_report(text.encode(encoding)).cases[0].id


# -- how a case ended --


def test_worst_of_what_is_said_decides_whatever_the_order() -> None:
    failure, error, skip = "<failure/>", "<error/>", "<skipped/>"

    assert Ended.PASSED is ended()
    assert Ended.SKIPPED is ended(skip)
    assert Ended.FAILED is ended(failure, skip) is ended(skip, failure)
    assert Ended.ERROR is ended(error, failure) is ended(failure, error)
    assert Ended.XFAILED is ended('<skipped type="pytest.xfail"/>')


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        (' status="run" result="completed"', Ended.PASSED),
        (' status="notrun" result="suppressed"', Ended.SKIPPED),
        (' status="disabled"', Ended.SKIPPED),
        (' status="Failed"', Ended.FAILED),
        (' result="error"', Ended.FAILED),
    ],
)
def test_attributes_count_where_a_runner_uses_them(attributes: str, expected: Ended) -> None:
    assert expected is ended(attributes=attributes)


def test_retried_case_that_passed_in_the_end_passed() -> None:
    assert Ended.PASSED is ended('<flakyFailure message="first"/>', "<system-out>x</system-out>")


def test_elements_of_other_names_and_printed_text_end_nothing() -> None:
    printed = "<system-out>&lt;failure/&gt;</system-out><properties><failure/></properties>"

    assert Ended.PASSED is ended(printed)


# -- ids --


@pytest.mark.parametrize(
    ("classname", "name", "file", "expected"),
    [
        ("t.test_a", "test_x", "t/test_a.py", "t/test_a.py::test_x"),
        ("t.test_a.TestB", "test_x[a/b::c]", "t/test_a.py", "t/test_a.py::TestB::test_x[a/b::c]"),
        ("t.test_a.A.B", "m", "t/test_a.py", "t/test_a.py::A::B::m"),
        ("t.test_a", "test_x", "", "t/test_a.py::test_x"),
        ("t.test_a", "test_x", "other.py", "t/test_a.py::test_x"),
        ("", "test_x", "", "test_x"),
        ("", "t/test_a.py", "t/test_a.py", "t/test_a.py"),
    ],
)
def test_pytest_ids_are_those_that_pytest_prints(
    classname: str, name: str, file: str, expected: str
) -> None:
    case = Case(name=name, classname=classname, file=file, ended=Ended.PASSED)

    assert expected == case.pytest_id


def test_id_without_classname_is_the_name() -> None:
    assert "a" == Case(name="a", classname="", file="", ended=Ended.PASSED).id


# -- what is refused --

DTD = b'<!DOCTYPE testsuite SYSTEM "file:///etc/passwd"><testsuite/>'
BOMB = b"""<!DOCTYPE t [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">
<!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;">]><testsuite><testcase name="&c;"/></testsuite>"""


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "no well-formed XML"),
        (b"<testsuite>", "no well-formed XML"),
        (b"<testsuite/><testsuite/>", "no well-formed XML"),
        (b"\xff<testsuite/>", "no well-formed XML"),
        (b"<testsuite>&undeclared;</testsuite>", "no well-formed XML"),
        (b'<?xml version="1.0" encoding="klingon"?><testsuite/>', "encoding"),
        (DTD, "document type or entities"),
        (BOMB, "document type or entities"),
        (b"<html/>", "its root is <html>, expected <testsuites> or <testsuite>"),
        (suite("<testcase/>"), "a case has no name"),
        (suite(f'<testcase name="{"x" * 4_097}"/>'), "more than 4096 characters"),
        (suite('<properties><testcase name="a"/></properties>'), "a case stands in <properties>"),
        (suite('<testcase name="a"><testcase name="b"/></testcase>'), "stands in <testcase>"),
        (suite('<testcase name="a"><testsuite/></testcase>'), "a suite stands in <testcase>"),
        (suite("<a>" * MAX_DEPTH, "</a>" * MAX_DEPTH), "nested deeper than"),
        (suite('<testcase name="a"/>', failures=1), "no case has one"),
        (suite('<testcase name="a"/>', errors="some"), "no case has one"),
    ],
)
def test_what_is_no_honest_report_is_refused(data: bytes, said: str) -> None:
    with pytest.raises(ReportError, match=said):
        read_report(data)


def test_totals_of_nought_contradict_nothing() -> None:
    assert 1 == read_report(suite('<testcase name="a"/>', failures="00", errors="")).counts.passed


def test_size_is_bounded_before_anything_is_read() -> None:
    with pytest.raises(ReportError, match="larger than"):
        read_report(b" " * (MAX_REPORT_BYTES + 1))


def test_number_of_cases_is_bounded() -> None:
    with pytest.raises(ReportError, match="more than"):
        read_report(suite('<testcase name="a"/>' * (MAX_CASES + 2)))


def test_message_is_cut_to_one_short_line() -> None:
    text = suite(f'<testcase name="a"><failure message="x&#10;{"y" * 999}"/></testcase>')
    message = read_report(text).cases[0].message

    assert len(message) <= 220
    assert "\n" not in message


def spent(read: Callable[[bytes], Any], data: bytes) -> tuple[Any, float]:
    """What was read, and the seconds of this processor, which nobody else's work adds to."""
    begin = time.thread_time()
    return read(data), time.thread_time() - begin


def test_largest_report_takes_no_more_for_each_case_than_a_small_one() -> None:
    """Ten times as many cases take about ten times as long, where it could be a hundred times."""
    case = '<testcase name="abcdefgh" classname="b"><failure/></testcase>'
    _, small = spent(read_report, suite(case * 15_000))
    report, large = spent(read_report, suite(case * 150_000))
    # What only builds a tree of it takes less than a second.
    _, tree = spent(ET.fromstring, suite(case * 150_000))

    assert 150_000 == report.counts.failed
    assert large < 40 * small
    assert large < 150 * tree
