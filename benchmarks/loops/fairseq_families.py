"""fairseq's convolutional and recurrent models with fresh weights: a plain loop, then generation.

fairseq_families.py float32|bfloat16 SHAPE BATCHES STEPS SENTENCES

SHAPE is the configuration of our model of the same sizes.  The last line of output is JSON:
target tokens per second, sentences per second, and the largest resident size while training.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from pathlib import Path
from typing import Any

import torch
from fairseq.sequence_generator import SequenceGenerator
from fairseq_models import model_of
from shared import BEAM, LENGTH, WARM, read_batches, some_sources
from shared import PAD as OUR_PAD
from torch import Tensor, nn
from torch.nn import functional

TOGETHER = 64
"""Sentences per batch in translation."""


def converted(ids: Tensor) -> Tensor:
    """Our ids in fairseq's numbering: begin, padding, end, unknown."""
    special = torch.tensor([1, 3, 0, 2])
    return torch.where(ids < len(special), special[ids.clamp(max=len(special) - 1)], ids)


def train(model: Any, path: Path, steps: int, dtype: torch.dtype) -> float:
    """Target tokens per second, padding excluded."""
    _, batches = read_batches(path)
    padding = model.decoder.dictionary.pad()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, betas=(0.9, 0.98), fused=True)
    tokens = 0
    for step in range(WARM + steps):
        if step == WARM:
            start, tokens = time.perf_counter(), 0
        batch = batches[step % len(batches)]
        # fairseq packs sentences and needs the longest first
        order = (batch.source != OUR_PAD).sum(1).argsort(descending=True)
        source, given, gold = (converted(ids[order]) for ids in batch)
        lengths = (source != padding).sum(1)
        with torch.autocast("cpu", dtype, enabled=dtype != torch.float32):
            scores = model(source, lengths, given)[0]
            loss = functional.cross_entropy(
                scores.flatten(0, 1), gold.flatten(), ignore_index=padding, label_smoothing=0.1
            )
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        tokens += int((gold != padding).sum())
    return tokens / (time.perf_counter() - start)


def decode(model: Any, sources: list[Tensor], dtype: torch.dtype) -> float:
    """Sentences per second, longest first, with the model prepared as in ``fairseq-generate``."""
    symbols = model.decoder.dictionary
    model = model.eval().to(dtype)
    model.make_generation_fast_(beamable_mm_beam_size=BEAM, need_attn=False)
    limits = {"min_len": LENGTH - 1, "max_len_a": 0, "max_len_b": LENGTH - 1}
    generator = SequenceGenerator([model], symbols, beam_size=BEAM, len_penalty=0.6, **limits)
    ordered = sorted((converted(source) for source in sources), key=len, reverse=True)

    def run(chosen: list[Tensor]) -> None:
        for start in range(0, len(chosen), TOGETHER):
            part = chosen[start : start + TOGETHER]
            lengths = torch.tensor([len(source) for source in part])
            padded = nn.utils.rnn.pad_sequence(part, batch_first=True, padding_value=symbols.pad())
            generator.generate(
                [model], {"net_input": {"src_tokens": padded, "src_lengths": lengths}}
            )

    run(ordered[:TOGETHER])
    start = time.perf_counter()
    run(ordered)
    return len(ordered) / (time.perf_counter() - start)


def main(precision: str, shape: str, batches: str, steps: str, sentences: str) -> None:
    torch.manual_seed(1)
    dtype, path = getattr(torch, precision), Path(batches)
    vocabulary, found = read_batches(path)
    model = model_of(json.loads(shape), vocabulary).train()
    training = train(model, path, int(steps), dtype)
    memory = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    decoding = decode(model, some_sources(found, int(sentences)), dtype)
    print(json.dumps({"training": training, "decoding": decoding, "memory": memory}))


if __name__ == "__main__":
    main(*sys.argv[1:])
