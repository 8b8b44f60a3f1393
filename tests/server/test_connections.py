from __future__ import annotations

import asyncio
import logging
import socket
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

import h11
import httpx
import pytest
from plain_api import PlainApi
from running_server import running
from uvicorn.protocols.http.flow_control import FlowControl

from dragoman.saved.system import TranslationSystem
from dragoman.server import admission, serving
from dragoman.server.admission import PatientProtocol
from dragoman.server.app import create_app
from dragoman.server.monitoring import Monitoring
from dragoman.server.server_config import LimitsConfig, ServerConfig
from dragoman.server.serving import StoppableServer

SYSTEMS = (TranslationSystem(models=(Path("nowhere"),)),)


@contextmanager
def served(
    plain: PlainApi, places: int, monitoring: Monitoring | None = None
) -> Iterator[tuple[str, int]]:
    """Host and port of a door with so many places."""
    limits = LimitsConfig(connections=places)
    config = ServerConfig(systems=SYSTEMS, limits=limits)
    app = create_app([plain.api], limits, monitoring=monitoring)
    with running(app, StoppableServer(app, config)) as address:
        parts = urlsplit(address)
        assert parts.hostname is not None
        yield parts.hostname, parts.port or 80


def asked(path: str, *headers: str) -> bytes:
    lines = [f"GET {path} HTTP/1.1", "Host: localhost", *headers, "", ""]
    return "\r\n".join(lines).encode()


def answer(connection: socket.socket) -> httpx.Response:
    """The next answer on a connection."""
    data = b""
    while b"\r\n\r\n" not in data:
        part = connection.recv(1 << 16)
        assert part, "the connection was closed"
        data += part
    head, _, body = data.partition(b"\r\n\r\n")
    first, *lines = head.decode("ascii").split("\r\n")
    headers = dict(line.split(": ", 1) for line in lines)
    found = httpx.Response(int(first.split()[1]), headers=headers)
    while len(body) < int(found.headers["content-length"]):
        part = connection.recv(1 << 16)
        assert part, "the connection was closed"
        body += part
    return httpx.Response(found.status_code, headers=found.headers, content=body)


def is_closed(connection: socket.socket) -> bool:
    """Whether the server has closed a connection; waits until it has."""
    with suppress(ConnectionResetError):
        return connection.recv(1) == b""
    return True


def wait_until(is_so: Callable[[], bool]) -> None:
    end = time.monotonic() + 20
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.005)


@contextmanager
def full() -> Iterator[Callable[[], socket.socket]]:
    """What connects to a server whose only place is taken."""
    plain = PlainApi()
    with served(plain, 1) as where, ExitStack() as opened:

        def connect() -> socket.socket:
            one = opened.enter_context(socket.create_connection(where, 10))
            one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return one

        connect().sendall(asked("/plain/held"))
        wait_until(lambda: "begun" in plain.events)
        yield connect


def send_in_pieces(connection: socket.socket, *pieces: bytes) -> None:
    """Send what shall not arrive together."""
    for piece in pieces:
        connection.sendall(piece)
        time.sleep(0.05)


def test_a_refusal_by_bytes_is_the_ordinary_one_and_keeps_the_connection() -> None:
    plain, monitoring = PlainApi(), Monitoring()
    with served(plain, 1, monitoring) as where, socket.create_connection(where, 10) as busy:
        busy.sendall(asked("/plain/held"))
        wait_until(lambda: "begun" in plain.events)
        with (
            socket.create_connection(where, 10) as early,
            socket.create_connection(where, 10) as ordinary,
        ):
            for _ in range(3):
                early.sendall(asked("/plain/items/1"))
                by_bytes = answer(early)
            ordinary.sendall(asked("/plain/items/1", "Connection: close"))
            in_order = answer(ordinary)
            assert by_bytes.status_code == in_order.status_code == 503
            assert by_bytes.content == in_order.content
            own = {"x-request-id", "date", "connection"}
            assert {name: value for name, value in by_bytes.headers.items() if name not in own} == {
                name: value for name, value in in_order.headers.items() if name not in own
            }
            plain.released.set()
            assert answer(busy).status_code == 200
            statuses = []
            while 200 not in statuses:  # its place is free soon after its answer
                early.sendall(asked("/plain/items/1"))
                statuses.append(answer(early).status_code)
    text = monitoring.text().decode()
    refused = 4 + len(statuses) - 1
    assert f'dragoman_requests_total{{method="GET",path="other",status="503"}} {refused}.0' in text
    assert "dragoman_requests_at_work 0.0" in text


def test_in_a_crowd_a_refusal_is_the_last_answer_of_its_connection(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(serving, "SPARE_CONNECTIONS", 2)  # of 3, 3 are a crowd
    with full() as connect:
        kept, last = connect(), connect()
        # The last one was accepted after the others, or at the same time.
        last.sendall(asked("/plain/items/1"))
        refused = answer(last)
        assert refused.status_code == 503
        assert refused.headers["connection"] == "close"
        assert is_closed(last)
        kept.sendall(asked("/plain/items/1"))
        assert "connection" not in answer(kept).headers
        kept.sendall(asked("/plain/items/1"))
        assert answer(kept).status_code == 503


def test_a_request_that_arrives_in_pieces_is_refused_as_well() -> None:
    with full() as connect:
        other, whole = connect(), asked("/plain/items/1")
        send_in_pieces(other, whole[:20], whole[20:])
        assert answer(other).status_code == 503
        assert is_closed(other)


@pytest.mark.parametrize(
    "begun",
    [
        b"POST /plain/length HTTP/1.1\r\nHost: x\r\nContent-Length: 500\r\n\r\n",
        b"GET /plain/items/1 HTTP/1.1\r\nX-Header: ",
    ],
    ids=["its body", "a header of it"],
)
def test_what_is_inside_of_a_request_is_not_a_request(begun: bytes) -> None:
    with full() as connect:
        other = connect()
        send_in_pieces(other, begun, asked("/plain/items/1"), bytes(500))
        refused = answer(other)
        assert (refused.status_code, refused.headers["connection"]) == (503, "close")
        assert is_closed(other)


@pytest.mark.parametrize("is_paused", [False, True])
def test_a_client_that_does_not_read_is_not_refused_again_and_again(is_paused: bool) -> None:
    protocol, written = PatientProtocol.__new__(PatientProtocol), bytearray()
    protocol.conn = h11.Connection(h11.SERVER)
    protocol.transport = SimpleNamespace(  # type: ignore[assignment]
        is_closing=lambda: False, write=written.extend
    )
    protocol.flow = FlowControl(protocol.transport)
    protocol._all_open = admission.OpenConnections(1)
    protocol._admission = SimpleNamespace(  # type: ignore[assignment]
        refusal=lambda data, *, is_last: b"refused"
    )
    protocol.on_response_complete = lambda: None  # type: ignore[method-assign]
    if is_paused:
        protocol.flow.pause_writing()
    assert protocol._turn_away(asked("/")) is not is_paused
    assert bytes(written) == (b"" if is_paused else b"refused")


def test_with_too_many_connections_the_one_that_waits_longest_is_closed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(serving, "SPARE_CONNECTIONS", 1)
    plain = PlainApi()
    with served(plain, 3) as where, ExitStack() as opened:

        def connect() -> socket.socket:
            return opened.enter_context(socket.create_connection(where, 10))

        busy = connect()
        busy.sendall(asked("/plain/held"))
        wait_until(lambda: "begun" in plain.events)
        stalled, idle, asking = connect(), connect(), connect()
        stalled.sendall(asked("/plain/items/1")[:10])
        for one in (idle, asking, idle):
            one.sendall(asked("/plain/items/1"))
            assert answer(one).status_code == 200
        connect()  # the fifth of four
        assert is_closed(stalled)
        connect()
        assert is_closed(asking)  # its last request is longer ago than the other's
        idle.sendall(asked("/plain/items/1"))
        assert answer(idle).status_code == 200
        plain.released.set()
        assert answer(busy).status_code == 200


class Waiting:
    """What the bound sees of a connection."""

    def __init__(self, name: str, closed: list[str], *, has_unread: bool) -> None:
        self.transport = SimpleNamespace(abort=lambda: closed.append(name))
        self.has_unread = lambda: has_unread


def closed_of(unread: str) -> list[str]:
    """Which of the connections a to e are closed where three may be open; these have a request."""
    closed: list[str] = []
    all_open = admission.OpenConnections(3)
    for name in "abcde":
        one: Any = Waiting(name, closed, has_unread=name in unread)
        all_open.add(one)
    return closed


def test_a_connection_whose_request_has_come_is_not_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert closed_of(unread="") == ["a", "b"]
    assert closed_of(unread="a") == ["b", "c"]
    assert closed_of(unread="abcd") == ["e"]
    monkeypatch.setattr(admission, "MOST_LOOKS", 2)
    assert closed_of(unread="abc") == ["d"]  # a and b are looked at for d, then c and d for e


def test_what_is_unread_is_noticed_even_if_no_file_can_be_opened() -> None:
    resource = pytest.importorskip("resource")
    ours, theirs = socket.socketpair()
    with ours, theirs:
        protocol = PatientProtocol.__new__(PatientProtocol)
        found = {"socket": ours}
        protocol.transport = SimpleNamespace(get_extra_info=found.get)  # type: ignore[assignment]
        assert not protocol.has_unread()
        theirs.sendall(b"G")
        assert protocol.has_unread()
        before = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (3, before[1]))
        try:
            assert protocol.has_unread()
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_if_all_are_at_work_the_last_one_to_come_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "SPARE_CONNECTIONS", 0)
    plain = PlainApi()
    with served(plain, 1) as where, socket.create_connection(where, 10) as busy:
        busy.sendall(asked("/plain/held"))
        wait_until(lambda: "begun" in plain.events)
        with socket.create_connection(where, 10) as late:
            assert is_closed(late)
        plain.released.set()
        assert answer(busy).status_code == 200


def test_a_crowd_that_comes_at_once_is_answered(caplog: pytest.LogCaptureFixture) -> None:
    """More clients than there may be connections unread, each with a request of its own."""
    caplog.set_level(logging.ERROR)
    plain = PlainApi()

    def ask(_: int) -> list[int]:
        with ExitStack() as opened:
            clients = [opened.enter_context(socket.create_connection(where, 20)) for _ in range(75)]
            for one in clients:
                one.sendall(asked("/plain/items/1"))
            return [answer(one).status_code for one in clients]

    with served(plain, 20) as where, ThreadPoolExecutor(8) as crowds:
        statuses = [status for one in crowds.map(ask, range(8)) for status in one]
    assert len(statuses) == 600
    assert set(statuses) <= {200, 503}
    assert not caplog.records


class SlowClient:
    """What a protocol sees of a client: how much it has not fetched yet, and when to look."""

    def __init__(self, unsent: int, *, is_closing: bool) -> None:
        self.unsent, self._is_closing, self.is_left = unsent, is_closing, False
        self.protocol = PatientProtocol.__new__(PatientProtocol)
        self.protocol.transport = self  # type: ignore[assignment]
        self.protocol.loop = SimpleNamespace(call_later=self._call_later)  # type: ignore[assignment]
        self.protocol._look_later()

    def _call_later(self, seconds: float, look: Callable[[], None]) -> Any:
        assert seconds == admission.FLUSH_SECONDS
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
