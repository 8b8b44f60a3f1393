"""How cost grows with size; each row of the table is a process, to measure its memory."""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable

import torch

from dragoman.core.device import keep_freed_memory, working_precision
from dragoman.data.batches import make_batch
from dragoman.models.families.transformer import Transformer, TransformerConfig
from dragoman.search import SearchConfig
from dragoman.training.objectives import CrossEntropy
from dragoman.training.optimizers.adam import AdamConfig
from dragoman.training.sharding.replicas import Replicas
from dragoman.training.step import take_step
from dragoman.translation.combining import build_scorer
from dragoman.translation.engines.engine import SourceBatch, TorchEngine

TINY = TransformerConfig(
    encoder_layers=4, decoder_layers=4, d_model=128, d_ff=256, heads=4, dropout=0.3
)
BATCH_TOKENS, LENGTH, VOCABULARY = 4096, 16, 8000

GROWTH = {
    "training: tokens per batch": ("train", "tokens", (512, 1024, 2048, 4096, 8192, 16384)),
    "training: pieces per sentence": ("train", "length", (8, 16, 32, 64, 128, 256)),
    "training: vocabulary": ("train", "vocabulary", (1000, 4000, 16000, 64000)),
    "search: beam": ("decode", "beam", (1, 2, 4, 8, 16)),
    "preparing: pairs": ("prepare", "pairs", (10_000, 100_000, 1_000_000, 5_000_000)),
}


def train(tokens: int = BATCH_TOKENS, length: int = LENGTH, vocabulary: int = VOCABULARY) -> float:
    """Target tokens per second of the tiny model."""
    keep_freed_memory()
    torch.manual_seed(1)
    model = Transformer(TINY, vocabulary, vocabulary).train()
    precision = working_precision("auto", torch.device("cpu"))
    optimizer = Replicas(model, AdamConfig(), precision)
    lines = torch.randint(4, vocabulary, (max(1, tokens // length), length - 1)).tolist()
    batch = make_batch(lines, lines)

    def step() -> None:
        take_step(model, optimizer, CrossEntropy(0.1), [batch], 1e-4)

    return batch.target_tokens / _best(step, 5)


def decode(beam: int) -> float:
    """Sentences per second: 256 sources of 15 pieces, outputs of 15 pieces, weights fresh."""
    torch.manual_seed(1)
    models = [Transformer(TINY, VOCABULARY, VOCABULARY)]
    engine = TorchEngine(build_scorer(models), models)
    lines = torch.randint(4, VOCABULARY, (256, LENGTH - 1)).tolist()
    batch = SourceBatch(list(range(len(lines))), lines)
    config = SearchConfig(
        beam=beam, minimum_length=LENGTH, maximum_length=LENGTH, degenerate="keep"
    )

    def run() -> None:
        next(engine.search([batch], config))

    return len(lines) / _best(run, 2)


def _best(run: Callable[[], None], repeats: int) -> float:
    run()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


if __name__ == "__main__":
    kind, name, size = sys.argv[1:]
    tasks: dict[str, Callable[..., float]] = {"train": train, "decode": decode}
    rate = tasks[kind](**{name: int(size)})
    memory = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(json.dumps({"value": rate, "memory": memory}))
