"""A database that hangs holds no request past its time."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import httpx
import pytest
from api_server import v1_server

from dragoman.server.server_config import LimitsConfig


@pytest.mark.parametrize("path", ["/v1/usage", "/v1/glossaries/0123456789abcdef0123456789abcdef"])
def test_a_request_is_answered_in_its_time(
    path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answered = threading.Event()
    with v1_server(tmp_path, limits=LimitsConfig(seconds=0.3)) as server:
        for name in ("used", "glossary"):
            monkeypatch.setattr(server.store, name, lambda *_, **__: answered.wait(20))
        begun = time.monotonic()
        response = httpx.get(server.address + path)
        seconds = time.monotonic() - begun
        answered.set()
    assert response.status_code == 503
    assert response.json()["error"]["kind"] == "timed_out"
    assert seconds < 10
