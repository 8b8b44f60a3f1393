"""A server under load, beside its own model without one, and beside LibreTranslate's way to serve.

    serving.py                          # fresh weights of both sizes, outputs forced to 15 pieces
    serving.py --run runs/my            # a trained model: every answer is checked

On one machine, one after the other: ``dragoman translate`` on a file, CTranslate2 on the same file
(both without start-up), one sentence at a time in this process, then ``dragoman serve`` with 1, 8
and 64 clients, with requests at twice the rate that it reached, and over 10,000 requests with its
memory watched; the same with CTranslate2 as its engine; then a server that translates one request
after another with CTranslate2.  Clients are another process on the same cores; its share of their
time is in the table.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import cycle, islice
from pathlib import Path
from statistics import median
from typing import Any

os.environ.setdefault("GOMP_SPINCOUNT", "3000")  # as the commands do: other work disturbs less
import torch
from bench import RESULTS
from contenders import HERE
from decoders import Dragoman
from machine import THREADS
from material import SIZES, prepare

from dragoman.core.config import to_yaml
from dragoman.text.lines import read_lines
from dragoman.text.public_corpora import corpora_folder
from dragoman.translation.translator import Translator

CLIENTS = (1, 8, 64)
LANGUAGES = ("en", "de")
_ALONE = 100  # sentences of the measurement without neighbours
_PATIENCE = 120  # seconds until a server answers


class Measurement:
    """One model, and the lines that it translates.

    Args:
        run: a run or model directory.
        lines: sentences, each different.
        languages: of source and target.
        folder: for files.
        checked: whether answers are compared with what the model gives without a server.
        workers: processes of our server that translate; None: its own alone.
    """

    def __init__(
        self,
        run: Path,
        lines: Sequence[str],
        languages: tuple[str, str],
        folder: Path,
        *,
        checked: bool,
        workers: int | None = None,
    ) -> None:
        self.run, self.lines, self.folder, self.workers = run, lines, folder, workers
        self._languages, self._checked = languages, checked
        self.answers: list[str] | None = None
        """What each line must come back as; None: not checked."""

    def alone(self) -> float:
        """Median milliseconds of one sentence at a time, in this process."""
        with Translator.load(self.run) as translator:
            seconds = []
            for line in self.lines[:_ALONE]:
                began = time.perf_counter()
                translator.translate([line])
                seconds.append(time.perf_counter() - began)
        return 1000 * median(seconds)

    def file(self, *options: str) -> float:
        """Sentences per second of ``dragoman translate``, start-up excluded."""
        few, translated = len(self.lines) // 10, self.folder / "translated"
        seconds = []
        for number in (few, len(self.lines)):
            source = self.folder / f"lines.{number}"
            source.write_text("".join(f"{line}\n" for line in self.lines[:number]), "utf-8")
            command = [sys.executable, "-m", "dragoman", "translate", self.run, *options]
            began = time.perf_counter()
            files = ["--input", source, "--output", translated]
            subprocess.run([*map(str, command), *map(str, files)], check=True, env=_environment())
            seconds.append(time.perf_counter() - began)
        if self._checked and not options:
            self.answers = translated.read_text("utf-8").splitlines()
        return (len(self.lines) - few) / (seconds[1] - seconds[0])

    def load(self, address: str, requests: int, *options: object) -> dict[str, Any]:
        """What clients of a server report."""
        print(f"{address}: {requests} requests", *options, file=sys.stderr)
        given: dict[str, Any] = {"lines": self.lines}
        given["source"], given["target"] = self._languages
        if self.answers is not None:
            given["answers"] = self.answers
        path = self.folder / "given.json"
        path.write_text(json.dumps(given), "utf-8")
        command = [sys.executable, HERE / "loops" / "load.py", address, path]
        finished = subprocess.run(
            [*map(str, command), "--requests", str(requests), *map(str, options)],
            check=True,
            stdout=subprocess.PIPE,
        )
        outcome: dict[str, Any] = json.loads(finished.stdout)
        return outcome


def _environment() -> dict[str, str]:
    """Of each process that is measured: all have the same number of threads."""
    return {**os.environ, "OMP_NUM_THREADS": str(THREADS)}


@contextmanager
def serving(command: Sequence[object], ready: str, log: Path) -> Iterator[tuple[str, int]]:
    """The address and the process of a server while it runs.

    Args:
        command: in which ``PORT`` stands for a free port.
        ready: path of a page that answers when it is ready.
        log: its output.
    """
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    filled = [str(port) if one == "PORT" else str(one) for one in command]
    with log.open("wb") as stream:
        process = subprocess.Popen(filled, stdout=stream, stderr=stream, env=_environment())
    address = f"http://127.0.0.1:{port}"
    try:
        _wait(address + ready, process, log)
        yield address, process.pid
    finally:
        process.terminate()
        process.wait(30)


def _wait(page: str, process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + _PATIENCE
    while time.monotonic() < end:
        if process.poll() is not None:
            sys.exit(f"the server ended: {log.read_text('utf-8', 'replace')[-500:]}")
        try:
            with urllib.request.urlopen(page, timeout=5):
                return
        except urllib.error.HTTPError as error:
            if error.code in {404, 501}:  # it answers, and has no such page
                return
        except OSError:
            pass
        time.sleep(0.2)
    sys.exit(f"{page} does not answer")


def resident(process: int) -> float:
    """Memory of a process, in MiB."""
    status = Path(f"/proc/{process}/status").read_text("ascii")
    (line,) = [line for line in status.splitlines() if line.startswith("VmRSS")]
    return int(line.split()[1]) / 1024


def table(measured: Measurement, requests: int, long: int) -> list[str]:
    """All figures of one model, as Markdown."""
    rate, alone = measured.file(), measured.alone()
    head = [
        "| server | clients | sentences/s | of the file | p50 ms | p95 | p99 | statuses | wrong "
        "| clients' CPU |",
        "|---|---|---:|---:|---:|---:|---:|---|---:|---:|",
    ]
    rows, memory = served(measured, "dragoman serve", measured.run, requests, rate, long)
    direct = "not supported"
    with suppress(subprocess.CalledProcessError):
        direct = f"{measured.file('--engine', 'ctranslate2'):.1f}"
        described = measured.folder / "ctranslate2.yaml"
        values = {"models": [str(measured.run.resolve())], "engine": "ctranslate2"}
        described.write_text(to_yaml(values), "utf-8")
        measured.answers = None  # another program rounds differently
        name = "dragoman serve, CTranslate2"
        rows += served(measured, name, described, requests, rate)[0]
        rows += one_by_one(measured, min(requests, 1000), rate)
    return [
        f"`dragoman translate`, a file: {rate:.1f} sentences/s; CTranslate2, a file: {direct}; "
        f"one sentence alone: {alone:.1f} ms.",
        "",
        *head,
        *rows,
        "",
        memory,
    ]


def served(
    measured: Measurement, name: str, model: Path, requests: int, rate: float, long: int = 0
) -> tuple[list[str], str]:
    """Rows of the table for a server of ours, and a sentence on its memory and its refusals."""
    command = [sys.executable, "-m", "dragoman", "serve", model, "--port", "PORT"]
    if measured.workers is not None:
        command += ["--workers", str(measured.workers)]
        name += f", {measured.workers} workers"
    database = f"sqlite:///{measured.folder.resolve() / 'serving.sqlite'}"
    log, rows, fastest = measured.folder / "server.log", [], 0.0
    with serving([*command, "--database", database], "/health", log) as (address, process):
        measured.load(address, 64, "--clients", 8)  # it warms up
        for clients in CLIENTS:
            number = requests if clients > 1 else min(requests, 10 * _ALONE)
            outcome = measured.load(address, number, "--clients", clients)
            fastest = max(fastest, len(outcome["latencies"]) / outcome["seconds"])
            rows.append(row(name, str(clients), outcome, rate))
        outcome = measured.load(address, requests, "--rate", 2 * fastest)
        rows.append(row(name, f"{2 * fastest:.0f} requests/s", outcome, rate))
        late = outcome["without_retry_after"]
        memory = [resident(process)]
        for _ in range(4 if long else 0):
            measured.load(address, long // 4, "--clients", 16)
            memory.append(resident(process))
    shown = ", ".join(f"{one:.0f}" for one in memory)
    return rows, (
        f"Refusals without Retry-After: {late}.  Memory of the server in MiB, and after each "
        f"quarter of {long:,} more requests: {shown}."
    )


def one_by_one(measured: Measurement, requests: int, rate: float) -> list[str]:
    """Rows of the table for a server that does not batch."""
    program, log = HERE / "loops" / "one_by_one.py", measured.folder / "server.log"
    with serving([sys.executable, program, measured.run, "PORT"], "/", log) as (address, _):
        measured.load(address, 50, "--clients", 1)
        return [
            row(
                "one by one, CTranslate2",
                str(clients),
                measured.load(address, requests, "--clients", clients),
                rate,
            )
            for clients in CLIENTS
        ]


def row(name: str, clients: str, outcome: dict[str, Any], rate: float) -> str:
    """One line of the table."""
    latencies, seconds = outcome["latencies"], outcome["seconds"]
    speed = len(latencies) / seconds

    def percentile(share: float) -> str:
        return f"{1000 * latencies[math.ceil(share * len(latencies)) - 1]:.0f}"

    statuses = ", ".join(f"{status}: {number}" for status, number in outcome["statuses"].items())
    values = [
        *(name, clients, f"{speed:.1f}", f"{speed / rate:.0%}"),
        *([percentile(one) for one in (0.5, 0.95, 0.99)] if latencies else ["-"] * 3),
        *(statuses, str(outcome["wrong"]), f"{outcome['cpu_seconds'] / seconds:.0%}"),
    ]
    return f"| {' | '.join(values)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", action="append", choices=list(SIZES))
    parser.add_argument("--run", type=Path, help="a trained model in place of fresh ones")
    parser.add_argument("--languages", nargs=2, default=LANGUAGES, metavar=("SOURCE", "TARGET"))
    parser.add_argument("--source", type=Path, help="lines for --run")
    parser.add_argument("--lines", type=int, help="how many different ones")
    parser.add_argument("--requests", type=int, help="of each measurement")
    parser.add_argument("--long", type=int, default=10_000, help="requests while memory is watched")
    parser.add_argument("--workers", type=int, help="processes of our server that translate")
    parser.add_argument("--scratch", type=Path, default=HERE / "scratch")
    given = parser.parse_args()
    torch.set_num_threads(THREADS)
    scratch = given.scratch.resolve()  # files that are written there name one another
    material = prepare(scratch, corpora_folder() / "multi30k")
    for size in [None] if given.run else given.size or list(SIZES):
        number = given.lines or {"tiny": 4000, "base": 1000}[size or "tiny"]
        requests = given.requests or number
        if size is None:
            run, source = given.run, given.source or material.text("test", "en")
        else:
            source = material.text("test", "en")
            decoder = Dragoman(material, HERE / "peers", scratch)
            decoder.command(size, source)  # it makes the model
            run = material.folder / f"fresh-{size}"
        lines = list(islice(cycle(read_lines(source)), number))
        name = size or given.run.name
        folder = scratch / f"serving-{name}"
        folder.mkdir(parents=True, exist_ok=True)
        measured = Measurement(
            run,
            lines,
            tuple(given.languages),
            folder,
            checked=given.run is not None,
            workers=given.workers,
        )
        text = "\n".join(table(measured, requests, given.long)) + "\n"
        print(f"\n{name}\n\n{text}")
        RESULTS.mkdir(exist_ok=True)
        (RESULTS / f"serving-{name}.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
