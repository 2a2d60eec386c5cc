"""
A span for each request, by OpenTelemetry, where an operator wants spans.

The environment variables of OpenTelemetry say where they go.  Where nobody asks
for them, handlers are called as they are, and nothing of this is imported.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Mapping
from typing import Any, Final, Protocol

from signoff.errors import NotInstalled
from signoff.service.message import (
    BodyReader,
    Handler,
    Problem,
    ReplyWriter,
    Request,
    Response,
    StreamHandler,
)

__all__ = ["Traced", "Tracing", "is_wanted", "tracing_of"]

ASKING: Final = (
    "OTEL_TRACES_EXPORTER",
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
)
SERVICE: Final = "signoff"


class Traced(Protocol):
    """A route whose handlers may be replaced."""

    label: str
    method: str
    handler: Handler
    stream: StreamHandler | None


def is_wanted(environ: Mapping[str, str] = os.environ) -> bool:
    """The environment variables of OpenTelemetry ask for spans."""
    if environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return False
    if environ.get("OTEL_TRACES_EXPORTER", "").strip().lower() == "none":
        return False
    return any(environ.get(name, "").strip() for name in ASKING)


def tracing_of(environ: Mapping[str, str] = os.environ) -> Tracing:
    """
    Spans that go where the environment says: by OTLP over HTTP, or to standard output.

    Raises:
        NotInstalled: OpenTelemetry is absent.
    """
    try:
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor, ConsoleSpanExporter

        exporter: Any = ConsoleSpanExporter()
        if environ.get("OTEL_TRACES_EXPORTER", "otlp").strip().lower() != "console":
            from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

            exporter = OTLPSpanExporter()
    except ImportError as exc:
        raise NotInstalled("tracing", "opentelemetry-sdk and its OTLP exporter", "otel") from exc
    named = {} if environ.get("OTEL_SERVICE_NAME") else {"service.name": SERVICE}
    provider = TracerProvider(resource=Resource.create(named))
    provider.add_span_processor(BatchSpanProcessor(exporter))
    return Tracing(provider)


class Tracing:
    """
    Makes spans.

    Args:
        provider: The ``TracerProvider`` that keeps and sends them.
    """

    def __init__(self, provider: Any) -> None:
        from opentelemetry import propagate, trace

        self._provider = provider
        self._tracer = provider.get_tracer(SERVICE)
        self._extract = propagate.extract
        self._kind = trace.SpanKind.SERVER
        self._use = trace.use_span
        self._error = trace.Status(trace.StatusCode.ERROR)

    def trace(self, route: Traced) -> None:
        """Have each request of a route make a span."""
        route.handler = self._traced(route.handler, route.label)
        if route.stream is not None:
            route.stream = self._traced_stream(route.stream, route.label)

    def stop(self) -> None:
        """Send what is left."""
        self._provider.shutdown()

    def _traced(self, handler: Handler, label: str) -> Handler:
        def answer(request: Request) -> Response | Awaitable[Response]:
            span = self._begin(request, label)
            try:
                with self._current(span):
                    answered = handler(request)
            except Exception as exc:
                self._fail(span, request, exc)
                raise
            if isinstance(answered, Response):
                self._end(span, request, answered.status)
                return answered
            return self._finished(span, request, answered)

        return answer

    def _traced_stream(self, handler: StreamHandler, label: str) -> StreamHandler:
        async def answer(request: Request, body: BodyReader, reply: ReplyWriter) -> None:
            span = self._begin(request, label)
            try:
                with self._current(span):
                    await handler(request, body, reply)
            except Exception as exc:
                self._fail(span, request, exc)
                raise
            self._end(span, request, None)

        return answer

    async def _finished(self, span: Any, request: Request, answer: Awaitable[Response]) -> Response:
        try:
            with self._current(span):
                response = await answer
        except Exception as exc:
            self._fail(span, request, exc)
            raise
        self._end(span, request, response.status)
        return response

    def _begin(self, request: Request, label: str) -> Any:
        carrier = {
            name: request.headers[name.encode()].decode("latin-1")
            for name in ("traceparent", "tracestate")
            if name.encode() in request.headers
        }
        return self._tracer.start_span(
            f"{request.method} {label}",
            context=self._extract(carrier),
            kind=self._kind,
            attributes={
                "http.request.method": request.method,
                "http.route": label,
                "signoff.request_id": request.id,
            },
        )

    def _current(self, span: Any) -> Any:
        # What was raised is told by its type alone: its text may be a payload.
        return self._use(
            span, end_on_exit=False, record_exception=False, set_status_on_exception=False
        )

    def _fail(self, span: Any, request: Request, exc: Exception) -> None:
        status = exc.status if isinstance(exc, Problem) else 500
        span.set_attribute("error.type", type(exc).__name__)
        self._end(span, request, status)

    def _end(self, span: Any, request: Request, status: int | None) -> None:
        if status is not None:
            span.set_attribute("http.response.status_code", status)
            if status >= 500:
                span.set_status(self._error)
        outcome = request.notes.get("outcome")
        if isinstance(outcome, str):
            span.set_attribute("signoff.outcome", outcome)
        span.end()
