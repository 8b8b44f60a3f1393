"""Requests that are written unusually reach what they mean, and leave no advice in the log."""

from __future__ import annotations

import logging
import re
import socket
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from plain_api import PlainApi
from running_server import running

from dragoman.saved.system import TranslationSystem
from dragoman.server.app import create_app
from dragoman.server.server_config import LimitsConfig, ServerConfig
from dragoman.server.serving import StoppableServer

SYSTEMS = (TranslationSystem(models=("nowhere",)),)


@pytest.fixture(scope="module")
def where() -> Iterator[tuple[str, int]]:
    limits = LimitsConfig()
    app = create_app([PlainApi().api], limits)
    server = StoppableServer(app, ServerConfig(systems=SYSTEMS, limits=limits))
    with running(app, server) as address:
        parts = urlsplit(address)
        assert parts.hostname is not None
        yield parts.hostname, parts.port or 80


def answers(where: tuple[str, int], request: bytes, *, until_closed: bool = True) -> bytes:
    """All that comes back on a connection until the server closes it, or an answer is complete."""
    with socket.create_connection(where, 10) as connection:
        connection.sendall(request)
        data = b""
        while part := connection.recv(1 << 16):
            data += part
            head, end, body = data.partition(b"\r\n\r\n")
            if not until_closed and end:
                length = re.search(rb"content-length: (\d+)", head)
                assert length is not None
                if len(body) >= int(length[1]):
                    break
        return data


@pytest.mark.parametrize(
    "target",
    [
        "/plain/items/7",
        "//plain/items/7",
        "///plain//items///7",
        "//plain/items/7?a=//b",
        "http://example.com/plain/items/7",
        "HTTP://example.com:5000//plain/items/7?a=b",
        "https://ana:secret@[::1]:5000/plain/items/7",
    ],
)
def test_a_path_is_found_however_it_is_written(where: tuple[str, int], target: str) -> None:
    request = f"GET {target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
    found = answers(where, request.encode())
    assert found.startswith(b"HTTP/1.1 200 "), found
    assert b'{"number":7,' in found


@pytest.mark.parametrize(
    ("target", "path"),
    [
        ("//plain//nothing", "/plain/nothing"),
        ("http://example.com", "/"),
        ("http://example.com?a=b", "/"),
        ("http://example.com/plain/a%2Fb%20c", "/plain/a/b c"),
        ("//", "/"),
        ("ftp://example.com/plain", "ftp:/example.com/plain"),
        ("plain/items/7", "plain/items/7"),
        ("http:///plain/items/7", "http:/plain/items/7"),
    ],
)
def test_what_there_is_not_is_refused_in_order(
    where: tuple[str, int], target: str, path: str
) -> None:
    request = f"GET {target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
    found = answers(where, request.encode())
    assert found.startswith(b"HTTP/1.1 404 "), found
    assert f"there is no path '{path}'".encode() in found


def chunked(*headers: str) -> bytes:
    lines = ["POST /plain/length HTTP/1.1", "Host: x", "Transfer-Encoding: chunked", *headers]
    return "\r\n".join([*lines, "", "5", "abcde", "0", "", ""]).encode()


@pytest.mark.parametrize("length", ["5", "0", "3", "999"])
def test_a_request_of_two_lengths_is_answered_and_the_connection_closes(
    where: tuple[str, int], length: str
) -> None:
    # What is smuggled in behind it is not answered.
    smuggled = b"GET /plain/items/7 HTTP/1.1\r\nHost: x\r\n\r\n"
    found = answers(where, chunked(f"Content-Length: {length}") + smuggled)
    assert found.count(b"HTTP/1.1") == 1
    assert found.startswith(b"HTTP/1.1 200 ") and found.endswith(b"\r\n\r\n5")
    assert b"connection: close" in found.lower()
    alone = answers(where, chunked(), until_closed=False)
    assert alone.endswith(b"\r\n\r\n5") and b"connection: close" not in alone.lower()


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        ("GET /plain/items/7 HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\n", 200),
        ("GET /plain/items/7 HTTP/1.1\r\nHost: x\r\nUpgrade: h2c\r\nHTTP2-Settings: AA\r\n", 200),
        ("this is no HTTP\r\n", 400),
    ],
)
def test_the_log_has_no_advice_about_what_clients_send(
    where: tuple[str, int], request_: str, status: int, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    connection = "Connection: Upgrade, close\r\n\r\n"
    found = answers(where, (request_ + connection).encode())
    assert found.startswith(f"HTTP/1.1 {status} ".encode())
    assert [one.getMessage() for one in caplog.records if one.name.startswith("uvicorn")] == []
