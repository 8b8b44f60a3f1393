"""Spans of requests, collected in memory."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from dragoman.core import tracing
from dragoman.search import SearchConfig
from dragoman.server.monitoring import Monitoring, Readiness
from dragoman.server.request_log import RequestLog
from dragoman.translation.batching import BatchingConfig, RequestBatcher
from dragoman.translation.opening import changed_search
from dragoman.translation.outputs import Translation

TRACE = "0af7651916cd43dd8448eb211c80319c"


class Echo:
    """Translates each line to itself; an empty line is an error."""

    def configure(self, **options: Any) -> SearchConfig:
        return changed_search(SearchConfig(), options)

    def translate_nbest(self, lines: Iterable[str], **options: Any) -> list[list[Translation]]:
        lines = list(lines)
        assert all(lines)
        return [[Translation(line, 0.0, 0.0, [], ended=True)] for line in lines]


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> Iterator[InMemorySpanExporter]:
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(tracing, "_tracer", lambda: provider.get_tracer("tests"))
    yield exporter
    provider.shutdown()


def named(spans: InMemorySpanExporter, name: str) -> list[ReadableSpan]:
    return [span for span in spans.get_finished_spans() if span.name == name]


async def requests(*texts: str) -> list[int]:
    """Send texts at once to a server that batches them; the statuses of its answers."""
    app = FastAPI()
    async with RequestBatcher(Echo(), BatchingConfig(wait_seconds=0.05)) as batcher:

        @app.get("/echo/{text}")
        async def echo(text: str) -> list[str]:
            return await batcher.translate(["" if text == "none" else text])

        log = RequestLog(app, Monitoring(), Readiness())
        transport = httpx.ASGITransport(log, raise_app_exceptions=False)
        headers = {"traceparent": f"00-{TRACE}-b7ad6b7169203331-01"}
        async with httpx.AsyncClient(transport=transport, base_url="http://server") as client:
            sent = [client.get(f"/echo/{text}", headers=headers) for text in texts]
            return [answer.status_code for answer in await asyncio.gather(*sent)]


def test_a_request_waits_is_batched_and_searched_for(spans: InMemorySpanExporter) -> None:
    assert asyncio.run(requests("a")) == [200]
    (request,) = named(spans, "GET /echo/{text}")
    (queue,), (batch,), (search,) = (named(spans, name) for name in ("queue", "batch", "search"))
    assert request.context is not None and batch.context is not None
    assert f"{request.context.trace_id:032x}" == TRACE  # of the client
    for child, parent in ((queue, request), (batch, request), (search, batch)):
        assert child.parent == parent.context
    assert request.attributes == {
        "http.request.method": "GET",
        "http.route": "/echo/{text}",
        "http.response.status_code": 200,
        "dragoman.request": (request.attributes or {})["dragoman.request"],
    }
    assert search.attributes == {"dragoman.lines": 1}
    times = [(span.start_time or 0, span.end_time or 0) for span in (queue, batch, search)]
    assert times[0][1] <= times[1][0] <= times[2][0] <= times[2][1] <= times[1][1]
    assert times[0][1] - times[0][0] > 40e6  # it waited for others


def test_a_batch_links_to_all_its_requests(spans: InMemorySpanExporter) -> None:
    assert asyncio.run(requests("a", "b", "c")) == [200, 200, 200]
    (batch,), (search,) = named(spans, "batch"), named(spans, "search")
    assert batch.attributes == {"dragoman.requests": 3}
    assert search.attributes == {"dragoman.lines": 3}
    assert len(named(spans, "queue")) == 3
    linked = {link.context.span_id for link in batch.links}
    assert linked == {
        span.context.span_id for span in named(spans, "GET /echo/{text}") if span.context
    }


def test_errors_show(spans: InMemorySpanExporter) -> None:
    assert asyncio.run(requests("none")) == [500]
    (request,), (search,) = named(spans, "GET /echo/{text}"), named(spans, "search")
    assert not request.status.is_ok and not search.status.is_ok
    assert search.events[0].name == "exception"


def test_texts_are_in_no_span(spans: InMemorySpanExporter) -> None:
    asyncio.run(requests("secret"))
    found = spans.get_finished_spans()
    assert len(found) == 4
    assert not [span for span in found if "secret" in span.to_json()]


def test_a_server_has_one_span_for_a_request_without_its_query() -> None:
    """In a process of its own, as a program can set OpenTelemetry up only once."""
    program = """
import asyncio, httpx
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from fastapi import APIRouter
from dragoman.server.app import create_app
from plain_api import PlainApi

exporter, provider, router = InMemorySpanExporter(), TracerProvider(), APIRouter()
provider.add_span_processor(SimpleSpanProcessor(exporter))
trace.set_tracer_provider(provider)
router.get("/health")(lambda: "ok")

async def ask():
    app = create_app([PlainApi().api], operations=router)
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://server") as client:
        assert (await client.get("/health?text=secret")).status_code == 200

asyncio.run(ask())
(span,) = exporter.get_finished_spans()
assert span.name == "GET /health", span.name
assert "secret" not in span.to_json()
"""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, "-c", program], check=True, env=environment)


def test_nothing_is_imported_or_recorded_without_the_sdk() -> None:
    program = (
        "import sys, dragoman.translation.batching as batching\n"
        "from dragoman.core import tracing\n"
        "request = tracing.waiting()\n"
        "tracing.leave_queue(request)\n"
        "with tracing.batch_span([request]), tracing.search_span(tracing.current(), 1) as span:\n"
        "    assert span is None and request is None\n"
        "with tracing.request_span('GET', []) as span:\n"
        "    tracing.answered(span, 'GET', '/', 200, '1')\n"
        "assert not [name for name in sys.modules if name.startswith('opentelemetry')]\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
