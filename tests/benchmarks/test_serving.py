"""A file and a server are measured with the same means."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
sys.path.append(str(BENCHMARKS))  # its programs name one another like this

import serving  # noqa: E402
from machine import THREADS  # noqa: E402


def test_a_file_is_translated_by_as_many_threads_as_a_server_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or "of the file" would say how many cores the machine has."""
    given: list[str] = []

    def started(*_: Any, env: dict[str, str] | None = None, **__: Any) -> None:
        given.append((env or {}).get("OMP_NUM_THREADS", "as many as there are"))
        (tmp_path / "translated").write_text("a\n", encoding="utf-8")

    class Server:
        pid = 1

        def __init__(self, *_: Any, **values: Any) -> None:
            started(**values)

        def terminate(self) -> None:
            """Nothing runs."""

        wait = poll = lambda *_: None

    monkeypatch.setattr("serving.subprocess.run", started)
    monkeypatch.setattr("serving.subprocess.Popen", Server)
    monkeypatch.setattr(serving, "_wait", lambda *_: None)
    measured = serving.Measurement(tmp_path, ["a"] * 20, ("en", "de"), tmp_path, checked=False)
    measured.file()
    with serving.serving(["server", "PORT"], "/health", tmp_path / "log"):
        pass
    assert given == [str(THREADS)] * 3
