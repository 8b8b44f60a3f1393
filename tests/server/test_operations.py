"""A server that needs its database for every request is ready only while that answers."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import httpx
import pytest
from echo_service import EchoService
from running_server import running

from dragoman.saved.system import TranslationSystem
from dragoman.server import operations
from dragoman.server.assembly import assemble
from dragoman.server.database.server_store import ServerStore
from dragoman.server.server_config import ServerConfig

SYSTEMS = (TranslationSystem(models=("unread",)),)


@pytest.mark.parametrize("require_key", [False, True])
def test_a_server_that_requires_keys_is_not_ready_without_its_database(
    require_key: bool, tmp_path: Path
) -> None:
    file = tmp_path / "server.sqlite"
    config = ServerConfig(systems=SYSTEMS, require_key=require_key, web=False)
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
    monkeypatch.setattr(operations, "STORE_SECONDS", 0.1)
    answered, asked = threading.Event(), []

    def hang() -> bool:
        asked.append(1)
        return answered.wait(20)

    config = ServerConfig(systems=SYSTEMS, require_key=True, web=False)
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
