from __future__ import annotations

import asyncio
import signal
import socket
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import uvicorn

from dragoman.core.errors import ConfigError
from dragoman.saved.system import TranslationSystem
from dragoman.server import listening
from dragoman.server.app import create_app
from dragoman.server.listening import StoppableServer, address_of, bind
from dragoman.server.server_config import ServerConfig


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
        listening.bind("127.0.0.1", 80)


def test_many_connections_may_be_open(monkeypatch: pytest.MonkeyPatch) -> None:
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    monkeypatch.setattr(listening, "SPARE_CONNECTIONS", 50)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (300, before[1]))
        assert listening.allow_connections(100) == 150
        assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] == 406
        assert listening.allow_connections(1) == 51
        assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] == 406  # never fewer
        monkeypatch.setattr(resource, "getrlimit", lambda _: (300, 1000))
        monkeypatch.setattr(resource, "setrlimit", lambda *_: None)
        assert listening.allow_connections(5000) == 744  # other files need the rest
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
    assert backlogs == [listening.ACCEPTED_AT_ONCE, listening.BACKLOG]
