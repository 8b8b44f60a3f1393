"""The order of work for a GPU that is lent for minutes: the most valuable measurement first.

    gpu_order.py RESULTS.jsonl                     on a GPU, in 9 minutes
    gpu_order.py RESULTS.jsonl --table             the rows so far, as Markdown
    gpu_order.py RESULTS.jsonl --dry-run           tries everything on a processor, at tiny sizes

Every row is a process that is killed when its slot ends, and a JSON line that is written at once.
The same command goes on after the rows that the file has; to repeat a row, delete its line.  A row
whose slot does not fit into what is left of the minutes is left out.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gpu
import gpu_leads
import torch

HERE = Path(__file__).resolve().parent
RED = "recurrent or experts or averaging or classifier or deep_fusion"
"""Tests among which some failed on a GPU when they last ran there."""
_LAST_CHARACTERS = 6000

Found = dict[str, Any]


@dataclass(frozen=True)
class Row:
    """One measurement."""

    name: str
    seconds: int
    """Its slot."""
    command: tuple[str, ...]
    """Arguments of ``gpu.py``, or ``tests`` and an expression of pytest."""


def order(*, dry: bool = False) -> list[Row]:
    """The rows, the most valuable first: 19 minutes of slots, most of which end early."""
    sizes = {"base": "tiny", "big": "tiny"} if dry else {"base": "base", "big": "big"}
    tokens, lines = ("100", "2") if dry else ("25000", "1000")

    def row(kind: str, size: str, lead: str, slot: int) -> Row:
        amount = (lines, "4") if kind == "decode" else (tokens,)
        return Row(f"{kind} {size} {lead}", slot, (kind, sizes[size], *amount, lead))

    return [
        Row("peak", 20, ("peak",)),
        Row("tests that were red", 60, ("tests", RED)),
        row("train", "base", "eager", 30),
        row("profile", "base", "eager", 45),
        row("train", "base", "layers", 60),
        row("train", "base", "graph", 75),
        row("train", "base", "cuda-graphs", 75),
        row("train", "base", "fused-loss", 40),
        row("train", "base", "layers-fused-loss", 75),
        row("train", "base", "unmasked", 30),
        row("decode", "base", "eager", 25),
        row("decode", "base", "cuda-graphs", 75),
        row("decode", "base", "compiled", 60),
        row("decode", "base", "ctranslate2", 40),
        row("train", "base", "operator", 30),
        row("train", "base", "liger", 30),
        row("profile", "base", "layers-fused-loss", 75),
        row("train", "big", "eager", 40),
        row("train", "big", "graph", 90),
        row("train", "base", "compiled", 60),
        Row("all other tests", 120, ("tests", f"not ({RED})")),
    ]


def read(path: Path) -> dict[str, Found]:
    """The rows of a file by name; a last line cut short by a kill is no row."""
    rows: dict[str, Found] = {}
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else []:
        try:
            found = json.loads(line)
        except ValueError:
            continue
        rows[found["row"]] = found
    return rows


def carry_out(
    rows: Sequence[Row], path: Path, seconds: float, measure: Callable[[Row], Found]
) -> None:
    """Measure what the file at ``path`` lacks, and append each row to it at once."""
    until = time.monotonic() + seconds
    known = read(path)
    for row in rows:
        if row.name in known or row.seconds > until - time.monotonic():
            continue
        started = time.monotonic()
        lead = row.command[-1]
        found = (
            measure(row)
            if gpu_leads.is_installed(lead)
            else {"skipped": f"{lead} is not installed"}
        )
        found = {"row": row.name, "seconds": round(time.monotonic() - started, 1), **found}
        is_cut_short = path.exists() and path.read_bytes()[-1:] not in {b"", b"\n"}
        with path.open("a", encoding="utf-8") as file:
            file.write("\n" * is_cut_short + json.dumps(found) + "\n")
            file.flush()
            os.fsync(file.fileno())
        print(f"{row.name}: {summary(found)}", flush=True)


def in_this_process(row: Row) -> Found:
    """The row tried on a processor, with few pieces and graphs that are not made into code."""
    gpu.DEVICE, gpu.VOCABULARY, gpu_leads.BACKEND = torch.device("cpu"), 50, "eager"
    torch._dynamo.reset()
    kind, *arguments = row.command
    # A GPU's tests would be skipped, and the peak of a processor is no part of a dry run.
    return {"text": "left out"} if kind in {"tests", "peak"} else gpu.measured(kind, *arguments)


def by_process(row: Row) -> Found:
    """The row measured by a process of its own, which is killed when its slot ends."""
    kind, *arguments = row.command
    command = [sys.executable, str(HERE / "gpu.py"), *row.command]
    if kind == "tests":
        options = ["-q", "-rf", "-n0", "-p", "no:cacheprovider", "tests/core/test_gpu.py"]
        command = [sys.executable, "-m", "pytest", *options, "-k", *arguments]
    process = subprocess.Popen(
        command,
        cwd=HERE.parent,
        env=os.environ | {"DRAGOMAN_TEST_GPU": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,  # so that what compiles for it ends with it
    )
    try:
        output, _ = process.communicate(timeout=row.seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        output, _ = process.communicate()
        return {"error": f"killed after {row.seconds} s", "text": output[-_LAST_CHARACTERS:]}
    if kind in {"tests", "profile"}:
        return {"text": output if kind == "profile" else output[-_LAST_CHARACTERS:]}
    if process.returncode:
        return {"error": f"ended with {process.returncode}", "text": output[-_LAST_CHARACTERS:]}
    return dict(json.loads(output.splitlines()[-1]))


def summary(found: Found) -> str:
    """A row in a few words."""
    for kind in ("skipped", "error"):
        if kind in found:
            return str(found[kind])
    if "text" in found:
        return str(found["text"]).strip().splitlines()[-1]
    return f"{found['value']:,.0f}"


def table(rows: dict[str, Found]) -> Iterator[str]:
    """Rows of Markdown, with the share of the peak and the difference of losses to eager's."""
    peak = rows.get("peak", {}).get("value")
    yield "| what | per second | of the peak | memory, GiB | loss | differs from eager by |"
    yield "|---|---:|---:|---:|---:|---:|"
    for name, found in rows.items():
        if "value" not in found or name == "peak":
            yield f"| {name} | {summary(found)} | | | | |"
            continue
        share = f"{found['value'] * found['flops'] / peak:.1%}" if peak and "flops" in found else ""
        loss = difference = ""
        if losses := found.get("losses"):
            mean = sum(losses) / len(losses)
            loss = f"{mean:.4f}"
            eager = rows.get(f"{name.rsplit(' ', 1)[0]} eager", {}).get("losses")
            difference = f"{mean - sum(eager) / len(eager):+.4f}" if eager else ""
        yield (
            f"| {name} | {found['value']:,.0f} | {share} | {found['memory'] / 2**30:.1f} | {loss} "
            f"| {difference} |"
        )


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("results", type=Path)
    parser.add_argument("--minutes", type=float, default=9.0)
    parser.add_argument("--dry-run", action="store_true")
    parser.add_argument("--table", action="store_true")
    asked = parser.parse_args(arguments)
    if not asked.table:
        seconds = math.inf if asked.dry_run else asked.minutes * 60
        measure = in_this_process if asked.dry_run else by_process
        carry_out(order(dry=asked.dry_run), asked.results, seconds, measure)
    print(*table(read(asked.results)), sep="\n")


if __name__ == "__main__":
    main()
