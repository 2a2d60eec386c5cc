"""Names are refused and never rewritten; what is made of them stays in its folder."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signoff.dialects.scc import names

MOMENT = datetime(2026, 1, 31, 23, 59, 58, tzinfo=UTC)
BAD = [
    "", ".", "..", "a/b", "a\\b", "a:b", "-a", ".a", "a.", "CON", "con", "Nul.txt", "com1", "LPT9",
    "a" * 129, "ä", "a b", "a\n", "a\0",
]  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_name_is_refused(name: str) -> None:
    assert names.name_fault(name)


@pytest.mark.parametrize("name", ["a", "0", "T-1", "a.b_c-d", "console", "com10", "a" * 128])
def test_good_name_is_taken(name: str) -> None:
    assert names.name_fault(name) is None


@given(st.text(max_size=200))
def test_a_name_that_is_taken_is_one_plain_part_of_a_path(text: str) -> None:
    if names.name_fault(text) is None:
        assert not {"/", "\\", ":", "\0"} & {*text}
        assert text not in {".", ".."}


def test_names_that_differ_in_case_alone_clash() -> None:
    assert "abc" == names.clash("ABC", ["x", "abc"])
    assert names.clash("abc", ["abc", "abd"]) is None


def test_every_date_and_name_comes_from_one_reading_of_the_clock() -> None:
    run_id = names.run_id_of(MOMENT, b"\0\1\2\xff")

    assert "20260131-235958-000102ff" == run_id
    assert names.is_run_id(run_id)
    assert "artifacts/scc_runs/20260131-235958-000102ff" == names.run_path(run_id)
    assert "docs/REPORT/a/REPORT__T__20260131.md" == names.report_path("a", "T", MOMENT)
    assert "docs/REPORT/a/artifacts/T" == names.mirror_path("a", "T")
    assert "docs/REPORT/a/artifacts/T/verdict.json" == names.pointer_path("a", "T")


@pytest.mark.parametrize(
    "text",
    ["", "20260131-235958-000102FF", "20260231-235958-000102ff", "20260131-245958-000102ff",
     "20260131-235958-000102f", "20260131-235958-000102ff\n", "٢0260131-235958-000102ff"],
)  # fmt: skip
def test_what_is_no_run_id(text: str) -> None:
    assert not names.is_run_id(text)


def test_a_log_stays_in_its_folder_whatever_the_check_is_called() -> None:
    assert "001_.._.._esc.stdout.txt" == names.log_name(1, "../../esc", "stdout")
    assert "012_a_b__.stderr.txt" == names.log_name(12, "a b\n/", "stderr")
    assert len("001_") + 60 + len(".stdout.txt") == len(names.log_name(1, "x" * 500, "stdout"))
