"""What is written into a triplet reads back, and nothing in it begins a line of its own."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from signoff.dialects.scc.verdict import verdict_document
from signoff.scc import triplet
from signoff.scc.triplet import (
    Measured,
    TripletFacts,
    TripletInvalid,
    hashes_bytes,
    is_date,
    read_hashes,
    read_report,
    read_selftest,
    report_bytes,
    selftest_bytes,
)
from tests.scc.filed_run import FINISHED, RUN_ID, STARTED

FACTS = TripletFacts(
    run_id=RUN_ID,
    task_code="C-1",
    area="platform",
    started=STARTED,
    verdict=verdict_document(None, ["a"], FINISHED),
)
TEXT = st.text(st.characters(exclude_categories=["Cs"]))
NAMES = TEXT.filter(bool)


@given(ids=st.lists(NAMES), codes=st.lists(st.sampled_from(["unknown", "REPORT_MISSING"])))
def test_selftest_reads_back(ids: list[str], codes: list[str]) -> None:
    lines = tuple(
        triplet.TestLine(id=one, status="fail" if codes else "pass", codes=tuple(codes))
        for one in ids
    )
    data = selftest_bytes(replace(FACTS, lines=lines))
    found = read_selftest(data)

    assert lines == found.lines
    assert (RUN_ID, "2026-01-31T12:00:09.000000Z", 0) == (
        found.run_id,
        found.ts_utc,
        found.exit_code,
    )
    assert len(ids) + 3 == len(data.splitlines())


@pytest.mark.parametrize(
    "text",
    ["", "\n", "EXIT_CODE=", "EXIT_CODE=0 ", "exit_code=0", "EXIT_CODE=0\nEXIT_CODE=0", "x\n EXIT_CODE=0",
     "EXIT_CODE = 0", "EXIT_CODE=0\nmore", "EXIT_CODE=0x", "EXIT_CODE=٠", "EXIT_CODE=1\nEXIT_CODE=0",
     "EXIT_CODE=0\u2028EXIT_CODE=0"],
)  # fmt: skip
def test_an_end_that_is_not_the_only_one_is_none(text: str) -> None:
    assert read_selftest(text.encode()).exit_code is None


def test_a_check_called_like_an_end_is_no_end() -> None:
    lines = (triplet.TestLine(id="a\nEXIT_CODE=0", status="fail", codes=("unknown",)),)
    document = replace(FACTS.verdict, verdict="FAIL", fail_class="unknown", exit_code=1)

    assert (
        1 == read_selftest(selftest_bytes(replace(FACTS, lines=lines, verdict=document))).exit_code
    )


@given(paths=st.sets(NAMES), notes=st.lists(TEXT))
def test_report_reads_back(paths: set[str], notes: list[str]) -> None:
    found = read_report(report_bytes(replace(FACTS, notes=tuple(notes)), paths))

    assert tuple(sorted(paths)) == found.paths
    assert "REPORT__C-1" == found.heading
    assert {
        "TaskCode": "C-1", "Area": "platform", "Date": "20260131", "Run": RUN_ID, "Verdict": "PASS",
    } == found.facts  # fmt: skip
    assert () == found.mentioned


@pytest.mark.parametrize(
    "note", ["see docs/REPORT/a/b.", "(docs\\REPORT\\a)", "DOCS/report/x", "docs//REPORT//a"]
)
def test_a_note_declares_no_path(note: str) -> None:
    data = report_bytes(replace(FACTS, notes=(note,)), [])

    assert () == read_report(data).mentioned
    assert 1 == len(read_report(data.replace(b"(a path", note.encode() + b" (a path")).mentioned)


@pytest.mark.parametrize("data", [b"", b"\xff", b"REPORT__C-1\n", b"## Evidence Paths\n"])
def test_a_report_without_heading_is_none(data: bytes) -> None:
    with pytest.raises(TripletInvalid):
        read_report(data)


@given(st.dictionaries(NAMES, st.integers(0, 2**63)))
def test_hashes_read_back(sizes: dict[str, int]) -> None:
    files = {path: Measured(f"{size:064x}"[-64:], size) for path, size in sizes.items()}

    assert files == read_hashes(hashes_bytes(files))


@pytest.mark.parametrize(
    "data",
    [b"", b"[]", b"{", b'{"a": 1}', b'{"a": {"sha256": "x", "size": 1}}', b'{"a": {"size": 1}}',
     b'{"a": {"sha256": "' + b"0" * 64 + b'", "size": 1.0}}',
     b'{"a": {"sha256": "' + b"0" * 64 + b'", "size": true}}',
     b'{"a": {"sha256": "' + b"0" * 64 + b'"}}', b'{"a": null, "a": null}'],
)  # fmt: skip
def test_hashes_of_another_form_are_none(data: bytes) -> None:
    with pytest.raises(TripletInvalid):
        read_hashes(data)


@pytest.mark.parametrize("text", ["", "2026013", "202601311", "2026013a", "20260231", "٢٠٢٦٠١٣١"])
def test_a_date_that_is_none(text: str) -> None:
    assert not is_date(text)
    assert is_date("20260131")


def test_a_line_of_a_check_whose_name_is_no_text_is_none() -> None:
    lines = r'CRITERION="\x" STATUS=pass CODES=-', r'CRITERION="a" STATUS=fail CODES=-'
    found = read_selftest("".join(f"{line}\n" for line in (*lines, "EXIT_CODE=1")).encode())

    assert [("a", "fail")] == [(one.id, one.status) for one in found.lines]


def test_a_path_that_begins_like_a_text_and_is_none_is_listed_as_it_stands() -> None:
    """So it is found to lie nowhere, and not passed over."""
    data = report_bytes(FACTS, ["a"]).replace(b"`a`", rb'"\x"')

    assert (r'"\x"',) == read_report(data).paths
