"""A server that was told to stop ends in its time, though a thread is still translating."""

from __future__ import annotations

import asyncio
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
import uvicorn
from tiny_model import save_tiny_model

from dragoman.core.errors import ConfigError
from dragoman.saved.system import TranslationSystem
from dragoman.server import serving
from dragoman.server.app import create_app
from dragoman.server.database.server_store import ServerStore
from dragoman.server.server_config import ServerConfig
from dragoman.server.serving import BoundedEnd, StoppableServer, address_of, bind


def test_a_second_signal_ends_the_process_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[object] = []
    monkeypatch.setattr(signal, "signal", lambda *arguments: done.append(arguments))
    monkeypatch.setattr(signal, "raise_signal", done.append)
    config = ServerConfig(systems=(TranslationSystem(models=(Path("nowhere"),)),))
    server = StoppableServer(create_app([]), config)
    server.handle_exit(signal.SIGTERM, None)
    assert server.should_exit
    assert done == []
    server.handle_exit(signal.SIGTERM, None)
    assert done == [(signal.SIGTERM, signal.SIG_DFL), signal.SIGTERM]


@pytest.mark.parametrize(
    ("host", "shown"),
    [("127.0.0.1", "127.0.0.1"), ("0.0.0.0", "localhost"), ("localhost", "127.0.0.1|[::1]")],
)
def test_an_address_can_be_opened_in_a_browser(host: str, shown: str) -> None:
    with bind(host, 0) as bound:
        port = bound.getsockname()[1]
        assert address_of(bound) in {f"http://{one}:{port}" for one in shown.split("|")}


def test_answers_are_sent_at_once() -> None:
    with bind("127.0.0.1", 0) as bound:
        # asyncio sets TCP_NODELAY only where the protocol is named; each answer would take 40 ms.
        assert bound.proto == socket.IPPROTO_TCP


def test_ipv6_addresses_have_brackets() -> None:
    try:
        bound = bind("::1", 0)
    except ConfigError:
        pytest.skip("this machine has no IPv6")
    with bound:
        assert address_of(bound) == f"http://[::1]:{bound.getsockname()[1]}"
        with pytest.raises(ConfigError, match="in use"):
            bind("::1", bound.getsockname()[1])


def test_a_port_that_is_not_permitted_is_an_error_with_its_remedy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(self: socket.socket, address: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(socket.socket, "bind", refuse)
    with pytest.raises(ConfigError, match=r"port 80 is not permitted .* above 1023 \(--port\)"):
        serving.bind("127.0.0.1", 80)


def test_many_connections_may_be_open(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    monkeypatch.setattr(serving, "SPARE_CONNECTIONS", 50)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (300, before[1]))
        assert serving.allow_connections(100) == 150
        assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] == 406
        assert serving.allow_connections(1) == 51
        assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] == 406  # never fewer
        monkeypatch.setattr(resource, "getrlimit", lambda _: (300, 1000))
        monkeypatch.setattr(resource, "setrlimit", lambda *_: None)
        assert not caplog.messages
        assert serving.allow_connections(5000) == 744  # other files need the rest
        assert caplog.messages == [
            "at most 744 connections at a time, since this process may open 1000 files; for 5050, "
            "raise that limit to 5306 (ulimit -n)"
        ]
    finally:
        monkeypatch.undo()
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_many_clients_may_wait_to_be_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Asyncio's backlog is also how many it accepts at once, and it sets that of the socket."""
    backlogs: list[int] = []
    bound: Any = SimpleNamespace(listen=backlogs.append)

    async def started(server: uvicorn.Server, sockets: list[Any]) -> None:
        backlogs.append(server.config.backlog)

    monkeypatch.setattr(uvicorn.Server, "startup", started)
    config = ServerConfig(systems=(TranslationSystem(models=(Path("nowhere"),)),))
    asyncio.run(StoppableServer(create_app([]), config).startup([bound]))
    assert backlogs == [serving.ACCEPTED_AT_ONCE, serving.BACKLOG]
    monkeypatch.setattr(serving, "allow_connections", lambda places: 7)
    asyncio.run(StoppableServer(create_app([]), config).startup([bound]))
    assert backlogs[2:] == [7, serving.BACKLOG]


SERVER = """
import sys, time
from dragoman.server import serving
from dragoman.server.request_log import log_to_standard_error
from dragoman.server.server_config import read_server
from dragoman.translation.translator import Translator

model, database, seconds = sys.argv[1:]
system = {"models": [model], "source_language": "en", "target_language": "de"}
values = {"systems": [system], "port": 0, "database": database}
values["shutdown_seconds"] = float(seconds)
serving.CLOSING_SECONDS = 1.5
log_to_standard_error("plain")

def ready(address, directions):  # each system has translated a word before
    Translator.translate_nbest = lambda *_, **options: time.sleep(1000)
    print(address, flush=True)

serving.serve_until_stopped(read_server(None, values), ready)
"""
"""A server of which each batch takes a thousand seconds."""


@contextmanager
def started(tmp_path: Path, shutdown_seconds: float) -> Iterator[subprocess.Popen[str]]:
    model = save_tiny_model(tmp_path / "model")
    arguments = [model, tmp_path / "server.sqlite", shutdown_seconds]
    with subprocess.Popen(
        [sys.executable, "-c", SERVER, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize(("requests", "shutdown_seconds"), [(3, 0.5), (0, 100)])
def test_a_server_ends_in_its_time_while_a_batch_is_translated(
    requests: int, shutdown_seconds: float, tmp_path: Path
) -> None:
    with started(tmp_path, shutdown_seconds) as server:
        check_end(server, requests, tmp_path)


def check_end(server: subprocess.Popen[str], requests: int, tmp_path: Path) -> None:
    """Stop a server with some requests and a file in progress."""
    assert server.stdout is not None
    address = server.stdout.readline().strip()
    body = {"q": "a b", "source": "en", "target": "de"}
    with httpx.Client(base_url=address, timeout=60) as http, ThreadPoolExecutor(3) as clients:
        asked = [clients.submit(http.post, "/translate", json=body) for _ in range(requests)]
        file = {"file": ("a.txt", b"a b")}
        job = http.post("/v1/documents", files=file, data={"source": "en", "target": "de"}).json()
        secret = {"Document-Secret": job["secret"]}
        while http.get(f"/v1/documents/{job['id']}", headers=secret).json()["state"] == "queued":
            time.sleep(0.02)
        while f"dragoman_requests_at_work {requests + 1}.0" not in http.get("/metrics").text:
            time.sleep(0.02)
        begin = time.monotonic()
        server.send_signal(signal.SIGTERM)
        answers = [one.result() for one in asked]
    _, logged = server.communicate(timeout=60)
    seconds = time.monotonic() - begin
    assert [one.status_code for one in answers] == [503] * requests
    assert [one.headers["Retry-After"] for one in answers] == ["5"] * requests
    assert server.returncode == 0
    assert seconds < 15  # of which 2 are the bounds, and the rest is for a busy machine
    assert "Traceback" not in logged
    assert logged.count("POST /translate 503 ") == requests
    assert "ends without what is still being translated" in logged
    with ServerStore(str(tmp_path / "server.sqlite")) as store:
        found = store.job(job["id"])
        assert found is not None and (found.state, found.abandoned) == ("queued", 0)


def test_an_earlier_end_stays_and_one_can_be_called_off(monkeypatch: pytest.MonkeyPatch) -> None:
    ended: list[float] = []
    monkeypatch.setattr("logging.shutdown", lambda: None)
    monkeypatch.setattr("os._exit", lambda code: ended.append(time.monotonic()))
    end = BoundedEnd()
    end.within(100)
    end.within(0.01)
    end.within(100)
    time.sleep(0.1)
    assert len(ended) == 1
    end = BoundedEnd()
    end.within(0.1)
    end.call_off()
    time.sleep(0.2)
    assert len(ended) == 1
