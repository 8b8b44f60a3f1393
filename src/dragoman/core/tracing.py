"""Spans of OpenTelemetry, which show where the time of a request goes.

A program collects spans if it sets OpenTelemetry's SDK up, as ``opentelemetry-instrument dragoman
serve`` does.  Otherwise nothing of OpenTelemetry is imported, and a span is a look-up in a
dictionary.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dragoman.core.version import __version__

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.trace import Span, Tracer

_SDK = "opentelemetry.sdk.trace"


@dataclass
class Waiting:
    """A request in a queue."""

    context: Context
    """The trace that it belongs to."""
    begin: int = field(default_factory=time.time_ns)
    has_left: bool = False


def waiting() -> Waiting | None:
    """The caller's request, which waits from now on; None if spans are not collected."""
    context = current()
    return None if context is None else Waiting(context)


def leave_queue(request: Waiting | None) -> None:
    """Record how long a request has waited, when its first line leaves the queue."""
    tracer = _tracer()
    if tracer is not None and request is not None and not request.has_left:
        request.has_left = True
        tracer.start_span("queue", request.context, start_time=request.begin).end()


def batch_span(requests: Sequence[Waiting | None]) -> AbstractContextManager[Span | None]:
    """A span around the work for several requests: in the trace of the first, linked to all."""
    tracer = _tracer()
    contexts = [request.context for request in requests if request is not None]
    if tracer is None or not contexts:
        return nullcontext()
    from opentelemetry.trace import Link, get_current_span

    links = [Link(get_current_span(context).get_span_context()) for context in contexts]
    attributes = {"dragoman.requests": len(requests)}
    return tracer.start_as_current_span("batch", contexts[0], attributes=attributes, links=links)


def current() -> Context | None:
    """The caller's trace, for spans in other threads; None if spans are not collected."""
    if _tracer() is None:
        return None
    from opentelemetry.context import get_current

    return get_current()


def search_span(context: Context | None, lines: int) -> AbstractContextManager[Span | None]:
    """A span around the search for the translations of some lines."""
    tracer = _tracer()
    if tracer is None:
        return nullcontext()
    return tracer.start_as_current_span("search", context, attributes={"dragoman.lines": lines})


def request_span(
    method: str, headers: Iterable[tuple[bytes, bytes]]
) -> AbstractContextManager[Span | None]:
    """A span around a request of HTTP, in the trace that its header ``traceparent`` names, if any.

    :func:`answered` completes it.
    """
    tracer = _tracer()
    if tracer is None:
        return nullcontext()
    from opentelemetry.propagate import extract
    from opentelemetry.trace import SpanKind

    carried = {name.decode("latin-1"): value.decode("latin-1") for name, value in headers}
    attributes = {"http.request.method": method}
    return tracer.start_as_current_span(
        method, extract(carried), SpanKind.SERVER, attributes=attributes
    )


def answered(span: Span | None, method: str, route: str | None, status: int, number: str) -> None:
    """Complete the span of a request: its route, status and ``X-Request-ID``."""
    if span is None:
        return
    from opentelemetry.trace import StatusCode

    span.set_attribute("http.response.status_code", status)
    span.set_attribute("dragoman.request", number)
    if route is not None:
        span.update_name(f"{method} {route}")
        span.set_attribute("http.route", route)
    if status >= 500:
        span.set_status(StatusCode.ERROR)


def _tracer() -> Tracer | None:
    """The tracer; None without the SDK, as then nothing collects spans."""
    if _SDK not in sys.modules:
        return None
    from opentelemetry.trace import get_tracer

    return get_tracer("dragoman", __version__)
