"""What the plain loops have in common."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

import torch
from safetensors import safe_open

PAD, UNK, BOS, EOS = 0, 1, 2, 3
BEAM, LENGTH = 4, 15
"""Of search between families: every output is forced to this length."""
WARM = 2
"""Training steps between families that are not counted."""


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
    """Source sentences with end symbol, without padding, from all of the batches alike.

    A batch holds sentences of like length, so that the first of them would say little.
    """
    sources = [row[row != PAD] for batch in batches for row in batch.source]
    return [sources[number * len(sources) // count] for number in range(count)]
