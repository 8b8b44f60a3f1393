"""Figures for Prometheus: how much is asked, how fast it is answered, how much waits.

No label has a text, a key or an address.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from dragoman.apps.server.request_log import AnsweredRequest
from dragoman.translation.service.figures import ServiceFigures

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
_METHODS = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}


class _ServiceCollector(Collector):
    """Reads the figures of a service whenever Prometheus asks."""

    def __init__(self, read: Callable[[], ServiceFigures]) -> None:
        self._read = read

    def collect(self) -> Iterator[Metric]:
        now = self._read()
        for name, text, value in (
            ("dragoman_systems", "Systems in memory.", now.systems),
            ("dragoman_directions", "Directions, with those through a pivot.", now.directions),
            ("dragoman_waiting_lines", "Sentences in the queue.", now.waiting_lines),
        ):
            yield GaugeMetricFamily(name, text, value)
        for name, text, total in (
            ("dragoman_translated_lines", "Sentences translated.", now.lines),
            ("dragoman_batches", "Batches that they were in.", now.batches),
            ("dragoman_translating_seconds", "Time in which models worked.", now.seconds),
            ("dragoman_reloads", "How often changed models were loaded.", now.reloads),
        ):
            yield CounterMetricFamily(name, text, total)


class Monitoring:
    """The figures of one server.

    Args:
        service: reads those of the translation service.
    """

    def __init__(self, service: Callable[[], ServiceFigures] | None = None) -> None:
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
        # Whatever clients may invent would make a series of its own.
        path = request.template or "other"
        method = request.method if request.method in _METHODS else "other"
        self._requests.labels(method, path, str(request.status)).inc()
        self._seconds.labels(path).observe(request.seconds)

    def count_characters(self, characters: int) -> None:
        """Count the characters of an admitted request."""
        self._characters.inc(characters)

    def text(self) -> bytes:
        """All figures, as Prometheus reads them."""
        return generate_latest(self.registry)
