"""Lines are written as published, and whatever is done to them shows at a number."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from signoff.canonical import canonical_bytes
from signoff.jsonvalue import JSON
from signoff.ledger.line import FIRST_PREV, Head, broken, digest_of, draft, read_line, time_text

VECTORS = json.loads(
    (Path(__file__).parents[2] / "conformance" / "ledger" / "chain.json").read_text("utf-8")
)
WHEN = datetime(2026, 2, 9, tzinfo=UTC)


@pytest.mark.parametrize("case", VECTORS["cases"], ids=lambda case: case["description"])
def test_chain_is_broken_where_the_vectors_say(case: dict[str, Any]) -> None:
    found = broken(line.encode() for line in case["lines"])

    assert case["expect"] == sorted({seq for seq, _ in found})


def test_head_of_the_vectors() -> None:
    (whole,) = (case for case in VECTORS["cases"] if "order nothing" in case["description"])

    assert VECTORS["head"] == str(Head(seq=4, digest=digest_of(whole["lines"][-1].encode())))


def test_line_is_canonical_whatever_it_holds() -> None:
    data: dict[str, JSON] = {
        "z": [1.50, 2**70],
        "\U0001f600": None,
        "\ue000": {"b": 1, "a": "\u2028"},
    }
    made = draft("t", contract_id='é"\\', signature="", data=data, at=WHEN)
    line = made.line(12, "ab" * 32)
    event = read_line(line)

    expected: JSON = {
        "seq": 12,
        "at": "2026-02-09T00:00:00.000Z",
        "type": "t",
        "contractId": 'é"\\',
        "signature": "",
        "data": data,
        "prev": "ab" * 32,
    }
    assert canonical_bytes(expected) == line
    assert (12, data) == (event.seq, event.data)


def test_time_is_utc_with_milliseconds() -> None:
    paris = timezone(timedelta(hours=1))

    assert "2026-02-09T00:00:00.000Z" == time_text(WHEN)
    assert "2026-02-08T23:00:00.123Z" == time_text(
        datetime(2026, 2, 9, microsecond=123_999, tzinfo=paris)
    )


def test_head_is_read_back() -> None:
    head = Head(seq=17, digest=digest_of(b"x"))

    assert head == Head.parse(str(head))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1",
        "1:",
        f"1:{'A' * 64}",
        f"-1:{FIRST_PREV}",
        f"x:{FIRST_PREV}",
        f"²:{FIRST_PREV}",
        f" 1:{FIRST_PREV}",
        f"1:{FIRST_PREV}0",
        f"1:{FIRST_PREV}\n",
        f"{'9' * 19}:{FIRST_PREV}",
    ],
)
def test_head_of_another_form_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="a head must be SEQ:HEX"):
        Head.parse(text)
