"""Metrics for Prometheus: number of requests, their durations, and queues.

Labels never contain texts, keys or addresses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from dragoman.server.request_log import AnsweredRequest
from dragoman.translation.service.service_status import ServiceStatus

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
_SYSTEM = ["system"]
_METHODS = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}


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
            label = [f"{number} {' '.join(Path(one).name for one in system.models)}"]
            waiting.add_metric(label, system.waiting_lines)
            stale.add_metric(label, system.problem is not None)
            lines.add_metric(label, system.lines)
            batches.add_metric(label, system.batches)
            seconds.add_metric(label, system.seconds)
            reloads.add_metric(label, system.reloads)
        yield from (waiting, stale, lines, batches, seconds, reloads)


class Monitoring:
    """The metrics of a server.

    Args:
        service: gives the state of the translation service.
    """

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
