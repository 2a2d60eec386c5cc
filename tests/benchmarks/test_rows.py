"""The benchmarks compare like with like: both sides of every row answer the same. No times here."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import msgspec
import pytest

from benchmarks import bench, by_hand
from benchmarks.row import Pair, Row, Unavailable
from benchmarks.samples import FIVE, bad_outputs, output
from benchmarks.table import Outcome, document, heading, line, surroundings
from benchmarks.timing import Effort, Measured, calling, measure, starting

ONCE = Effort(rounds=2, batch_s=0, row_s=0, load_rounds=2, load_s=0.2)
# Their peers are built, and fetched from where such things are kept.
LONG = ("service-",)


def rows() -> Iterator[Any]:
    for name, row in bench.ROWS.items():
        marks = [pytest.mark.long] if name.startswith(LONG) else []
        yield pytest.param(row, marks=marks, id=name)


@pytest.mark.parametrize("row", [*rows()])
def test_both_sides_answer_the_same(row: Row) -> None:
    try:
        pair = row.prepare()
    except Unavailable as exc:
        pytest.skip(str(exc))
    with closing(pair):
        ours, theirs = pair.answers()
        measured = pair.measure(ONCE)

    assert theirs == ours
    assert ONCE.rounds == measured.rounds


def test_promised_ratios_are_the_aims() -> None:
    aims = {row.name: row.aim for row in bench.ROWS.values() if row.aim is not None}

    assert {
        "command-bwrap": 3,
        "five-judge": 2,
        "five-bytes-orjson": 4,
        "five-bytes-jsonschema": 0.2,
        "schema-valid": 2,
        "ledger-one": 1.43,
        "ledger-64": 1.43,
        "ledger-64-steady": 1.43,
        **{f"service-{size}-bare{x}": 1.67 for size in ("1k", "2.6k") for x in ("", "-x2")},
        **{f"service-{size}-node{x}": 1 for size in ("1k", "2.6k") for x in ("", "-x2")},
        **{f"service-{size}-axum{x}": 2 for size in ("1k", "2.6k") for x in ("", "-x2")},
        "service-schemas": 2,
        "start-help": 6,
        "start-verify": 10,
        "tests-warm": 0.2,
    } == aims


def test_sample_holds_and_the_bad_ones_do_not() -> None:
    assert 20 == len(output())
    assert 5 == len(FIVE)
    assert by_hand.holds(output())
    assert not any(map(by_hand.holds, bad_outputs()))


def test_sides_take_turns() -> None:
    turns = []

    def side(name: str, seconds: float) -> float:
        turns.append(name)
        return seconds

    measured = measure(lambda n: side("a", 0.5 * n), lambda n: side("b", 0.25 * n), ONCE)

    assert ["a", "b"] * 3 == turns  # the first of each warms up
    assert (2.0, 2.0, 2.0) == (measured.ratio, measured.low, measured.high)
    assert (0.5, 0.25) == (measured.ours_s, measured.peer_s)


def test_batches_are_long_enough_for_the_clock() -> None:
    loops = []

    def side(n: int) -> float:
        loops.append(n)
        return n * 1e-6

    measure(side, side, Effort(rounds=2, batch_s=1e-3, row_s=1))

    assert 1000 <= loops[-1] <= 2000


def test_calls_are_counted() -> None:
    calls: list[str] = []

    assert calling(calls.append, "x")(3) > 0
    assert ["x"] * 3 == calls


def test_process_that_fails_is_not_timed() -> None:
    with pytest.raises(RuntimeError, match="exited with 1, expected 0"):
        starting(["false"])(1)


def test_sides_that_differ_are_not_timed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def differing() -> Pair:
        return Pair(ours=lambda _: 1.0, peer=lambda _: 1.0, answers=lambda: (True, False))

    row = Row(name="odd", ours="a", peer="b", prepare=differing)
    monkeypatch.setattr(bench, "ROWS", {"odd": row})

    assert 1 == bench.main(["odd"])
    assert "the two sides do not answer the same" in capsys.readouterr().out


def test_row_without_its_peer_says_why(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("SIGNOFF_BENCH_MINDSCRIPT", raising=False)

    assert 0 == bench.main(["mindscript-judge"])
    assert "not run: SIGNOFF_BENCH_MINDSCRIPT names no build" in capsys.readouterr().out


def test_unknown_row_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        bench.main(["five", "speed"])

    assert "no row is called speed" in capsys.readouterr().err


def test_missed_aim_fails_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert 0 == bench.main(["--quick", "--json", "five-judge"])

    written = msgspec.json.decode(capsys.readouterr().out)
    (row,) = written["rows"]
    assert "five-judge" == row["row"]
    assert row["measured"]["ratio"] > 0
    assert surroundings().keys() == written["surroundings"].keys()


def test_table_and_document_say_the_same() -> None:
    row = Row(name="odd", ours="this", peer="that", aim=2, prepare=lambda: pytest.fail("not asked"))
    slow = Measured(ours_s=3e-6, peer_s=1.5e-4, ratio=2.5, low=2.0, high=12.0, rounds=9)
    outcome = Outcome(row=row, measured=slow, note="a note")

    assert "odd 3.0 us 150.0 us 2.50 2.00 to 12.0 <= 2 no this / that; a note" == " ".join(
        line(outcome).split()
    )
    assert heading().index("ratio") > heading().index("peer")
    assert 2.5 == msgspec.json.decode(document([outcome]))["rows"][0]["measured"]["ratio"]
