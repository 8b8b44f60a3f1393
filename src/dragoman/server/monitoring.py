"""Metrics for Prometheus and readiness for load balancers: ``/metrics`` and ``/ready``.

Metrics are numbers of requests, their durations, and queues; labels never contain texts, keys or
addresses.  ``/health`` and ``/v1/health`` are in the APIs whose protocols define them.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from fastapi import APIRouter, Request
from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    generate_latest,
)
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from starlette.responses import JSONResponse, Response

from dragoman.server.database.failures import AWAY
from dragoman.server.database.server_store import in_thread
from dragoman.translation.service.interface import RefusedError, ServiceStatus, TranslationService

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
_SYSTEM = ["system"]
_METHODS = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}


@dataclass(frozen=True)
class AnsweredRequest:
    """A finished request."""

    method: str
    path: str
    template: str | None
    """The path of the route that answered, such as ``/v2/document/{id}``; None without a route."""
    status: int
    seconds: float
    client: str


class _ServiceCollector(Collector):
    """Reads the metrics of a service whenever Prometheus scrapes them."""

    def __init__(self, read: Callable[[], ServiceStatus]) -> None:
        self._read = read

    def collect(self) -> Iterator[Metric]:
        now = self._read()
        yield GaugeMetricFamily(
            "dragoman_directions", "Directions, with those through a pivot.", now.directions
        )
        waiting = GaugeMetricFamily("dragoman_waiting_lines", "Sentences queued.", labels=_SYSTEM)
        stale = GaugeMetricFamily(
            "dragoman_stale",
            "1 if the files of a model are missing or cannot be loaded.",
            labels=_SYSTEM,
        )
        lines = CounterMetricFamily(
            "dragoman_translated_lines", "Sentences translated.", labels=_SYSTEM
        )
        batches = CounterMetricFamily(
            "dragoman_batches", "Batches of sentences translated.", labels=_SYSTEM
        )
        seconds = CounterMetricFamily(
            "dragoman_translating_seconds", "Time in which models worked.", labels=_SYSTEM
        )
        reloads = CounterMetricFamily(
            "dragoman_reloads", "How often changed models were loaded.", labels=_SYSTEM
        )
        for number, system in enumerate(now.systems):
            label = [f"{number} {' '.join(Path(model).name for model in system.models)}"]
            waiting.add_metric(label, system.waiting_lines)
            stale.add_metric(label, system.problem is not None)
            lines.add_metric(label, system.lines)
            batches.add_metric(label, system.batches)
            seconds.add_metric(label, system.seconds)
            reloads.add_metric(label, system.reloads)
        yield from (waiting, stale, lines, batches, seconds, reloads)


class Monitoring:
    """The metrics of a server."""

    def __init__(self, service: Callable[[], ServiceStatus] | None = None) -> None:
        self.registry = CollectorRegistry()
        if service is not None:
            self.registry.register(_ServiceCollector(service))
        labels = ("method", "path", "status")
        self._requests = Counter(
            "dragoman_requests", "Requests answered.", labels, registry=self.registry
        )
        self._seconds = Histogram(
            "dragoman_request_seconds",
            "Time from a request to the end of its answer.",
            ("path",),
            buckets=_SECONDS,
            registry=self.registry,
        )
        self._at_work = Gauge(
            "dragoman_requests_at_work", "Requests not answered yet.", registry=self.registry
        )
        self._characters = Counter(
            "dragoman_characters", "Characters of admitted requests.", registry=self.registry
        )

    def begin(self) -> None:
        """Count a request that has arrived."""
        self._at_work.inc()

    def record(self, request: AnsweredRequest) -> None:
        """Count a request that is over."""
        self._at_work.dec()
        self.count(request)

    def count(self, request: AnsweredRequest) -> None:
        """Count a request without a matching :meth:`begin`."""
        # Paths that clients invent would each make a new series.
        path = request.template or "other"
        method = request.method if request.method in _METHODS else "other"
        self._requests.labels(method, path, str(request.status)).inc()
        self._seconds.labels(path).observe(request.seconds)

    def count_characters(self, characters: int) -> None:
        """Count the characters of an admitted request."""
        self._characters.inc(characters)

    def text(self) -> bytes:
        """All metrics in Prometheus's text format."""
        return generate_latest(self.registry)


STORE_SECONDS = 2.0
"""Maximum time of the store's answer, if each request needs the store."""


class Readiness:
    """Whether a server is ready; while draining, it is not ready but still answers.

    A load balancer that polls ``/ready`` thus learns of the end early, and the requests that it has
    sent meanwhile are still answered.

    Args:
        drain_seconds: how long the server still accepts requests after the signal to stop.
        clock: gives the time, in seconds.
    """

    def __init__(
        self, drain_seconds: float = 0, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.drain_seconds, self._clock = drain_seconds, clock
        self._end: float | None = None

    def drain(self) -> None:
        """Report the server as not ready from now on."""
        if self._end is None:
            self._end = self._clock() + self.drain_seconds

    @property
    def is_draining(self) -> bool:
        """Whether the server is about to end."""
        return self._end is not None

    @property
    def is_over(self) -> bool:
        """Whether draining is over and the server may end."""
        return self._end is not None and self._clock() >= self._end


class _StoreLook:
    """Checks that a store answers; simultaneous checks share a query."""

    def __init__(self, ask: Callable[[], object]) -> None:
        self._ask = ask
        self._asking: asyncio.Task[bool] | None = None

    async def answers(self) -> bool:
        """Whether the store answers in time."""
        if self._asking is None or self._asking.done():
            self._asking = asyncio.create_task(in_thread(self._asked))
        asking = self._asking
        await asyncio.wait({asking}, timeout=STORE_SECONDS)
        return asking.done() and asking.result()

    def _asked(self) -> bool:
        try:
            self._ask()
        except AWAY:
            return False
        return True


def operations_router(
    service: TranslationService,
    monitoring: Monitoring,
    metrics_token: str | None = None,
    readiness: Readiness | None = None,
    ask_store: Callable[[], object] | None = None,
) -> APIRouter:
    """The routes ``/ready`` and ``/metrics``.

    The server is ready when its service has models and its processes run, and the store answers, if
    every request needs it (``ask_store``).
    """
    store = None if ask_store is None else _StoreLook(ask_store)
    router = APIRouter(include_in_schema=False)
    state = readiness or Readiness()

    @router.get("/ready")
    async def ready() -> Response:
        if state.is_draining:
            return JSONResponse({"status": "the server is about to end"}, 503)
        if not service.directions():
            return JSONResponse({"status": "no models are loaded"}, 503)
        if not service.is_ready():
            return JSONResponse({"status": "processes that translate are being started"}, 503)
        if store is not None and not await store.answers():
            return JSONResponse({"status": "the database does not answer"}, 503)
        return JSONResponse({"status": "ok"})

    @router.get("/metrics")
    async def metrics(request: Request) -> Response:
        if metrics_token is not None:
            given = request.headers.get("Authorization", "").encode("utf-8", "surrogateescape")
            expected = f"Bearer {metrics_token}".encode()
            if not secrets.compare_digest(given, expected):
                raise RefusedError("forbidden", "metrics need a token: Authorization: Bearer TOKEN")
        return Response(monitoring.text(), media_type=CONTENT_TYPE_LATEST)

    return router
