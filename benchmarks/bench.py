"""Speed compared with the peers and the machine's own peak; ``make bench`` runs this.

    python benchmarks/bench.py training --size tiny --size base
    python benchmarks/bench.py decoding

Contenders take turns for the given number of rounds; a table of medians is printed and saved.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections import defaultdict
from collections.abc import Iterable
from itertools import product
from pathlib import Path
from statistics import median

import click
import curve as curves
import family_speed as sides
import length as lengths
import torch
from contenders import HERE, WHOLE_PATH, Dragoman, FailedError, Speed, start, trainers
from decoders import FEW, decoders
from growth import GROWTH
from machine import machine
from pictures import growth_picture, length_picture
from quality import quality
from shared_material import SIZES, VOCABULARY, Material, prepare, transformer

from dragoman.core.device import processor_name
from dragoman.text.public_corpora import corpora_folder

RESULTS = HERE / "results"
LENGTH = 15
"""Mean pieces per sentence of Multi30k, on each side."""

size_option = click.option(
    "--size", "sizes", multiple=True, type=click.Choice(list(SIZES)), default=("tiny", "base")
)
at_least_one = click.IntRange(1)
rounds_option = click.option("--rounds", type=at_least_one, default=2, show_default=True)
only_option = click.option(
    "--only", multiple=True, help="Only contenders whose name contains this."
)


@click.group()
@click.option("--scratch", type=WHOLE_PATH, default=HERE / "scratch")
@click.option("--peers", type=WHOLE_PATH, default=HERE / "peers")
@click.option(
    "--multi30k",
    type=WHOLE_PATH,
    default=corpora_folder() / "multi30k",
    help="Folder with train.en.gz etc.  [default: that of 'dragoman corpora get multi30k']",
)
@click.pass_context
def bench(context: click.Context, scratch: Path, peers: Path, multi30k: Path) -> None:
    """Compare the speed of Dragoman with other toolkits."""
    if context.invoked_subcommand in {"gpu", "quality"}:  # which have their own sentences
        scratch.mkdir(parents=True, exist_ok=True)
        context.obj = Material(scratch), peers
    else:
        context.obj = prepare(scratch, multi30k), peers


@bench.command()
@size_option
@rounds_option
@only_option
@click.option(
    "--steps", type=at_least_one, help="Measured steps.  [default: 40 for tiny, 8 for base]"
)
@click.pass_obj
def training(
    obj: tuple[Material, Path],
    sizes: tuple[str, ...],
    rounds: int,
    only: tuple[str, ...],
    steps: int | None,
) -> None:
    """Target tokens per second, padding excluded, of every trainer."""
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
        save(f"training-{size}", training_table(size, speeds, peak), only)


@bench.command()
@size_option
@rounds_option
@only_option
@click.option(
    "--lines",
    type=click.IntRange(FEW + 1),
    help="Sentences.  [default: 4000 for tiny, 1000 for base]",
)
@click.pass_obj
def decoding(
    obj: tuple[Material, Path],
    sizes: tuple[str, ...],
    rounds: int,
    only: tuple[str, ...],
    lines: int | None,
) -> None:
    """Sentences per second, start-up excluded, of every decoder.

    The checkpoints of fairseq, OpenNMT-py and Eole are those left by ``training``.
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
                    speed = decoder.measure(size, lines or {"tiny": 4000, "base": 1000}[size])
                except (FailedError, ValueError) as error:
                    click.echo(f"failed: {error}", err=True)
                    continue
                click.echo(f"{speed[0]:,.1f} sentences/s", err=True)
                found[decoder.label].append(speed)
        save(f"decoding-{size}", decoding_table(size, found), only)


def decoding_table(size: str, found: dict[str, list[tuple[float, int]]]) -> list[str]:
    """Rows of Markdown."""
    rates = {label: median(rate for rate, _ in speeds) for label, speeds in found.items()}
    peers = [rate for label, rate in rates.items() if not label.startswith("Dragoman")]
    best = max(peers, default=float("nan"))
    lines = [
        f"Decoding, {size}, beam 4, outputs of 15 pieces: {machine()}",
        "",
        "| contender | sentences/s | of the fastest PyTorch peer | largest process, GiB |",
        "|---|---:|---:|---:|",
    ]
    for label, rate in rates.items():
        memory = max(memory for _, memory in found[label]) / 2**30
        lines.append(f"| {label} | {rate:,.1f} | {rate / best:.2f}x | {memory:.2f} |")
    return lines


@bench.command()
@click.option("--rounds", type=at_least_one, default=3, show_default=True)
@only_option
@click.option(
    "--steps", type=at_least_one, default=6, show_default=True, help="Measured steps of training."
)
@click.option(
    "--sentences", type=at_least_one, default=256, show_default=True, help="Sentences to translate."
)
@click.pass_obj
def families(
    obj: tuple[Material, Path], rounds: int, only: tuple[str, ...], steps: int, sentences: int
) -> None:
    """Training and search of every model family, compared with fairseq's of the same sizes."""
    material, peers = obj
    log = material.folder / "logs"
    log.mkdir(exist_ok=True)
    speeds: dict[sides.Contender, list[sides.Speed]] = defaultdict(list)
    peaks = []
    for number in range(rounds):
        peaks.append(max(measure_peak(log).values()))
        for contender in sides.contenders(peers):
            if only and not any(part in contender.label for part in only):
                continue
            click.echo(f"round {number + 1}: {contender.label} ... ", nl=False, err=True)
            try:
                speed = contender.measure(material.batches, steps, sentences, log / "families.log")
            except FailedError as error:
                click.echo(f"failed: {error}", err=True)
                continue
            click.echo(
                f"{speed.training:,.0f} tokens/s, {speed.decoding:,.1f} sentences/s", err=True
            )
            speeds[contender].append(speed)
    title = f"Families: {machine()}; matrix-product peak {max(peaks):,.0f} GFLOP/s"
    save("families", [title, "", *sides.table(speeds, max(peaks))], only)


@bench.command()
@click.option("--seeds", default=3, show_default=True)
@click.option("--steps", default=400, show_default=True)
@click.pass_obj
def curve(obj: tuple[Material, Path], seeds: int, steps: int) -> None:
    """Training loss compared with a plain float32 loop: same weights, same batches."""
    material, _ = obj
    folder = material.folder / "curve"
    folder.mkdir(exist_ok=True)
    found = {}
    for seed in range(1, seeds + 1):
        run = folder / f"run-{seed}-{time.time_ns()}"
        fast = curves.ours(material, run, seed, steps)
        found[seed] = fast, curves.plain(run, steps, folder / "plain.log")
        click.echo(f"seed {seed}: {fast[-1]:.4f}, plain {found[seed][1][-1]:.4f}", err=True)
    save("curve", [f"Loss, tiny, {seeds} seeds: {machine()}", "", *curves.table(found)])


bench.add_command(quality)


@bench.command()
@click.pass_obj
def growth(obj: tuple[Material, Path]) -> None:
    """How speed and memory change with size; a table and a picture."""
    material, _ = obj
    folder = material.folder / "growth"
    folder.mkdir(exist_ok=True)
    lines = [f"Growth: {machine()}", "", "| what | size | per second | memory, GiB |"]
    lines.append("|---|---:|---:|---:|")
    curves: dict[str, list[tuple[int, float, float]]] = {}
    for label, (kind, name, values) in GROWTH.items():
        curves[label] = []
        for value in values:
            if kind == "prepare":
                pairs, store = material.numbered(value), folder / f"store.{time.time_ns()}"
                command = ["data.py", kind, pairs, material.folder / "prepared", store]
            else:
                command = ["growth.py", kind, name, value]
            found = ask(command, folder / "growth.log")
            memory = found["memory"] / 2**30
            curves[label].append((value, found["value"], memory))
            lines.append(f"| {label} | {value:,} | {found['value']:,.0f} | {memory:.2f} |")
            click.echo(lines[-1], err=True)
    save("growth", lines)
    (RESULTS / "growth.svg").write_text(growth_picture(curves), encoding="utf-8")


@bench.command()
@click.option("--pieces", multiple=True, type=int, default=lengths.LENGTHS, help="Lengths.")
@only_option
@click.pass_obj
def length(obj: tuple[Material, Path], pieces: tuple[int, ...], only: tuple[str, ...]) -> None:
    """Cost of long targets for each kind of self-attention; tables and a picture."""
    log = obj[0].folder / "length.log"
    kinds = [kind for kind in lengths.KINDS if not only or any(part in kind for part in only)]
    found: dict[str, dict[int, lengths.Cost]] = {kind: {} for kind in kinds}
    for count, kind in product(sorted(pieces), kinds):
        found[kind][count] = lengths.Cost(**ask(["length.py", kind, count], log))
        click.echo(lengths.table({kind: {count: found[kind][count]}})[-1], err=True)
    title = f"Cost against length, in processor time: {machine(threads=1)}"
    lines = [title, "", *lengths.table(found)]
    if lengths.FULL in kinds and len(pieces) > 1:
        lines += ["", *lengths.crossings(found)]
    save("length", lines, only)
    if not only:
        (RESULTS / "length.svg").write_text(length_picture(found), encoding="utf-8")


@bench.command()
@click.option("--pairs", type=click.IntRange(1_000_000), default=5_000_000, show_default=True)
@click.pass_obj
def data(obj: tuple[Material, Path], pairs: int) -> None:
    """Encoding compared with sentencepiece alone, resuming within an epoch, and starting."""
    material, _ = obj
    folder = material.folder / "growth"
    folder.mkdir(exist_ok=True)
    log, run, text = folder / "data.log", material.folder / "prepared", material.numbered(pairs)
    store = folder / f"store.{time.time_ns()}"
    alone = ask(["data.py", "encode", material.numbered(pairs // 5), run], log)["value"]
    whole = ask(["data.py", "prepare", text, run, store], log)
    resumed = ask(["data.py", "resume", store], log)
    help_ = median(
        start([sys.executable, "-m", "dragoman", "--help"], folder, log).seconds for _ in range(7)
    )
    save(
        "data",
        [
            f"Data and start, {pairs:,} pairs: {machine()}",
            "",
            "| what | figure |",
            "|---|---:|",
            f"| sentencepiece's own encode, {os.cpu_count()} threads | {alone:,.0f} sentences/s |",
            f"| preparing, everything counted | {whole['value']:,.0f} sentences/s |",
            f"| preparing, of sentencepiece alone | {whole['value'] / alone:.0%} |",
            f"| preparing, memory of its largest process | {whole['memory'] / 2**30:.2f} GiB |",
            f"| first batch from the middle of an epoch | {resumed['value']:.2f} s |",
            f"| `dragoman --help` | {help_:.2f} s |",
        ],
    )


@bench.command()
@click.option("--size", "sizes", multiple=True, default=("base", "big"))
@click.option("--tokens", multiple=True, default=(25_000, 100_000), help="Target tokens per step.")
@click.option("--lines", multiple=True, default=(1000, 20_000), help="Sentences to translate.")
@click.pass_obj
def gpu(
    obj: tuple[Material, Path],
    sizes: tuple[str, ...],
    tokens: tuple[int, ...],
    lines: tuple[int, ...],
) -> None:
    """Training and search on a GPU; DEVICE=cpu with --size tiny tries it on a CPU."""
    log = obj[0].folder / "gpu.log"
    peak = ask(["gpu.py", "peak"], log)["value"]
    name = processor_name(torch.device(os.environ.get("DEVICE", "cuda")))
    rows = [f"{name}: {machine()}; bfloat16 peak {peak / 1e12:.1f} TFLOP/s", ""]
    rows += ["| what | per second | of the peak | memory, GiB |", "|---|---:|---:|---:|"]
    for size, count, compiled in product(sizes, tokens, ("", "compiled")):
        found = ask(["gpu.py", "train", size, count, *[compiled] * bool(compiled)], log)
        share = found["value"] * found["flops"] / peak
        label = f"training, {size}, {count:,} tokens per step"
        label += f" in {found['passes']} passes" * (found["passes"] > 1) + ", compiled" * bool(
            compiled
        )
        memory = found["memory"] / 2**30
        rows.append(f"| {label} | {found['value']:,.0f} tokens | {share:.0%} | {memory:.1f} |")
        click.echo(rows[-1], err=True)
    for count, beam in product(lines, (1, 4)):
        found = ask(["gpu.py", "decode", sizes[0], count, beam], log)
        label = f"search, {sizes[0]}, {count:,} sentences, beam {beam}"
        memory = found["memory"] / 2**30
        rows.append(f"| {label} | {found['value']:,.0f} sentences | | {memory:.1f} |")
        click.echo(rows[-1], err=True)
    save("gpu", rows)


def ask(command: list[object], log: Path) -> dict[str, float]:
    """The last line of output of a script in this folder, as JSON."""
    script, *arguments = command
    finished = start([sys.executable, HERE / str(script), *arguments], HERE, log)
    return dict(json.loads(finished.output.splitlines()[-1]))


def measure_peak(log: Path) -> dict[str, float]:
    """GFLOP/s of a large matrix product, by number type."""
    finished = start([sys.executable, HERE / "loops/peak.py"], log, log / "peak.log")
    return dict(json.loads(finished.output))


def training_table(size: str, speeds: dict[str, list[Speed]], peak: dict[str, float]) -> list[str]:
    """Rows of Markdown."""
    measured = speeds.get(f"{Dragoman.name} {Dragoman.dtype}", [])
    ours = median([speed.tokens_per_second for speed in measured] or [float("nan")])
    best, flops = max(peak.values()), flops_a_token(size)
    lines = [
        f"Training, {size}: {machine()}; matrix-product peak "
        + ", ".join(f"{kind} {value:,.0f} GFLOP/s" for kind, value in peak.items()),
        "",
        "| contender | target tokens/s | Dragoman is | of the peak | largest process, GiB |",
        "|---|---:|---:|---:|---:|",
    ]
    for label, found in speeds.items():
        rate = median(speed.tokens_per_second for speed in found)
        share = rate * flops / (best * 1e9)
        memory = max(speed.memory for speed in found) / 2**30
        lines.append(f"| {label} | {rate:,.0f} | {ours / rate:.2f}x | {share:.0%} | {memory:.2f} |")
    return lines


def flops_a_token(size: str) -> float:
    """Training FLOPs per target token, source side included."""
    from dragoman.models import TransformerConfig
    from dragoman.models.cost import cost

    config = TransformerConfig(**transformer(size))
    return cost(config, VOCABULARY, VOCABULARY, LENGTH, LENGTH).flops_per_target_token


def save(name: str, lines: Iterable[str], only: tuple[str, ...] = ()) -> None:
    """Print and save a table; one of selected contenders does not replace that of all."""
    name = "-".join([name, *(["some"] if only else [])])
    text = "\n".join(lines) + "\n"
    click.echo("\n" + text)
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    bench()
