"""Servers in processes of their own, models whose answers are known, and requests to them."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from dragoman.text.lines import read_lines
from dragoman.text.synthetic import write

LANGUAGES = ("en", "de")
_LOAD = Path(__file__).parents[1] / "benchmarks" / "loops" / "load.py"
_PAIRS = 2_000
_LINES = 600
_DISTINCT = 30  # lines at least, so that a mixed-up answer is noticed
_PATIENCE = 180.0  # seconds until a server is ready, or has ended
_EXPERIMENT: Mapping[str, Any] = {
    "source_language": LANGUAGES[0],
    "target_language": LANGUAGES[1],
    "data": {
        "train": [{"path": "train.tsv", "source": "en", "target": "de"}],
        "dev": {"path": "dev.tsv", "source": "en", "target": "de"},
    },
    "vocabulary": {"size": 300},
    "model": {"encoder_layers": 1, "decoder_layers": 1, "d_model": 64, "d_ff": 128, "heads": 4},
    "training": {
        "step_tokens": 1500,
        "schedule": {"warmup_steps": 60},
        "max_steps": 240,
        "validation_steps": 240,
        "checkpoint_steps": 240,
        "average_checkpoints": 1,
        "best_metric": "loss",
    },
    "search": {"beam": 1, "extra_length": 10},
}


class Taught(NamedTuple):
    """Two small models of one direction, and lines that tell them and one another apart."""

    first: Path
    second: Path
    lines: list[str]
    answers: list[str]
    """Of the first model."""
    later: list[str]
    """Of the second model."""


def teach(folder: Path) -> Taught:
    """Train two models for some seconds, and translate with both.

    Raises:
        RuntimeError: a command fails, or the models do not differ.
    """
    folder.mkdir(parents=True)
    write(folder, _PAIRS, dev=20, test=_LINES)
    recipe = folder / "tiny.yaml"
    recipe.write_text(yaml.safe_dump(dict(_EXPERIMENT)), encoding="utf-8")
    source = folder / "lines"
    header, *rows = (line.split("\t") for line in read_lines(folder / "test.tsv"))
    distinct = dict.fromkeys(row[header.index(LANGUAGES[0])] for row in rows)
    source.write_text("".join(f"{line}\n" for line in distinct), encoding="utf-8")
    models, answers = [], []
    for seed in (1, 2):
        run, model = folder / f"run-{seed}", folder / f"model-{seed}"
        _dragoman("train", recipe, "--run", run, "--set", f"seed={seed}", "--quiet")
        _dragoman("average", run, "--last", 1, "--output", model)
        # It converts the model, so that no server does it later.
        output = folder / f"answers-{seed}"
        options = ("--engine", "ctranslate2", "--input", source, "--output", output)
        _dragoman("translate", model, *options)
        models.append(model)
        answers.append(output.read_text(encoding="utf-8").splitlines())
    kept: list[tuple[str, str, str]] = []
    taken: set[str] = set()
    for row in zip(distinct, *answers, strict=True):
        if all(row[1:]) and len({*row[1:]}) == 2 and taken.isdisjoint(row[1:]):
            kept.append(row)
            taken.update(row[1:])
    if len(kept) < _DISTINCT:
        raise RuntimeError(f"only {len(kept)} of {len(distinct)} lines have answers of their own")
    lines, first, second = (list(column) for column in zip(*kept, strict=True))
    return Taught(models[0], models[1], lines, first, second)


def _dragoman(*arguments: object) -> None:
    command = [sys.executable, "-m", "dragoman", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"dragoman {arguments[0]}: {done.stderr[-2000:]}")


class ServerProcess:
    """``dragoman serve`` on a port that stays its own when it is started again.

    Args:
        folder: for its configuration and its log.
        model: what translates.
        database: path or URL.
        settings: further values of its configuration.
    """

    def __init__(self, folder: Path, model: Path, database: str, **settings: Any) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.log, self._database = folder / "server.log", database
        self.port = free_port()
        self.address = f"http://127.0.0.1:{self.port}"
        system = {"models": [str(model)], "engine": "ctranslate2"}
        values = {"systems": [system], "port": self.port, **settings}
        self._config = folder / "server.yaml"
        self._config.write_text(yaml.safe_dump(values), encoding="utf-8")
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        """The number of its process."""
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        """Start it; see :meth:`wait_until_ready`."""
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "dragoman", "serve", "--config", self._config],
                env={**os.environ, "DRAGOMAN_DATABASE": self._database, "OMP_NUM_THREADS": "1"},
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def wait_until_ready(self) -> None:
        """Wait until it translates.

        Raises:
            RuntimeError: it ended, or is not ready after three minutes.
        """
        until(self._is_ready, f"{self.address} is not ready")

    def _is_ready(self) -> bool:
        if self._process is None or self._process.poll() is not None:
            raise RuntimeError(f"a server ended: {self.log.read_text('utf-8', 'replace')[-2000:]}")
        with suppress(OSError):
            return get(f"{self.address}/ready").status == 200
        return False

    def end(self) -> int:
        """Tell it to stop, and wait; its exit code.

        Raises:
            RuntimeError: it does not end.
        """
        assert self._process is not None
        self._process.terminate()
        until(lambda: self._process is None or self._process.poll() is not None, "it goes on")
        return self._process.returncode

    def kill(self) -> None:
        """End it and whatever it has started, at once."""
        if self._process is not None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()

    def memory(self) -> float:
        """What it has in memory, in MiB."""
        status = Path(f"/proc/{self.pid}/status").read_text("ascii")
        (line,) = [line for line in status.splitlines() if line.startswith("VmRSS")]
        return int(line.split()[1]) / 1024


@contextmanager
def serving(*servers: ServerProcess) -> Iterator[None]:
    """Servers that run, until the end."""
    try:
        for server in servers:
            server.start()
        for server in servers:
            server.wait_until_ready()
        yield
    finally:
        for server in servers:
            server.kill()


class Answer(NamedTuple):
    """What a request came back with."""

    status: int
    body: bytes
    seconds: float


def get(url: str, headers: Mapping[str, str] | None = None, seconds: float = 5.0) -> Answer:
    """The answer to a GET.

    Raises:
        OSError: there is none.
    """
    return _ask(urllib.request.Request(url, headers=dict(headers or {})), seconds)


def post(
    url: str, body: object, headers: Mapping[str, str] | None = None, seconds: float = 60.0
) -> Answer:
    """The answer to JSON.

    Raises:
        OSError: there is none.
    """
    given = {"Content-Type": "application/json", **(headers or {})}
    return _ask(urllib.request.Request(url, json.dumps(body).encode(), given), seconds)


def _ask(request: urllib.request.Request, seconds: float) -> Answer:
    begun = time.monotonic()
    try:
        with urllib.request.urlopen(request, timeout=seconds) as response:
            return Answer(response.status, response.read(), time.monotonic() - begun)
    except urllib.error.HTTPError as error:
        return Answer(error.code, error.read(), time.monotonic() - begun)


class Outcome(NamedTuple):
    """What came back of many requests."""

    requests: int
    seconds: float
    latencies: list[float]
    """Seconds of those translated, the shortest first."""
    statuses: dict[int, int]
    """How many got each status; 0: none at all."""
    wrong: int
    without_retry_after: int

    @property
    def rate(self) -> float:
        """Translated per second."""
        return len(self.latencies) / self.seconds

    def percentile(self, share: float) -> float:
        """Milliseconds within which this share of what was translated was."""
        if not self.latencies:
            return float("nan")
        return 1000 * self.latencies[min(len(self.latencies) - 1, int(share * len(self.latencies)))]

    def figures(self) -> dict[str, float | str]:
        """For the report."""
        return {
            "per second": round(self.rate, 1),
            "p50 ms": round(self.percentile(0.5)),
            "p99 ms": round(self.percentile(0.99)),
            "statuses": " ".join(f"{status}:{times}" for status, times in self.statuses.items()),
        }


class Load:
    """Requests that another process sends, begun and not waited for; a context manager.

    Args:
        folder: for its input.
        address: of the server.
        lines: in turn; each must be answered by one of its answers.
        answers: as many.
        requests: how many.
        options: of ``benchmarks/loops/load.py``, such as ``clients=8`` or ``rate=20``.
    """

    def __init__(
        self,
        folder: Path,
        address: str,
        lines: Sequence[str],
        answers: Sequence[str | Sequence[str]],
        requests: int,
        **options: float,
    ) -> None:
        given = dict(zip(("source", "target"), LANGUAGES, strict=True))
        path = folder / "load.json"
        path.write_text(
            json.dumps({**given, "lines": list(lines), "answers": list(answers)}), "utf-8"
        )
        self._requests = max(1, requests)
        command = [sys.executable, _LOAD, address, path, "--requests", self._requests]
        for name, value in options.items():
            command += [f"--{name}", value]
        # A pipe holds too little for the times of all requests, and is read only at the end.
        self._printed = folder / "load.out"
        with self._printed.open("wb") as stream:
            self._process = subprocess.Popen(list(map(str, command)), stdout=stream)

    def __enter__(self) -> Load:
        return self

    def __exit__(self, *_: object) -> None:
        """End it, if something else went wrong meanwhile."""
        self._process.kill()
        self._process.wait()

    @property
    def is_over(self) -> bool:
        """Whether all are answered."""
        return self._process.poll() is not None

    def outcome(self) -> Outcome:
        """What came back, once all are answered.

        Raises:
            RuntimeError: the process failed.
        """
        if self._process.wait():
            raise RuntimeError("the load generator failed; its error is above")
        found = json.loads(self._printed.read_bytes())
        statuses = {int(status): times for status, times in sorted(found["statuses"].items())}
        return Outcome(
            self._requests,
            found["seconds"],
            found["latencies"],
            statuses,
            found["wrong"],
            found["without_retry_after"],
        )


def until(is_so: Callable[[], bool], otherwise: str, patience: float = _PATIENCE) -> None:
    """Wait for something.

    Raises:
        RuntimeError: with ``otherwise``, if it does not come within ``patience`` seconds.
    """
    end = time.monotonic() + patience
    while not is_so():
        if time.monotonic() > end:
            raise RuntimeError(f"{otherwise} after {patience:.0f} seconds")
        time.sleep(0.1)


def free_port() -> int:
    """A port of this machine that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as found:
        port: int = found.getsockname()[1]
        return port
