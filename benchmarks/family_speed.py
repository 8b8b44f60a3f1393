"""Training and translation speed of every family, compared with fairseq where it has the family.

    family_speed.py NAME BATCHES STEPS SENTENCES      one of ours; a JSON line, see :class:`Speed`

All use the same batches, translate the same sentences and have fresh weights.  A family is a recipe
with model settings, so adding one takes a line in :data:`OURS`.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import cycle, islice
from pathlib import Path
from statistics import median
from typing import NamedTuple

import torch
from contenders import HERE, MEMORY_KEPT, start
from loops.shared import BEAM, LENGTH, PAD, WARM, read_batches, some_sources
from loops.shared import Batch as PlainBatch
from shared_material import VOCABULARY

from dragoman.core.device import keep_freed_memory, working_precision
from dragoman.data.batches import Batch
from dragoman.models import FAMILIES, ModelConfig
from dragoman.models.cost import cost
from dragoman.models.interface import TranslationModel
from dragoman.recipe import read_experiment
from dragoman.search import SearchConfig
from dragoman.training.objectives import CrossEntropy
from dragoman.training.optimizers.adam import AdamConfig
from dragoman.training.sharding.replicas import Replicas
from dragoman.training.step import take_step
from dragoman.translation.combining import build_scorer
from dragoman.translation.engines.engine import SourceBatch, TorchEngine
from dragoman.translation.line_stream import group_by_length

RECIPES = HERE.parent / "recipes"


class Family(NamedTuple):
    """One of our models to measure."""

    recipe: str
    settings: tuple[str, ...] = ()
    """Settings of the recipe's model, as for ``--set``."""
    peer: str | None = None
    """Its name in fairseq."""


OURS = {
    "Transformer": Family("multi30k-ende-tiny"),
    "Transformer, window of 11": Family("multi30k-ende-tiny", ("model.window=11",)),
    "Transformer, linear attention": Family(
        "multi30k-ende-tiny",
        ("model.encoder_mixing=linear_attention", "model.decoder_mixing=linear_attention"),
    ),
    "Transformer, separable convolutions": Family(
        "multi30k-ende-tiny",
        (
            "model.encoder_mixing=separable_convolution",
            "model.decoder_mixing=separable_convolution",
        ),
    ),
    "Transformer, average attention": Family(
        "multi30k-ende-tiny", ("model.decoder_mixing=average_attention",)
    ),
    "Transformer, 6 layers and 2 of SSRU": Family("multi30k-ende-fast"),
    "Transformer, 8 experts": Family("multi30k-ende-moe"),
    "Transformer without an encoder": Family("multi30k-ende-decoder-only"),
    "recurrent": Family("multi30k-ende-recurrent", peer="lstm"),
    "ConvS2S": Family("multi30k-ende-convs2s", peer="fconv"),
    "ByteNet": Family("multi30k-ende-bytenet"),
}


class Speed(NamedTuple):
    """Measurements of one process."""

    training: float
    """Target tokens per second, padding excluded."""
    decoding: float
    """Sentences per second."""
    memory: int
    """Largest resident size in bytes while training."""


@dataclass(frozen=True)
class Contender:
    """A model of a toolkit, measured in its own process."""

    label: str
    family: str
    command: tuple[object, ...]
    environment: Mapping[str, str] = field(default_factory=dict, hash=False)

    def measure(self, batches: Path, steps: int, sentences: int, log: Path) -> Speed:
        """Train for some steps, then translate.

        Raises:
            FailedError: the process failed.
        """
        command = [*self.command, batches.resolve(), steps, sentences]
        output = start(command, HERE, log, self.environment).output
        return Speed(**json.loads(output.splitlines()[-1]))


def contenders(peers: Path) -> list[Contender]:
    """Each of ours, followed by fairseq's in both number types."""
    found = []
    for name, family in OURS.items():
        command: tuple[object, ...] = (sys.executable, HERE / "family_speed.py", name)
        found.append(Contender(f"Dragoman, {name}", name, command))
        for precision in ("float32", "bfloat16") if family.peer else ():
            script = HERE / "loops/fairseq_families.py"
            command = (peers / "bin/python", script, precision, config_of(name).model_dump_json())
            label = f"fairseq {family.peer} {precision}"
            found.append(Contender(label, name, command, MEMORY_KEPT))
    return found


def config_of(name: str) -> ModelConfig:
    """The model of a family's recipe with its settings."""
    family = OURS[name]
    return read_experiment(RECIPES / f"{family.recipe}.yaml", family.settings).model


def table(found: Mapping[Contender, list[Speed]], peak: float) -> list[str]:
    """Rows of Markdown; ``peak`` is in GFLOP/s."""
    medians = {
        contender: Speed(*(median(figures) for figures in zip(*speeds, strict=True)))
        for contender, speeds in found.items()
    }
    ours = {c.family: speed for c, speed in medians.items() if c.label.startswith("Dragoman")}
    lines = [
        "| contender | parameters | target tokens/s | Dragoman is | of the peak | sentences/s "
        "| Dragoman is | GiB |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for contender, speed in medians.items():
        parameters, flops = size(contender.family)
        share = speed.training * flops / (peak * 1e9)
        best = ours.get(contender.family, Speed(float("nan"), float("nan"), 0))
        lines.append(
            f"| {contender.label} | {parameters / 1e6:.1f} M "
            f"| {speed.training:,.0f} | {best.training / speed.training:.2f}x | {share:.0%} "
            f"| {speed.decoding:,.1f} | {best.decoding / speed.decoding:.2f}x "
            f"| {speed.memory / 2**30:.2f} |"
        )
    return lines


def size(name: str) -> tuple[int, float]:
    """Parameters, and training FLOPs per target token with its share of the source."""
    counted = cost(config_of(name), VOCABULARY, VOCABULARY, LENGTH, LENGTH)
    return counted.total_parameters, counted.flops_per_target_token


def train(model: TranslationModel, batches: list[PlainBatch], steps: int) -> float:
    """Target tokens per second, in the number type that the trainer would choose."""
    keep_freed_memory()
    precision = working_precision("auto", torch.device("cpu"))
    optimizer = Replicas(model.train(), AdamConfig(), precision)
    tokens = 0
    for step, (source, given, gold) in enumerate(islice(cycle(batches), WARM + steps)):
        if step == WARM:
            begin, tokens = time.perf_counter(), 0
        real, rows = int((gold != PAD).sum()), torch.arange(len(source))
        batch = Batch(source, source != PAD, given, gold, rows, real)
        take_step(model, optimizer, CrossEntropy(0.1), [batch], 1e-4)
        tokens += real
    return tokens / (time.perf_counter() - begin)


def decode(model: TranslationModel, sources: list[list[int]]) -> float:
    """Sentences per second in the model's number type, with the batches of a translator."""
    engine = TorchEngine(build_scorer([model]), [model])
    config = SearchConfig(
        beam=BEAM, minimum_length=LENGTH, maximum_length=LENGTH, degenerate="keep"
    )
    tokens = config.tokens_at_once // config.rows
    groups = list(group_by_length(range(len(sources)), lambda n: len(sources[n]) + 1, tokens))
    batches = [SourceBatch(group, [sources[n] for n in group]) for group in groups]
    next(engine.search(batches[:1], config))
    begin = time.perf_counter()
    for _ in engine.search(batches, config):
        pass
    return len(sources) / (time.perf_counter() - begin)


def main(name: str, path: str, steps: str, sentences: str) -> None:

    torch.manual_seed(1)
    vocabulary, batches = read_batches(Path(path))
    config = config_of(name)
    model = FAMILIES[config.family](config, vocabulary, vocabulary)
    training = train(model, batches, int(steps))
    memory = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    sources = [source[:-1].tolist() for source in some_sources(batches, int(sentences))]
    decoding = decode(model, sources)
    print(json.dumps({"training": training, "decoding": decoding, "memory": memory}))


if __name__ == "__main__":
    main(*sys.argv[1:])
