"""The events of a run are a chain, and every break of it is told."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from signoff.scc.run_events import FIRST, KINDS, digest_of_line, event_line, faults, read_events

AT = datetime(2026, 1, 31, 12, tzinfo=UTC)


def chain(count: int) -> list[bytes]:
    lines, prev = list[bytes](), FIRST
    for seq in range(1, count + 1):
        kind = min(KINDS)
        lines.append(
            event_line(kind, run_id="r", seq=seq, prev=prev, at=AT, fields={"number": seq})
        )
        prev = digest_of_line(lines[-1])
    return lines


def test_what_is_written_is_a_chain_and_reads_back() -> None:
    lines = chain(3)

    assert [] == [*faults(lines, last=digest_of_line(lines[-1]))]
    assert [1, 2, 3] == [event["number"] for event in read_events(b"".join(lines))]
    assert [] == [*faults([])]


def test_no_event_is_of_another_kind() -> None:
    with pytest.raises(ValueError, match='"paid" is no kind of event'):
        event_line("paid", run_id="r", seq=1, prev=FIRST, at=AT, fields={})


def test_no_field_passes_for_what_an_event_says_of_itself() -> None:
    line = event_line(
        min(KINDS), run_id="r", seq=1, prev=FIRST, at=AT, fields={"seq": 9, "run_id": "x"}
    )

    assert (1, "r") == (json.loads(line)["seq"], json.loads(line)["run_id"])


@pytest.mark.parametrize(
    ("at", "line", "said"),
    [
        (1, b"{\n", ["line 2 is not strict JSON", "line 3 does not follow the line before it"]),
        (1, b"[]\n", ["line 3 does not follow the line before it"]),
        (
            1,
            b'{"seq":7,"prev_sha256":"x"}\n',
            [
                "line 2 has another number",
                "line 2 does not follow the line before it",
                "line 3 does not follow the line before it",
            ],
        ),
        (2, b"null\n", ["the last line is not the one that was written last"]),
    ],
)
def test_a_line_that_was_changed_is_told(at: int, line: bytes, said: list[str]) -> None:
    lines = chain(3)
    last = digest_of_line(lines[-1])
    lines[at] = line
    found = [*faults(lines, last=last)]

    assert len(said) == len(found), found
    assert all(one.startswith(begin) for begin, one in zip(said, found, strict=True)), found


def test_a_line_that_was_taken_from_the_end_is_told_where_it_is_known() -> None:
    lines = chain(3)

    assert [] == [*faults(lines[:2])]
    assert ["the last line is not the one that was written last"] == [
        *faults(lines[:2], last=digest_of_line(lines[2]))
    ]
