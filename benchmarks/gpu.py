"""Training and search on a GPU at the paper's sizes, compared with the GPU's matrix products.

    gpu.py train SIZE TOKENS [compiled]      target tokens per second, 25 pieces per sentence
    gpu.py decode SIZE LINES BEAM            sentences per second, outputs of 25 pieces
    gpu.py peak                              FLOP/s of a large bfloat16 product
    gpu.py profile SIZE TOKENS               where the time of a step of training goes, as a table

The first three print a JSON line with ``value``, the ``memory`` used in bytes and, for training,
``flops`` per target token and the ``passes`` of a step.  ``DEVICE=cpu`` tries the same on a CPU,
where only small sizes make sense.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.profiler import ProfilerActivity

from dragoman.data.batches import make_batch
from dragoman.models.cost import cost
from dragoman.models.families.transformer import Transformer, TransformerConfig
from dragoman.search import ModelScorer, SearchConfig, search
from dragoman.training.objectives import CrossEntropy
from dragoman.training.optimizers.adam import AdamConfig
from dragoman.training.sharding.replicas import Replicas
from dragoman.training.step import take_step

DEVICE = torch.device(os.environ.get("DEVICE", "cuda"))
LENGTH = 25
VOCABULARY = 37_000
SIZES = {
    "tiny": TransformerConfig(encoder_layers=2, decoder_layers=2, d_model=64, d_ff=128, heads=2),
    "base": TransformerConfig(),
    "big": TransformerConfig(d_model=1024, d_ff=4096, heads=16, dropout=0.3),
}
BATCH_TOKENS = 100_000
"""Padded source pieces times beams that are searched together."""


def train(size: str, tokens: str, compiled: str = "") -> tuple[float, int]:
    """Time steps as the trainer takes them, on sentences already on the GPU.

    Where they do not fit, a step takes twice as many passes, as the trainer's do.

    Returns:
        Target tokens per second, and the passes of a step.
    """
    passes = 1
    while True:
        try:
            return _train(size, int(tokens), passes, bool(compiled)), passes
        except torch.OutOfMemoryError:
            passes *= 2
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()


def _train(size: str, tokens: int, passes: int, compiled: bool) -> float:
    step = stepper(size, tokens, passes, compiled)
    return step() / seconds(step, warm=5, repeats=20)


def stepper(size: str, tokens: int, passes: int = 1, compiled: bool = False) -> Callable[[], int]:
    """What takes a step of training and returns its target tokens."""
    torch.manual_seed(1)
    model = Transformer(SIZES[size], VOCABULARY, VOCABULARY).train().to(DEVICE)
    optimizer = Replicas(model, AdamConfig(), torch.bfloat16)
    if compiled:
        model.encode = torch.compile(model.encode)  # type: ignore[method-assign]
        model.decode = torch.compile(model.decode)  # type: ignore[method-assign]
    lines = torch.randint(4, VOCABULARY, (tokens // passes // LENGTH, LENGTH - 1)).tolist()
    batches = [make_batch(lines, lines).to(DEVICE)] * passes
    return lambda: take_step(model, optimizer, CrossEntropy(0.1), batches, 1e-4)


def profile(size: str, tokens: str) -> str:
    """What five steps spend their time on: the operations that take most of it, and how often."""
    step = stepper(size, int(tokens))
    for _ in range(5):
        step()
    wait()
    kinds = [ProfilerActivity.CPU, *[ProfilerActivity.CUDA] * (DEVICE.type == "cuda")]
    with torch.profiler.profile(activities=kinds) as found:
        for _ in range(5):
            step()
        wait()
    order = f"self_{DEVICE.type}_time_total"
    return found.key_averages().table(sort_by=order, row_limit=30, max_name_column_width=60)


def decode(size: str, lines: str, beam: str) -> float:
    """Time search on batches of similar length, as in a translator."""
    torch.manual_seed(1)
    model = Transformer(SIZES[size], VOCABULARY, VOCABULARY).eval().to(DEVICE, torch.bfloat16)
    config = SearchConfig(beam=int(beam), minimum_length=LENGTH, maximum_length=LENGTH)
    together = max(1, BATCH_TOKENS // (LENGTH * config.beam))
    sources = torch.randint(4, VOCABULARY, (int(lines), LENGTH), device=DEVICE)

    def translate(parts: Sequence[torch.Tensor]) -> None:
        for part in parts:
            mask = torch.ones_like(part, dtype=torch.bool)
            search(ModelScorer(model), part, mask, config)

    parts = sources.split(together)
    translate(parts[:1])
    return len(sources) / seconds(lambda: translate(parts), warm=0, repeats=1)


def peak() -> float:
    """The peak rate of the GPU; of a processor, by smaller products, which take a second."""
    width = 8192 if DEVICE.type == "cuda" else 1024
    a, b = (torch.randn(width, width, device=DEVICE, dtype=torch.bfloat16) for _ in range(2))
    return 2 * width**3 / seconds(lambda: a @ b, warm=5, repeats=50)


def seconds(run: Callable[[], object], *, warm: int, repeats: int) -> float:
    """Seconds per call: the mean of several after warm-up calls."""
    for _ in range(warm):
        run()
    wait()
    start = time.perf_counter()
    for _ in range(repeats):
        run()
    wait()
    return (time.perf_counter() - start) / repeats


def wait() -> None:
    if DEVICE.type == "cuda":
        torch.cuda.synchronize()


if __name__ == "__main__":
    kind, *arguments = sys.argv[1:]
    if kind == "profile":
        print(profile(*arguments))
        sys.exit()
    tasks: dict[str, Callable[..., Any]] = {"train": train, "decode": decode, "peak": peak}
    value = tasks[kind](*arguments)
    found: dict[str, object] = {"value": value, "memory": 0}
    if kind == "train":
        found["value"], found["passes"] = value
    if DEVICE.type == "cuda":
        found["memory"] = torch.cuda.max_memory_allocated()
    if kind == "train":
        counted = cost(SIZES[arguments[0]], VOCABULARY, VOCABULARY, LENGTH, LENGTH)
        found["flops"] = counted.flops_per_target_token
    print(json.dumps(found))
