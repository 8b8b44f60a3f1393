"""Cost against length: training and decoding of a target of many pieces, by kind of self-attention.

    length.py KIND LENGTH       a JSON line: microseconds per piece, memory of training in bytes

The source has 64 pieces whatever the target has, so that attention over it costs the same per
target piece and the curves show self-attention alone.  Everything is computed by one thread and
measured in its processor time, which other work on the machine disturbs least.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from math import exp, log
from typing import Any, NamedTuple

import torch

from dragoman.core.device import keep_freed_memory, working_precision
from dragoman.data.batches import make_batch
from dragoman.models.cost import cost
from dragoman.models.families.transformer import Transformer, TransformerConfig
from dragoman.training.objectives import CrossEntropy
from dragoman.training.optimizers.adam import AdamConfig
from dragoman.training.sharding.replicas import Replicas
from dragoman.training.step import take_step

KINDS: Mapping[str, Mapping[str, Any]] = {
    "full": {},
    "window of 129": {"window": 129},
    "strided, 64": {"sparsity": "strided", "stride": 64},
    "linear": {"decoder_mixing": "linear_attention"},
}
"""Self-attention of the decoder; the encoder's is full."""
FULL = "full"
LENGTHS = tuple(2**power for power in range(6, 14))
SOURCE, VOCABULARY = 64, 1000
TRAINED_PIECES = 4096
"""Target pieces of a training step, or one sentence if that has more."""
DECODED_ROWS = 8
"""Hypotheses that a step of decoding extends by one piece each."""


class Cost(NamedTuple):
    """Of one target piece, and of the process that trained."""

    training: float
    """Microseconds of one core, forward, backward and update."""
    decoding: float
    """Microseconds of one core to append a piece to a target of this length."""
    memory: float
    """Bytes in training."""


def config(kind: str) -> TransformerConfig:
    """Sizes of the tiny model of the other benchmarks; one layer reads the short source."""
    sizes = {"encoder_layers": 1, "decoder_layers": 4, "d_model": 128, "d_ff": 256, "heads": 4}
    return TransformerConfig(**sizes, **KINDS[kind])


def measure(kind: str, length: int) -> Cost:
    """One kind at one length, in this process."""
    torch.set_num_threads(1)
    keep_freed_memory()
    torch.manual_seed(1)
    model = Transformer(config(kind), VOCABULARY, VOCABULARY).train()
    device = torch.device("cpu")
    optimizer = Replicas(model, AdamConfig(), working_precision("auto", device))
    rows = max(1, TRAINED_PIECES // length)
    sources, targets = (
        torch.randint(4, VOCABULARY, (rows, pieces - 1)).tolist() for pieces in (SOURCE, length)
    )
    batch = make_batch(sources, targets)
    training = _seconds(lambda: take_step(model, optimizer, CrossEntropy(0.1), [batch]))
    memory = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    decoding = _seconds(_appending(model.eval(), length))
    return Cost(training / (rows * length) * 1e6, decoding / DECODED_ROWS * 1e6, memory)


def _appending(model: Transformer, length: int) -> Callable[[], object]:
    """A step of decoding behind ``length`` target pieces, with the scores of the next one."""
    with torch.inference_mode():
        source = torch.randint(4, VOCABULARY, (DECODED_ROWS, SOURCE))
        target = torch.randint(4, VOCABULARY, (DECODED_ROWS, length))
        memory = model.encode(source, torch.ones_like(source, dtype=torch.bool))
        _, state = model.decode(target, memory, model.start(memory))

    def append() -> object:
        with torch.inference_mode():
            hidden, _ = model.decode(target[:, :1], memory, state)
            return model.logits(hidden)

    return append


def _seconds(run: Callable[[], object], enough: float = 1.0, most: int = 20) -> float:
    """Processor seconds of the fastest call, of as many as take ``enough`` seconds in all."""
    run()
    times: list[float] = []
    while len(times) < 2 or (sum(times) < enough and len(times) < most):
        started = time.process_time()
        run()
        times.append(time.process_time() - started)
    return min(times)


def crossing(full: Sequence[tuple[int, float]], other: Sequence[tuple[int, float]]) -> str:
    """Length from which ``other`` costs less, between measured lengths on logarithmic scales.

    Args:
        full: length and cost, in ascending order.
        other: the same of another kind, of at least two of these lengths.
    """
    base = dict(full)
    apart = [(length, log(found / base[length])) for length, found in other if length in base]
    if apart[-1][1] >= 0:
        return f"above {apart[-1][0]:,}"
    for (longer, after), (shorter, before) in pairwise(reversed(apart)):
        # from the longest downwards: the last crossing counts
        if after < 0 <= before:
            share = before / (before - after)
            return f"{exp(log(shorter) + share * (log(longer) - log(shorter))):,.0f}"
    return f"below {apart[0][0]:,}"


def table(found: Mapping[str, Mapping[int, Cost]]) -> list[str]:
    """Rows of Markdown: every kind at every length."""
    lines = [
        "| self-attention | pieces | training, µs per piece | decoding, µs per piece "
        "| memory of training, GiB |",
        "|---|---:|---:|---:|---:|",
    ]
    lines += [
        f"| {kind} | {length:,} | {one.training:,.0f} | {one.decoding:,.0f} "
        f"| {one.memory / 2**30:.2f} |"
        for kind, costs in found.items()
        for length, one in costs.items()
    ]
    return lines


def crossings(found: Mapping[str, Mapping[int, Cost]]) -> list[str]:
    """Rows of Markdown: from which length each kind costs less than full attention."""
    lines = [
        "| self-attention | training pays from | of operations alone | decoding pays from |",
        "|---|---:|---:|---:|",
    ]
    for kind in found:
        if kind == FULL:
            continue
        columns = []
        for price in (_training, _operations, _decoding):
            full, other = (
                [(length, price(one, length, found[one][length])) for length in found[one]]
                for one in (FULL, kind)
            )
            columns.append(crossing(full, other))
        lines.append(f"| {kind} | {' | '.join(columns)} |")
    return lines


def _training(kind: str, length: int, found: Cost) -> float:
    return found.training


def _decoding(kind: str, length: int, found: Cost) -> float:
    return found.decoding


def _operations(kind: str, length: int, found: Cost) -> float:
    """What ``dragoman cost`` counts."""
    return cost(config(kind), VOCABULARY, VOCABULARY, SOURCE, length).flops_per_target_token


if __name__ == "__main__":
    print(json.dumps(measure(sys.argv[1], int(sys.argv[2]))._asdict()))
