"""A server of which the machine kills a process that translates."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
from served_models import serving_models
from tiny_model import save_tiny_model

from dragoman.core import lasting_pool
from dragoman.saved.system import TranslationSystem
from dragoman.server.server_config import ServerConfig


def until(is_so: Callable[[], bool]) -> None:
    end = time.monotonic() + 120
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.mark.usefixtures("forked_workers")
def test_it_goes_on_and_says_so_while_it_cannot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lasting_pool, "_FIRST_PAUSE", 0.1)
    others = set(multiprocessing.active_children())
    system = TranslationSystem(
        models=(save_tiny_model(tmp_path / "model"),),
        workers=1,
        source_language="en",
        target_language="de",
    )
    body = {"text": "a b", "source": "en", "target": "de"}
    with (
        serving_models(ServerConfig(systems=(system,)), tmp_path / "store.sqlite") as server,
        httpx.Client(base_url=server.address, timeout=120) as http,
    ):
        before = http.post("/v1/translate", json=body).json()
        (worker,) = set(multiprocessing.active_children()) - others
        (tmp_path / "model").rename(tmp_path / "away")  # so that no other can begin
        worker.kill()
        worker.join()
        assert http.get("/ready").status_code == 503
        refused = http.post("/v1/translate", json=body)
        assert (refused.status_code, refused.headers["Retry-After"]) == (503, "5")
        assert refused.json()["error"]["kind"] == "busy"
        file = {"file": ("a.txt", b"a b")}
        job = http.post("/v1/documents", files=file, data={"source": "en", "target": "de"}).json()
        assert http.get("/ready").status_code == 503
        (tmp_path / "away").rename(tmp_path / "model")
        until(lambda: http.get("/ready").status_code == 200)
        assert http.post("/v1/translate", json=body).json() == before
        secret = {"Document-Secret": job["secret"]}
        until(
            lambda: http.get(f"/v1/documents/{job['id']}", headers=secret).json()["state"] == "done"
        )
