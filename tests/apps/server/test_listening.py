from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from uvicorn.protocols.http.flow_control import FlowControl

from dragoman.apps.server import listening
from dragoman.apps.server.app import create_app
from dragoman.apps.server.listening import PatientProtocol, StoppableServer, address_of, bind
from dragoman.apps.server.server_config import ServerConfig
from dragoman.core.errors import ConfigError
from dragoman.saved.system import TranslationSystem


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


def test_many_connections_may_be_open() -> None:
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (300, before[1]))
        listening.allow_many_connections(100)
        assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] == 612
        listening.allow_many_connections(1)
        assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] == 612  # never fewer
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


class SlowClient:
    """What a protocol sees of a client: how much it has not fetched yet, and when to look."""

    def __init__(self, unsent: int, *, is_closing: bool) -> None:
        self.unsent, self._is_closing, self.is_left = unsent, is_closing, False
        self.protocol = PatientProtocol.__new__(PatientProtocol)
        self.protocol.transport = self  # type: ignore[assignment]
        self.protocol.loop = SimpleNamespace(call_later=self._call_later)  # type: ignore[assignment]
        self.protocol._look_later()

    def _call_later(self, seconds: float, look: Callable[[], None]) -> Any:
        assert seconds == listening.FLUSH_SECONDS
        self._look = look

    def look(self, unsent: int) -> bool:
        """Whether the client is left where so much is unsent now."""
        self.unsent = unsent
        self._look()
        return self.is_left

    def get_write_buffer_size(self) -> int:
        return self.unsent

    def is_closing(self) -> bool:
        return self._is_closing

    def abort(self) -> None:
        self.is_left = True


def slow_client(*, is_closing: bool, is_paused: bool) -> SlowClient:
    client = SlowClient(0, is_closing=is_closing)
    flow = client.protocol.flow = FlowControl(client)  # type: ignore[arg-type]
    if is_paused:
        flow.pause_writing()
    return client


@pytest.mark.parametrize(("is_closing", "is_paused"), [(True, False), (False, True)])
def test_a_slow_client_gets_all_and_one_that_stops_is_left(
    is_closing: bool, is_paused: bool
) -> None:
    async def looks() -> None:
        client = slow_client(is_closing=is_closing, is_paused=is_paused)
        sizes = [500_000, 400_000, 300_000, 299_000]
        assert list(map(client.look, sizes)) == [False, False, False, True]

    asyncio.run(looks())


def test_a_client_that_has_fetched_all_meanwhile_is_kept() -> None:
    async def looks() -> None:
        client = slow_client(is_closing=False, is_paused=True)
        assert not client.look(300_000)
        client.protocol.resume_writing()
        client.protocol.pause_writing()  # by the next answer, of the same size
        assert not client.look(300_000)
        assert client.look(300_000)
        idle = slow_client(is_closing=False, is_paused=False)
        assert [idle.look(0) for _ in range(4)] == [False] * 4

    asyncio.run(looks())
