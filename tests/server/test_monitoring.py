"""A server that was told to stop says so first, and loses nothing."""

from __future__ import annotations

import logging
import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest
from echo_service import EchoService
from plain_api import PlainApi
from running_server import running

from dragoman.saved.system import TranslationSystem
from dragoman.server import monitoring as module
from dragoman.server.app import assemble, create_app
from dragoman.server.database.server_store import ServerStore
from dragoman.server.monitoring import Readiness
from dragoman.server.server_config import ServerConfig
from dragoman.server.serving import StoppableServer


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


def test_who_is_not_answered_in_the_time_to_stop_may_come_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    systems = (TranslationSystem(models=("unread",)),)
    config = ServerConfig(systems=systems, web=False, shutdown_seconds=0.3)
    service = EchoService(seconds=100)
    paths = {
        "/translate": {"q": "Hello", "source": "en", "target": "de"},
        "/v1/translate": {"text": "Hello", "source": "en", "target": "de"},
        "/v2/translate": {"text": ["Hello"], "target_lang": "DE"},
    }
    key = {"Authorization": "DeepL-Auth-Key any"}
    with ServerStore(str(tmp_path / "server.sqlite")) as store, ThreadPoolExecutor(3) as clients:
        app = assemble(config, service, store)
        server = StoppableServer(app, config)
        with running(app, server) as address:
            asked = [
                clients.submit(httpx.post, address + path, json=body, headers=key, timeout=30)
                for path, body in paths.items()
            ]
            until(lambda: len(service.calls) == len(paths))
            begin = time.monotonic()
            server.handle_exit(signal.SIGTERM, None)
            answers = [one.result() for one in asked]
        seconds = time.monotonic() - begin
    assert [one.status_code for one in answers] == [503] * 3
    assert [one.headers["Retry-After"] for one in answers] == ["5"] * 3
    assert all("the server is stopping" in one.text for one in answers)
    assert seconds < 3
    for path in paths:
        assert f"POST {path} 503 " in caplog.text
    assert "Traceback" not in caplog.text
    assert "3 requests in progress are refused" in caplog.text


def test_a_stream_that_is_not_over_in_the_time_to_stop_is_cut_off(
    caplog: pytest.LogCaptureFixture,
) -> None:
    systems = (TranslationSystem(models=("unread",)),)
    config = ServerConfig(systems=systems, shutdown_seconds=0.3)
    app = create_app([PlainApi().api])
    server = StoppableServer(app, config)
    with (
        running(app, server) as address,
        pytest.raises(httpx.RemoteProtocolError),
        httpx.stream("GET", f"{address}/plain/drops/10000") as response,
    ):
        for _ in response.iter_lines():
            server.should_exit = True
    assert "Traceback" not in caplog.text


@pytest.mark.parametrize("require_key", [False, True])
def test_a_server_that_requires_keys_is_not_ready_without_its_database(
    require_key: bool, tmp_path: Path
) -> None:
    file = tmp_path / "server.sqlite"
    config = ServerConfig(
        systems=(TranslationSystem(models=("unread",)),), require_key=require_key, web=False
    )
    with ServerStore(str(file)) as store:
        headers = {"Authorization": f"Bearer {store.create_key('office')[1]}"}
        body = {"text": "Hello", "source": "en", "target": "de"}
        with running(assemble(config, EchoService(), store)) as address:

            def statuses() -> tuple[int, int]:
                given = headers if require_key else {}
                asked = httpx.post(f"{address}/v1/translate", json=body, headers=given)
                return httpx.get(f"{address}/ready").status_code, asked.status_code

            assert httpx.get(f"{address}/ready").status_code == 200
            file.rename(tmp_path / "away")
            assert statuses() == ((503, 503) if require_key else (200, 200))
            if require_key:
                said = httpx.get(f"{address}/ready").json()
                assert said == {"status": "the database does not answer"}
            (tmp_path / "away").rename(file)
            assert statuses() == (200, 200)


def test_a_database_that_hangs_is_asked_once_and_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "STORE_SECONDS", 0.1)
    answered, asked = threading.Event(), []

    def hang() -> bool:
        asked.append(1)
        return answered.wait(20)

    config = ServerConfig(
        systems=(TranslationSystem(models=("unread",)),), require_key=True, web=False
    )
    with ServerStore(str(tmp_path / "server.sqlite")) as store:
        monkeypatch.setattr(store, "has_keys", hang)
        with running(assemble(config, EchoService(), store)) as address:
            begin = time.monotonic()
            assert [httpx.get(f"{address}/ready").status_code for _ in range(3)] == [503] * 3
            assert time.monotonic() - begin < 10
            assert len(asked) == 1
            answered.set()
            while httpx.get(f"{address}/ready").status_code != 200:
                time.sleep(0.01)
