"""Spans of requests, where OpenTelemetry is asked for them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import Any

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from signoff.service.message import Problem, Request, Response, Route
from signoff.service.routing import Router
from signoff.service.tracing import Tracing, is_wanted
from tests.service.running import Running

PARENT = b"00-0123456789abcdef0123456789abcdef-0123456789abcdef-01"


class Spans:
    """A traced route, and what became of it."""

    def __init__(self, handler: Callable[[Request], Any]) -> None:
        self._exporter = InMemorySpanExporter()
        provider = TracerProvider()
        provider.add_span_processor(SimpleSpanProcessor(self._exporter))
        router = Router((Route(method="GET", path="/a/{b}", handler=handler),), max_body=1)
        for route in router.routes():
            Tracing(provider).trace(route)
        self._route, _ = router.find("GET", "/a/x")

    def answer(self, **headers: bytes) -> Response | Awaitable[Response]:
        told = {name.encode(): value for name, value in headers.items()}
        return self._route.handler(Request(method="GET", path="/a/x", headers=told, id="an-id"))

    @property
    def one(self) -> Any:
        (span,) = self._exporter.get_finished_spans()
        return span


def test_span_says_route_and_status() -> None:
    def handler(request: Request) -> Response:
        request.notes["outcome"] = "passed"
        return Response(200)

    spans = Spans(handler)
    spans.answer()

    assert "GET /a/{b}" == spans.one.name
    assert {
        "http.request.method": "GET",
        "http.route": "/a/{b}",
        "http.response.status_code": 200,
        "signoff.request_id": "an-id",
        "signoff.outcome": "passed",
    } == dict(spans.one.attributes)


def test_span_belongs_to_the_callers_trace() -> None:
    spans = Spans(lambda _: Response(200))
    spans.answer(traceparent=PARENT)

    assert 0x0123456789ABCDEF0123456789ABCDEF == spans.one.context.trace_id
    assert 0x0123456789ABCDEF == spans.one.parent.span_id


@pytest.mark.parametrize(
    ("raised", "status", "is_error"),
    [
        (Problem(422, "wrong_shape", "secret"), 422, False),
        (Problem(503, "busy", "secret"), 503, True),
        (KeyError("secret"), 500, True),
    ],
)
@pytest.mark.parametrize("late", [False, True])
def test_span_of_a_fault_says_its_type_alone(
    raised: Exception, status: int, is_error: bool, late: bool
) -> None:
    def at_once(_: Request) -> Response:
        raise raised

    async def later(_: Request) -> Response:
        raise raised

    spans = Spans(later if late else at_once)
    with pytest.raises(type(raised)):
        spans.answer().send(None) if late else spans.answer()  # type: ignore[union-attr]  # a coroutine

    assert status == spans.one.attributes["http.response.status_code"]
    assert is_error != spans.one.status.is_unset
    assert "secret" not in spans.one.to_json()


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({}, False),
        ({"OTEL_SERVICE_NAME": "x"}, False),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318"}, True),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://127.0.0.1:4318"}, True),
        ({"OTEL_TRACES_EXPORTER": "console"}, True),
        ({"OTEL_TRACES_EXPORTER": "none", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://x"}, False),
        ({"OTEL_SDK_DISABLED": "true", "OTEL_TRACES_EXPORTER": "console"}, False),
    ],
)
def test_environment_asks_for_spans(environ: dict[str, str], *, expected: bool) -> None:
    assert expected == is_wanted(environ)


def test_server_makes_spans_where_it_is_asked_to() -> None:
    with Running.app(env={"OTEL_TRACES_EXPORTER": "console"}) as server:
        for path in ("/verify", "/later", "/count", "/raises"):
            server.request("POST", path, b"{}")
        server.stop()
        server._readers[0].join()

    for path in ("/verify", "/later", "/count", "/raises"):
        assert f'"name": "POST {path}"' in server.output()
    assert "secret" not in server.output()


class Collector(BaseHTTPRequestHandler):
    """Takes spans as OTLP sends them."""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        assert isinstance(self.server, Collecting)
        self.server.taken.append((self.path, body))
        self.send_response(200)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        pass


class Collecting(HTTPServer):
    """A collector on this machine, and what it was sent."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Collector)
        self.taken: list[tuple[str, bytes]] = []


def test_spans_go_to_a_collector() -> None:
    with Collecting() as collector:
        taking = Thread(target=collector.serve_forever)
        taking.start()
        try:
            endpoint = f"http://127.0.0.1:{collector.server_port}"
            env = {
                "OTEL_EXPORTER_OTLP_ENDPOINT": endpoint,
                "OTEL_EXPORTER_OTLP_COMPRESSION": "none",
            }
            with Running.app(env=env) as server:
                server.request("POST", "/verify", b"{}")
                server.stop()
        finally:
            collector.shutdown()
            taking.join()

    assert {"/v1/traces"} == {path for path, _ in collector.taken}
    assert b"POST /verify" in b"".join(body for _, body in collector.taken)


def test_absent_library_is_told() -> None:
    absent = ("opentelemetry", "opentelemetry.sdk.resources")
    with Running.app(absent=absent, env={"OTEL_TRACES_EXPORTER": "console"}) as server:
        told = server.logged(event="not_traced")
        status = server.request("POST", "/verify", b"{}").status
    unfit = Running.app(absent=absent, tracing=True)
    with pytest.raises(AssertionError), unfit:
        pass

    assert "install signoff[otel]" in told["why"]
    assert 200 == status
    assert "NotInstalled: tracing needs opentelemetry-sdk" in unfit.output()
