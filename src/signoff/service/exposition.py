"""The metrics of all workers as Prometheus reads them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any, Final

from signoff.errors import NotInstalled
from signoff.service.message import Problem, Response
from signoff.service.metrics import BOUNDS, Board, Labels, Series

__all__ = ["exposed", "metrics_response", "preload"]

HELP: Final = {
    "signoff_http_requests": "Requests that were answered.",
    "signoff_http_seconds": "From the end of a request's headers to its reply.",
    "signoff_http_connections": "Connections that are open.",
    "signoff_http_in_progress": "Requests that are being answered and were not answered at once.",
    "signoff_http_waiting": "Requests that wait for their turn.",
    "signoff_verdicts": "Verdicts that were told, by what they came to.",
    "signoff_contracts": "Contracts that were locked, by whether they were new.",
    "signoff_metrics_lost": "What was counted and found no room.",
}


def metrics_response(board: Board) -> Response:
    """
    The reply to a scrape.

    Raises:
        Problem: prometheus-client is not installed (501).
    """
    try:
        body, media_type = exposed(board)
    except NotInstalled as exc:
        raise Problem(501, "not_installed", str(exc)) from exc
    return Response(200, body, media_type)


def preload() -> None:
    """Import what a scrape needs, if it is there: the first scrape would take its time for it."""
    with suppress(ImportError):
        import prometheus_client.exposition  # noqa: F401 only so that it is there


def exposed(board: Board) -> tuple[bytes, str]:
    """
    The text of all metrics, and its media type.

    Raises:
        NotInstalled: prometheus-client is absent.
    """
    try:
        import prometheus_client.exposition as prometheus
        from prometheus_client.metrics_core import (
            CounterMetricFamily,
            GaugeMetricFamily,
            HistogramMetricFamily,
        )
    except ImportError as exc:
        raise NotInstalled("/metrics", "prometheus-client", "metrics") from exc
    families: dict[tuple[str, str], Any] = {}
    made = {
        "counter": CounterMetricFamily,
        "gauge": GaugeMetricFamily,
        "histogram": HistogramMetricFamily,
    }

    def family(kind: str, name: str, labels: Labels) -> Any:
        key = (kind, name)
        if key not in families:
            names = [label for label, _ in labels]
            families[key] = made[kind](name, HELP.get(name, name), labels=names)
        return families[key]

    totals = board.totals()
    for series, value in totals.items():
        if series.kind in {"counter", "gauge"}:
            values = [text for _, text in series.labels]
            family(series.kind, series.name, series.labels).add_metric(values, value)
    for name, labels, buckets, total in _histograms(totals):
        values = [text for _, text in labels]
        family("histogram", name, labels).add_metric(values, buckets, total)
    family("counter", "signoff_metrics_lost", ()).add_metric([], board.lost())
    text: bytes = prometheus.generate_latest(_Collected(families.values()))
    return text, prometheus.CONTENT_TYPE_LATEST


class _Collected:
    """What prometheus_client asks for metrics."""

    def __init__(self, families: Iterable[Any]) -> None:
        self._families = families

    def collect(self) -> Iterable[Any]:
        return self._families


def _histograms(
    totals: dict[Series, float],
) -> Iterator[tuple[str, Labels, list[tuple[str, float]], float]]:
    """Each histogram with its buckets, every one of which includes those before it."""
    for series, total in totals.items():
        if series.kind != "sum":
            continue
        name, labels = series.name, series.labels
        so_far, buckets = 0.0, []
        for bound in (*BOUNDS, float("inf")):
            so_far += totals.get(Series("bucket", name, labels, bound), 0.0)
            buckets.append(("+Inf" if bound == float("inf") else str(bound), so_far))
        yield name, labels, buckets, total
