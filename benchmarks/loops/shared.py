"""What the plain loops have in common."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

import torch
from safetensors import safe_open

PAD, UNK, BOS, EOS = 0, 1, 2, 3
BEAM, LENGTH = 4, 15
"""Forced output length when comparing the search of families."""
WARM = 2
"""Uncounted warm-up steps when comparing the training of families."""


class Batch(NamedTuple):
    """Padded ids, ``(batch, length)``."""

    source: torch.Tensor
    target_input: torch.Tensor
    target_output: torch.Tensor


def read_batches(path: Path) -> tuple[int, list[Batch]]:
    """Size of the vocabulary, and the batches."""
    with safe_open(path, framework="pt") as file:
        count = len(file.keys()) // 3
        batches = [
            Batch(*(file.get_tensor(f"{n}.{field}") for field in Batch._fields))
            for n in range(count)
        ]
        return json.loads(file.metadata()["vocabulary"]), batches


def some_sources(batches: list[Batch], count: int) -> list[torch.Tensor]:
    """Source sentences with end symbol, without padding, drawn evenly from all batches.

    A batch has sentences of similar length, so the first batches would not be representative.
    """
    sources = [row[row != PAD] for batch in batches for row in batch.source]
    return [sources[number * len(sources) // count] for number in range(count)]
