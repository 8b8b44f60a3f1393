"""Training and search on a GPU at the paper's sizes, compared with the GPU's matrix products.

    gpu.py train SIZE TOKENS [LEAD]          target tokens per second, 25 pieces per sentence
    gpu.py decode SIZE LINES BEAM [LEAD]     sentences per second, outputs of 25 pieces
    gpu.py peak                              FLOP/s of a large bfloat16 product
    gpu.py profile SIZE TOKENS [LEAD]        where the time of a step of training goes, as tables

LEAD is one of ``gpu_leads.py``, by default ``eager``.  The first three print a JSON line with
``value``, the ``memory`` used in bytes and, for training, ``flops`` per target token, the
``passes`` of a step and its last ``losses`` per token.  ``DEVICE=cpu`` tries the same on a CPU,
where only small sizes make sense.  ``gpu_order.py`` runs them in the order of their value.
"""

from __future__ import annotations

import json
import os
import re
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from gpu_leads import SEARCH, TRAINING, by_ctranslate2
from torch import Tensor
from torch._C._autograd import DeviceType
from torch.profiler import ProfilerActivity

from dragoman.data.batches import Batch, make_batch
from dragoman.models.cost import cost
from dragoman.models.families.transformer import Transformer, TransformerConfig
from dragoman.models.interface import TranslationModel
from dragoman.search import ModelScorer, SearchConfig, search
from dragoman.training.optimizers.adam import AdamConfig
from dragoman.training.sharding.replicas import Replicas
from dragoman.training.step import take_step
from dragoman.training.tasks import Objective

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


KINDS = {
    "attention": r"fmha|flash|attention|_efficient_",
    "compiled regions": r"^triton_|^cpp_fused",
    "products": r"gemm|nvjet|xmma|cutlass|cublas|splitk|aten::(addmm|baddbmm|bmm|mm)$",
    "normalisation": r"norm|gammabeta",
    "softmax": r"softmax",
    "dropout": r"dropout|bernoulli|dragoman::dropout_mask",
    "embeddings": r"embedding|gather|scatter|index",
    "optimizer": r"adam",
    "sums": r"reduce|sum",
    "copies": r"copy|memcpy|memset|fill|zero|cat",
}
"""Kinds of operations by expressions that their names contain, the first that fits."""


class Remembered:
    """An objective whose losses per token are kept, on the GPU."""

    def __init__(self, objective: Objective) -> None:
        self.objective, self.losses = objective, list[Tensor]()

    @property
    def totals(self) -> tuple[str, ...]:
        return self.objective.totals

    def backward(self, model: TranslationModel, batch: Batch, scale: float) -> Mapping[str, Tensor]:
        totals = self.objective.backward(model, batch, scale)
        self.losses.append(totals["loss"] / totals["tokens"])  # a copy; CUDA graphs overwrite sums
        return totals

    def figures(self, totals: Mapping[str, float]) -> dict[str, float]:
        return self.objective.figures(totals)


def train(size: str, tokens: str, lead: str = "eager") -> dict[str, Any]:
    """Time steps as the trainer takes them, on sentences already on the GPU.

    Where they do not fit, a step takes twice as many passes, as the trainer's do.

    Returns:
        Target tokens per second, the passes of a step, and the losses of the last five.
    """
    passes = 1
    while True:
        try:
            value, losses = _train(size, int(tokens), passes, lead)
            return {"value": value, "passes": passes, "losses": losses}
        except torch.OutOfMemoryError:
            passes *= 2
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()


def _train(size: str, tokens: int, passes: int, lead: str) -> tuple[float, list[float]]:
    step, objective = stepper(size, tokens, passes, lead)
    rate = step() / seconds(step, warm=5, repeats=20)
    return rate, [float(loss) for loss in objective.losses[-5:]]


def stepper(
    size: str, tokens: int, passes: int = 1, lead: str = "eager"
) -> tuple[Callable[[], int], Remembered]:
    """A function that takes a training step and returns its target tokens, and the objective."""
    torch.manual_seed(1)
    model = Transformer(SIZES[size], VOCABULARY, VOCABULARY).train().to(DEVICE)
    optimizer = Replicas(model, AdamConfig(), torch.bfloat16)
    lines = torch.randint(4, VOCABULARY, (tokens // passes // LENGTH, LENGTH - 1)).tolist()
    batches = [make_batch(lines, lines).to(DEVICE)] * passes
    objective = Remembered(TRAINING[lead](model))
    return lambda: take_step(model, optimizer, objective, batches, 1e-4), objective


def profile(size: str, tokens: str, lead: str = "eager") -> str:
    """Time of five steps by kind of operation, and the operations that take most of it."""
    step, _ = stepper(size, int(tokens), lead=lead)
    for _ in range(5):
        step()
    wait()
    kinds = [ProfilerActivity.CPU, *[ProfilerActivity.CUDA] * (DEVICE.type == "cuda")]
    with torch.profiler.profile(activities=kinds) as found:
        started = time.perf_counter()
        for _ in range(5):
            step()
        wait()
        passed = time.perf_counter() - started
    averages = found.key_averages()
    order = f"self_{DEVICE.type}_time_total"
    table = averages.table(sort_by=order, row_limit=30, max_name_column_width=60)
    on_gpu = DEVICE.type == "cuda"
    times = [
        (event.key, event.self_device_time_total if on_gpu else event.self_cpu_time_total)
        for event in averages
        if (event.device_type == DeviceType.CUDA) == on_gpu
    ]
    return "\n".join([*by_kind(times, passed * 1e6), "", table])


def by_kind(times: Sequence[tuple[str, float]], passed: float) -> list[str]:
    """Rows of Markdown: the share of each kind of operation in the time that passed.

    Args:
        times: names of operations, and their microseconds.
        passed: microseconds of everything; the rest is waiting.
    """
    sums: dict[str, float] = defaultdict(float)
    for name, taken in times:
        fitting = (kind for kind, words in KINDS.items() if re.search(words, name, re.IGNORECASE))
        sums[next(fitting, "other element-wise operations")] += taken
    sums["nothing: waiting for the next operation"] = max(0.0, passed - sum(sums.values()))
    rows = sorted(sums.items(), key=lambda item: -item[1])
    return ["| | share |", "|---|---:|"] + [
        f"| {kind} | {taken / passed:.1%} |" for kind, taken in rows
    ]


def decode(size: str, lines: str, beam: str, lead: str = "eager") -> float:
    """Time search on batches of similar length, as in a translator.

    A lead that compiles has seen all lengths before.
    """
    torch.manual_seed(1)
    model = Transformer(SIZES[size], VOCABULARY, VOCABULARY).eval()
    config = SearchConfig(beam=int(beam), minimum_length=LENGTH, maximum_length=LENGTH)
    together = max(1, BATCH_TOKENS // (LENGTH * config.beam))
    sources = torch.randint(4, VOCABULARY, (int(lines), LENGTH))
    if lead == "ctranslate2":
        run = by_ctranslate2(
            model, sources, config.beam, LENGTH, together * LENGTH, str(DEVICE.type)
        )
        return len(sources) / seconds(run, warm=1, repeats=1)
    SEARCH[lead](model.to(DEVICE, torch.bfloat16))
    sources = sources.to(DEVICE)

    def translate(parts: Sequence[torch.Tensor]) -> None:
        for part in parts:
            mask = torch.ones_like(part, dtype=torch.bool)
            search(ModelScorer(model), part, mask, config)

    parts = sources.split(together)
    for _ in range(1 if lead == "eager" else 2):
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


def measured(kind: str, *arguments: str) -> dict[str, Any]:
    """The figures of a command; for a profile, its ``text``."""
    tasks: dict[str, Callable[..., Any]] = {"decode": decode, "peak": peak}
    if kind == "profile":
        return {"text": profile(*arguments)}
    found: dict[str, Any] = {"memory": 0}
    found |= train(*arguments) if kind == "train" else {"value": tasks[kind](*arguments)}
    if DEVICE.type == "cuda":
        found["memory"] = torch.cuda.max_memory_allocated()
    if kind == "train":
        counted = cost(SIZES[arguments[0]], VOCABULARY, VOCABULARY, LENGTH, LENGTH)
        found["flops"] = counted.flops_per_target_token
    return found


if __name__ == "__main__":
    figures = measured(*sys.argv[1:])
    print(figures["text"] if "text" in figures else json.dumps(figures))
