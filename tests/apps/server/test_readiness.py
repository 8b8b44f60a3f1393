"""A server that was told to stop says so first, and loses nothing."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
from echo_service import EchoService
from running_server import running

from dragoman.apps.server.assembly import assemble
from dragoman.apps.server.kept.server_store import ServerStore
from dragoman.apps.server.listening import StoppableServer
from dragoman.apps.server.readiness import Readiness
from dragoman.apps.server.server_config import ServerConfig
from dragoman.saved.system import TranslationSystem


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_draining_lasts_as_long_as_it_is_meant_to() -> None:
    clock = Clock()
    readiness = Readiness(5, clock)
    clock.now += 50
    assert (readiness.is_draining, readiness.is_over) == (False, False)
    readiness.drain()
    clock.now += 4.9
    readiness.drain()  # again, which changes nothing
    assert (readiness.is_draining, readiness.is_over) == (True, False)
    clock.now += 0.2
    assert (readiness.is_draining, readiness.is_over) == (True, True)


def until(is_so: Callable[[], bool]) -> None:
    end = time.monotonic() + 20
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.005)


def test_a_server_is_not_ready_before_it_ends_and_answers_what_it_has(tmp_path: Path) -> None:
    config = ServerConfig(systems=(TranslationSystem(models=("unread",)),), web=False)
    clock = Clock()
    readiness = Readiness(5, clock)
    service = EchoService(seconds=0.3)
    with ServerStore(str(tmp_path / "server.sqlite")) as store, httpx.Client() as client:
        app = assemble(config, service, store, readiness=readiness)
        server = StoppableServer(app, config, readiness)
        with running(app, server) as address:
            body = {"q": "Hello", "source": "en", "target": "de"}

            def translate() -> httpx.Response:
                return client.post(f"{address}/translate", json=body)

            assert client.get(f"{address}/ready").status_code == 200
            assert "Connection" not in translate().headers

            server.handle_exit(signal.SIGTERM, None)
            assert client.get(f"{address}/ready").status_code == 503
            assert client.get(f"{address}/health").status_code == 200
            late = translate()
            assert (late.json(), late.headers["Connection"]) == (
                {"translatedText": "HELLOde"},
                "close",
            )

            calls, answers = len(service.calls), []
            last = threading.Thread(target=lambda: answers.append(translate()))
            last.start()
            until(lambda: len(service.calls) > calls)
            clock.now += 6
            last.join()
            assert [one.json() for one in answers] == [{"translatedText": "HELLOde"}]
            until(lambda: server.should_exit)
            until(lambda: not server.servers[0].is_serving())
            with pytest.raises(httpx.TransportError):
                translate()
