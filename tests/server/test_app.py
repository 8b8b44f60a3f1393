from __future__ import annotations

import asyncio
import json
import logging
import re
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from plain_api import PlainApi
from running_server import running
from starlette.types import Message

from dragoman.saved.system import TranslationSystem
from dragoman.server import admission, request_bounds
from dragoman.server.app import create_app
from dragoman.server.monitoring import Monitoring
from dragoman.server.server_config import LimitsConfig, ServerConfig
from dragoman.server.serving import StoppableServer

SYSTEMS = (TranslationSystem(models=(Path("nowhere"),)),)


@contextmanager
def served(
    plain: PlainApi | None = None, monitoring: Monitoring | None = None, **limits: float
) -> Iterator[str]:
    """The address of two apis with these limits."""
    config = ServerConfig(
        systems=SYSTEMS,
        limits=LimitsConfig.model_validate(limits),
        trusted_proxies=("127.0.0.1",),
    )
    apis = [PlainApi("/first").api, (plain or PlainApi()).api]
    app = create_app(apis, config.limits, monitoring=monitoring)
    with running(app, StoppableServer(app, config)) as address:
        yield address


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """A server with the usual limits."""
    with served() as found:
        yield found


@contextmanager
def connected(address: str, buffer: int | None = None) -> Iterator[socket.socket]:
    """A connection, with so many bytes for what is not read yet."""
    parts = urlsplit(address)
    with closing(socket.socket()) as connection:
        connection.settimeout(10)
        if buffer is not None:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        connection.connect((parts.hostname, parts.port or 80))
        yield connection


def answer_on(connection: socket.socket) -> bytes:
    """All that comes until the server closes the connection."""
    parts = []
    while part := connection.recv(1 << 16):
        parts.append(part)
    return b"".join(parts)


@pytest.mark.parametrize(
    ("method", "path", "status", "kind"),
    [
        ("GET", "/plain/nothing", 404, "not_found"),
        ("GET", "/nobodys", 404, "not_found"),
        ("GET", "/plain/length", 405, "invalid"),
        ("DELETE", "/plain/items/3", 405, "invalid"),
        ("GET", "/plain/items/three", 400, "invalid"),
        ("GET", "/plain/refused", 503, "busy"),
        ("GET", "/plain/broken", 500, "internal"),
        ("GET", "/plain/../plain/items/%00", 400, "invalid"),
        ("GET", "/plain/items/three?%ff", 400, "invalid"),
    ],
)
def test_the_door_of_a_path_words_its_errors(
    address: str, method: str, path: str, status: int, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    response = httpx.request(method, address + path)
    assert response.status_code == status
    name = "plain" if path.startswith("/plain") else "first"
    assert response.json()["kind"] == kind
    assert name in response.json()
    if status == 404:
        assert response.json()[name] == f"there is no path '{path}'; correct it"
    if status == 405:
        assert response.headers["Allow"]
    if status == 503:
        assert response.headers["Retry-After"] == "2"


def test_an_address_that_is_not_utf_8_is_refused_like_any_other() -> None:
    """As bytes, which h11 refuses before they come so far; other servers may not."""
    statuses: list[int] = []
    received = iter([{"type": "http.request", "body": b"", "more_body": False}])

    async def send(message: Message) -> None:
        statuses.extend([message["status"]] if message["type"] == "http.response.start" else [])

    async def receive() -> Message:
        return next(received, {"type": "http.disconnect"})

    scope = {
        **{"type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "GET"},
        **{"scheme": "http", "path": "/plain/refused", "raw_path": b"/plain/refused"},
        **{"query_string": b"\xff", "headers": [], "client": ("x", 1), "server": ("x", 1)},
    }
    app = create_app([PlainApi("/first").api, PlainApi().api])
    asyncio.run(app(scope, receive, send))
    assert statuses == [503]


def test_a_fault_is_in_the_log_and_not_in_the_answer(
    address: str, caplog: pytest.LogCaptureFixture
) -> None:
    response = httpx.get(f"{address}/plain/broken", headers={"X-Request-ID": "its-number"})
    assert response.headers["X-Request-ID"] == "its-number"
    assert response.json()["plain"].endswith("its-number")
    assert "secret" not in response.text
    assert "a secret of the inside" in caplog.text


@pytest.mark.parametrize("path", ["away", "damaged"])
def test_a_database_that_does_not_answer_is_a_busy_server(
    address: str, path: str, caplog: pytest.LogCaptureFixture
) -> None:
    response = httpx.get(f"{address}/plain/{path}")
    assert (response.status_code, response.headers["Retry-After"]) == (503, "5")
    said = "the database does not answer; try again later"
    assert response.json() == {"plain": said, "kind": "busy"}
    assert "/secret/server.sqlite" in caplog.text


@pytest.mark.parametrize("given", ["", "two words", "a\tb", "x" * 65, "<b>", "ü"])
def test_a_request_number_that_could_harm_a_log_is_replaced(address: str, given: str) -> None:
    number = given.encode("latin-1")
    response = httpx.get(f"{address}/plain/items/1", headers={b"X-Request-ID": number})
    assert re.fullmatch("[0-9a-f]{16}", response.headers["X-Request-ID"])


def test_every_response_has_the_headers_that_browsers_heed(address: str) -> None:
    for path in ("/plain/items/1", "/nobodys"):
        headers = httpx.get(address + path).headers
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Cache-Control"] == "no-store"
        assert "Server" not in headers


def test_head_is_get_without_a_body(address: str) -> None:
    response = httpx.head(f"{address}/plain/items/1")
    assert (response.status_code, response.content) == (200, b"")
    assert int(response.headers["Content-Length"]) > 0
    assert httpx.head(f"{address}/nobodys").status_code == 404


def test_pages_of_other_origins_may_call() -> None:
    page = {"Origin": "https://example.org"}
    asked = {
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "authorization, content-type",
    }
    with served(body_bytes=10) as address:
        preflight = httpx.options(f"{address}/plain/length", headers={**page, **asked})
        assert preflight.status_code == 200
        assert "authorization" in preflight.headers["Access-Control-Allow-Headers"]
        refused = httpx.post(f"{address}/plain/length", content="x" * 11, headers=page)
    assert refused.status_code == 413
    assert refused.headers["Access-Control-Allow-Origin"] == "*"


def pieces(size: int) -> Iterator[bytes]:
    """So many bytes, without their number in front."""
    for _ in range(size // 1000):
        yield b"x" * 1000
    yield b"x" * (size % 1000)


@pytest.mark.parametrize("is_chunked", [False, True])
@pytest.mark.parametrize(("size", "status"), [(0, 200), (500_000, 200), (500_001, 413)])
def test_bodies_are_bounded(size: int, status: int, is_chunked: bool) -> None:
    assert size == 0 or size > request_bounds.SMALL_BODY
    content = pieces(size) if is_chunked else b"x" * size
    with served(body_bytes=500_000) as address:
        response = httpx.post(f"{address}/plain/length", content=content)
    assert response.status_code == status
    if status == 200:
        assert response.json() == size
    else:
        text = "a request may have 500000 bytes; send less at once"
        assert response.json() == {"plain": text, "kind": "too_large"}


@pytest.mark.parametrize("sent", [0, request_bounds.SMALL_BODY + 1])
def test_slow_bodies_of_one_client_block_no_other(sent: int) -> None:
    head = b"POST /plain/length HTTP/1.1\r\nHost: x\r\nContent-Length: 500000\r\n\r\n"
    with served() as address, ExitStack() as slow:
        for _ in range(2 * request_bounds.LARGE_BODIES):
            slow.enter_context(connected(address)).sendall(head + b"x" * sent)
        time.sleep(0.1)  # they arrive, and wait for the rest of their bodies
        response = httpx.post(
            f"{address}/plain/length",
            content=b"x" * 500_000,
            headers={"X-Forwarded-For": "203.0.113.9"},
            timeout=5,
        )
    assert response.json() == 500_000


def test_whoever_waits_for_a_place_is_not_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its own time to send is short, and others have the only place for longer."""
    monkeypatch.setattr(request_bounds, "LARGE_BODIES", 1)
    plain = PlainApi()
    body = b"x" * 500_000
    with served(plain, upload_seconds=0.5) as address, ThreadPoolExecutor(1) as other:
        first = other.submit(httpx.post, f"{address}/plain/held", content=body)
        while not plain.events:
            time.sleep(0.01)
        release = threading.Timer(1, plain.released.set)
        release.start()
        response = httpx.post(f"{address}/plain/length", content=body)
        assert first.result().status_code == 200
    assert response.json() == 500_000


def test_who_waits_for_a_place_too_long_may_come_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_bounds, "LARGE_BODIES", 1)
    body = b"x" * 5_000_000
    head = b"POST /plain/length HTTP/1.1\r\nHost: x\r\nContent-Length: 5000000\r\n\r\n"
    with served(upload_seconds=1, seconds=0.5) as address, connected(address) as slow:
        slow.sendall(head + body[:-1])
        time.sleep(0.1)
        response = httpx.post(f"{address}/plain/length", content=body)
    assert (response.status_code, response.headers["Retry-After"]) == (503, "5")


def test_a_body_without_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_bounds, "DRAIN_SECONDS", 0.2)
    head = b"POST /plain/length HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    with served(body_bytes=1000) as address, connected(address) as connection:
        connection.sendall(head)
        with pytest.raises(OSError):
            while True:
                connection.sendall(b"800\r\n" + b"x" * 2048 + b"\r\n")


def test_a_client_that_asks_before_sending_too_much_sends_nothing() -> None:
    head = b"POST /plain/length HTTP/1.1\r\nHost: x\r\nContent-Length: 1001\r\n"
    with served(body_bytes=1000) as address, connected(address) as connection:
        connection.sendall(head + b"Expect: 100-continue\r\n\r\n")
        assert answer_on(connection).startswith(b"HTTP/1.1 413 ")


def test_a_body_that_does_not_come_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_bounds, "DRAIN_SECONDS", 0.1)
    head = b"POST /plain/length HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc"
    with served(upload_seconds=0.2) as address, connected(address) as connection:
        connection.sendall(head)
        answer = answer_on(connection)
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert b"the request was not complete after 0.2 seconds" in answer


@pytest.mark.parametrize("sent", [b"", b"G", b"GET /plain/items/1 HTTP/1.1\r\nHost:"])
def test_a_client_that_does_not_finish_its_question_is_left(
    sent: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(admission, "HEADER_SECONDS", 0.2)
    with served() as address:
        for question in (b"", b"GET /plain/items/1 HTTP/1.1\r\nHost: x\r\n\r\n"):
            with connected(address) as connection:
                connection.sendall(question)
                if question:
                    answer = b""
                    while not answer.endswith(b"}"):
                        answer += connection.recv(1 << 16)
                    if not sent:
                        continue  # an idle connection may stay
                connection.sendall(sent)
                with suppress(ConnectionResetError):
                    assert connection.recv(1) == b""


@pytest.mark.parametrize(
    "nonsense",
    [b"\x16\x03\x01\x02\x00\x01\r\n\r\n", b"GET\r\n\r\n", b"GET / HTTP/1.1\r\nA: " + b"x" * 70_000],
)
def test_what_is_no_http_is_refused(address: str, nonsense: bytes) -> None:
    with connected(address) as connection:
        connection.sendall(nonsense)
        assert answer_on(connection).startswith(b"HTTP/1.1 400 ")


def test_a_request_has_a_time() -> None:
    plain = PlainApi()
    with served(plain, seconds=0.2) as address:
        response = httpx.get(f"{address}/plain/slow/5")
    assert response.status_code == 503
    assert response.json()["kind"] == "timed_out"
    assert response.headers["Retry-After"] == "5"
    assert plain.events == ["begun", "cancelled"]


def test_a_stream_that_takes_too_long_is_cut_off() -> None:
    with (
        served(seconds=0.3) as address,
        pytest.raises(httpx.RemoteProtocolError, match="without sending complete"),
    ):
        httpx.get(f"{address}/plain/drops/100")


UNREAD = b"GET /plain/much/8000000 HTTP/1.1\r\nHost: x\r\n"


@pytest.mark.parametrize(
    "question",
    [
        UNREAD + b"\r\n",
        UNREAD + b"Connection: close\r\n\r\n",
        2 * (UNREAD + b"\r\n"),
        b"GET /plain/flood HTTP/1.1\r\nHost: x\r\n\r\n",
    ],
    ids=["kept open", "closed", "two at once", "without end"],
)
def test_a_client_that_does_not_read_is_left(
    question: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(admission, "FLUSH_SECONDS", 0.2)
    limits = LimitsConfig(seconds=0.4)
    config = ServerConfig(systems=SYSTEMS, limits=limits)
    app = create_app([PlainApi().api], limits)
    server = StoppableServer(app, config)
    with running(app, server) as address, connected(address, buffer=4096) as connection:
        connection.sendall(question)
        while not server.server_state.connections:
            time.sleep(0.01)
        end = time.monotonic() + 20
        while server.server_state.connections or server.server_state.tasks:
            assert time.monotonic() < end
            time.sleep(0.01)


def test_streams_arrive_piece_by_piece(address: str) -> None:
    with httpx.stream("GET", f"{address}/plain/drops/4") as response:
        begin = time.perf_counter()
        arrived = [(line, time.perf_counter() - begin) for line in response.iter_lines()]
    assert [line for line, _ in arrived] == ["0", "1", "2", "3"]
    assert arrived[-1][1] - arrived[0][1] > 0.1


def test_the_work_of_a_client_that_leaves_is_cancelled(caplog: pytest.LogCaptureFixture) -> None:
    plain = PlainApi()
    caplog.set_level(logging.INFO, "dragoman.access")
    with served(plain) as address:
        with connected(address) as connection:
            connection.sendall(b"GET /plain/slow/30 HTTP/1.1\r\nHost: x\r\n\r\n")
            while "begun" not in plain.events:
                time.sleep(0.01)
        while "cancelled" not in plain.events:
            time.sleep(0.01)
    assert "GET /plain/slow/30 499" in caplog.text


def test_only_so_many_requests_are_at_work_but_the_server_says_how_it_is() -> None:
    plain = PlainApi()
    with served(plain, connections=2) as address, ThreadPoolExecutor(2) as clients:
        first = [clients.submit(httpx.get, f"{address}/plain/slow/0.5") for _ in range(2)]
        while len(plain.events) < 2:
            time.sleep(0.01)
        refused = httpx.post(f"{address}/plain/length", content=b"x" * 100_000)
        assert refused.status_code == 503
        assert refused.headers["Retry-After"] == "2"
        assert refused.json()["kind"] == "busy"
        assert httpx.get(f"{address}/health").status_code == 404  # nobody has it here
        assert [one.result().status_code for one in first] == [200, 200]
        assert httpx.get(f"{address}/plain/items/1").status_code == 200


def test_proxies_are_believed_only_if_trusted() -> None:
    forwarded = {"X-Forwarded-For": "203.0.113.9"}
    with served() as address:
        response = httpx.get(f"{address}/plain/items/1", headers=forwarded)
        assert response.json()["client"] == "203.0.113.9"
    config = ServerConfig(systems=SYSTEMS, trusted_proxies=("10.0.0.0/8",))
    app = create_app([PlainApi().api])
    with running(app, StoppableServer(app, config)) as address:
        response = httpx.get(f"{address}/plain/items/1", headers=forwarded)
        assert response.json()["client"] == "127.0.0.1"


def test_neither_texts_nor_keys_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    with served() as address:
        httpx.get(
            f"{address}/plain/items/1?q=private+words&api_key=sesame",
            headers={"Authorization": "DeepL-Auth-Key sesame"},
        )
        httpx.get(f"{address}/plain/%0Aforged")
    logged = [
        record.getMessage() for record in caplog.records if record.name.startswith("dragoman")
    ]
    assert re.fullmatch(r"GET /plain/items/1 200 \d+ ms 127\.0\.0\.1", logged[0])
    assert logged[1].startswith(r"GET /plain/\nforged 404 ")
    assert not any("private" in line or "sesame" in line for line in logged)


def test_figures_count_requests_by_route_and_not_by_what_clients_invent() -> None:
    monitoring = Monitoring()
    with served(monitoring=monitoring) as address:
        for path in ("/plain/items/1", "/plain/items/2", "/plain/nothing", "/secret-path"):
            httpx.get(address + path)
        httpx.request("INVENTED", f"{address}/plain/items/3")
    text = monitoring.text().decode()
    counted = 'dragoman_requests_total{method="GET",path="/plain/items/{number}",status="200"} 2.0'
    assert counted in text
    assert 'dragoman_requests_total{method="GET",path="other",status="404"} 2.0' in text
    assert 'method="other"' in text
    assert "secret-path" not in text
    assert "INVENTED" not in text
    assert "dragoman_requests_at_work 0.0" in text


def test_logs_are_lines_to_read_or_json(capsys: pytest.CaptureFixture[str]) -> None:
    from dragoman.server.request_log import log_to_standard_error

    root = logging.getLogger()
    before, level = list(root.handlers), logging.getLogger("dragoman").level
    try:
        log_to_standard_error("plain")
        with served() as address:
            httpx.get(f"{address}/plain/broken", headers={"X-Request-ID": "plain"})
        log_to_standard_error("json")
        with served() as address:
            httpx.get(f"{address}/plain/broken", headers={"X-Request-ID": "json"})
    finally:
        root.handlers[:] = before
        logging.getLogger("dragoman").setLevel(level)
    lines = capsys.readouterr().err.splitlines()
    objects = [json.loads(line) for line in lines if line.startswith("{")]
    assert any(line.endswith("[plain]") and " 500 " in line for line in lines)
    fault, access = objects[-2:]
    assert fault["request_id"] == access["request_id"] == "json"
    assert "RuntimeError" in fault["exception"]
    assert access["level"] == "info"
    expected = {"method": "GET", "path": "/plain/broken", "status": 500, "client": "127.0.0.1"}
    assert access.items() >= expected.items()
