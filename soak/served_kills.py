"""A server that is killed while it translates files: each file once, and each charged once."""

from __future__ import annotations

import random
import signal
import socket
import subprocess
import sys
import time
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import httpx

from dragoman.server.database.server_store import ServerStore
from soak.part import Tried

_FILES = 4  # of each round
_KILLS = 3  # of each round
_PATIENCE = 180.0  # seconds
# ValueError: an answer that is no JSON.
_FAILURES = (AssertionError, httpx.HTTPError, TimeoutError, subprocess.TimeoutExpired, ValueError)
_SCRIPT = """
import sys
from dragoman.server import jobs
jobs._SILENT_SECONDS = 1.0  # a server that was killed is succeeded soon
jobs._LOOK_SECONDS = 0.2
jobs._MOST_DEATHS = 100
from dragoman.cli.main import run
sys.exit(run(sys.argv[1:]))
"""


class KilledServer:
    """One round after the other: files are sent, and the server is killed and started again.

    Args:
        model: directory of a model from en to de.
        folder: for the database.
        chance: draws when to kill.
    """

    def __init__(self, model: Path, folder: Path, chance: random.Random) -> None:
        self._model, self._folder, self._chance = model, folder, chance
        self._database = folder / "server" / "server.sqlite"
        self._characters = 0
        self._process: subprocess.Popen[bytes] | None = None
        self._address = ""

    def tried(self, seconds: float) -> Tried:
        """Rounds until the time is over."""
        until = time.monotonic() + seconds
        self._database.parent.mkdir()
        kills, rounds, failures = 0, 0, []
        try:
            while not rounds or time.monotonic() < until:
                rounds += 1
                try:
                    kills += self._round(rounds)
                except _FAILURES as error:
                    failures.append(f"round {rounds}: {type(error).__name__}: {error}")
                    self._stop(signal.SIGKILL)
        finally:
            self._stop(signal.SIGKILL)
        return Tried("server, random", kills, {"files": rounds * _FILES}, tuple(failures))

    def _round(self, number: int) -> int:
        self._start()
        jobs = [
            self._sent(f"Line {number} {file}.\nAnd one more.\n" * 20) for file in range(_FILES)
        ]
        for _ in range(_KILLS):
            time.sleep(self._chance.uniform(0, 0.6))
            self._stop(signal.SIGKILL)
            self._start()
        for job in jobs:
            self._fetched(*job)
        self._stop(signal.SIGTERM)
        with closing(ServerStore(str(self._database))) as store:
            used = store.used(None)
        assert used == self._characters, f"{used} characters are charged, not {self._characters}"
        return _KILLS

    def _start(self) -> None:
        with closing(socket.create_server(("127.0.0.1", 0))) as found:
            port = found.getsockname()[1]
        command = [
            "serve",
            str(self._model),
            "--port",
            str(port),
            "--database",
            str(self._database),
        ]
        self._process = subprocess.Popen(
            [sys.executable, "-c", _SCRIPT, *command],
            stdout=subprocess.DEVNULL,
            stderr=(self._folder / "server.log").open("ab"),
        )
        self._address = f"http://127.0.0.1:{port}"
        until = time.monotonic() + _PATIENCE
        while time.monotonic() < until:
            with suppress(httpx.HTTPError):
                if httpx.get(f"{self._address}/ready").is_success:
                    return
            assert self._process.poll() is None, "the server does not start; see server.log"
            time.sleep(0.05)
        raise TimeoutError("the server does not start; see server.log")

    def _stop(self, how: signal.Signals) -> None:
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait(_PATIENCE)
        self._process = None

    def _sent(self, text: str) -> tuple[str, str]:
        answer = httpx.post(
            f"{self._address}/v2/document",
            data={"target_lang": "DE", "source_lang": "EN"},
            files={"file": ("text.txt", text.encode())},
            timeout=_PATIENCE,
        )
        answer.raise_for_status()
        self._characters += len(text.replace("\n", ""))
        found = answer.json()
        return found["document_id"], found["document_key"]

    def _fetched(self, identifier: str, key: str) -> None:
        """Wait for a file, and take it."""
        path = f"{self._address}/v2/document/{identifier}"
        until = time.monotonic() + _PATIENCE
        asked: dict[str, Any] = {"data": {"document_key": key}, "timeout": _PATIENCE}
        while (status := httpx.post(path, **asked).json()).get("status") != "done":
            assert status.get("status") in ("queued", "translating"), str(status)
            if time.monotonic() > until:
                raise TimeoutError(f"a file is not translated: {status}")
            time.sleep(0.1)
        taken = httpx.post(f"{path}/result", **asked)
        assert taken.is_success and taken.content, f"a file is lost: {taken.status_code}"
