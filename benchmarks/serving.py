"""A server under load, beside its own model without one, and beside LibreTranslate's way to serve.

    serving.py                          # fresh weights of both sizes, outputs forced to 15 pieces
    serving.py --run runs/my            # a trained model: every answer is checked

On one machine, one after the other: ``dragoman translate`` on a file by each engine (without
start-up), one sentence at a time in this process, then ``dragoman serve`` with its first answer,
1, 8 and 64 clients, requests at twice the rate that it reached, and 10,000 requests with its memory
watched; the same with CTranslate2 as its engine; then a server that translates one request after
another with CTranslate2.  Clients are another process on the same cores; its share of their time is
in the table.  So is the processor time of a sentence, which other work on the machine hardly
changes.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import resource
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
from typing import Any, NamedTuple

os.environ.setdefault("GOMP_SPINCOUNT", "3000")  # as the commands do: other work disturbs less
import torch
from bench import RESULTS
from contenders import HERE
from decoders import Dragoman
from machine import THREADS
from shared_material import SIZES, prepare

from dragoman.core.config import to_yaml
from dragoman.text.lines import read_lines
from dragoman.text.public_corpora import corpora_folder
from dragoman.translation.translator import Translator

CLIENTS = (1, 8, 64)
LANGUAGES = ("en", "de")
_ALONE = 100  # sentences of the measurement without neighbours
_PATIENCE = 120  # seconds until a server answers


class Rate(NamedTuple):
    """The speed of a way to translate."""

    per_second: float
    """Sentences."""
    processor: float
    """Seconds of processor time of a sentence, on all cores together."""

    def __str__(self) -> str:
        return f"{self.per_second:.1f} sentences/s ({1000 * self.processor:.1f} ms of processor)"


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

    def file(self, *options: str) -> Rate:
        """``dragoman translate``, start-up excluded."""
        few, translated = len(self.lines) // 10, self.folder / "translated"
        seconds, processor = [], []
        for number in (few, len(self.lines)):
            source = self.folder / f"lines.{number}"
            source.write_text("".join(f"{line}\n" for line in self.lines[:number]), "utf-8")
            command = [sys.executable, "-m", "dragoman", "translate", self.run, *options]
            began, before = time.perf_counter(), _children_seconds()
            files = ["--input", source, "--output", translated]
            subprocess.run([*map(str, command), *map(str, files)], check=True, env=_environment())
            seconds.append(time.perf_counter() - began)
            processor.append(_children_seconds() - before)
        if self._checked and not options:
            self.answers = translated.read_text("utf-8").splitlines()
        sentences = len(self.lines) - few
        return Rate(
            sentences / (seconds[1] - seconds[0]), (processor[1] - processor[0]) / sentences
        )

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


def _children_seconds() -> float:
    """Processor time of the processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def processor_seconds(process: int) -> float:
    """Processor time of a process and of those that it has started, so far."""
    path = Path(f"/proc/{process}")
    fields = (path / "stat").read_text("ascii").rpartition(")")[2].split()
    own = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    children = [
        number for one in path.glob("task/*/children") for number in one.read_text().split()
    ]
    return own + sum(processor_seconds(int(number)) for number in children)


def resident(process: int) -> float:
    """Memory of a process, in MiB."""
    status = Path(f"/proc/{process}/status").read_text("ascii")
    (line,) = [line for line in status.splitlines() if line.startswith("VmRSS")]
    return int(line.split()[1]) / 1024


def table(measured: Measurement, requests: int, long: int) -> list[str]:
    """All figures of one model, as Markdown."""
    files = {"pytorch": measured.file("--engine", "pytorch")}
    measured.file()  # the engine is chosen, if there are enough lines
    files["auto"] = measured.file()
    rate, alone = files["auto"], measured.alone()
    head = [
        "| server | clients | sentences/s | of the file | CPU ms | of the file | p50 ms | p95 "
        "| p99 | statuses | wrong | clients' CPU |",
        "|---|---|---:|---:|---:|---:|---:|---:|---:|---|---:|---:|",
    ]
    rows, sentence = served(measured, "dragoman serve", measured.run, requests, rate, long)
    with suppress(subprocess.CalledProcessError):
        files["ctranslate2"] = measured.file("--engine", "ctranslate2")
        described = measured.folder / "ctranslate2.yaml"
        values = {"models": [str(measured.run.resolve())], "engine": "ctranslate2"}
        described.write_text(to_yaml(values), "utf-8")
        measured.answers = None  # another program rounds differently
        name = "dragoman serve, CTranslate2"
        rows += served(measured, name, described, requests, rate)[0]
        rows += one_by_one(measured, min(requests, 1000), rate)
    shown = "; ".join(f"`--engine {engine}` {speed}" for engine, speed in files.items())
    return [
        f"A file: {shown}.  One sentence alone: {alone:.1f} ms.",
        "",
        *head,
        *rows,
        "",
        sentence,
    ]


def served(
    measured: Measurement, name: str, model: Path, requests: int, rate: Rate, long: int = 0
) -> tuple[list[str], str]:
    """Rows of the table for a server of ours, and sentences on its start, refusals and memory."""
    command = [sys.executable, "-m", "dragoman", "serve", model, "--port", "PORT"]
    if measured.workers is not None:
        command += ["--workers", str(measured.workers)]
        name += f", {measured.workers} workers"
    database = f"sqlite:///{measured.folder.resolve() / 'serving.sqlite'}"
    log, rows, fastest = measured.folder / "server.log", [], 0.0
    with serving([*command, "--database", database], "/ready", log) as (address, process):
        first = measured.load(address, 1, "--clients", 1)["latencies"]
        measured.load(address, 300, "--clients", 8)  # it warms up, and may change its engine
        for clients in CLIENTS:
            number = requests if clients > 1 else min(requests, _ALONE)
            before = processor_seconds(process)
            outcome = measured.load(address, number, "--clients", clients)
            used = processor_seconds(process) - before
            fastest = max(fastest, len(outcome["latencies"]) / outcome["seconds"])
            rows.append(row(name, str(clients), outcome, rate, used))
        before = processor_seconds(process)
        outcome = measured.load(address, requests, "--rate", 2 * fastest)
        used = processor_seconds(process) - before
        rows.append(row(name, f"{2 * fastest:.0f} requests/s", outcome, rate, used))
        late = outcome["without_retry_after"]
        memory = [resident(process)]
        for _ in range(4 if long else 0):
            measured.load(address, long // 4, "--clients", 16)
            memory.append(resident(process))
    shown = ", ".join(f"{one:.0f}" for one in memory)
    return rows, (
        f"First answer after the server was ready: {', '.join(f'{one:.2f} s' for one in first)}.  "
        f"Refusals without Retry-After: {late}.  Memory of the server in MiB, and after each "
        f"quarter of {long:,} more requests: {shown}."
    )


def one_by_one(measured: Measurement, requests: int, rate: Rate) -> list[str]:
    """Rows of the table for a server that does not batch."""
    program, log, rows = HERE / "loops" / "one_by_one.py", measured.folder / "server.log", []
    with serving([sys.executable, program, measured.run, "PORT"], "/", log) as (address, process):
        measured.load(address, 50, "--clients", 1)
        for clients in CLIENTS:
            before = processor_seconds(process)
            outcome = measured.load(address, requests, "--clients", clients)
            used = processor_seconds(process) - before
            rows.append(row("one by one, CTranslate2", str(clients), outcome, rate, used))
    return rows


def row(name: str, clients: str, outcome: dict[str, Any], rate: Rate, used: float) -> str:
    """One line of the table, for a server that ``used`` seconds of processor time."""
    latencies, seconds = outcome["latencies"], outcome["seconds"]
    speed, processor = len(latencies) / seconds, used / max(1, len(latencies))

    def percentile(share: float) -> str:
        return f"{1000 * latencies[math.ceil(share * len(latencies)) - 1]:.0f}"

    statuses = ", ".join(f"{status}: {number}" for status, number in outcome["statuses"].items())
    values = [
        *(name, clients, f"{speed:.1f}", f"{speed / rate.per_second:.0%}"),
        *(f"{1000 * processor:.1f}", f"{rate.processor / max(processor, 1e-9):.0%}"),
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
    texts = given.source
    if not (given.run and texts):
        material = prepare(scratch, corpora_folder() / "multi30k")
        texts = texts or material.text("test", "en")
    for size in [None] if given.run else given.size or list(SIZES):
        number = given.lines or {"tiny": 4000, "base": 1000}[size or "tiny"]
        requests = given.requests or number
        if size is None:
            run, source = given.run, texts
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
