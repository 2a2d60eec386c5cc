"""Counts of several workers in one memory, and how they are shown."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from signoff.service.exposition import exposed, preload
from signoff.service.metrics import BOUNDS, REGION_BYTES, Board, Metrics, Series


def test_workers_are_summed() -> None:
    board = Board(3)
    for index in range(3):
        Metrics(board, index).count("seen", kind="a")
    Metrics(board, 1).count("seen", 2.5, kind="b")

    assert {
        Series("counter", "seen", (("kind", "a"),)): 3.0,
        Series("counter", "seen", (("kind", "b"),)): 2.5,
    } == board.totals()


def test_worker_in_a_dead_ones_place_goes_on() -> None:
    board = Board(1)
    for _ in range(3):
        metrics = Metrics(board, 0)
        metrics.count("seen")
        metrics.observe("took", 0.003)

    assert 3.0 == board.totals()[Series("counter", "seen", ())]
    assert 3.0 == board.totals()[Series("bucket", "took", (), 0.005)]


def test_gauge_is_what_it_was_set_to() -> None:
    board = Board(2)
    first, second = Metrics(board, 0), Metrics(board, 1)
    for value in (5.0, 2.0):
        first.gauge("open", value)
    second.gauge("open", 1.0)

    assert {Series("gauge", "open", ()): 3.0} == board.totals()


def test_order_of_labels_makes_no_other_series() -> None:
    board = Board(1)
    metrics = Metrics(board, 0)
    metrics.count("seen", a="1", b="2")
    metrics.count("seen", b="2", a="1")

    assert [2.0] == list(board.totals().values())


def test_what_finds_no_room_is_counted() -> None:
    board = Board(2)
    metrics = Metrics(board, 0)
    for number in range(REGION_BYTES // 32):
        metrics.count("seen", label=str(number))
    metrics.observe("took", 1.0)
    metrics.gauge("open", 1.0)
    counted = sum(board.totals().values())

    assert 0 < board.lost()
    assert REGION_BYTES // 32 + 2 == counted + board.lost()
    Metrics(board, 1).count("other")
    assert 1.0 == board.totals()[Series("counter", "other", ())]


@given(st.lists(st.floats(0, 100), max_size=30), st.integers(0, 30))
def test_every_time_is_in_one_bucket(times: list[float], together: int) -> None:
    """Law: the buckets of a histogram hold each time once, in the first that is not below it."""
    board = Board(1)
    metrics = Metrics(board, 0)
    metrics.observe("took", *times[:together])
    for seconds in times[together:]:
        metrics.observe("took", seconds)
    totals = board.totals()

    for bound in (*BOUNDS, float("inf")):
        at_most = sum(
            count
            for series, count in totals.items()
            if series.kind == "bucket" and series.bound <= bound
        )
        assert at_most == sum(seconds <= bound for seconds in times)


def test_text_is_what_prometheus_reads() -> None:
    preload()
    board = Board(1)
    metrics = Metrics(board, 0)
    metrics.count("signoff_http_requests", route="/a", status="200")
    metrics.observe("signoff_http_seconds", 0.02, route="/a")
    metrics.observe("signoff_http_seconds", 99.0, route="/a")
    metrics.gauge("signoff_http_connections", 4)
    text, media_type = exposed(board)
    lines = text.decode().splitlines()

    assert media_type.startswith("text/plain")
    for line in (
        "# TYPE signoff_http_requests_total counter",
        'signoff_http_requests_total{route="/a",status="200"} 1.0',
        'signoff_http_seconds_bucket{le="0.01",route="/a"} 0.0',
        'signoff_http_seconds_bucket{le="0.025",route="/a"} 1.0',
        'signoff_http_seconds_bucket{le="25.0",route="/a"} 1.0',
        'signoff_http_seconds_bucket{le="+Inf",route="/a"} 2.0',
        'signoff_http_seconds_count{route="/a"} 2.0',
        'signoff_http_seconds_sum{route="/a"} 99.02',
        "signoff_http_connections 4.0",
        "signoff_metrics_lost_total 0.0",
    ):
        assert line in lines
