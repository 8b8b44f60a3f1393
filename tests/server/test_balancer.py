"""Servers behind ``deploy/haproxy.cfg``: what a server loses goes to another one, where it may."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest
from echo_service import EchoService
from running_server import running

from dragoman.saved.system import TranslationSystem
from dragoman.server.app import assemble
from dragoman.server.database.server_store import ServerStore
from dragoman.server.monitoring import Readiness
from dragoman.server.server_config import ServerConfig
from dragoman.server.serving import StoppableServer

CONFIGURATION = Path(__file__).parents[2] / "deploy" / "haproxy.cfg"
HELLO = {"q": "Hello", "source": "en", "target": "de"}
GLOSSARY = {"name": "Mine", "source": "en", "target": "de", "entries": {"a": "b"}}


class Dying(BaseHTTPRequestHandler):
    """Says that it is ready, and is gone before it answers anything else."""

    asked: list[str]

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def do_POST(self) -> None:
        self.asked.append(self.path)
        self.rfile.read(int(self.headers["Content-Length"]))
        self.close_connection = True

    def log_message(self, *arguments: object) -> None: ...


class Fleet(NamedTuple):
    address: str
    servers: list[StoppableServer]
    store: ServerStore
    died_at: list[str]
    log: Path


@contextmanager
def balanced(addresses: list[str], log: Path) -> Iterator[str]:
    """The address of a balancer of servers."""
    with socket.create_server(("127.0.0.1", 0)) as bound, log.open("wb") as stream:
        names = ("DRAGOMAN_FIRST", "DRAGOMAN_SECOND", "DRAGOMAN_THIRD")
        places = dict(zip(names, (one.removeprefix("http://") for one in addresses), strict=True))
        process = subprocess.Popen(
            ["haproxy", "-db", "-f", CONFIGURATION],
            env={**os.environ, **places, "DRAGOMAN_BIND": f"fd@{bound.fileno()}"},
            pass_fds=[bound.fileno()],
            stdout=stream,
            stderr=stream,
        )
        try:
            yield f"http://127.0.0.1:{bound.getsockname()[1]}"
        finally:
            process.kill()
            process.wait()


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    """Two servers and one that dies, behind a balancer."""
    if shutil.which("haproxy") is None:
        pytest.skip("HAProxy is not installed")
    folder = tmp_path_factory.mktemp("fleet")
    config = ServerConfig(systems=(TranslationSystem(models=("unread",)),), drain_seconds=2)
    with ExitStack() as stack:
        store = stack.enter_context(ServerStore(str(folder / "server.sqlite")))
        addresses, servers = [], []
        for _ in range(2):
            readiness = Readiness(config.drain_seconds)
            app = assemble(config, EchoService(seconds=0.02), store, readiness=readiness)
            servers.append(StoppableServer(app, config, readiness))
            addresses.append(stack.enter_context(running(app, servers[-1])))
        handler: Any = type("DyingHere", (Dying,), {"asked": []})
        dying = stack.enter_context(ThreadingHTTPServer(("127.0.0.1", 0), handler))
        threading.Thread(target=dying.serve_forever, args=(0.01,), daemon=True).start()
        stack.callback(dying.shutdown)
        addresses.append(f"http://127.0.0.1:{dying.server_port}")
        log = folder / "haproxy.log"
        address = stack.enter_context(balanced(addresses, log))
        yield Fleet(address, servers, store, handler.asked, log)


def test_what_a_server_lost_is_translated_by_another(fleet: Fleet) -> None:
    answers = [httpx.post(f"{fleet.address}/translate", json=HELLO) for _ in range(6)]
    assert [one.status_code for one in answers] == [200] * 6
    assert {one.json()["translatedText"] for one in answers} == {"HELLOde"}
    assert "/translate" in fleet.died_at


def test_what_must_not_be_done_twice_is_not_sent_again(fleet: Fleet) -> None:
    answers = [httpx.post(f"{fleet.address}/v1/glossaries", json=GLOSSARY) for _ in range(6)]
    statuses = [one.status_code for one in answers]
    assert set(statuses) == {201, 502}
    assert statuses.count(502) == fleet.died_at.count("/v1/glossaries")
    assert len(fleet.store.glossaries(None)) == statuses.count(201)
    lost = answers[statuses.index(502)]
    assert lost.headers["Retry-After"] == "1"
    assert lost.json()["error"]


def test_what_follows_a_question_mark_is_not_logged(fleet: Fleet) -> None:
    httpx.get(f"{fleet.address}/v2/usage?auth_key=SECRET")
    while "/v2/usage" not in (logged := fleet.log.read_text(encoding="utf-8")):
        time.sleep(0.02)
    assert "SECRET" not in logged


def test_figures_are_for_the_inside(fleet: Fleet) -> None:
    for path in ("/metrics", "/%6detrics"):
        assert httpx.get(f"{fleet.address}{path}").status_code == 404
    answer = httpx.post(f"{fleet.address}/translate", json=HELLO)
    assert answer.headers["X-Request-ID"].count("-") == 4  # the balancer's, which its log has too


def test_a_server_that_ends_costs_nothing(fleet: Fleet) -> None:
    """The last test, since a server is missing afterwards."""
    statuses: list[int] = []

    def ask() -> None:
        with httpx.Client() as client:
            while not over.is_set():
                statuses.append(client.post(f"{fleet.address}/translate", json=HELLO).status_code)
                time.sleep(0.05)

    over = threading.Event()
    clients = [threading.Thread(target=ask) for _ in range(3)]
    for client in clients:
        client.start()
    first = fleet.servers[0]
    first.handle_exit(signal.SIGTERM, None)
    while not first.should_exit or first.server_state.connections:
        time.sleep(0.05)
    time.sleep(0.3)
    over.set()
    for client in clients:
        client.join()
    assert len(statuses) > 10
    assert set(statuses) == {200}
