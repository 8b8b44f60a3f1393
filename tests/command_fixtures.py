"""Fixtures for tests of the command line, of workflows, of servers and of the client."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, partial
from http.server import ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest
from corpora_web import Handler, Web

from dragoman.evaluation.significance import SignificanceConfig
from dragoman.models.cost import cost
from dragoman.workflows import download
from dragoman.workflows.compare import comparison, speed

COUNTING = (
    "models.cost",
    "workflows.doctor.machine",
    "workflows.compare.plan",
    "workflows.init.from_model",
)


@pytest.fixture(scope="session", autouse=True)
def counted_once() -> Iterator[None]:
    """Counting a model's operations takes longer than most of what asks for them here."""
    remembered = cache(cost)
    with pytest.MonkeyPatch.context() as patch:
        for module in COUNTING:
            patch.setattr(f"dragoman.{module}.cost", remembered)
        yield


@pytest.fixture(scope="session", autouse=True)
def certificates_read_once() -> Iterator[None]:
    """Each client of httpx reads the certificates of all authorities, which no test needs."""
    from httpx import create_ssl_context

    with pytest.MonkeyPatch.context() as patch:
        used = "httpx._transports.default.create_ssl_context"
        patch.setattr(used, cache(create_ssl_context), raising=False)
        yield


@pytest.fixture(scope="module")
def compared_soon() -> Iterator[None]:
    """What a comparison measures would take longer in tests than its training."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(speed, "SECONDS", 0.01)
        patch.setattr(speed, "_PEAK_SIZE", 64)
        patch.setattr(comparison, "measure_speeds", partial(speed.measure_speeds, rounds=2))
        patch.setattr(comparison, "SignificanceConfig", partial(SignificanceConfig, samples=99))
        yield


@pytest.fixture
def web(monkeypatch: pytest.MonkeyPatch) -> Iterator[Web]:
    for proxy in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(proxy, raising=False)
    monkeypatch.setattr(download, "_PAUSE", 0.0)
    handler: Any = type("Answers", (Handler,), {})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        web = handler.web = Web(f"http://127.0.0.1:{server.server_port}")
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield web
        server.shutdown()
        thread.join()
