"""Figures for Prometheus: how much is asked, how fast it is answered, how much waits.

No label has a text, a key or an address.
"""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.registry import Collector

from dragoman.apps.server.request_log import AnsweredRequest

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
_METHODS = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}


class Monitoring:
    """The figures of one server.

    Args:
        further: what else is read with each request for the figures, such as those of the service.
    """

    def __init__(self, *further: Collector) -> None:
        self.registry = CollectorRegistry()
        for one in further:
            self.registry.register(one)
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
