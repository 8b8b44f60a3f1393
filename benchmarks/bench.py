"""Speed beside the peers and the machine's own peak; ``make bench`` runs this.

    python benchmarks/bench.py training --size tiny --size base
    python benchmarks/bench.py decoding

Contenders take turns, for as many rounds as asked, and a table of medians is printed and saved.
"""

from __future__ import annotations

import json
import platform
import sys
from collections import defaultdict
from collections.abc import Iterable
from datetime import date
from pathlib import Path
from statistics import median

import click
from contenders import HERE, Dragoman, FailedError, Speed, start, trainers
from decoders import decoders
from growth import GROWTH
from material import SIZES, Material, prepare

RESULTS = HERE / "results"
FLOPS_A_TOKEN = {"tiny": 14e6, "base": 286e6}
"""Matrix products of training, source side included, for this vocabulary and this text."""

size_option = click.option(
    "--size", "sizes", multiple=True, type=click.Choice(list(SIZES)), default=("tiny", "base")
)
rounds_option = click.option("--rounds", default=2, show_default=True)
only_option = click.option("--only", multiple=True, help="Contenders whose name holds this.")


@click.group()
@click.option("--scratch", type=click.Path(path_type=Path), default=HERE / "scratch")
@click.option("--peers", type=click.Path(path_type=Path), default=HERE / "peers")
@click.option(
    "--multi30k",
    type=click.Path(path_type=Path),
    default=HERE.parent.parent / "shared/data/multi30k",
    help="Folder with train.en.gz and so on.",
)
@click.pass_context
def bench(context: click.Context, scratch: Path, peers: Path, multi30k: Path) -> None:
    """Measure Dragoman beside other toolkits."""
    context.obj = prepare(scratch, multi30k), peers


@bench.command()
@size_option
@rounds_option
@only_option
@click.option("--steps", default=0, help="Measured steps.  [default: 40 for tiny, 8 for base]")
@click.pass_obj
def training(
    obj: tuple[Material, Path],
    sizes: tuple[str, ...],
    rounds: int,
    only: tuple[str, ...],
    steps: int,
) -> None:
    """Target tokens a second, padding left out, of every trainer."""
    material, peers = obj
    log = material.folder / "logs"
    log.mkdir(exist_ok=True)
    for size in sizes:
        contenders = [
            trainer
            for trainer in trainers(material, peers, log)
            if not only or any(part in trainer.label for part in only)
        ]
        speeds: dict[str, list[Speed]] = defaultdict(list)
        peaks = []
        for number in range(rounds):
            peaks.append(measure_peak(log))
            for trainer in contenders:
                click.echo(f"{size}, round {number + 1}: {trainer.label} ... ", nl=False, err=True)
                try:
                    speed = trainer.measure(size, steps or {"tiny": 40, "base": 8}[size])
                except FailedError as error:
                    click.echo(f"failed: {error}", err=True)
                    continue
                click.echo(f"{speed.tokens_per_second:,.0f} tokens/s", err=True)
                speeds[trainer.label].append(speed)
        peak = {kind: max(found[kind] for found in peaks) for kind in peaks[0]}
        save(f"training-{size}", training_table(size, speeds, peak))


@bench.command()
@size_option
@rounds_option
@only_option
@click.option("--lines", default=1000, show_default=True, help="Sentences to translate.")
@click.pass_obj
def decoding(
    obj: tuple[Material, Path],
    sizes: tuple[str, ...],
    rounds: int,
    only: tuple[str, ...],
    lines: int,
) -> None:
    """Sentences a second, start-up left out, of everything that translates.

    The checkpoints of fairseq, OpenNMT-py and Eole are those that ``training`` has left.
    """
    material, peers = obj
    log = material.folder / "logs"
    log.mkdir(exist_ok=True)
    for size in sizes:
        found: dict[str, list[tuple[float, int]]] = defaultdict(list)
        for number in range(rounds):
            for decoder in decoders(material, peers, log):
                if only and not any(part in decoder.label for part in only):
                    continue
                click.echo(f"{size}, round {number + 1}: {decoder.label} ... ", nl=False, err=True)
                try:
                    speed = decoder.measure(size, lines)
                except (FailedError, ValueError) as error:
                    click.echo(f"failed: {error}", err=True)
                    continue
                click.echo(f"{speed[0]:,.1f} sentences/s", err=True)
                found[decoder.label].append(speed)
        save(f"decoding-{size}", decoding_table(size, found))


def decoding_table(size: str, found: dict[str, list[tuple[float, int]]]) -> list[str]:
    """Rows of Markdown."""
    rates = {label: median(rate for rate, _ in speeds) for label, speeds in found.items()}
    peers = [rate for label, rate in rates.items() if not label.startswith("Dragoman")]
    best = max(peers, default=float("nan"))
    lines = [
        f"Decoding, {size}, beam 4, outputs of 15 pieces: {machine()}",
        "",
        "| contender | sentences/s | of the fastest PyTorch peer | memory, GiB |",
        "|---|---:|---:|---:|",
    ]
    for label, rate in rates.items():
        memory = max(memory for _, memory in found[label]) / 2**30
        lines.append(f"| {label} | {rate:,.1f} | {rate / best:.2f}x | {memory:.2f} |")
    return lines


@bench.command()
@click.pass_obj
def growth(obj: tuple[Material, Path]) -> None:
    """How speed and memory change with size; a table and a picture."""
    material, _ = obj
    folder = material.folder / "growth"
    folder.mkdir(exist_ok=True)
    lines = [f"Growth: {machine()}", "", "| what | size | a second | memory, GiB |"]
    lines.append("|---|---:|---:|---:|")
    curves: dict[str, list[tuple[int, float, float]]] = {}
    for label, (kind, name, values) in GROWTH.items():
        curves[label] = []
        for value in values:
            command = [sys.executable, HERE / "growth.py", kind, name, value]
            if kind == "prepare":
                command += [folder, material.folder / "prepared"]
            finished = start(command, HERE, folder / "growth.log")
            found = json.loads(finished.output.splitlines()[-1])
            memory = found["memory"] / 2**30
            curves[label].append((value, found["rate"], memory))
            lines.append(f"| {label} | {value:,} | {found['rate']:,.0f} | {memory:.2f} |")
            click.echo(lines[-1], err=True)
    save("growth", lines)
    draw(curves, RESULTS / "growth.svg")


def draw(curves: dict[str, list[tuple[int, float, float]]], path: Path) -> None:
    """One small plot for each thing that grows: speed, and memory beside it."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(3.2 * len(curves), 3.2), layout="constrained")
    for axes, (label, rows) in zip(figure.subplots(1, len(curves)), curves.items(), strict=True):
        sizes, rates, memory = zip(*rows, strict=True)
        axes.plot(sizes, rates, "o-", color="tab:blue")
        axes.set(xscale="log", xlabel=label, ylim=(0, 1.15 * max(rates)), ylabel="a second")
        beside = axes.twinx()
        beside.plot(sizes, memory, "s--", color="tab:gray")
        beside.set(ylim=(0, 1.3 * max(memory)), ylabel="memory, GiB")
    figure.savefig(path)


def measure_peak(log: Path) -> dict[str, float]:
    """GFLOP/s of a large matrix product, by number type."""
    finished = start([sys.executable, HERE / "loops/peak.py"], log, log / "peak.log")
    return dict(json.loads(finished.output))


def training_table(size: str, speeds: dict[str, list[Speed]], peak: dict[str, float]) -> list[str]:
    """Rows of Markdown."""
    ours = median(s.tokens_per_second for s in speeds[f"{Dragoman.name} {Dragoman.dtype}"])
    best = max(peak.values())
    lines = [
        f"Training, {size}: {machine()}; matrix-product peak "
        + ", ".join(f"{kind} {value:,.0f} GFLOP/s" for kind, value in peak.items()),
        "",
        "| contender | target tokens/s | Dragoman is | of the peak | memory, GiB |",
        "|---|---:|---:|---:|---:|",
    ]
    for label, found in speeds.items():
        rate = median(speed.tokens_per_second for speed in found)
        share = rate * FLOPS_A_TOKEN[size] / (best * 1e9)
        memory = max(speed.memory for speed in found) / 2**30
        lines.append(f"| {label} | {rate:,.0f} | {ours / rate:.2f}x | {share:.0%} | {memory:.2f} |")
    return lines


def machine() -> str:
    """What the figures hold for."""
    import torch

    capability = torch.backends.cpu.get_cpu_capability()
    threads = torch.get_num_threads()
    return f"{date.today()}, {threads} cores ({capability}), torch {torch.__version__}, Python " + (
        platform.python_version()
    )


def save(name: str, lines: Iterable[str]) -> None:
    """Print a table and keep it."""
    text = "\n".join(lines) + "\n"
    click.echo("\n" + text)
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    bench()
