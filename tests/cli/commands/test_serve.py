from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import socket
import threading
import time
from collections.abc import Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import httpx
import pytest
from command_line import call, one_error
from tiny_model import save_tiny_model

from dragoman.cli.commands import serve as serve_command
from dragoman.evaluation.languages import _identifier
from dragoman.server.database.server_store import ServerStore
from dragoman.server.serving import StoppableServer
from dragoman.text.examples import Direction


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pair = Direction(source_language="en", target_language="de")
    return save_tiny_model(tmp_path_factory.mktemp("serve") / "en-de", directions=(pair,))


@pytest.fixture(autouse=True)
def database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "server.sqlite"
    monkeypatch.setenv("DRAGOMAN_DATABASE", str(path))
    return path


@pytest.fixture
def kept_logging() -> Iterator[None]:
    """The server decides how this process logs; afterwards, pytest does again."""
    root, own = logging.getLogger(), logging.getLogger("dragoman")
    before = list(root.handlers), root.level, own.level
    yield
    root.handlers[:], level, own_level = before
    root.setLevel(level)
    own.setLevel(own_level)


def free_port() -> int:
    with closing(socket.create_server(("127.0.0.1", 0))) as found:
        port: int = found.getsockname()[1]
        return port


def answers(address: str) -> dict[str, object]:
    """What a server says through each of its doors."""
    while True:
        try:
            ready = httpx.get(f"{address}/ready")
            break
        except httpx.TransportError:
            time.sleep(0.02)
    text = {"text": "a b", "source": "en", "target": "de"}
    libre = {"q": "a b", "source": "en", "target": "de"}
    deepl = {"text": ["a b"], "source_lang": "EN", "target_lang": "DE"}
    key = {"Authorization": "DeepL-Auth-Key any"}
    return {
        "ready": ready.json(),
        "libre": httpx.post(f"{address}/translate", json=libre).json()["translatedText"],
        "deepl": httpx.post(f"{address}/v2/translate", json=deepl, headers=key).json()[
            "translations"
        ][0]["text"],
        "own": httpx.post(f"{address}/v1/translate", json=text).json()["translations"][0]["text"],
        "page": httpx.get(f"{address}/").headers["content-type"],
        "metrics": httpx.get(f"{address}/metrics").text,
    }


def late_request(host: str, port: int) -> bytes:
    """The answer to a request of which half had been sent when the server was told to stop."""
    body = b"q=a+b&source=en&target=de"
    with closing(socket.create_connection((host, port), 20)) as connection:
        connection.sendall(
            b"POST /translate HTTP/1.1\r\nHost: x\r\n"
            b"Content-Type: application/x-www-form-urlencoded\r\n"
            b"Content-Length: %d\r\n\r\n" % len(body) + body[:5]
        )
        time.sleep(0.1)  # until the server has begun to read it
        os.kill(os.getpid(), signal.SIGTERM)
        while True:
            try:
                socket.create_connection((host, port), 1).close()
            except OSError:
                break  # no more requests are accepted
            time.sleep(0.02)
        connection.sendall(body[5:])
        parts = []
        while part := connection.recv(1 << 16):
            parts.append(part)
    return b"".join(parts)


@pytest.mark.usefixtures("kept_logging")
def test_a_model_is_served_through_all_doors_until_a_signal(model: Path, database: Path) -> None:
    assert threading.current_thread() is threading.main_thread()  # which signals reach
    port = free_port()
    with ThreadPoolExecutor(1) as clients:

        def use() -> tuple[dict[str, object], bytes]:
            return answers(f"http://127.0.0.1:{port}"), late_request("127.0.0.1", port)

        used = clients.submit(use)
        outcome = call("serve", model, "--port", port, "--json")
        found, late = used.result()
    assert outcome.code == 0, outcome.err
    assert json.loads(outcome.out) == {
        "address": f"http://127.0.0.1:{port}",
        "page": f"http://127.0.0.1:{port}/",
        "directions": [{"source": "en", "target": "de"}],
    }
    assert found["ready"] == {"status": "ok"}
    assert found["libre"] == found["deepl"] == found["own"]
    assert str(found["page"]).startswith("text/html")
    assert "dragoman_characters_total 9.0" in str(found["metrics"])
    assert 'dragoman_translated_lines_total{system="0 en-de"} 3.0' in str(found["metrics"])
    assert "dragoman_directions 1.0" in str(found["metrics"])
    assert late.startswith(b"HTTP/1.1 200 ")
    assert str(found["libre"]).encode() in late
    assert "POST /v2/translate 200" in outcome.err
    with ServerStore(str(database)) as store:
        assert store.used(None) == 12


@pytest.mark.usefixtures("kept_logging")
def test_the_address_is_written_wherever_the_server_listens(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "address"
    monkeypatch.setenv("DRAGOMAN_ADDRESS_FILE", str(file))
    config = tmp_path / "server.yaml"
    config.write_text(f"systems: [{model}]\nport: 0\n")
    with ThreadPoolExecutor(1) as clients:

        def use() -> str:
            while not file.exists():
                time.sleep(0.02)
            address = file.read_text().strip()
            answers(address)
            os.kill(os.getpid(), signal.SIGTERM)
            return address

        used = clients.submit(use)
        outcome = call("serve", "--config", config, "--json")
    assert outcome.code == 0, outcome.err
    assert json.loads(outcome.out)["address"] == used.result()


@pytest.mark.usefixtures("kept_logging")
def test_languages_can_be_detected_before_the_first_request(
    model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("py3langid")
    _identifier.cache_clear()
    loaded: list[int] = []

    def ready(_: StoppableServer, sockets: object) -> Coroutine[object, object, None]:
        loaded.append(_identifier.cache_info().currsize)
        return asyncio.sleep(0)

    monkeypatch.setattr(StoppableServer, "serve", ready)
    outcome = call("serve", model, "--port", 0)
    assert outcome.code == 0, outcome.err
    assert loaded == [1]


def test_an_address_that_cannot_be_written_is_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    serve_command._write_address("http://localhost:5000", tmp_path)
    assert "a health check will not find the server: cannot write" in caplog.text


def test_check_opens_everything_and_ends(model: Path, tmp_path: Path) -> None:
    config = tmp_path / "server.yaml"
    config.write_text(f"systems: [{os.path.relpath(model, tmp_path)}]\nport: 5001\n")
    outcome = call("serve", "--config", config, "--check")
    assert (outcome.code, outcome.out) == (0, "en to de\n")
    outcome = call("serve", "--config", config, "--check", "--json")
    assert json.loads(outcome.out) == {"directions": [{"source": "en", "target": "de"}]}


def test_a_database_of_the_file_that_is_not_used_is_told(
    model: Path,
    tmp_path: Path,
    database: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    config = tmp_path / "server.yaml"
    config.write_text(f"systems: [{model}]\ndatabase: other.sqlite\n")
    check = ("serve", "--config", config, "--check")
    assert call(*check).code == 0
    said = "its database is not used, as DRAGOMAN_DATABASE names another one; remove one of them"
    assert [one.getMessage() for one in caplog.records] == [f"{config}: {said}"]
    assert database.exists() and not (tmp_path / "other.sqlite").exists()
    caplog.clear()
    call(*check, "--database", database)  # whoever types it knows
    monkeypatch.setenv("DRAGOMAN_DATABASE", str(tmp_path / "other.sqlite"))
    call(*check)
    assert not caplog.records


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ([], 2, "name at least one MODEL, or --config FILE"),
        (["nowhere"], 4, "nowhere: no such model or run"),
        (["--config", "nowhere.yaml"], 2, "nowhere.yaml: no such configuration file"),
        (["x", "--set", "limits.secnds=3"], 2, "unknown key 'limits.secnds'; did you mean"),
        (["x", "--set", "limits.items=0"], 2, "limits.items"),
        (["x", "--set", "port"], 2, "--set port: expected KEY=VALUE"),
        (["x", "--port", "70000"], 2, "70000 is not in the range"),
        (["x", "--host", "no such host"], 2, "host no such host"),
        (["x", "--host", "203.0.113.1"], 2, "name an address of this machine (--host)"),
        (["x", "--database", "mysql://x"], 2, "mysql: not a database that is supported"),
        (["x", "--database", "{folder}"], 4, "not a file; name an SQLite database"),
    ],
)
def test_what_cannot_be_served_is_one_error(
    arguments: list[str], code: int, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    given = [one.format(folder=tmp_path) for one in arguments]
    if given and "--port" not in given:
        given += ["--set", "port=0"]
    assert said in one_error(call("serve", *given), code)


def test_a_port_in_use_is_an_error_with_its_remedy(model: Path) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        port = taken.getsockname()[1]
        error = one_error(call("serve", model, "--port", port), 2)
    assert f"port {port} of 127.0.0.1 is in use; choose another one (--port)" in error


def test_a_missing_package_is_named(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(serve_command._PACKAGES, "no_such_module", "its-package")
    error = one_error(call("serve", model), 7)
    assert "its-package is not installed; add it with:" in error
